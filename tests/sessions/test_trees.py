"""Which processes belong to a Bash call, whether they work, and ending just them. Real shells, started as by Claude."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.engine import wait_until
from unhang.procs import clock, tree
from unhang.procs.base import ProcessInfo
from unhang.sessions import process_trees
from unhang.sessions.state.calls import ToolCall

Shell = Callable[[str], subprocess.Popen[bytes]]


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """Started by this process, which stands for the agent: quoted, in a session of its own, printing into a file."""
    begun: list[subprocess.Popen[bytes]] = []

    def start(command: str) -> subprocess.Popen[bytes]:
        line = f"shopt -u extglob 2>/dev/null || true && eval {shlex.quote(command)} < /dev/null && pwd -P"
        printed = tmp_path / f"output-{len(begun)}"
        with printed.open("wb") as out:
            words = ["/bin/bash", "-c", line]
            process = subprocess.Popen(words, stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True)
        begun.append(process)
        wait_until(lambda: tree.descendants(process.pid) or printed.stat().st_size, "the command runs")
        return process

    yield start
    for process in begun:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


def call(command: object, name: str = "a", ago: float = 5.0) -> ToolCall:
    at = clock.monotonic() - ago
    return ToolCall(name, "Bash", {"command": command}, "", at, at)


def roots(wanted: ToolCall, *others: ToolCall) -> list[int]:
    return [process.pid for process in process_trees.roots(os.getpid(), [wanted, *others], wanted)]


QUOTED = """echo "it's $HOME" 'a  b' >/dev/null; tail -f /dev/null"""


def test_a_call_is_found_by_its_text_whatever_the_quotes(shell: Shell) -> None:
    other, found = shell("tail -f /dev/zero | cat >/dev/null; true"), shell(QUOTED)
    assert roots(call(QUOTED)) == [found.pid]
    assert roots(call(QUOTED[:30] + "…")) == [found.pid]  # cut in the record
    assert other.poll() is None


def test_a_command_of_several_lines_is_found_by_what_its_hook_recorded(shell: Shell) -> None:
    found = shell("for i in 1 2; do\n\ttail -f /dev/null\ndone")
    assert roots(call("for i in 1 2; do tail -f /dev/null done")) == [found.pid]


def test_a_short_command_is_not_taken_for_a_longer_one(shell: Shell) -> None:
    shell("tail -f /dev/null")
    assert roots(call("tail")) == []
    longer = call("tail -f /dev/null", "b")
    assert roots(call("tail…"), longer) == []  # cut in the record, and another call says more of it
    assert len(roots(call("tail…"))) == 1


def test_what_is_older_than_the_call_is_not_its_own(shell: Shell) -> None:
    """A command in the background with the same text."""
    shell("tail -f /dev/null")
    assert roots(call("tail -f /dev/null", ago=-600.0)) == []


@pytest.mark.parametrize("command", ["tail -f /dev/other", "", None, 7])
def test_without_a_certain_text_there_is_nothing(shell: Shell, command: object) -> None:
    shell("tail -f /dev/null")
    assert roots(call(command)) == []


def test_twice_the_same_command_is_told_apart_by_its_order_or_not_at_all(shell: Shell) -> None:
    first, second = shell("tail -f /dev/null"), shell("tail -f /dev/null")
    one, two = call("tail -f /dev/null", "a", 9), call("tail -f /dev/null", "b", 5)
    wanted = [first.pid, second.pid]
    if len({process.start for process in tree.descendants(os.getpid()) if process.pid in wanted}) == 2:
        assert roots(one, two) == [first.pid]
        assert roots(two, one) == [second.pid]
    assert roots(one) == []  # two trees, and one call: which is which?


def tree_of(process: subprocess.Popen[bytes]) -> ProcessInfo:
    return next(each for each in tree.descendants(os.getpid()) if each.pid == process.pid)


def test_a_command_that_prints_works_and_one_that_waits_does_not(shell: Shell, tmp_path: Path) -> None:
    pipe = shlex.quote(str(tmp_path / "pipe"))
    # the first waits in the shell itself: what a program reads while it starts would be work
    quiet = shell(f"mkfifo {pipe}; exec 3<> {pipe}; echo ready; read x <&3")
    wait_until(lambda: (tmp_path / "output-0").stat().st_size, "it waits")
    loud = shell("while read -t 0.05 x <> <(:) || true; do echo tick; done")
    before = [process_trees.sample(tree_of(each)) for each in (quiet, loud)]
    size = (tmp_path / "output-1").stat().st_size
    wait_until(lambda: (tmp_path / "output-1").stat().st_size > size, "it has printed")
    after = [process_trees.sample(tree_of(each)) for each in (quiet, loud)]
    moved = [process_trees.compare(*both) for both in zip(before, after, strict=True)]
    assert moved[0][0] is False
    assert moved[1][0] is True
    assert "printed" in moved[1][1]


def test_ending_reaches_the_whole_tree_and_nothing_else(shell: Shell) -> None:
    doomed, other = shell("tail -f /dev/null | cat"), shell("tail -f /dev/null")
    below = tree.descendants(doomed.pid)
    assert len(below) >= 2
    reached = process_trees.end(tree_of(doomed), signal.SIGTERM)
    assert set(reached) == {doomed.pid, *(process.pid for process in below)}
    assert doomed.wait(30) == -signal.SIGTERM
    assert other.poll() is None


def test_a_recycled_pid_is_not_signalled(shell: Shell) -> None:
    process = shell("tail -f /dev/null")
    stale = tree_of(process)
    stale = ProcessInfo(stale.pid, str(int(stale.start) - 1), stale.ppid, stale.state, stale.name)
    assert process_trees.end(stale, signal.SIGKILL) == []  # nor what is below it
    assert process.poll() is None
