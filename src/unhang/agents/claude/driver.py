"""`python -m unhang.agents.claude.driver`: the leader of a headless Claude job."""

from __future__ import annotations

import sys
from dataclasses import replace

from unhang.agents.base.driver import Driver, main
from unhang.agents.base.keeper_channel import Voice
from unhang.agents.base.task_input import taken
from unhang.agents.claude.plan import parsed


def make(voice: Voice) -> Driver:
    from unhang.agents.claude.turn import ClaudeDriver

    plan = parsed(sys.argv[1:])
    plan = replace(plan, task=taken(plan.task))
    return ClaudeDriver(plan, voice)


if __name__ == "__main__":
    main(make)
