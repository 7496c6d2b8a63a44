"""A job that its person stops: all that it has printed is on their terminal before their shell is back."""

from __future__ import annotations

import os
import pty
import signal
import tty
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from unhang.core import events as ev
from unhang.core.limits import Limits
from unhang.core.spec import JobSpec
from unhang.keeper.journal import Journal
from unhang.keeper.loop import KeeperParts, Loop, StartedJob
from unhang.keeper.person import Person
from unhang.keeper.relay import Relay
from unhang.keeper.streams import OutputStream, ReadBuffer
from unhang.store.layout import JobDir
from unhang.store.output import OutputStore

# More than one read of a terminal: its last bytes give the screen back.
LAST_WORDS = b"x" * 9000 + b"\x1b[?1049l"


def stopping_editor() -> tuple[int, int, int]:
    """A child that writes its last words to a terminal of its own and stops: its pid, the two ends of the terminal."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    child = os.fork()
    if child == 0:
        try:
            os.write(slave, LAST_WORDS)
            os.kill(os.getpid(), signal.SIGSTOP)
        finally:
            os._exit(0)
    os.waitid(os.P_PID, child, os.WSTOPPED | os.WNOWAIT)
    os.set_blocking(master, False)
    return child, master, slave


@pytest.mark.parametrize("room", [1 << 16, 1 << 12])
def test_the_caller_stops_after_the_last_words_of_the_job_are_shown(tmp_path: Path, room: int) -> None:
    """`room`: what the person's terminal takes at once; if it is less than there is, the caller waits."""
    fcntl = pytest.importorskip("fcntl")
    place = JobDir(str(tmp_path), "job0000000")
    os.makedirs(place.path)
    child, master, slave = stopping_editor()
    shown, terminal = os.pipe()
    fcntl.fcntl(terminal, fcntl.F_SETPIPE_SZ, room)
    seen = bytearray()
    journal, told = Journal(place, None), []

    def poke(*_: Any) -> None:
        if any(event["type"] == ev.WATCHDOG and event["phase"] == "paused" for event in journal.view.last_events):
            told.append(len(seen) + _waiting(shown))

    unused: Any = SimpleNamespace(poke=poke)
    stream = OutputStream("stdout", master, OutputStore(place.stream("stdout")), Relay(terminal), ReadBuffer())
    spec = JobSpec(["editor"], None, "/", Limits(idle=60.0, hard=600.0), {}, pty=True, attended=True)
    parts = KeeperParts(unused, journal, unused, unused, unused, unused)
    loop = Loop(spec, parts, StartedJob(child, [stream], None, master, None), unused, Person(spec))
    try:
        loop._tell_person()
        while stream.blocked:
            assert told == [], "the shell would be back before all is shown"
            seen += os.read(shown, 1 << 16)
            assert stream.relay is not None
            stream.relay.flush()
            loop._tell_person()
        assert told == [len(LAST_WORDS)]
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        stream.close()
        for fd in (slave, shown, terminal):
            os.close(fd)


def _waiting(fd: int) -> int:
    import array
    import fcntl
    import termios

    count = array.array("i", [0])
    fcntl.ioctl(fd, termios.FIONREAD, count)
    return count[0]
