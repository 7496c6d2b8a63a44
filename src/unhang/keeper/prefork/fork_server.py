"""A small process that makes keepers for a long-lived one.

Forking a process with threads copies locks that no thread will ever release. So a library, a server or an editor plugin
keeps this one-threaded helper, hands it each job with its descriptors, and never forks itself. One spare guard and
keeper are ready, so a job starts without waiting for a fork. The next ones are made when the client asks for them: to
make them takes a processor as long as a short job does, and the client may be waiting for that job. The server lives as
long as its client holds the line; background jobs outlive both.

The spare that is ready is offered to the client, which gives it the next job itself: a short job then waits for one
process less. A job that comes to the server all the same is for the same spare; the offers are numbered by the jobs
that came here, so the client knows which of them it must not use any more.

A request is what a spare takes (spare.py), passed on as it is. A spare that is killed before it took its job leaves the
job to the next one. There is no answer: the owner's line tells everything, and closes if nothing came of it.
"""

from __future__ import annotations

import math
import os
import select
from _socket import socket

from unhang import plain_signal as signal
from unhang.keeper.prefork import spare
from unhang.keeper.prefork.spare import Spare
from unhang.procs import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Python calls code hot after some eight rounds.
_TIMES = 12
# The next spare is made so long after a job was taken, in seconds, if the client does not ask for it before.
_LATER = 0.2
# And so long if the client has asked for it together with the job: keeper and command have two processors to themselves
# meanwhile. One that gives job after job, within so many seconds, would wait for the spare instead: it has it at once.
_SOON, _AFTER_THE_OTHER = 0.002, 0.02


def main(line_fd: int) -> None:
    """Serve one client over the socket `line_fd` until it closes; then return."""
    line = socket(fileno=line_fd)
    os.set_inheritable(line_fd, False)
    # a guard is our child: the kernel may forget it, its status is never asked for
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    _preload()
    _ForkServer(line).serve()


class _PendingJob:
    """A job that was given to a spare: what is needed to give it to another one, should that not take it."""

    def __init__(self, message: bytes, fds: list[int]) -> None:
        self.tries = 0
        self.message = message
        self.fds = fds

    def close(self) -> None:
        for fd in self.fds:
            os.close(fd)


class _ForkServer:
    """One spare that is ready, and the jobs that were given and are not taken yet."""

    def __init__(self, line: socket) -> None:
        self._line = line
        self._jobs: list[_PendingJob] = []
        self._given: dict[int, tuple[Spare, _PendingJob]] = {}  # by the descriptor of the spare's line
        self._poll = select.poll()
        self._poll.register(line, select.POLLIN)
        self._preload: Iterator[None] | None = _preload_the_rest()  # None: done
        self._asked = False  # for the next spare, since the last job came
        self._taken_at = 0.0  # when the last job was taken
        self._hurried = False  # the last job came soon after the one before it
        self._received = 0  # how many jobs have come here
        self._ready: Spare | None = self._make()

    def serve(self) -> None:
        while True:
            found = self._poll.poll(self._pause())
            for fd, _ in found:
                if fd != self._line.fileno():
                    self._settle(fd)
                elif (received := spare.receive_raw(self._line)) is None:
                    if self._ready is not None:
                        self._ready.close()
                    return
                elif received[0] == spare.NEXT:
                    self._asked = True
                elif received[0] == spare.USED:
                    self._note_job()
                    self._taken_at = clock.monotonic()
                    if self._ready is not None:
                        self._ready.close()
                        self._ready = None
                else:
                    self._note_job()
                    self._received += 1
                    self._jobs.append(_PendingJob(*received))
                    self._give(self._jobs[-1])
            if not found or self._pause() == 0:
                self._make_ready()

    def _note_job(self) -> None:
        """The client has given a job, here or to the spare itself."""
        self._asked = False
        self._hurried = clock.monotonic() - self._taken_at < _AFTER_THE_OTHER

    def _pause(self) -> int | None:
        """The milliseconds until the next spare is to be made; None: one is ready, or a job is not taken yet."""
        if self._ready is not None or self._jobs:
            return None
        if self._asked and self._hurried:
            return 0
        left = self._taken_at + (_SOON if self._asked else _LATER) - clock.monotonic()
        return max(0, math.ceil(left * 1000))

    def _make_ready(self) -> None:
        if self._preload is not None:  # once: it looks at all processes, which grow with every job
            for _ in self._preload:
                if self._poll.poll(0):  # where there are thousands of processes, a job would wait for seconds
                    return
            self._preload = None
        self._ready = self._make()
        try:
            self._ready.offer(self._line, self._received)
        except OSError:
            pass  # the client is gone

    def _make(self) -> Spare:
        def leave_the_client() -> None:
            """A spare holds nothing of the client, nor of another's job: what it held would never close."""
            self._line.close()
            for given, _ in self._given.values():
                given.close()
            for job in self._jobs:
                job.close()

        return spare.make(leave_the_client, thoroughly=True)

    def _give(self, job: _PendingJob) -> None:
        """Give a job to the spare; to another one, if that was killed while it waited."""
        while job.tries < spare.MOST_TRIES:
            job.tries += 1
            given, self._ready = self._ready or self._make(), None
            try:
                given.give(job.message, job.fds)
            except OSError:
                given.close()
                continue
            self._given[given.fileno()] = given, job
            self._poll.register(given, select.POLLIN)
            return
        self._forget(job)

    def _forget(self, job: _PendingJob) -> None:
        self._jobs.remove(job)
        job.close()

    def _settle(self, fd: int) -> None:
        """A spare has taken its job, or is gone without it."""
        given, job = self._given.pop(fd)
        self._poll.unregister(fd)
        taken = given.took()
        given.close()
        if not taken:
            self._give(job)
            return
        self._forget(job)
        self._taken_at = clock.monotonic()


def _preload() -> None:
    """Load what every keeper needs."""
    from unhang.keeper import main, whole_rehearsal
    from unhang.keeper.prefork import guard
    from unhang.procs.tree import make_tree

    del guard, main, whole_rehearsal
    make_tree()


def _preload_the_rest() -> Iterator[None]:
    """Load, step by step, what a keeper needs to start its job, and when that goes quiet: all keepers share it.

    The first job does not wait for it, nor does one that comes between two steps. The code is run a few times, not only
    imported: Python rewrites code that runs often, and each keeper would do so in memory of its own. It is exercised on
    the first job's processes.
    """
    import _blake2

    from unhang.core import events as ev
    from unhang.core.diagnosis import progress, prompt, rules, standstill, suggest
    from unhang.core.policy import command_key, learn, retry
    from unhang.core.watchdog import actions as act
    from unhang.core.watchdog import messages
    from unhang.keeper.rehearsal import rehearse
    from unhang.keeper.streams import ReadBuffer
    from unhang.procs.sampler import cheap, full
    from unhang.store import profiles

    del _blake2, prompt, suggest, command_key, learn, retry, profiles
    try:
        for _ in range(_TIMES):
            rehearse(ReadBuffer())
            yield
        sampler = cheap.TreeSampler(os.getpid())
        for _ in range(_TIMES):
            before = sampler.look()
            progress.progressed(before, sampler.look())
            sample = full.full(os.getpid(), network=False)
            was, now = (
                standstill.as_it_was(sample, sample.at - 60) or sample,
                standstill.as_it_is(sample, sample.at + 60),
            )
            found = rules.diagnose(was, now).to_json()
            ev.to_line(messages.event_of(act.Stuck(60.0), since="", diagnosis=found, job_id="") | {"seq": 0, "ts": ""})
            yield
    except Exception:  # it only warms up
        pass
