"""`python -m unhang.agents.acp.driver`: the leader of the job of an ACP agent."""

from __future__ import annotations

import sys
from dataclasses import replace

from unhang.agents.acp.plan import parsed
from unhang.agents.base.driver import Driver, main
from unhang.agents.base.keeper_channel import Voice
from unhang.agents.base.task_input import taken


def make(voice: Voice) -> Driver:
    from unhang.agents.acp.conversation import AcpDriver

    plan = parsed(sys.argv[1:])
    plan = replace(plan, tasks=(taken(plan.tasks[0]), *plan.tasks[1:]))
    return AcpDriver(plan, voice)


if __name__ == "__main__":
    main(make)
