"""Goes through the motions of a short job once, on nothing, in a keeper that waits for its job.

A forked process pays a page fault for every page that it is the first to touch, and Python touches whatever it runs.
Paid here, no caller waits for it: a short job starts and ends a third sooner. Nothing is started, no file is touched,
and of the keeper's own (its board, its signals, its tree) nothing is used but the buffer that output is read into.
"""

from __future__ import annotations

import os
from _socket import AF_UNIX, SOCK_STREAM, socketpair

from unhang.core import events as ev
from unhang.core import json_text, outcome, trace
from unhang.core.limits import Limits
from unhang.core.spec import JobSpec
from unhang.core.view import View
from unhang.keeper.heartbeat import HeartbeatSocket
from unhang.keeper.loop import KeeperParts, Loop, StartedJob
from unhang.keeper.person import Person
from unhang.keeper.prefork.deadline_board import DeadlineBoard
from unhang.keeper.requests import RequestServer
from unhang.keeper.slow_notice import SlowNotice
from unhang.keeper.streams import OutputStream, ReadBuffer
from unhang.procs import clock, markers
from unhang.procs.base import Reaped
from unhang.store.output import OutputStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Below a file there are no names, so nothing can be written there.
_NOWHERE = "/dev/null/nothing"
NO_PID = 0


class EndedTree:
    """A tree whose only process has ended well."""

    def reap(self) -> Reaped:
        """Collect its exit."""
        return Reaped({NO_PID: 0}, empty=True)


class _EmptyJournal:
    """Has recorded nothing, and is not asked to."""

    seq = 0

    def flush_due(self) -> None:
        return None

    def sync_due(self) -> None:
        return None

    def flush_output(self, now: float) -> None:
        del now

    def keep_durable(self, now: float) -> None:
        del now


class SilentSignals:
    """No signal has come."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def continued(self) -> bool:
        """Return that the keeper was not stopped."""
        return False

    def take(self) -> tuple[int, ...]:
        """Return no request to stop."""
        return ()


def rehearse(buffer: ReadBuffer) -> outcome.Facts | None:
    """Rehearse a job that prints nothing and ends well; `buffer`: where its output would be read into.

    Return what became of it; None: there are too few descriptors, which the job that comes will be told.
    """
    spec = JobSpec(["true"], None, "/", Limits(), {})
    spec = JobSpec.from_json(json_text.decode(json_text.encode(spec.to_json(), ascii_only=True)))
    markers.new_tag(clock.wall())
    trace.environment(trace.begin(None, os.urandom(trace.RANDOM)), {})
    view = View()
    view.apply(ev.from_line(ev.to_line({"seq": 1, "ts": clock.now()} | ev.started(1, spec.command, {}))) or {})
    try:
        facts = _rehearse_loop(spec, buffer)
    except OSError:
        return None
    ev.to_line({"seq": 2, "ts": ""} | ev.exited("completed", "", outcome.ended(facts).fields))
    return facts


def _rehearse_loop(spec: JobSpec, buffer: ReadBuffer) -> outcome.Facts:
    caller, owner = socketpair(AF_UNIX, SOCK_STREAM)
    heartbeats = HeartbeatSocket("", "")
    streams: list[OutputStream] = []
    try:
        for name in ("stdout", "stderr"):
            reads, writes = os.pipe()
            os.close(writes)
            streams.append(OutputStream(name, reads, OutputStore(_NOWHERE), None, buffer))
        tree: Any = EndedTree()
        journal: Any = _EmptyJournal()
        signals: Any = SilentSignals(caller.fileno())
        requests = RequestServer(None, owner, attached=True)
        parts = KeeperParts(tree, journal, heartbeats, requests, signals, DeadlineBoard())
        job = StartedJob(NO_PID, streams, None, None, None)
        loop = Loop(spec, parts, job, SlowNotice(_NOWHERE, spec, clock.monotonic()), Person(spec))
        requests.poke(1)
        return loop.run()
    finally:
        for stream in streams:
            stream.close()
        heartbeats.close()
        caller.close()
        owner.close()
