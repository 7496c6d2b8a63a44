"""`python -m unhang.agents.codex.driver`: the leader of a Codex job."""

from __future__ import annotations

import sys
from dataclasses import replace

from unhang.agents.base.driver import Driver, main
from unhang.agents.base.keeper_channel import Voice
from unhang.agents.base.task_input import taken
from unhang.agents.codex.plan import EXEC, parsed


def make(voice: Voice) -> Driver:
    plan = parsed(sys.argv[1:])
    plan = replace(plan, task=taken(plan.task))
    if plan.verb == EXEC:
        from unhang.agents.codex.exec import ExecDriver

        return ExecDriver(plan, voice)
    from unhang.agents.codex.app_server import AppDriver

    return AppDriver(plan, voice)


if __name__ == "__main__":
    main(make)
