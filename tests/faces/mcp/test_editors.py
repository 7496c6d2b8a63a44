"""Editors that a command opens where there is no terminal: refused, or ended as soon as they are seen."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from tests.support.mcp.harness import Caller, Reply, Servers
from unhang.core.editors import NO_PAGER


@pytest.fixture
def opens_one(tmp_path: Path) -> str:
    """A script that opens an editor: by its name and its arguments, a program of this machine that waits."""
    sleep = shutil.which("sleep")
    assert sleep is not None
    shutil.copy(os.path.realpath(sleep), tmp_path / "vim")
    (tmp_path / "edit.sh").write_text(f'[ -z "$1" ] || read x < "$1"\n{tmp_path}/vim 600\n')
    return f"sh {tmp_path}/edit.sh"


def check(reply: Reply, shown: dict[str, object]) -> None:
    assert shown["status"] == "cancelled"
    recovery = shown["recovery"]
    assert isinstance(recovery, dict)
    assert recovery["retryable"] is False
    assert "vim" in str(recovery["suggestions"])
    assert "vim" in reply.text


def test_one_that_a_started_job_opens_is_ended_with_it(servers: Servers, opens_one: str) -> None:
    async def work(caller: Caller) -> None:
        reply = await caller.call("start", command=opens_one)
        check(reply, reply.data)

    servers.run("auto", work)


def test_one_that_is_opened_while_a_job_is_waited_for_is_ended_with_it(
    servers: Servers, opens_one: str, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)

    async def work(caller: Caller) -> None:
        job = (await caller.call("start", command=f"{opens_one} {gate}")).data["jobId"]
        await anyio.to_thread.run_sync(gate.write_text, "go\n")
        reply = await caller.call("wait", job_id=job)
        check(reply, reply.data["jobs"][0])

    servers.run("auto", work)


@pytest.mark.parametrize("line", ["visudo", "sudo visudo -f x", "vipw", "sudoedit /etc/hosts"])
def test_a_program_that_does_nothing_else_is_refused_at_once(servers: Servers, line: str) -> None:
    async def work(caller: Caller) -> None:
        for tool in ("run", "start"):
            reply = await caller.call(tool, command=line)
            assert reply.error
            assert "jobId" not in reply.data
        checks = await caller.call("run", command="visudo -cf /dev/null")
        assert "jobId" in checks.data  # it opens none

    servers.run("auto", work)


def test_no_pager_waits_for_keys_at_a_terminal(servers: Servers) -> None:
    async def work(caller: Caller) -> None:
        reply = await caller.call("run", command="echo $PAGER $GIT_PAGER; tty", pty=True)
        assert reply.data["stdout"].split()[:2] == [NO_PAGER["PAGER"], NO_PAGER["GIT_PAGER"]]
        mine = await caller.call("run", command="echo $PAGER", pty=True, env={"PAGER": "less"})
        assert mine.data["stdout"].split() == ["less"]

    servers.run("auto", work)
