"""`python -m unhang.drivers.acp`: the leader of the job of an ACP agent."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace

from unhang.drivers.acp_plan import FROM_STDIN, parsed
from unhang.drivers.voice import Voice


def main(words: list[str]) -> int:
    voice = Voice()
    plan = parsed(words)
    if plan.tasks[0] == FROM_STDIN:
        plan = replace(plan, tasks=(sys.stdin.read(), *plan.tasks[1:]))
    from unhang.drivers.acp_drive import AcpDriver

    async def drive() -> int:
        return await AcpDriver(plan, voice).run()

    return asyncio.run(drive())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
