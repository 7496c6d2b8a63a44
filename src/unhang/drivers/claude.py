"""`python -m unhang.drivers.claude`: the leader of a headless Claude job."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace

from unhang.drivers.claude_plan import FROM_STDIN, Plan, parsed
from unhang.drivers.voice import Voice


async def _drive(plan: Plan, voice: Voice) -> int:
    from unhang.drivers.claude_run import Driver

    return await Driver(plan, voice).run()


def main(words: list[str]) -> int:
    voice = Voice()
    plan = parsed(words)
    if plan.task == FROM_STDIN:
        plan = replace(plan, task=sys.stdin.read())
    return asyncio.run(_drive(plan, voice))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
