"""A tree that cannot be seen is ended all the same, and what could not be seen is said."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.keeper.test_escapes import ORDINARY_USER, interpreter_for_user, open_folder
from tests.support import programs
from tests.support.engine import Engine, actor, wait_until
from tests.support.places import ROOT, SOURCE, TESTS
from unhang.procs import identity
from unhang.procs.base import UNKNOWN, ProcessInfo
from unhang.procs.linux import census, procfs
from unhang.procs.linux import tree as linux
from unhang.procs.posix import ps
from unhang.procs.posix.tree import PosixTree
from unhang.testing.liveness import Process as Held
from unhang.testing.liveness import RollCall

__all__ = ["open_folder"]

WITHOUT_PROC = 'mount -t tmpfs none /proc && exec "$@"'
WITH_HIDEPID = 'mount -t proc -o hidepid=2 proc /proc && exec "$@"'


def in_a_mount_namespace(line: str, words: list[str]) -> list[str]:
    """These words, run where `line` has changed /proc for them alone."""
    wrapped = ["unshare", "--mount", "sh", "-c", line, "sh"]
    try:
        tried = subprocess.run([*wrapped, "true"], capture_output=True, check=False)
        problem = tried.stderr.decode() if tried.returncode else ""
    except FileNotFoundError:
        problem = "there is no unshare"
    if problem:
        programs.not_permitted(f"another /proc needs the right to mount one: {problem}")
    return [*wrapped, *words]


def signals(engine: Engine) -> list[dict[str, Any]]:
    return [event for event in engine.events() if event["type"] == "signal"]


@pytest.mark.parametrize("escape", ["ignore_term", "setsid_child", "double_fork", "nested_subreaper", "respawner"])
def test_without_proc_the_hard_limit_ends_the_whole_tree_and_says_what_it_could_not_see(
    engine: Engine, roll: RollCall, escape: str
) -> None:
    words = engine.command("run", "--json", "--hard", "4", "--warn", "0", "--grace", "0.2", "--")
    command = in_a_mount_namespace(WITHOUT_PROC, [*words, *actor(escape, roll.path)])
    running = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=engine.env)
    leader = roll.wait_for("leader")
    done = engine.finish(running)
    assert (done.code, done.result["timeoutReason"], done.result["terminationMode"]) == (124, "exec_timeout", "hard")
    assert done.result["error"]["survivors"] == []
    assert roll.is_empty()
    first, second = signals(engine)
    assert (first["group"], second["step"]) == (leader.pid, "kill")
    assert leader.pid in first["pids"]
    assert "/proc" in first["unseen"]
    assert "/proc" in second["unseen"]
    assert all(" 0 process" not in event["message"] for event in (first, second))


def test_without_proc_a_leader_that_leaves_a_daemon_is_not_called_clean(
    engine: Engine, roll: RollCall, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "gate")
    leaver = actor("leaver", roll.path, 0, tmp_path / "gate")
    words = engine.command("run", "--json", "--grace", "0.2", "--", *leaver)
    running = subprocess.Popen(
        in_a_mount_namespace(WITHOUT_PROC, words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=engine.env
    )
    done = engine.finish(running)
    assert (done.code, done.result["leaked"]) == (0, True)
    last = engine.events()[-1]
    assert last.get("leftovers") or "/proc" in last["message"]  # in the time there is to look for it
    assert roll.is_empty()


@pytest.mark.parametrize("portable", [False, True], ids=["linux", "posix"])
def test_a_keeper_that_can_open_nothing_any_more_still_ends_its_job(
    engine: Engine, roll: RollCall, portable: bool
) -> None:
    if portable:
        engine.env["UNHANG_PROCS"] = "posix"
    escape = "ignore_term" if portable else "setsid_child"
    running = engine.start("--json", "--hard", "6", "--warn", "0", "--grace", "0.2", "--", *actor(escape, roll.path))
    leader = roll.wait_for("leader")
    keeper = engine.keeper()
    _, most = resource.prlimit(keeper.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(keeper.pid, resource.RLIMIT_NOFILE, (8, most))
    done = engine.finish(running)
    assert (done.code, done.result["terminationMode"]) == (124, "hard")
    assert roll.is_empty()
    first = signals(engine)[0]
    assert (first["group"], first["pids"]) == (leader.pid, [leader.pid])
    assert first["unseen"]


def play(python: str, *words: str, **options: Any) -> dict[str, Any]:
    line = [*words, python, "-m", "tests.support.blind", options.pop("what")]
    done = subprocess.run(line, capture_output=True, timeout=60, check=False, **options)
    assert done.returncode == 0, done.stderr
    played = json.loads(done.stdout)
    assert isinstance(played, dict)
    return played


def test_a_tree_is_ended_to_the_last_process_without_a_single_descriptor() -> None:
    told = play(sys.executable, what="descriptors", cwd=ROOT)
    assert (told["visible"], told["known"], told["group"]) == (False, 1, True)  # the leader, by waiting for it
    assert os.strerror(errno.EMFILE) in told["unseen"]
    assert told["rounds"] > 1  # who is left behind becomes our own child


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: to mount a /proc that hides processes needs root")
def test_a_process_that_proc_hides_is_known_by_its_parent_and_ended(open_folder: Path) -> None:
    python = interpreter_for_user(ORDINARY_USER)
    if python is None:
        pytest.skip("NOT TESTED: no Python that an ordinary user may run")
    shutil.copytree(SOURCE / "unhang", open_folder / "unhang", ignore=shutil.ignore_patterns("__pycache__"))
    (open_folder / "tests" / "support").mkdir(parents=True)
    for name in ("__init__.py", "support/__init__.py", "support/blind.py"):
        shutil.copy(TESTS / name, open_folder / "tests" / name)
    as_ordinary_user = ["setpriv", f"--reuid={ORDINARY_USER}", f"--regid={ORDINARY_USER}", "--clear-groups"]
    told = play(
        python, *in_a_mount_namespace(WITH_HIDEPID, as_ordinary_user), what="hidden", cwd=open_folder,
        env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert (told["visible"], told["known"], len(told["unknown"])) == (True, 4, 1)
    assert str(told["unknown"][0]) in told["unseen"]
    assert (told["reached"], told["denied"]) == (4, 0)


def test_children_that_cannot_be_read_raise_and_are_not_an_empty_list(monkeypatch: pytest.MonkeyPatch) -> None:
    leaf = subprocess.Popen(["sleep", "1000"])
    try:
        assert linux.children(leaf.pid) == []
        assert leaf.pid in linux.children(os.getpid())

        def used_up(path: str, _size: int = 4096) -> bytes:
            raise OSError(24, os.strerror(24), path)

        monkeypatch.setattr(procfs, "read_or_raise", used_up)
        with pytest.raises(OSError, match="Too many"):
            linux.children(leaf.pid, 1)
        assert "Too many" in linux.survey(os.getpid()).unseen
    finally:
        leaf.kill()
        leaf.wait()
    monkeypatch.undo()
    assert linux.children(leaf.pid) == []  # gone


def test_a_kernel_without_lists_of_children_is_read_by_its_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """CONFIG_PROC_CHILDREN is not everywhere, and a tree must not look empty without it."""
    read = procfs.read_or_raise

    def no_lists(path: str, size: int = 4096) -> bytes:
        if path.endswith("/children"):
            raise FileNotFoundError(2, os.strerror(2), path)
        return read(path, size)

    shell = subprocess.Popen(["sh", "-c", "sleep 1000 & echo $!; wait"], stdout=subprocess.PIPE, text=True)
    assert shell.stdout is not None
    below = int(shell.stdout.readline())
    try:
        monkeypatch.setattr(procfs, "read_or_raise", no_lists)
        assert linux.children(shell.pid) == [below]
        found = {process.pid for process in linux.survey(os.getpid()).found}
        assert {shell.pid, below} <= found
        assert linux.survey(os.getpid()).unseen == ""
    finally:
        Held(below).send(signal.SIGKILL)
        shell.communicate()


def test_a_group_without_a_child_of_ours_is_never_signalled() -> None:
    """The leader's number may belong to another group by now: only one with a child of ours in it is ours."""
    shell = subprocess.Popen(["sh", "-c", "setsid sleep 1000 & echo $!; wait"], stdout=subprocess.PIPE, text=True)
    assert shell.stdout is not None
    stranger = Held(int(shell.stdout.readline()))
    try:
        tree = linux.LinuxTree()
        tree.spawned(stranger.pid)  # as if our leader had had this number
        assert not census.has_child_in(stranger.pid)
        assert tree._signal_group((signal.SIGKILL,)) is None
        assert stranger.is_alive()
    finally:
        stranger.send(signal.SIGKILL)
        shell.communicate()


def test_children_are_found_by_asking_wait_for_each_pid() -> None:
    mine = [subprocess.Popen(["sleep", "1000"]) for _ in range(3)]
    try:
        counted = census.Census()
        # each call asks for a moment only
        wait_until(lambda: {process.pid for process in mine} <= set(counted.children()), "all are found")
        mine[0].kill()
        mine[0].wait()
        assert mine[0].pid not in counted.children()
        assert census.lives(mine[1].pid)
        assert not census.lives(os.getppid())
    finally:
        for process in mine:
            process.kill()
            process.wait()


@pytest.mark.parametrize(
    ("first", "newest", "asked"),
    [
        (10, 14, [13, 12, 11]),
        (10, 4, [3, 2, 1, 11, 12, 13, 14, 15]),  # the numbers have begun anew
        (10, None, [9, 8, 7, 6, 5, 4, 3, 2, 1, 11, 12, 13, 14, 15]),  # no process can be made to see where they are
    ],
)
def test_every_pid_since_our_own_is_asked_the_latest_first(
    monkeypatch: pytest.MonkeyPatch, first: int, newest: int | None, asked: list[int]
) -> None:
    monkeypatch.setattr(census, "_newest", lambda: newest)
    assert list(census._numbers_since(first, 15)) == asked


def test_a_hidden_process_whose_parent_has_just_been_ended_is_known_as_our_own_child() -> None:
    orphan = subprocess.Popen(["sleep", "1000"])  # as a subreaper gets it
    try:
        gone = subprocess.Popen(["true"])
        gone.wait()
        hidden = ProcessInfo(orphan.pid, UNKNOWN, gone.pid, UNKNOWN, UNKNOWN)
        assert linux.signal_one(hidden, (signal.SIGKILL,), direct=False)
    finally:
        orphan.kill()
        assert orphan.wait() == -signal.SIGKILL
    assert not linux.signal_one(hidden, (signal.SIGKILL,), direct=False)


def test_a_signal_by_pidfd_raises_when_no_descriptor_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def used_up(_pid: int, _flags: int = 0) -> int:
        raise OSError(24, os.strerror(24))

    other = subprocess.Popen(["sleep", "1000"])
    try:
        monkeypatch.setattr(os, "pidfd_open", used_up)
        process = ProcessInfo(other.pid, UNKNOWN, os.getpid(), UNKNOWN, UNKNOWN)
        with pytest.raises(OSError, match="Too many"):
            linux.signal_one(process, (signal.SIGKILL,), direct=False)
        assert linux.signal_one(process, (signal.SIGKILL,), direct=True)
    finally:
        other.kill()
        other.wait()


def test_without_pidfds_the_start_time_is_compared_right_before(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_pid: int, _flags: int = 0) -> int:
        raise OSError(38, os.strerror(38))

    other = subprocess.Popen(["sleep", "1000"])
    try:
        monkeypatch.setattr(os, "pidfd_open", missing)
        found = identity.find(other.pid)
        assert found is not None
        assert not linux.signal_one(found.replace(start="1"), (signal.SIGKILL,), direct=False)
        assert other.poll() is None
        assert linux.signal_one(found, (signal.SIGKILL,), direct=False)
    finally:
        assert other.wait() == -signal.SIGKILL


def test_the_group_that_was_seen_empty_is_never_the_portable_trees_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = PosixTree()
    leader = os.posix_spawn("/bin/true", ["true"], {}, setsid=True)
    tree.spawned(leader)
    assert Held(leader).wait_gone()
    while not tree.reap().empty:
        pass
    stranger = ProcessInfo(4_000_000, "now", 1, "S", "stranger")
    monkeypatch.setattr(ps, "process_table", lambda: {stranger.pid: stranger.replace(group=leader)})
    assert tree.survey().found == []
