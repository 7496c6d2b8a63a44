"""The portable way (UNHANG_PROCS=posix), forced: it promises the process group and a walk of the tree, and no more."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from tests.support.engine import Engine
from tests.support.escapes import ESCAPES, names, play_all
from unhang.procs.posix import ps
from unhang.procs.posix.tree import PosixTree
from unhang.testing.liveness import Process

# Who can be found by group or by parent. A daemon that has left both cannot; the marks find it later.
REACHABLE = {"ignores every signal", "setsid", "own process group", "stopped", "stopped and ignoring", "nohup"}
PROMISED = [escape for escape in ESCAPES if escape.name in REACHABLE]


@pytest.fixture(autouse=True)
def portable(engine: Engine) -> None:
    engine.env["UNHANG_PROCS"] = "posix"


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    return play_all(tmp_path_factory.mktemp("portable"), PROMISED, UNHANG_PROCS="posix")


@pytest.mark.parametrize("name", names(PROMISED))
def test_group_and_walk_end_what_they_promise(problems: dict[str, list[str]], name: str) -> None:
    assert problems[name] == []


def test_a_plain_command_is_run_and_its_exit_code_passed_on(engine: Engine) -> None:
    done = engine.run("--", "sh", "-c", "echo hello; exit 3")
    assert (done.code, done.out) == (3, b"hello\n")


def test_what_the_leader_left_in_its_group_is_ended_and_named(engine: Engine) -> None:
    result = engine.json("--grace", "0.5", "--", "sh", "-c", "sleep 1000 & exit 0")
    assert (result["status"], result["leaked"]) == ("success", True)
    assert "sleep 1000" in str(engine.events()[-1]["leftovers"])


def test_the_process_table_knows_this_process_and_its_parent() -> None:
    table = ps.process_table()
    process = table[os.getpid()]
    assert (process.ppid, process.group) == (os.getppid(), os.getpgrp())
    assert ps.process_table()[os.getpid()].start == process.start


def test_a_recycled_pid_of_the_leader_is_not_a_member() -> None:
    """The leader has been reaped; whoever has its number now is somebody else."""
    tree = PosixTree()
    leader = os.posix_spawn("/bin/sleep", ["sleep", "0"], {}, setsid=True)
    tree.spawned(leader)
    assert Process(leader).wait_gone()
    while not tree.reap().empty:
        pass
    stranger = subprocess.Popen(["sleep", "1000"])
    try:
        tree._leader = stranger.pid  # as the kernel would number it
        assert tree.survey().found == []
        assert tree.signal((signal.SIGKILL,)).reached == []
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()
