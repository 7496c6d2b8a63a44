"""`python -m unhang.drivers.codex`: the leader of a Codex job."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace

from unhang.drivers.codex_plan import EXEC, FROM_STDIN, Plan, parsed
from unhang.drivers.voice import Voice


async def _drive(plan: Plan, voice: Voice) -> int:
    if plan.verb == EXEC:
        from unhang.drivers.codex_exec import ExecDriver

        return await ExecDriver(plan, voice).run()
    from unhang.drivers.codex_app import AppDriver

    return await AppDriver(plan, voice).run()


def main(words: list[str]) -> int:
    voice = Voice()
    plan = parsed(words)
    if plan.task == FROM_STDIN:
        plan = replace(plan, task=sys.stdin.read())
    return asyncio.run(_drive(plan, voice))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
