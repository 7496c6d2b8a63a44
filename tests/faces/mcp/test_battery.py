"""The commands on which shell servers were compared, and every kind of prompt, through both official clients.

Each answer is judged by its fields, by the first words of its text and by the text's length. That nothing is left running is
checked after every test.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest

from tests.support.mcp.clients import CLIENTS, client
from tests.support.mcp.follower import Call, own_lines
from tests.support.mcp.harness import Reply, Servers

MOST_LINES = 12
# Enough to spend the waits together, and not so many that they wait for each other.
AT_ONCE = 6

DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        {close}
        time.sleep(300)
    os._exit(0)
os.wait()
{then}
"""
RESPAWN = "import subprocess, sys\nwhile True: subprocess.run(['sleep', '300'], start_new_session=True)"
TREE = "for n in 1 2 3 4; do (trap '' TERM; setsid sleep 300 & sleep 300 & sleep 300) & setsid sh -c 'sleep 300 & sleep 300' & done; wait"


class Row(NamedTuple):
    name: str
    arguments: dict[str, Any]
    status: str
    begins: str
    stdout: str | None = None  # what it must have printed, at least


ROWS = [
    Row("sleeps", {"command": "sleep 300", "timeout_sec": 2}, "timeout", "TIMED OUT: "),
    Row("sleeps below a shell", {"command": "echo a; sleep 300; echo b", "timeout_sec": 2}, "timeout", "TIMED OUT: ", "a"),
    Row("has no stdin", {"command": "readlink /proc/self/fd/0"}, "success", "exit 0 ", "/dev/null"),
    Row("asks without an answer", {"command": "printf 'Name: '; read x; echo got $x"}, "success", "exit 0 ", "got"),
    Row("reads an empty stdin", {"command": "cat; echo over"}, "success", "exit 0 ", "over"),
    Row("ignores TERM", {"command": "trap '' TERM; echo in; while :; do sleep 1; done", "timeout_sec": 2}, "timeout", "TIMED OUT: ", "in"),
    Row("leaves a session", {"command": "setsid sleep 300 & echo done"}, "success", "exit 0 ", "done"),
    Row("leaves a daemon with its output", {"argv": [sys.executable, "-c", DAEMON.format(close="pass", then="print('up')")]}, "success", "exit 0 ", "up"),
    Row("hides a daemon", {"argv": [sys.executable, "-c", DAEMON.format(close="os.closerange(0, 99)", then="time.sleep(300)")], "timeout_sec": 2}, "timeout", "TIMED OUT: "),
    Row("respawns", {"argv": [sys.executable, "-c", RESPAWN], "timeout_sec": 2}, "timeout", "TIMED OUT: "),
    Row("is a mixed tree", {"command": TREE, "timeout_sec": 2}, "timeout", "TIMED OUT: "),
    Row("prints no UTF-8", {"command": "printf 'a\\377b'"}, "success", "exit 0 ", "a"),
    Row("prints binary", {"command": "head -c 3000 /dev/urandom; echo; echo end"}, "success", "exit 0 ", "end"),
    Row("computes quietly", {"argv": [sys.executable, "-c", "import time\nend = time.time() + 5\nwhile time.time() < end: pass"], "idleTimeoutMs": 4000}, "success", "exit 0 "),
    Row("floods", {"command": "echo first; yes a line of a flood | head -n 1000000; echo last"}, "success", "exit 0 ", "last"),
    Row("prints one long line", {"argv": [sys.executable, "-c", "print('x' * 5_000_000 + 'end')"]}, "success", "exit 0 ", "end"),
    Row("never stops printing", {"command": "yes", "timeout_sec": 1}, "timeout", "TIMED OUT: ", "y"),
    Row("fails", {"command": "echo bad >&2; exit 7"}, "error", "FAILED: "),
    Row("opens an editor", {"command": "git init -q .; git -c core.editor=vi -c user.name=a -c user.email=a@b commit --allow-empty"}, "", ""),
]  # fmt: skip
# ruff: noqa: E501

PROMPTS: dict[str, dict[str, Any]] = {
    "read": {"command": "read x"},
    "a printed prompt": {"command": "printf 'Name: '; read x"},
    "read -p": {"command": "bash -c 'read -p \"Sure? \" x'"},
    "select": {"command": "bash -c 'select x in a b; do break; done'"},
    "input()": {"argv": ["python3", "-c", "input('Proceed [y/N]? ')"]},
    "getpass": {"argv": ["python3", "-c", "import getpass; getpass.getpass()"], "pty": True},
    "stdin read whole": {"argv": ["python3", "-c", "import sys; sys.stdin.read()"]},
    "cat": {"command": "cat"},
    "cat into a file": {"command": "cat > out"},
    "sort": {"command": "sort"},
    "head": {"command": "head -n 1"},
    "wc": {"command": "wc"},
    "dd": {"command": "dd of=out"},
    "rm -i": {"command": "touch a; rm -i a"},
    "cp -i": {"command": "touch a b; cp -i a b"},
    "mv -i": {"command": "touch a b; mv -i a b"},
    "find -ok": {"command": "touch a; find a -ok true ';'"},
    "a shell": {"command": "sh -i", "pty": True},
    "bash": {"command": "bash --norc -i", "pty": True},
    "python": {"argv": ["python3", "-q", "-i"]},
    "node": {"argv": ["node", "-i"]},
    "less": {"command": "seq 1000 | less", "pty": True},
    "less that fills the screen": {"command": "seq 1000 | less", "pty": True, "env": {"TERM": "xterm"}},
    "an editor at a terminal": {
        "command": "EDITOR=vim git -c user.name=a -c user.email=a@b commit --allow-empty",
        "pty": True,
    },
    "code.interact": {"argv": ["python3", "-c", "import code; code.interact()"], "pty": True},
}


def is_short(reply: Reply) -> bool:
    return len(own_lines(reply.text)) <= MOST_LINES and len(reply.text) < 40_000


async def run_row(call: Call, row: Row, folder: Path, turns: anyio.CapacityLimiter) -> None:
    folder.mkdir()
    async with turns:
        found = await call("run", cwd=str(folder), **row.arguments)
    assert is_short(found), (row.name, found.text)
    if row.name == "opens an editor":  # ended when it is there, or it ends by itself: it never stays
        assert found.data["status"] in ("cancelled", "error"), found.text
        return
    assert found.data["status"] == row.status, (row.name, found.text)
    assert found.text.startswith(row.begins), (row.name, found.text)
    assert found.error == (row.status != "success")
    if row.stdout is not None:
        assert row.stdout in found.data["stdout"], (row.name, found.text)
        assert row.stdout in found.text
    if row.name == "floods":  # both ends are kept, in the structure and in the text
        assert found.data["stdout"].startswith("first\n")
        assert "first\n" in found.text
    if found.data["leaked"]:
        assert "running, which was ended" in found.text or "running, which were ended" in found.text
    if row.status == "timeout":
        assert found.data["diagnosis"] is not None, (row.name, found.text, found.data)
        assert "Why: " in found.text, (row.name, found.text)
        assert found.data["error"]["survivors"] == []


async def ask(call: Call, name: str, folder: Path, turns: anyio.CapacityLimiter) -> None:
    folder.mkdir()
    if name == "an editor at a terminal":
        await call("run", argv=["git", "init", "-q"], cwd=str(folder))
    given = {"interactive": True} | PROMPTS[name] | {"cwd": str(folder)}
    async with turns:
        found = await call("run", **given)
    assert found.data["status"] == "running", (name, found.text)
    assert found.data["needsInput"] is not None, (name, found.text)
    assert found.text.startswith("NEEDS INPUT: "), (name, found.text)
    assert found.data["next"][0].startswith("send("), (name, found.text)
    assert is_short(found)
    ended = await call("cancel", job_id=found.data["jobId"], force=True)
    assert ended.data["status"] == "cancelled"


@pytest.mark.parametrize("kind", CLIENTS)
def test_the_commands_of_the_comparison_end_as_its_table_says(servers: Servers, kind: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with client(servers, kind) as call, anyio.create_task_group() as tasks:
            turns = anyio.CapacityLimiter(AT_ONCE)
            for number, row in enumerate(ROWS):
                tasks.start_soon(run_row, call, row, tmp_path / str(number), turns)

    anyio.run(main)


@pytest.mark.parametrize("kind", CLIENTS)
def test_every_kind_of_prompt_ends_the_waiting(servers: Servers, kind: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with client(servers, kind) as call, anyio.create_task_group() as tasks:
            turns = anyio.CapacityLimiter(AT_ONCE)
            for number, name in enumerate(PROMPTS):
                tasks.start_soon(ask, call, name, tmp_path / str(number), turns)

    anyio.run(main)
