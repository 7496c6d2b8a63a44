"""Jobs that may not outlive a face: a tiny process of its own holds their names and ends them when the face is gone.

A long-lived face starts a job as a background one, so that it can let go of it later, and puts it on the lease for as
long as somebody waits for it. The line to the lease is a pipe: whatever way the face dies, SIGKILL included, the pipe
closes and what is still on the lease is cancelled by the ladder.
"""

from __future__ import annotations

import os
import sys

from unhang.errors import UnhangError
from unhang.store.layout import JobDir

BY = "the death of its caller"


class Lease:
    """One process for any number of jobs; started with the first, ends with us. Safe to call from any thread."""

    def __init__(self) -> None:
        import threading

        self._lock = threading.Lock()
        self._line = -1
        self._held: set[str] = set()

    def hold(self, place: JobDir) -> None:
        with self._lock:
            self._held.add(place.id)
            self._say("+", place)

    def release(self, place: JobDir) -> None:
        """It may live on by itself (or has ended)."""
        with self._lock:
            if place.id in self._held:
                self._held.discard(place.id)
                self._say("-", place)

    def _say(self, sign: str, place: JobDir) -> None:
        line = f"{sign}{place.id} {place.home}\n".encode("utf-8", "surrogateescape")
        if self._line < 0:
            self._line = _start()
        try:
            os.write(self._line, line)  # shorter than PIPE_BUF: whole or not at all
        except BrokenPipeError:  # somebody ended it: start another, once
            os.close(self._line)
            self._line = _start()
            os.write(self._line, line)

    def close(self) -> None:
        """What is still held is ended, exactly as if we had died."""
        with self._lock:
            if self._line >= 0:
                os.close(self._line)
                self._line = -1
            self._held.clear()


def _start() -> int:
    """Its own session: a signal to our process group is not for it."""
    theirs, ours = os.pipe2(os.O_CLOEXEC)
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    code = f"import sys; sys.path.insert(0, {root!r}); from unhang.jobs.lease import main; main(0)"
    actions = [(os.POSIX_SPAWN_DUP2, theirs, 0), (os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)]
    try:
        os.posix_spawn(
            sys.executable,
            [sys.executable, "-S", "-E", "-s", "-c", code],
            dict(os.environ),
            file_actions=actions,
            setsid=True,
        )
    finally:
        os.close(theirs)
        os.close(null)
    return ours


def main(line: int) -> None:
    held: dict[str, JobDir] = {}
    rest = b""
    while chunk := os.read(line, 1 << 16):
        *lines, rest = (rest + chunk).split(b"\n")
        for said in lines:
            name, _, home = said[1:].decode("utf-8", "surrogateescape").partition(" ")
            if said[:1] == b"+":
                held[name] = JobDir(home, name)
            else:
                held.pop(name, None)
    from unhang.jobs import asking

    for place in held.values():
        try:
            asking.ask(place, do="cancel", by=BY)
        except (UnhangError, OSError):
            continue  # ended by itself meanwhile
