"""A whole job that a keeper goes through on nothing, when none has come for a moment: `rehearsal` and all around it.

A keeper writes to some four hundred pages between a request and the end of a short job, and to be the first who does so
in a forked process is a sixth of the time for which its caller waits. No trace is left: the log is in memory, other
files cannot be made where they are to be, what is started is no program, and its streams are pipes of ours.
"""

from __future__ import annotations

import os
from _socket import AF_UNIX, SOCK_STREAM, socketpair

from unhang.core.limits import Limits
from unhang.core.spec import NULL, JobSpec
from unhang.errors import StateError
from unhang.keeper import control_socket
from unhang.keeper import main as keepers
from unhang.keeper.attempts import Attempts, Launch
from unhang.keeper.journal import Journal
from unhang.keeper.prefork import spare
from unhang.keeper.prefork.deadline_board import DeadlineBoard
from unhang.keeper.rehearsal import NO_PID, EndedTree, SilentSignals
from unhang.keeper.requests import RequestServer
from unhang.keeper.streams import ReadBuffer
from unhang.procs import clock, markers, spawn
from unhang.procs.base import Reaped
from unhang.procs.tree import make_tree
from unhang.store.event_log import EventLog
from unhang.store.layout import JobDir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from typing import Any

# No file can be made below it.
_PLACE = JobDir("/dev/null", "rehearsal")


def rehearse_whole(buffer: ReadBuffer) -> None:
    """Go through a job from its request to its end; `buffer`: where its output would be read into."""
    if not hasattr(os, "memfd_create"):
        return
    try:
        _go_through(buffer)
    except (OSError, StateError):  # a shortage: the job itself will say so
        pass


def _go_through(buffer: ReadBuffer) -> None:
    ours, theirs = socketpair(AF_UNIX, SOCK_STREAM)
    launch = _received(theirs.detach())
    assert launch.owner is not None
    ready: Any = _Ready(ours, buffer)
    markers.new_tag(clock.wall())
    try:
        EventLog(_PLACE.events, clock.now, begin=True)
    except OSError:
        pass
    control_socket.listen(_PLACE.path, "control")
    journal = Journal(_PLACE, ready.tree.allocate, fd=os.memfd_create("unhang-rehearsal"))
    try:
        try:
            keepers.write_job(launch, {}, keepers.begin_trace(launch))
        except OSError:
            pass
        requests = RequestServer(None, launch.owner, attached=False)
        keepers.see_through(_Rehearsed(launch, ready, journal, requests), launch, ready, journal, requests)
    finally:
        journal.close()
        launch.owner.close()
        ours.close()


def _received(owner: int) -> Launch:
    """A job, as it comes over the line of a spare."""
    limits = Limits(idle=30.0, hard=300.0)
    spec = JobSpec([spawn.SHELL, "-c", "true"], "true", "/", limits, {}, stdin=NULL, foreground=False)
    request = {"home": _PLACE.home, "id": _PLACE.id, "spec": spec.to_json(), "env": dict(os.environ)}
    sender, receiver = socketpair(AF_UNIX, SOCK_STREAM)
    try:
        spare.send(sender, spare.pack(request | {"told": False, "fds": ["owner"]}), [owner])
        os.close(owner)
        received = spare.receive(receiver)
    finally:
        sender.close()
        receiver.close()
    assert received is not None
    return keepers.unpack(*received)


class _Ready:
    """Stands for `Ready`: nothing of it is the keeper's own but the buffer."""

    def __init__(self, caller: socket, buffer: ReadBuffer) -> None:
        self.signals = SilentSignals(caller.fileno())
        self.tree = _Tree()
        self.board = DeadlineBoard()
        self.buffer = buffer
        self.identity: dict[str, Any] = {}
        self.cpu = 0.0


class _Tree(EndedTree):
    """As an attempt needs it, beside the loop."""

    def __init__(self) -> None:
        self._tree = make_tree()

    def spawned(self, leader: int) -> None:
        del leader

    def allocate(self, fd: int, offset: int, length: int) -> None:
        self._tree.allocate(fd, offset, length)

    def reap(self) -> Reaped:
        self._tree.reap()
        return super().reap()


class _Rehearsed(Attempts):
    """One attempt that starts nothing: what it prints is in its pipes, and it has exited."""

    def _spawn(self, spec: JobSpec) -> spawn.Spawned:
        env = self._launch.env | markers.environment(_PLACE.id, self._launch.env)
        env |= self.heartbeats.environment(spec.limits.idle)
        spawn.rehearse()
        (out, printed), (err, silent) = spawn.open_pipe(), spawn.open_pipe()
        os.write(printed, b"\n")
        for fd in (printed, silent):
            os.close(fd)
        for fd in (out, err):
            os.set_blocking(fd, False)
        return spawn.Spawned(NO_PID, spawn.JobStreams(out, err, None, terminal=False))
