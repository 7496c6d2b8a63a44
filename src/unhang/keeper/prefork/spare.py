"""A guard and a keeper that exist already and wait for their job.

    maker ── guard (subreaper, own session, only waits) ── keeper (subreaper) ── the job (own session)

Forking and importing take longer than everything else a short job needs, so it is done ahead, while the maker has
other things to do (parse a command line, resolve a policy, wait for the next request). The maker must have one thread.
A spare that is let go without a job ends without a trace.

The job arrives over a socket: 4 bytes length, JSON (home, id, spec, env, names of the descriptors), the descriptors
attached. The keeper passes the job's place and limits on to the guard together with the owner's line: the guard keeps
that line open until it ends, so the caller sees it close only when the end of the job, even its loss, has been
recorded. Then the keeper writes one byte back: the job is taken. A spare that is killed before that has done nothing
for its job, and its maker gives the job to another one.
"""

from __future__ import annotations

import gc
import os
from _socket import AF_UNIX, CMSG_SPACE, MSG_DONTWAIT, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socket, socketpair

from unhang import plain_signal as signal
from unhang.core import json_text
from unhang.procs.inherited import close_all_but, to_null

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, NoReturn

MAX_REQUEST = 32 << 20
# So many spares are tried for one job: what kills three of them would kill the next one, too.
MOST_TRIES = 3
_TAKEN = b"\1"
_HEAD = 4
# A message without a job, to a fork server: its client waits for none now, so the next spare can be made.
NEXT = bytes(_HEAD)
# Another one: its client has given a job to the spare that it was offered.
USED = (1).to_bytes(_HEAD, "big") + b"u"
_FD_SIZE = 4
_MOST_FDS = 4


class Spare:
    """A guard and a keeper that wait, seen from the process that forked them. `guard`: the pid of its child."""

    def __init__(self, line: socket, guard: int) -> None:
        self.guard = guard
        self._line = line

    def give(self, request: bytes, fds: list[int]) -> None:
        """Hand over the job. Raises OSError if the spare is gone (it was killed)."""
        send(self._line, request, fds)

    def fileno(self) -> int:
        """Return the descriptor that can be read when the job was taken, or when the spare is gone."""
        return self._line.fileno()

    def took(self, patience: float = 0.0) -> bool | None:
        """Return whether keeper and guard have the job that was given; None: the spare did not say so in time."""
        self._line.settimeout(patience)
        try:
            return self._line.recv(1) == _TAKEN
        except (BlockingIOError, TimeoutError):
            return None
        except OSError:  # it was killed with the job unread
            return False

    def offer(self, line: socket, number: int) -> None:
        """Let the process at the other end of `line` give the job itself. `number`: see `receive_offer`."""
        send(line, number.to_bytes(_HEAD, "big"), [self._line.fileno()])

    def close(self) -> None:
        """Close the connection; guard and keeper exit if they have no job."""
        self._line.close()


def make(in_child: Callable[[], None] | None = None, *, thoroughly: bool = False) -> Spare:
    """Fork a spare: a guard, which forks a keeper. `in_child` runs first in the child.

    `thoroughly`: a whole job is rehearsed, if none comes soon.
    """
    ours, theirs = socketpair(AF_UNIX, SOCK_STREAM)
    gc.freeze()  # what exists now is shared with the children for good; the collector must not touch it there
    pid = os.fork()
    if pid == 0:

        def be_guard() -> None:
            ours.close()
            _leave_the_maker()
            if in_child is not None:
                in_child()
            _be_guard(theirs, thoroughly)

        _do_and_exit(be_guard, theirs)
    theirs.close()
    return Spare(ours, pid)


def _leave_the_maker() -> None:
    """Begin a session of its own, and take no signal that was meant for the maker or for the keeper."""
    os.setsid()
    # a sender of these means the keeper: it ends the job properly
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _do_and_exit(work: Callable[[], None], line: socket) -> NoReturn:
    """Do the work of a process that was just forked and exit: nothing returns or raises into the maker's code."""
    status = 70
    try:
        work()
        status = 0
    except BaseException as error:
        _tell_why()
        _refuse(line, error)
    finally:
        os._exit(status)


def _tell_why() -> None:
    """Print the traceback to standard error if UNHANG_DEBUG=1 is set, for a search for a bug of unhang."""
    if os.environ.get("UNHANG_DEBUG"):
        import traceback

        traceback.print_exc()


def _refuse(line: socket, error: BaseException) -> None:
    """No keeper came of this spare (no process, no descriptor left): the job that it was made for is told why."""
    if line.fileno() < 0:
        return  # the job was taken: its guard says what became of it
    try:
        close_all_but({line.fileno()})  # makes room for the job's
        received = receive(line)
        if received is not None:
            _say_taken(line)
            _turn_down(*received, getattr(error, "strerror", None) or str(error) or type(error).__name__)
    except Exception:  # then the line closes without a word, which its reader understands too
        pass


def _say_taken(line: socket) -> None:
    try:
        line.send(_TAKEN)
    except OSError:
        pass  # the maker has ended or does not ask
    line.close()


def _turn_down(request: dict[str, Any], fds: list[int], why: str) -> None:
    """The owner's line is the first of the descriptors; without it the closing of it must say enough.

    Nothing was recorded yet, so nothing is left behind.
    """
    if not fds:
        return
    os.write(fds[0], pack({"failed": f"cannot start the keeper: {why}"})[_HEAD:] + b"\n")

    from unhang.store.layout import JobDir

    os.rmdir(JobDir(request["home"], request["id"]).path)


def _be_guard(line: socket, thoroughly: bool) -> None:
    # here and not at the top: the maker does not need them, and may be importing its own share meanwhile
    from unhang import plain_signal as signal
    from unhang.keeper import main as keepers
    from unhang.keeper.prefork import guard as guards
    from unhang.keeper.prefork.deadline_board import DeadlineBoard

    tree = guards.make_guarded_tree()
    me = os.getpid()
    theirs, ours = socketpair(AF_UNIX, SOCK_STREAM)
    board = DeadlineBoard()
    # before there is a keeper: the guard waits for these, and a request must not end it
    signal.pthread_sigmask(signal.SIG_BLOCK, guards.SIGNALS)
    gc.freeze()
    keeper = os.fork()
    if keeper == 0:

        def be_keeper() -> None:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, guards.SIGNALS)
            theirs.close()
            ready = keepers.get_ready(tree, me, line, board, thoroughly=thoroughly)
            _be_keeper(line, ours, keepers, ready)

        _do_and_exit(be_keeper, line)
    close_all_but({theirs.fileno()})
    to_null(range(3))
    guards.guard(theirs, tree, keeper, board)


def _be_keeper(line: socket, guard_line: socket, keepers: ModuleType, ready: Any) -> None:
    received = receive(line)
    if received is None:
        return  # let go
    request, fds = received
    if len(fds) < len(request["fds"]):  # the kernel hands over as many as there is room for
        _say_taken(line)
        _turn_down(request, fds, "too few file descriptors are left")
        return
    try:
        job = keepers.unpack(request, fds)
        owner = [] if job.owner is None else [job.owner.fileno()]
        keepers.promise_to_start(job, ready)
        place, limits = job.place, job.spec.limits.to_dict()
        told = {"home": place.home, "id": place.id, "limits": limits, "retry": job.spec.retry}
        send(guard_line, pack(told), owner)
    except BaseException:  # such as a guard that was killed: the closed line says that the job was not taken
        line.close()
        raise
    guard_line.close()
    _say_taken(line)
    if not job.spec.foreground:
        # a background keeper must hold nothing of its caller: a pipe held open would make the caller's reader wait
        close_all_but(set(fds) | set(owner) | ready.signals.fds)
        to_null(range(3))
    gc.enable()
    keepers.keep(job, ready)


# --- messages with descriptors ------------------------------------------------------------------------------


def pack(request: dict[str, Any]) -> bytes:
    """Return the request as bytes: its length, then JSON."""
    data = json_text.encode(request, ascii_only=True).encode()
    return len(data).to_bytes(_HEAD, "big") + data


def send(line: socket, message: bytes, fds: list[int]) -> None:
    """Send a message and descriptors with it. Raises OSError if the other side is gone."""
    rights = b"".join(fd.to_bytes(_FD_SIZE, "little") for fd in fds)
    ancillary = [(SOL_SOCKET, SCM_RIGHTS, rights)] if fds else []
    sent = line.sendmsg([message], ancillary)
    if sent < len(message):  # an empty send would fail if the other side has read all and closed
        line.sendall(message[sent:])


def receive(line: socket) -> tuple[dict[str, Any], list[int]] | None:
    """Receive a request and its descriptors; None: the other side is gone."""
    received = receive_raw(line)
    if received is None:
        return None
    message, fds = received
    return json_text.decode(message[_HEAD:]), fds


def receive_raw(line: socket) -> tuple[bytes, list[int]] | None:
    """Receive a message as it came, to pass it on. None: the other side has closed."""
    try:
        head, ancillary, _, _ = line.recvmsg(_HEAD, CMSG_SPACE(_MOST_FDS * _FD_SIZE))
    except OSError:
        return None
    fds = _descriptors(ancillary)
    rest = _exactly(line, _HEAD - len(head)) if head else None
    if rest is None:
        return None
    size = int.from_bytes(head + rest, "big")
    body = _exactly(line, size) if size <= MAX_REQUEST else None
    return None if body is None else (head + rest + body, fds)


def receive_offer(line: socket) -> tuple[int, Spare] | None:
    """Receive a spare that was offered, and its number; None: there is none now."""
    try:
        number, ancillary, _, _ = line.recvmsg(_HEAD, CMSG_SPACE(_FD_SIZE), MSG_DONTWAIT)
    except OSError:
        return None
    fds = _descriptors(ancillary)
    return (int.from_bytes(number, "big"), Spare(socket(fileno=fds[0]), 0)) if fds else None


def _descriptors(ancillary: list[tuple[int, int, bytes]]) -> list[int]:
    fds: list[int] = []
    for level, kind, data in ancillary:
        if level == SOL_SOCKET and kind == SCM_RIGHTS:
            fds += [int.from_bytes(data[i : i + _FD_SIZE], "little") for i in range(0, len(data), _FD_SIZE)]
    for fd in fds:
        os.set_inheritable(fd, False)
    return fds


def _exactly(line: socket, size: int) -> bytes | None:
    parts: list[bytes] = []
    while size:
        chunk = line.recv(min(size, 1 << 20))
        if not chunk:
            return None
        parts.append(chunk)
        size -= len(chunk)
    return b"".join(parts)
