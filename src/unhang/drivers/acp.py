"""`python -m unhang.drivers.acp`: the leader of the job of an ACP agent."""

from __future__ import annotations

import sys
from dataclasses import replace

from unhang.drivers.acp_plan import parsed
from unhang.drivers.driver import Driver, main
from unhang.drivers.task import taken
from unhang.drivers.voice import Voice


def make(voice: Voice) -> Driver:
    from unhang.drivers.acp_drive import AcpDriver

    plan = parsed(sys.argv[1:])
    plan = replace(plan, tasks=(taken(plan.tasks[0]), *plan.tasks[1:]))
    return AcpDriver(plan, voice)


if __name__ == "__main__":
    main(make)
