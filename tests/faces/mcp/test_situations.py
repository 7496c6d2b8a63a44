"""The table of docs/mcp.md: each situation, made through the official clients, with the text that the table promises;
and a model that follows the text literally reaches the right end in each of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest

from tests.support.mcp.clients import CLIENTS, client
from tests.support.mcp.follower import Call, Step, follow, own_lines, read_call
from tests.support.mcp.harness import Reply, Servers

DOCS = Path(__file__).resolve().parents[3] / "docs" / "mcp.md"
MOST_LINES = 12
MOST_CHARACTERS = 3000
# Enough to spend the waits together; with all at once a server would come up too late on a busy machine.
AT_ONCE = 6
# So that the proof of a hang does not take a minute.
POLICY = '{"extends": "built-in", "stall_sec": 3}'


class Situation(NamedTuple):
    name: str
    call: str
    begins: str
    next: str
    end: str


def situations() -> list[Situation]:
    table = DOCS.read_text(encoding="utf-8").split("<!-- situations -->\n")[1].split("\n\n")[0]
    rows = [[cell.strip().strip("`") for cell in line[1:-1].split("|")] for line in table.split("\n")[2:]]
    assert all(len(row) == 5 for row in rows), rows
    return [Situation(*row) for row in rows]


def fits(pattern: str, line: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("…"))), line) is not None


def ended_as(reply: Reply) -> str:
    if not reply.data:
        return "refused" if reply.error else "read"
    if "jobs" in reply.data:
        return str(reply.data["jobs"][0]["status"])
    return str(reply.data.get("status", "asked"))


async def check(call: Call, situation: Situation, folder: Path, turns: anyio.CapacityLimiter) -> None:
    async with turns:
        await make(call, situation, folder)


async def make(call: Call, situation: Situation, folder: Path) -> None:
    first = read_call(situation.call)
    if first.tool in ("run", "start"):
        folder.mkdir()
        first = Step(first.tool, first.arguments | {"cwd": str(folder)})
    wanted = None if not situation.next else situation.next.partition("(")[0]
    answer = read_call(situation.next).arguments["text"] if "(" in situation.next else ""
    made = await follow(call, first, answer)
    texts = "\n\n".join(reply.text for _, reply in made)
    begun = made[0][1].text
    assert fits(situation.begins, begun.split("\n")[0]), (situation, texts)
    for _, reply in made:
        assert len(own_lines(reply.text)) <= MOST_LINES, reply.text
        assert sum(map(len, own_lines(reply.text))) <= MOST_CHARACTERS, reply.text
    assert (made[1][0].tool if len(made) > 1 else None) == wanted, (situation, texts)
    job = made[0][1].data.get("jobId")
    if job is not None:
        final = (await call("wait", job_id=job, wait_sec=0)).data["jobs"][0]["status"]
        assert final == situation.end, (situation, texts)
        if final == "running":
            await call("cancel", job_id=job)
    else:
        assert ended_as(made[-1][1]) == situation.end, (situation, texts)


@pytest.mark.parametrize("kind", CLIENTS)
def test_every_situation_of_the_table_is_answered_and_its_advice_works(
    servers: Servers, kind: str, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.json"
    policy.write_text(POLICY)

    async def main() -> None:
        async with client(servers, kind, "--policy", str(policy)) as call, anyio.create_task_group() as tasks:
            turns = anyio.CapacityLimiter(AT_ONCE)
            for number, situation in reversed([*enumerate(situations())]):  # the longest are the last
                tasks.start_soon(check, call, situation, tmp_path / str(number), turns)

    anyio.run(main)


def test_the_table_has_at_least_twenty_situations_and_every_way_to_end() -> None:
    found = situations()
    assert len(found) >= 20
    assert {situation.end for situation in found} == {"success", "error", "timeout", "cancelled", "running", "refused"}
    steps: set[str] = {situation.next.partition("(")[0] for situation in found}
    assert {"send", "wait", "extend", "cancel", "output"} <= steps
