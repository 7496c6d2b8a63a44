"""The two ways to start a keeper.

A process with one thread that is about to do nothing else (a command line) forks it. Every other process has it forked
by a fork server of its own.
"""

from __future__ import annotations

import os
from _socket import MSG_DONTWAIT

from unhang.core.record import Record
from unhang.core.spec import NOTIFY
from unhang.errors import UnhangError
from unhang.jobs import connection as connections
from unhang.jobs.connection import JobConnection
from unhang.jobs.first_spare import check_descriptors, fork_spare
from unhang.keeper.prefork import spare
from unhang.procs import executable
from unhang.store import alert_news, layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Callable
    from typing import Protocol

    from unhang.jobs.request import Prepared
    from unhang.keeper.prefork.spare import Spare
    from unhang.store.layout import JobDir

    class Launcher(Protocol):
        """Gives a prepared job to a keeper, and connects the caller to it."""

        def launch(self, home: str, prepared: Prepared, streams: CallerStreams, *, told: bool = True) -> JobConnection:
            """Give the job to a keeper; return the connection to it. `told`: see `Launch`."""


# How long a keeper may take to say that it has its job. One that is stopped says nothing, and is left to its guard.
_TO_TAKE = 1.0
# On top of the shortest limit of a job.
_TO_START = 10.0


class CallerStreams(Record):
    """The caller's descriptors that the job or its relay gets; None: the null device, or a pipe of the keeper."""

    stdin: int | None = None
    stdout: int | None = None
    stderr: int | None = None


def _message(
    place: JobDir, prepared: Prepared, streams: CallerStreams, owner: int, told: bool
) -> tuple[bytes, list[int]]:
    given = {"owner": owner} | {n: fd for n, fd in streams.to_dict().items() if fd is not None}
    request = {"home": place.home, "id": place.id, "spec": prepared.spec.to_json(), "env": prepared.env}
    return spare.pack(request | {"told": told, "fds": list(given)}), list(given.values())


def _patience(prepared: Prepared) -> float:
    """How long the start may take: the caller of a job with a limit of five seconds does not wait a minute for it."""
    limits = [limit for limit in (prepared.spec.limits.idle, prepared.spec.limits.hard) if limit is not None]
    return min([connections.START_PATIENCE, *(limit + _TO_START for limit in limits)])


class ForkingLauncher:
    """For a process with one thread. Make it early: the keeper gets ready while the caller does other things."""

    def __init__(self, first: Spare | None = None) -> None:
        """`first`: a spare that was forked before this module was loaded (first_spare.py)."""
        if first is None:
            check_descriptors()
            first = fork_spare()
        self._spare = first

    def launch(self, home: str, prepared: Prepared, streams: CallerStreams, *, told: bool = True) -> JobConnection:
        """Create the record of a job and give the job to the keeper; raise UnhangError if that was killed."""
        place = layout.create(home)
        ours, theirs = connections.pair()
        try:
            self._give(*_message(place, prepared, streams, theirs.fileno(), told), [ours, theirs])
        finally:
            theirs.close()
        alert_news.expect(home, wanted=NOTIFY in prepared.spec.labels)
        return JobConnection(ours, place, start_patience=_patience(prepared), guard=self._spare.guard)

    def _give(self, message: bytes, fds: list[int], ends: list[socket]) -> None:
        """`ends`: of the owner's line. A keeper that is forked now inherits them, and must not hold the caller's."""

        def close_ends() -> None:
            for end in ends:
                end.close()

        for attempt in range(spare.MOST_TRIES):
            if attempt:
                self._spare.close()
                self._spare = fork_spare(close_ends)
            try:
                self._spare.give(message, fds)
            except OSError:
                continue
            if self._spare.took(_TO_TAKE) is not False:
                self._spare.close()
                return
        raise UnhangError("the keeper was killed before it got its job")

    def close(self) -> None:
        """End the keeper, if it never got a job."""
        self._spare.close()


class _Handover:
    """A job that was given to a spare directly: until it is known to have begun, it may have to be given again."""

    def __init__(self, given: Spare, again: Callable[[], socket | None]) -> None:
        self._given = given
        self._again = again

    def again(self) -> socket | None:
        """Give the job to another spare, if the first was killed before it took it; return the caller's new end."""
        taken = self._given.took(_TO_TAKE)
        return self._again() if taken is False else None

    def close(self) -> None:
        """Let go of the spare: it has the job."""
        self._given.close()


class ServedLauncher:
    """For every other process: a fork server, which is started with the first job and ends with this process."""

    def __init__(self) -> None:
        self._offered: Spare | None = None
        self._begin()
        os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        """Called again in a fork of this process, which needs a server of its own and a lock that no thread holds."""
        import threading  # only here: a command line has no threads and no time for the import

        self._lock = threading.Lock()
        self._line: socket | None = None
        self._server: int | None = None
        self._sent = 0  # how many jobs this server was given
        if self._offered is not None:
            self._offered.close()
        self._offered = None  # a spare that no job was given to

    def launch(self, home: str, prepared: Prepared, streams: CallerStreams, *, told: bool = True) -> JobConnection:
        """Create the record of a job and have the fork server start its keeper; raise UnhangError if it cannot."""
        check_descriptors()
        place = layout.create(home)
        ours, theirs = connections.pair()
        handover = None
        try:
            with self._lock:
                message, fds = _message(place, prepared, streams, theirs.fileno(), told)
                if len(fds) == 1:  # other descriptors would have to be kept, in case it must be given again
                    handover = self._give(message, fds, told)
                if handover is None:
                    self._send(message + spare.NEXT if told else message, fds)
        except OSError as error:
            ours.close()
            raise UnhangError(f"the fork server cannot be reached: {error.strerror}") from None
        finally:
            theirs.close()
        alert_news.expect(home, wanted=NOTIFY in prepared.spec.labels)
        patience = _patience(prepared)
        return JobConnection(ours, place, start_patience=patience, server=self._server, handover=handover, told=told)

    def next_spare(self) -> None:
        """Let the server get ready for the next job. One that is gone is started with that job."""
        if not self._lock.acquire(blocking=False):
            return  # it is being given a job, or a server is being started
        try:
            if self._line is not None:
                self._line.send(spare.NEXT, MSG_DONTWAIT)
        except OSError:
            pass  # it is gone, or is stopped and has much to read: it gets ready by itself
        finally:
            self._lock.release()

    def _give(self, message: bytes, fds: list[int], told: bool) -> _Handover | None:
        """Give a job to the spare that the server has offered; None: there is none, or it was killed."""
        self._hear_offers()
        given, self._offered = self._offered, None
        if given is None or self._line is None:
            return None
        try:
            given.give(message, fds)
        except OSError:
            given.close()
            return None
        try:
            self._line.send(spare.USED + spare.NEXT if told else spare.USED, MSG_DONTWAIT)
        except OSError:  # it is gone, or is stopped and has much to read: it would offer the same spare again
            self._line.close()
            self._line = None
        return _Handover(given, lambda: self._give_again(message))

    def _hear_offers(self) -> None:
        """Take the newest offer; those from before a job was sent to the server have served for that job."""
        while self._line is not None and (found := spare.receive_offer(self._line)) is not None:
            number, offered = found
            if self._offered is not None:
                self._offered.close()
            self._offered = offered
            if number != self._sent:
                offered.close()
                self._offered = None

    def _give_again(self, message: bytes) -> socket | None:
        ours, theirs = connections.pair()
        try:
            with self._lock:
                self._send(message, [theirs.fileno()])
        except OSError:
            ours.close()
            return None
        finally:
            theirs.close()
        return ours

    def _send(self, message: bytes, fds: list[int]) -> None:
        for attempt in (1, 2):
            line = self._connected()
            try:
                self._hear_offers()
                spare.send(line, message, fds)
                self._sent += 1
                if self._offered is not None:  # the server has given it this job
                    self._offered.close()
                    self._offered = None
                return
            except OSError:  # the server was ended: start another, once
                line.close()
                self._line = None
                if attempt == 2:
                    raise

    def _connected(self) -> socket:
        if self._line is None:
            self._line, self._server = start_server()
            self._sent = 0
        return self._line


def start_server() -> tuple[socket, int]:
    """Start a fork server; the line to it, and its pid.

    It has a session of its own (a Ctrl-C is not for it) and none of our descriptors but the line. It needs the standard
    library only, and no `site`.
    """
    ours, theirs = connections.pair()
    command = executable.isolated("from unhang.keeper.prefork.fork_server import main; main(3)", site=False)
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    line = theirs.fileno()
    actions = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in range(3)]
    if line == 3:
        os.set_inheritable(line, True)
    else:
        actions.append((os.POSIX_SPAWN_DUP2, line, 3))
    try:
        pid = os.posix_spawn(command[0], command, dict(os.environ), file_actions=actions, setsid=True)
    finally:
        os.close(null)
        theirs.close()
    return ours, pid
