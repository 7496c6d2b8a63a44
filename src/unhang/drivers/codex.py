"""`python -m unhang.drivers.codex`: the leader of a Codex job."""

from __future__ import annotations

import sys
from dataclasses import replace

from unhang.drivers.codex_plan import EXEC, parsed
from unhang.drivers.driver import Driver, main
from unhang.drivers.task import taken
from unhang.drivers.voice import Voice


def make(voice: Voice) -> Driver:
    plan = parsed(sys.argv[1:])
    plan = replace(plan, task=taken(plan.task))
    if plan.verb == EXEC:
        from unhang.drivers.codex_exec import ExecDriver

        return ExecDriver(plan, voice)
    from unhang.drivers.codex_app import AppDriver

    return AppDriver(plan, voice)


if __name__ == "__main__":
    main(make)
