"""`python -m unhang.agents.claude.driver`: the leader of a headless Claude job."""

from __future__ import annotations

from unhang.agents.base.driver import main
from unhang.agents.claude.plan import ClaudePlan
from unhang.agents.claude.turn import ClaudeDriver

if __name__ == "__main__":
    main(ClaudePlan, ClaudeDriver)
