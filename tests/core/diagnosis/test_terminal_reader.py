"""Whether a process reads its terminal now: from samples written down by hand."""

from __future__ import annotations

import pytest

from unhang.core.diagnosis.samples import FOREVER, FullSample, ProcessSample, TerminalSettings, Thread
from unhang.core.diagnosis.terminal_reader import BUSY, NAPS, READS, UNSEEN, reading_of

AT = {0: "/dev/pts/7", 1: "/dev/pts/7", 5: "socket:[9]"}
READ = Thread(10, state="S", syscall="read", reads=(0,), timeout=FOREVER)
CHILD = Thread(10, state="S", syscall="wait4")
NAP = Thread(10, state="S", syscall="clock_nanosleep", timeout=0.1)


def _sample(*processes: ProcessSample) -> FullSample:
    return FullSample(1.0, 100, {each.pid: each for each in processes}, terminal=TerminalSettings("/dev/pts/7"))


def _process(*threads: Thread, **fields: object) -> ProcessSample:
    seen = ProcessSample(10, state="S", threads=threads, thread_count=len(threads), fds=AT)
    return seen._replace(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("thread", "reading"),
    [
        (READ, READS),
        (READ._replace(syscall="epoll_wait", reads=(5, 0), timeout=1.0), READS),
        (READ._replace(reads=(5,)), BUSY),
        (CHILD, BUSY),
        (CHILD._replace(state="R", syscall="running"), BUSY),
        (CHILD._replace(syscall=""), UNSEEN),
        (CHILD._replace(syscall="poll", unseen=True), UNSEEN),
        (CHILD._replace(syscall="io_uring_enter"), UNSEEN),
        (CHILD._replace(syscall="restart_syscall"), UNSEEN),
        (NAP, NAPS),
        (NAP._replace(timeout=100.0), BUSY),
        (NAP._replace(timeout=None), BUSY),
    ],
)
def test_a_thread_reads_or_may_read_or_does_something_else(thread: Thread, reading: str) -> None:
    assert reading_of(_sample(_process(thread))) == reading
    assert reading_of(_sample(_process(CHILD, thread))) == reading
    assert reading_of(_sample(_process(thread, fds={0: "/dev/null"}))) == BUSY
    assert reading_of(_sample(_process(thread, state="Z", thread_count=1))) == BUSY


def test_what_cannot_be_seen_may_read() -> None:
    assert reading_of(FullSample(1.0, 100, {})) == UNSEEN
    assert reading_of(_sample(_process(hidden=True, tty=34823))) == UNSEEN
    assert reading_of(_sample(_process(CHILD, thread_count=2))) == UNSEEN
    assert reading_of(_sample(_process(CHILD), _process(READ, pid=11))) == READS


def test_sleep_itself_reads_nothing_and_a_background_process_is_stopped_when_it_does() -> None:
    assert reading_of(_sample(_process(NAP, comm="sleep"))) == BUSY
    behind = _sample(_process(READ, tty=34823, pgid=10))
    terminal = TerminalSettings("/dev/pts/7", foreground=99)
    assert reading_of(behind._replace(terminal=terminal)) == BUSY
