"""`python -m unhang.drivers.claude`: the leader of a headless Claude job."""

from __future__ import annotations

import sys
from dataclasses import replace

from unhang.drivers.claude_plan import parsed
from unhang.drivers.driver import Driver, main
from unhang.drivers.task import taken
from unhang.drivers.voice import Voice


def make(voice: Voice) -> Driver:
    from unhang.drivers.claude_run import ClaudeDriver

    plan = parsed(sys.argv[1:])
    plan = replace(plan, task=taken(plan.task))
    return ClaudeDriver(plan, voice)


if __name__ == "__main__":
    main(make)
