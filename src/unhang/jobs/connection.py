"""The line between whoever started a job in the foreground and its keeper.

The keeper says `{"seq": n}` when there is something new to read and `{"ended": true}` when the end is recorded; it
closes when nothing of the job is left. We say what any caller may say to the control socket. Our end closing, by
whatever death of ours, ends the job. A keeper that does not answer a request to end the job is done without: its guard
is asked (truth.end_without_keeper).

The C module `_socket` and not `socket`: the latter costs 3 ms of start-up for names that are not used here.
"""

from __future__ import annotations

import json
import os
import signal
from _socket import AF_UNIX, SOCK_STREAM, socket, socketpair

from unhang.errors import UnhangError
from unhang.procs import clock, identity
from unhang.store import files
from unhang.store.reader import last_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.store.layout import JobDir

# How long a keeper may take to answer a request to end its job.
PATIENCE = 5.0
# How long it may take to say that the job has started; a thousand jobs that are started at once take half of it.
START_PATIENCE = 60.0
# How long its word is waited for, for a start, before the record is looked at instead.
_LOOK = 2.0


def pair() -> tuple[socket, socket]:
    """Ours and the keeper's."""
    return socketpair(AF_UNIX, SOCK_STREAM)


class Owner:
    def __init__(self, sock: socket, place: JobDir, start_patience: float | None = None, server: int = 0) -> None:
        """`server`: our child that is to make the keeper, if we have one."""
        self.sock = sock
        self.place = place
        self._server = server
        self.ended = False
        self.closed = False
        self.gave_up = False  # the keeper did not answer, and the job was ended without it
        self.failure = ""  # why nothing could be started at all
        self.seq = 0
        self.answered = self.refused = False  # what became of the last `offer`
        self._start_by = clock.monotonic() + (START_PATIENCE if start_patience is None else start_patience)
        self._asked_at: float | None = None  # to end the job, and not answered yet
        self._in = b""

    def fileno(self) -> int:
        return self.sock.fileno()

    def ask(self, **request: Any) -> None:
        """Never blocks for long and never fails: a keeper that is gone has ended its job."""
        try:
            self.sock.sendall(json.dumps(request).encode() + b"\n")
        except OSError:
            pass

    def offer(self, data: str, *, eof: bool) -> None:
        """Input for the job (base64). See `answered`: a keeper whose job does not read refuses it for now."""
        self.answered = self.refused = False
        self.ask(do="send", data=data, eof=eof, offered=True)

    def cancel(self, by: str, *, force: bool = False) -> None:
        self.ask(do="cancel", by=by, force=force)
        if self._asked_at is None:
            self._asked_at = clock.monotonic()

    def patience(self) -> float | None:
        """How long to wait for a word at the most, before `insist` is called; None: nothing is owed."""
        left = self._left()
        return min(left, _LOOK) if left is not None and self._starting() else left

    def _starting(self) -> bool:
        return self._asked_at is None and self.seq == 0 and not self.ended

    def _left(self) -> float | None:
        if self._asked_at is not None:
            return max(0.0, self._asked_at + PATIENCE - clock.monotonic())
        return max(0.0, self._start_by - clock.monotonic()) if self._starting() else None

    def insist(self) -> None:
        """When the patience is over: end the job without its keeper. Afterwards the line counts as closed."""
        if self.closed:
            return
        if self._starting() and self._server:
            _wake(self._server)
        if self._left() != 0.0:
            return
        from unhang.jobs import reconcile

        self.closed = self.gave_up = True
        reconcile.end_without_keeper(self.place)

    def listen_to_the_end(self) -> None:
        """Until nothing of the job is left."""
        while self.hear(self.patience()):
            self.insist()

    def wait_until_started(self) -> None:
        """Or until that has failed, which the record says. Bounded: the job may stop its keeper before that speaks."""
        from unhang.jobs import reconcile

        while self.seq == 0 and not self.ended:
            if not self.hear(_LOOK):
                if self.failure:
                    raise UnhangError(self.failure)
                reconcile.settle(self.place, birth=0)  # lost at birth: no process has it, and none will start it
                return
            if self.seq == 0 and _is_recorded(self.place):
                return
            self.insist()

    def hear(self, timeout: float | None = None) -> bool:
        """Read once (blocking if nothing is there). False when the line is closed: the job is over and recorded."""
        if self.closed:
            return False
        if timeout != self.sock.gettimeout():
            self.sock.settimeout(timeout)
        try:
            chunk = self.sock.recv(1 << 16)
        except (InterruptedError, TimeoutError, BlockingIOError):
            return True
        except OSError:
            chunk = b""
        return self.heard(chunk)

    def heard(self, chunk: bytes) -> bool:
        if not chunk:
            self.closed = True
            return False
        *lines, self._in = (self._in + chunk).split(b"\n")
        for line in lines:
            said = json.loads(line)
            if "ok" in said:
                self._asked_at = None
            self.seq = max(self.seq, int(said.get("seq", 0)))
            self.ended = self.ended or bool(said.get("ended"))
            self.failure = self.failure or str(said.get("failed", ""))
            if said.get("offered"):
                self.answered, self.refused = True, bool(said.get("full"))
        return True

    def close(self) -> None:
        self.sock.close()


def _is_recorded(place: JobDir) -> bool:
    """By a keeper that wrote the start down and said no more. What we are about to tell must survive a power cut."""
    if last_event(place.events) is None:
        return False
    for path in (place.job, place.events, place.path, f"{place.path}/..", place.home):
        files.sync_path(path)
    return True


def _wake(server: int) -> None:
    """A fork server that is stopped makes no keeper; the job waits in its queue."""
    found = identity.find(server)
    if found is not None and found.ppid == os.getpid() and found.state == "T":
        os.kill(server, signal.SIGCONT)  # our own child, and not waited for: its number is its own
