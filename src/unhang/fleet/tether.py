"""The tether: a small process beside a worker that ends the jobs of a worker which is silent for too long.

A worker that is frozen, or cut off from the server, cannot end its own jobs; and after a while another worker may run
them. So the worker tells this process until when it holds each job: from one stored word to the next. What is not held
any more is ended: SIGTERM, a grace, SIGKILL. If the worker dies, the pipe closes, and all its jobs are ended at once.

The process is in a session of its own. The worker replaces it if it dies and wakes it if it is stopped.
"""

from __future__ import annotations

import os
import select
import signal
import threading

from unhang.errors import UnhangError
from unhang.jobs.handle import Job
from unhang.procs import clock, helper_process
from unhang.store.layout import JobDir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# By whom a job is ended, in its log; short enough to be told whole.
LET_GO = "the fleet, its worker silent or gone"
_NAP = 5.0


class Tether:
    """The worker's side. Times are those of procs.clock.monotonic."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[JobDir, float, float]] = {}
        self._line = -1
        self._pid = 0

    def start(self) -> None:
        """Start the process; raise UnhangError if that cannot be: no job could be run then."""
        try:
            self._start()
        except OSError as error:
            raise UnhangError(f"cannot start the process that ends jobs in time: {error.strerror}") from None

    def hold(self, place: JobDir, until: float, grace: float) -> None:
        """End this job at that time, unless it is held anew before."""
        self._held[place.id] = (place, until, grace)
        self._tell(_said(place, until, grace))

    def release(self, place: JobDir) -> None:
        """Let a job go that has ended."""
        if self._held.pop(place.id, None) is not None:
            self._tell(f"-{place.id}\n".encode())

    def check(self) -> None:
        """Wake or replace this child, if it is the one that was stopped or has ended."""
        try:
            pid, status = os.waitpid(self._pid, os.WNOHANG | os.WUNTRACED) if self._pid else (0, 0)
        except ChildProcessError:
            return
        if pid and os.WIFSTOPPED(status):
            os.kill(pid, signal.SIGCONT)
        elif pid:
            self._pid = 0
            self._replace()

    def close(self) -> None:
        """End the process, and with it what is still held."""
        if self._line >= 0:
            os.close(self._line)
        if self._pid:
            os.waitpid(self._pid, 0)
        self._line, self._pid = -1, 0

    def _tell(self, line: bytes) -> None:
        if not helper_process.tell(self._line, line):
            self._replace()

    def _replace(self) -> None:
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        if self._line >= 0:
            os.close(self._line)
        self._line, self._pid = -1, 0
        self._start()

    def _start(self) -> None:
        known = b"".join(_said(*held) for held in self._held.values())
        self._pid, self._line = helper_process.start(__name__, known)


def _said(place: JobDir, until: float, grace: float) -> bytes:
    return os.fsencode(f"+{place.id} {until!r} {grace!r} {place.home}\n")


# --- the process ------------------------------------------------------------------------------------------------


def main(known: int, line: int) -> None:
    """Run the process: end each job at its time, and all of them when the pipe closes."""
    held: dict[str, tuple[JobDir, float, float]] = {}
    with open(known, "rb") as lines_before:
        for said in lines_before:
            _hear(os.fsdecode(said.rstrip(b"\n")), held)
    ending: list[threading.Thread] = []
    rest, open_ = b"", True
    poll = select.poll()
    poll.register(line, select.POLLIN)
    while open_ or held:
        now = clock.monotonic()
        for name in [name for name, (_, until, _) in held.items() if now >= until or not open_]:
            place, _, grace = held.pop(name)
            ending.append(threading.Thread(target=end, args=(place, grace)))
            ending[-1].start()
        if not open_:
            break
        due = min((until for _, until, _ in held.values()), default=None)
        # a sleep does not count the time in which the machine is suspended
        if not poll.poll(None if due is None else 1000 * min(_NAP, max(0.0, due - now))):
            continue
        chunk = os.read(line, 1 << 16)
        open_ = bool(chunk)
        *lines, rest = (rest + chunk).split(b"\n")
        for said in lines:
            _hear(os.fsdecode(said), held)
    for thread in ending:
        thread.join()


def _hear(said: str, held: dict[str, tuple[JobDir, float, float]]) -> None:
    if said[:1] == "-":
        held.pop(said[1:], None)
        return
    name, until, grace, home = said[1:].split(" ", 3)
    held[name] = (JobDir(home, name), float(until), float(grace))


def end(place: JobDir, grace: float, by: str = LET_GO) -> None:
    """End a job: politely, then by force, then without its keeper."""
    job = Job(place)
    steps: list[Callable[[], object]] = [
        lambda: job.cancel(by=by, wait=False),
        lambda: job.wait(grace),
        lambda: job.ended() or job.cancel(force=True, by=by),
    ]
    for step in steps:
        try:
            step()
        except (UnhangError, OSError, ValueError):
            continue  # its keeper does not answer, or it has ended: the last step does without it
