"""The exporter: one process a home that follows the logs of all jobs and sends their spans.

    otel/state.json   of each job how far its spans were sent, and which jobs are done
    otel/lock         held by the exporter that runs, which has signed it

The cursor of a job moves when the receiver has taken the spans that ended up to there, and is saved after every
request. After a restart every log that is not done is read from its beginning, since a span needs its start, and what
ended up to the cursor is passed over. A process that is killed between the two sends that one request again, with the
same ids.
"""

from __future__ import annotations

import json
import os
import select
import signal
from itertools import groupby
from typing import TYPE_CHECKING

from unhang.core import values
from unhang.core.durations import human
from unhang.core.spans import JobSpans
from unhang.errors import StateError, UnhangError
from unhang.jobs.listing import list_jobs
from unhang.procs import clock
from unhang.procs.wakeup import Wakeup
from unhang.store import file_lock, files, find, lock_owner, records
from unhang.store import home as homes
from unhang.store.layout import JobDir
from unhang.store.reader import EventReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Protocol

    from unhang.core.spans import Span

    class Sender(Protocol):
        """Sends spans to a receiver."""

        @property
        def trouble(self) -> str:
            """Return why the last request was not taken, for people; empty: it is not known."""

        def send(self, spans: list[Span]) -> bool:
            """Send spans; return False if the receiver did not take them."""

        def close(self) -> None:
            """Break off what is being tried."""


FOLDER = "otel"
_LOCK = "lock"
# Spans in one request, each with its events counted: about a megabyte.
MOST = 200
# What comes within this time goes together.
_GATHER = 0.5
# How often it looks for jobs whose keeper was killed, and at the folder where nothing tells that it has changed.
_LOOK = 30.0
_NAP = 1.0
# Until a receiver that could not be reached is tried again.
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0


def export(home: str, sender: Sender, *, once: bool, everything: bool, say: Callable[[str], None]) -> bool:
    """Export until SIGTERM or SIGINT; with `once` what is due now. False: the receiver did not take all of it.

    `everything`: also jobs that had ended before the first export of this home. `say`: tells a person of trouble.
    """
    homes.make(home)
    homes.make(f"{home}/{FOLDER}")
    held = file_lock.open_locked(f"{home}/{FOLDER}/{_LOCK}")
    if held is None:
        raise UnhangError(why_nothing_is_sent(home) or "another `unhang otel` exports the jobs of this home already")
    try:
        _sign(held)
        return _Exporter(home, sender, everything, say).run(once=once)
    finally:
        os.close(held)


def why_nothing_is_sent(home: str) -> str:
    """Return that the exporter of this home is stopped (SIGSTOP), for people; empty: it is not, or none runs."""
    pid = lock_owner.stopped_pid(files.read_json(f"{home}/{FOLDER}/{_LOCK}"))
    if pid is None:
        return ""
    how = f"continue it with kill -CONT {pid}, or end it with kill -KILL {pid}"
    return f"`unhang otel` (pid {pid}) is stopped and sends nothing: {how}"


def _sign(held: int) -> None:
    try:
        os.ftruncate(held, 0)
        os.pwrite(held, json.dumps(lock_owner.signature()).encode(), 0)
    except OSError:
        pass  # a full disk: only that it is stopped could not be seen


def refusal(sender: Sender) -> str:
    """Say that the last request was not taken, and why."""
    return "the receiver did not take the spans" + (f" ({sender.trouble})" if sender.trouble else "")


class _Exporter:
    def __init__(self, home: str, sender: Sender, everything: bool, say: Callable[[str], None]) -> None:
        self._home = home
        self._sender = sender
        self._say = say
        self._path = f"{home}/{FOLDER}/state.json"
        state = files.read_json(self._path)
        files.refuse_newer(state or {}, self._path)
        self._cursors: dict[str, int] = values.table_of(values.whole)((state or {}).get("open")) or {}
        self._done = set(values.texts((state or {}).get("done")) or [])
        self._jobs: dict[str, _TracedJob] = {}
        self._stopped = False
        self._bell = os.pipe()
        self._watched: set[str] = set()
        if state is None:  # where it begins is decided once, and holds if the receiver is not there yet
            self._done = set() if everything else {row.id for row in list_jobs(home) if row.final}
            self._save()

    def run(self, *, once: bool) -> bool:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        homes.ensure(self._home)
        with Wakeup() as wakeup:
            wakeup.add_file(f"{self._home}/{homes.JOBS}")
            pause, look_at = _FIRST_PAUSE, 0.0
            while True:
                if clock.monotonic() >= look_at:
                    look_at = clock.monotonic() + _LOOK
                    self._settle()
                wakeup.clear()
                taken = self._export(wakeup)
                if once or self._stopped:
                    return taken
                if taken:
                    pause = _FIRST_PAUSE
                    self._wait(_LOOK if wakeup.fd >= 0 else _NAP, wakeup.fd)
                    self._wait(_GATHER)
                else:
                    self._say(f"{refusal(self._sender)}; the next attempt is in {human(pause)}")
                    self._wait(pause)
                    pause = min(2 * pause, _LONGEST_PAUSE)

    def _stop(self, *_: object) -> None:
        self._stopped = True
        os.write(self._bell[1], b"!")  # a wait goes on after a signal, unless something to read comes with it
        self._sender.close()

    def _wait(self, seconds: float, also: int = -1) -> None:
        """Until the time is over, it is to stop, or there is something to read from `also`."""
        if not self._stopped:
            select.select([self._bell[0], *([also] if also >= 0 else [])], [], [], seconds)

    def _settle(self) -> None:
        """The record of a job whose keeper was killed gets its end by being looked at."""
        try:
            list_jobs(self._home, running_only=True)
        except (UnhangError, OSError):
            pass

    def _export(self, wakeup: Wakeup) -> bool:
        """Send what has ended since the cursors. False: not all of it was taken."""
        ids = set(find.all_ids(self._home))
        self._done &= ids
        for gone in self._cursors.keys() - ids:
            del self._cursors[gone]
        for gone in self._jobs.keys() - ids:
            del self._jobs[gone]
        for job in sorted(ids - self._done):
            place = JobDir(self._home, job)
            if job not in self._watched and os.path.exists(place.events):
                self._watched.add(job)
                wakeup.add_file(place.events)  # before it is read: what comes meanwhile wakes us
            try:
                self._read(job, place)
            except (StateError, OSError):
                continue  # just born, or no file of ours: it is looked at again
        return self._send()

    def _read(self, job: str, place: JobDir) -> None:
        followed = self._jobs.get(job)
        if followed is None:
            record = records.job(place)
            if record is None and not os.path.exists(place.events):
                return
            followed = _TracedJob(job, record or {}, self._cursors.get(job, 0))
        followed.read(place)
        if followed.seq:  # its record is written before its first event
            self._jobs[job] = followed

    def _send(self) -> bool:
        """Send what is due, a request at a time. What a request held is noted on the disk before the next one."""
        for request in _requests(self._jobs):
            spans = [span for _, ended in request for span in ended]
            if self._stopped or not self._sender.send(spans):
                return False
            for job, ended in request:
                self._jobs[job].due = self._jobs[job].due[len(ended) :]
                self._cursors[job] = self._jobs[job].taken
            self._finish()
            self._save()
        if self._finish():
            self._save()
        return True

    def _finish(self) -> bool:
        """Let go of the jobs that have ended and of which nothing is due; False: there is none."""
        over = [job for job, followed in self._jobs.items() if followed.ended and not followed.due]
        for job in over:
            self._done.add(job)
            self._cursors.pop(job, None)
            del self._jobs[job]
        return bool(over)

    def _save(self) -> None:
        state: dict[str, Any] = {"done": sorted(self._done), "open": self._cursors}
        files.write_json(self._path, state, durable=True)


def _requests(jobs: dict[str, _TracedJob]) -> Iterator[list[tuple[str, list[Span]]]]:
    """What goes together: (job, spans). What one event has ended is never divided: a cursor stands between events."""
    request: list[tuple[str, list[Span]]] = []
    weight = 0
    for job, followed in list(jobs.items()):
        for _, same in groupby(list(followed.due), key=lambda span: span.seq):
            ended = list(same)
            more = sum(1 + len(span.events) for span in ended)
            if request and weight + more > MOST:
                yield request
                request, weight = [], 0
            request.append((job, ended))
            weight += more
    if request:
        yield request


class _TracedJob:
    """One job: its cursor in memory, and the spans that have ended and were not taken yet."""

    def __init__(self, job: str, record: dict[str, Any], sent: int) -> None:
        self._spans = JobSpans(job, record)
        self._sent = sent
        self._position = 0
        self.seq = 0
        self.due: list[Span] = []

    @property
    def ended(self) -> bool:
        return self._spans.ended

    @property
    def taken(self) -> int:
        """Return the last event up to which all spans have arrived."""
        return self.due[0].seq - 1 if self.due else self.seq

    def read(self, place: JobDir) -> None:
        with EventReader(place.events, after_seq=self.seq, position=self._position) as reader:
            for event in reader.read_new():
                found = self._spans.apply(event)
                if event["seq"] > self._sent and self._spans.trace.sampled:
                    self.due += found
            self.seq, self._position = reader.seq, reader.position
