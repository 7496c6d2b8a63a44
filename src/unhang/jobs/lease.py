"""The lease: a small process that cancels the jobs of a face when the face dies.

A long-lived face starts each job in the background, so that it can let the job go on later. While a caller waits for
the job, the face holds it on the lease. A pipe connects the face and the lease process. However the face dies, SIGKILL
included, the pipe closes, and the lease process cancels the jobs that are still held.

The lease process itself may be stopped or killed. A thread of the face waits for that, and starts another process,
which gets the list of all held jobs. The face never waits for the process: if the pipe is full, the process is taken
for stuck and is replaced, too.
"""

from __future__ import annotations

import os
import signal

from unhang.core.outcome import CALLER_DIED
from unhang.errors import UnhangError
from unhang.procs import clock, helper_process
from unhang.store.layout import JobDir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# A process that ends this soon after its start will probably do so again: the next one is started this much later.
_YOUNG = 1.0
# How many cancel requests are sent at once. A keeper that does not answer holds up one of them for 10 s.
_AT_ONCE = 50


class Lease:
    """One lease process for any number of jobs. Its methods may be called from any thread."""

    def __init__(self) -> None:
        import threading

        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._line = -1
        self._pid = 0
        self._held: dict[str, JobDir] = {}

    def ready(self) -> None:
        """Start the process unless it runs. Raises UnhangError if it cannot be started: no job could be held then."""
        with self._lock:
            try:
                if self._line < 0:
                    self._start()
            except OSError as error:
                raise UnhangError(f"cannot start the process that ends jobs with this one: {error.strerror}") from None

    def hold(self, place: JobDir) -> None:
        """Cancel this job when the face dies, until it is released."""
        with self._lock:
            self._held[place.id] = place
            self._tell("+", place)

    def release(self, place: JobDir) -> None:
        """Let this job outlive the face. It may also have ended."""
        with self._lock:
            if self._held.pop(place.id, None) is not None:
                self._tell("-", place)

    def close(self) -> None:
        """Cancel the jobs that are still held, as if the face had died."""
        with self._lock:
            self._closed.set()
            self._hang_up()
            self._held.clear()

    # --- with the lock held ---------------------------------------------------------------------------------

    def _tell(self, sign: str, place: JobDir) -> None:
        if not helper_process.tell(self._line, _said(sign, place)):
            self._replace()

    def _replace(self) -> None:
        """Start another process in place of this one, with all held jobs."""
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)  # our child: `_attend` reaps it only after `_pid` has changed
        self._hang_up()
        try:
            self._start()
        except OSError:
            pass  # no process can be started now; the next `hold` or `release` tries again

    def _hang_up(self) -> None:
        if self._line >= 0:
            os.close(self._line)
        self._line, self._pid = -1, 0

    def _start(self) -> None:
        import threading

        known = b"".join(_said("+", place) for place in self._held.values())
        self._pid, self._line = helper_process.start(__name__, known)
        threading.Thread(target=self._attend, args=(self._pid, clock.monotonic()), daemon=True).start()

    # --- the thread -----------------------------------------------------------------------------------------

    def _attend(self, pid: int, begun: float) -> None:
        """Wait until the process is stopped or ends, then replace it. Its pid stays taken until that is done."""
        try:
            found = os.waitid(os.P_PID, pid, os.WEXITED | os.WSTOPPED | os.WNOWAIT)
        except ChildProcessError:  # the program ignores SIGCHLD, so the kernel has reaped it
            found = None
        if clock.monotonic() - begun < _YOUNG:
            self._closed.wait(_YOUNG)
        with self._lock:
            if self._pid == pid:
                if found is None:
                    self._pid = 0
                self._replace()
            elif found is not None and found.si_code == os.CLD_STOPPED:
                os.kill(pid, signal.SIGCONT)  # its pipe is closed: it has jobs to cancel
        try:
            os.waitpid(pid, 0)
        except ChildProcessError:
            pass


def _said(sign: str, place: JobDir) -> bytes:
    return os.fsencode(f"{sign}{place.id} {place.home}\n")


# --- the process --------------------------------------------------------------------------------------------


def main(known: int, line: int) -> None:
    """Run the lease process: read which jobs are held, until the pipe closes, then cancel them."""
    held: dict[str, JobDir] = {}
    for fd in (known, line):
        for said in _lines(fd):
            name, _, home = os.fsdecode(said[1:]).partition(" ")
            if said[:1] == b"+":
                held[name] = JobDir(home, name)
            else:
                held.pop(name, None)
    places = list(held.values())
    for first in range(0, len(places), _AT_ONCE):
        _cancel_all(places[first : first + _AT_ONCE])


def _lines(fd: int) -> Iterator[bytes]:
    rest = b""
    while chunk := os.read(fd, 1 << 16):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines


def _cancel_all(places: list[JobDir]) -> None:
    """Cancel these jobs at once, so that a keeper that does not answer delays no other job."""
    import threading

    threads = [threading.Thread(target=_cancel, args=(place,)) for place in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _cancel(place: JobDir) -> None:
    from unhang.jobs import control_client

    try:
        control_client.ask(place, do="cancel", by=CALLER_DIED)
    except (UnhangError, OSError, ValueError):
        pass  # the job has ended, or its keeper does not answer: its guard and its limits remain
