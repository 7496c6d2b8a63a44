"""Jobs that may not outlive a face: a small process of its own holds their names and ends them when the face is gone.

A long-lived face starts a job as a background one, so that it can let go of it later, and puts it on the lease for as
long as a caller waits for it. The line to the lease is a pipe: whatever way the face dies, SIGKILL included, the pipe
closes and what is still on the lease is cancelled by the ladder.

The process itself may be stopped or killed. A thread of the face waits for that, and starts another one that is told of
every job on the lease. Nothing here waits for the process: a pipe that it does not empty is taken for a sign that it
never will, and it is replaced, too.
"""

from __future__ import annotations

import os
import signal

from unhang.errors import UnhangError
from unhang.jobs import executable
from unhang.procs import clock
from unhang.store.layout import JobDir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BY = "the death of its caller"
# A process that ends so soon after its start will do so again: the next one waits as long.
_YOUNG = 1.0
# Requests to cancel that are under way together. A keeper that does not answer holds one of them up for 10 s.
_AT_ONCE = 50


class Lease:
    """Cancels jobs when this process ends, by one helper process for all of them.

    The helper is started with the first job. Safe to call from any thread.
    """

    def __init__(self) -> None:
        import threading

        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._line = -1
        self._pid = 0
        self._held: dict[str, JobDir] = {}

    def ready(self) -> None:
        """Start the process now. Raises UnhangError if that cannot be done: a job could not be held then."""
        with self._lock:
            try:
                if self._line < 0:
                    self._start()
            except OSError as error:
                raise UnhangError(f"cannot start the process that ends jobs with this one: {error.strerror}") from None

    def hold(self, place: JobDir) -> None:
        """Put a running job on the lease: it is cancelled when this process ends."""
        with self._lock:
            self._held[place.id] = place
            self._tell("+", place)

    def release(self, place: JobDir) -> None:
        """Take a job from the lease: it has ended, or may outlive this process."""
        with self._lock:
            if self._held.pop(place.id, None) is not None:
                self._tell("-", place)

    def close(self) -> None:
        """End the process of the lease, which cancels the jobs that are still held."""
        with self._lock:
            self._closed.set()
            self._hang_up()
            self._held.clear()

    # --- with the lock held ---------------------------------------------------------------------------------

    def _tell(self, sign: str, place: JobDir) -> None:
        line = _said(sign, place)
        try:
            if self._line >= 0 and os.write(self._line, line) == len(line):
                return
        except OSError:  # it has ended (EPIPE), or does not read (EAGAIN)
            pass
        self._replace()

    def _replace(self) -> None:
        """Another process in the place of this one, which knows all that is held."""
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)  # our child, which is not reaped before we have forgotten its number
        self._hang_up()
        try:
            self._start()
        except OSError:
            pass  # no process is to be had now; the next word on a job tries again

    def _hang_up(self) -> None:
        if self._line >= 0:
            os.close(self._line)
        self._line, self._pid = -1, 0

    def _start(self) -> None:
        import threading

        self._pid, self._line = _start(self._held.values())
        threading.Thread(target=self._attend, args=(self._pid, clock.monotonic()), daemon=True).start()

    # --- the thread -----------------------------------------------------------------------------------------

    def _attend(self, pid: int, begun: float) -> None:
        """Waits until the process is stopped or ends, without taking its end from the kernel yet."""
        try:
            found = os.waitid(os.P_PID, pid, os.WEXITED | os.WSTOPPED | os.WNOWAIT)
        except ChildProcessError:  # this program leaves its children to the kernel, which has forgotten it
            found = None
        if clock.monotonic() - begun < _YOUNG:
            self._closed.wait(_YOUNG)
        with self._lock:
            if self._pid == pid:
                if found is None:
                    self._pid = 0
                self._replace()
            elif found is not None and found.si_code == os.CLD_STOPPED:
                os.kill(pid, signal.SIGCONT)  # we let go of it: it has its last work to do
        try:
            os.waitpid(pid, 0)
        except ChildProcessError:
            pass


def _said(sign: str, place: JobDir) -> bytes:
    return os.fsencode(f"{sign}{place.id} {place.home}\n")


def _start(held: Iterable[JobDir]) -> tuple[int, int]:
    """Its number, and our end of its line. It has its own session: a signal to our process group is not for it.

    What it has to know at once is in a file, because there may be more than a pipe takes without a reader.
    """
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    known = os.memfd_create("unhang-lease")
    theirs, ours = os.pipe2(os.O_CLOEXEC)
    try:
        with open(known, "wb", closefd=False) as file:
            file.write(b"".join(_said("+", place) for place in held))
        os.lseek(known, 0, os.SEEK_SET)
        actions = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate((known, theirs, null))]
        command = executable.isolated("from unhang.jobs.lease import main; main(0, 1)", site=False)
        pid = os.posix_spawn(command[0], command, dict(os.environ), file_actions=actions, setsid=True)
        os.set_blocking(ours, False)
    except BaseException:
        os.close(ours)
        raise
    finally:
        for fd in (theirs, known, null):
            os.close(fd)
    return pid, ours


# --- the process --------------------------------------------------------------------------------------------


def main(known: int, line: int) -> None:
    """Run as the helper process: read jobs from both descriptors, and cancel those still held when `line` closes."""
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
    """All at once: a keeper that does not answer delays no other job's end."""
    import threading

    threads = [threading.Thread(target=_cancel, args=(place,)) for place in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _cancel(place: JobDir) -> None:
    from unhang.jobs import control_client

    try:
        control_client.ask(place, do="cancel", by=BY)
    except (UnhangError, OSError, ValueError):
        pass  # ended by itself meanwhile, or out of reach: its guard and its limits remain
