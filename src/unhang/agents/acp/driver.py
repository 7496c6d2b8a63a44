"""`python -m unhang.agents.acp.driver`: the leader of the job of an ACP agent."""

from __future__ import annotations

from unhang.agents.acp.conversation import AcpDriver
from unhang.agents.acp.plan import AcpPlan
from unhang.agents.base.driver import main

if __name__ == "__main__":
    main(AcpPlan, AcpDriver)
