"""Jobs of a queue that run in a checkout: the patch is on the server, and nothing is left on the worker's machine."""

from __future__ import annotations

import asyncio
import json
import shlex
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.engine import wait_until
from tests.support.fleet import Machine, Server
from tests.support.git_repository import Repository
from tests.support.jobs import STILL, left_of
from tests.support.places import SUPPORT
from tests.support.queues import Worker, changes, check_history, jobs_of, running_on, submit, wait_for
from unhang.core.fleet import subjects
from unhang.fleet.connection import connect

pytestmark = pytest.mark.timeout(300)  # many processes, each of which has to start
Make = Callable[[str, str], Machine]
# for what begins processes on another machine, one after the other
PATIENT = 200
STAND_IN = SUPPORT / "acp_agents" / "standin.py"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


@pytest.fixture
def alpha(server: Server, machine: Make) -> Machine:
    made = machine("alpha", server.url)
    made.env |= {"HOME": str(made.folder), "GIT_CONFIG_NOSYSTEM": "1"}
    return made.join().joined()


async def _forge(url: str, subject: str) -> None:
    connection = await connect(url)
    try:
        assert await connection.store(subjects.PATCHES, subject, b"forged")
    finally:
        await connection.close()


def checkouts_of(machine: Machine) -> list[Path]:
    return list(machine.home.glob("fleet/checkouts/*/*"))


def test_a_job_runs_in_a_checkout_and_its_patch_is_had_by_one_command(
    server: Server, machine: Make, alpha: Machine, repository: Repository, tmp_path: Path
) -> None:
    viewer = machine("viewer", server.url)
    worker = Worker(alpha, "q", "--slots", "4")
    where = f"{repository.folder}@main"
    line = "pwd; yes x | head -n 400000 > new; echo more >> changed; rm removed; exit 3"
    words = ("start", "--fleet", "q", "--checkout", where, "--wait", "--json", "--shell", line)
    started = viewer.call(*words, timeout=PATIENT)
    ended = json.loads(started.out)
    assert (started.code, ended["exitCode"], ended["checkout"]) == (3, 3, where)
    # more than one message of the server
    patch = viewer.call("queue", "patch", ended["jobId"])
    assert (patch.code, len(patch.out)) == (0, ended["patch"]["bytes"]), patch.err
    assert len(patch.out) > 1_000_000
    found = repository.patched(tmp_path / "there", patch.out)
    assert (found["new"], found["changed"], "removed" in found) == (b"x\n" * 400_000, b"changed\nmore\n", False)
    # the job is a job of its machine as any other, called by its own command, and git is a part of it
    (job,) = jobs_of(alpha, ended["jobId"])
    assert job.kept().decode().strip().startswith(f"{alpha.home}/fleet/checkouts/")
    assert b"Cloning" in job.kept("stderr")
    assert viewer.said("status", "--fleet", ended["jobId"])["command"] == line
    assert viewer.call("queue", "patch", f"{job.id}@alpha").out == patch.out
    maker = next(row for row in alpha.said("ps", "--all") if row["jobId"] != job.id)
    assert (maker["labels"]["patch-of"], maker["status"]) == (job.id, "success")
    assert maker["command"].startswith("git diff")
    # half of a job is kept, too: this one is cancelled
    half = submit(
        viewer, "q", "--checkout", where, *STILL, "--", "sh", "-c", "echo half > half; echo there; sleep 9999"
    )
    running = running_on(alpha, half)
    wait_until(lambda: b"there" in running.kept(), "it has changed something", 60)
    assert "has not ended" in viewer.refused("queue", "patch", half)
    assert viewer.call("cancel", "--fleet", half).code == 0
    wait_for(server.url, {half: "cancelled"})
    assert b"+half" in viewer.call("queue", "patch", half).out
    # what others have put into its place is not taken for it
    asyncio.run(_forge(server.url, subjects.patch_of("q", half, 1, "0")))
    assert "not the one" in viewer.refused("queue", "patch", half)
    check_history(changes(server.url))
    worker.end()
    assert checkouts_of(alpha) == []


def test_an_agent_works_in_a_checkout_and_what_has_no_patch_says_why(
    server: Server, machine: Make, alpha: Machine, repository: Repository, tmp_path: Path
) -> None:
    viewer = machine("viewer", server.url)
    worker = Worker(alpha, "q", "--slots", "4")
    where = f"{repository.folder}@main"
    program = tmp_path / "agent"
    program.write_text(f"#!/bin/sh\necho by the agent > written\nexec {shlex.join([sys.executable, str(STAND_IN)])}\n")
    program.chmod(0o700)
    words = ("agent", "run", "mine", "do it", "--fleet", "q", "--command", str(program), "--checkout", where, "--wait")
    done = viewer.call(*words, *STILL, "--json", timeout=PATIENT)
    assert done.code == 0, done.err
    agents = json.loads(done.out)
    assert agents["kind"] == "agent"
    assert b"+by the agent" in viewer.call("queue", "patch", agents["jobId"]).out
    # what changed nothing, or was never there
    same = submit(viewer, "q", "--checkout", where, "--", "true")
    wrong = submit(viewer, "q", "--checkout", f"{repository.folder}@no-such", "--", "true")
    plain = submit(viewer, "q", "--", "true")
    half = submit(viewer, "q", "--checkout", where, "--", "sh", "-c", "git init -q its-own; echo new > new")
    wait_for(server.url, {same: "success", wrong: "error", plain: "success", half: "success"})
    most = viewer.call("queue", "patch", half)
    assert (most.code, b"+new" in most.out, b'"its-own"' in most.err) == (0, True, True)
    nothing = viewer.call("queue", "patch", same)
    assert (nothing.code, nothing.out, b"changed nothing" in nothing.err) == (0, b"", True)
    assert changes(server.url)[wrong][-1]["exitCode"] == 125
    assert "nothing was checked out" in viewer.refused("queue", "patch", wrong)
    assert "--checkout" in viewer.refused("queue", "patch", plain)
    assert "--fleet" in viewer.refused("start", "--checkout", where, "--", "true", code=2)
    assert "not a repository" in viewer.refused("start", "--fleet", "q", "--checkout", "ext::x@y", "--", "true", code=2)
    check_history(changes(server.url))
    worker.end()
    assert checkouts_of(alpha) == []


def test_a_git_that_hangs_is_ended_with_its_job_and_nothing_of_it_is_left(
    server: Server, alpha: Machine, repository: Repository
) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        worker = Worker(alpha, "q")
        where = f"git://127.0.0.1:{deaf.getsockname()[1]}/x@main"
        hung = submit(alpha, "q", "--checkout", where, *STILL, "--", "true")
        deaf.settimeout(PATIENT)
        line, _ = deaf.accept()
        line.settimeout(PATIENT)
        assert running_on(alpha, hung).cancel().status == "cancelled"
        wait_for(server.url, {hung: "cancelled"})
        while line.recv(1024):  # until git is gone
            pass
        line.close()
    (job,) = jobs_of(alpha, hung)
    assert left_of(job.place) == []
    assert "nothing was checked out" in alpha.refused("queue", "patch", hung)
    # a worker that is killed leaves its checkout, and the next one removes it
    runs = submit(
        alpha, "q", "--checkout", f"{repository.folder}@main", *STILL, "--", "sh", "-c", "echo there; sleep 9999"
    )
    running = running_on(alpha, runs)
    wait_until(lambda: b"there" in running.kept(), "it runs", 60)
    (left,) = checkouts_of(alpha)
    worker.kill()
    running.wait(60)
    assert left.exists()
    worker = Worker(alpha, "q")
    assert checkouts_of(alpha) == []
    worker.end()
