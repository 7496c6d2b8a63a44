"""The metrics of a home: totals that outlive the jobs they were counted from, and what runs now.

    metrics/state.json   totals of jobs that have ended, which jobs those are, and how far each running one is counted
    metrics/lock         held while the totals are brought up to date
    metrics/token        what a scraper of `unhang web` shows

Who asks for metrics brings the totals up to date; nothing is counted before the first one does. From then on a job
is also counted before its record is removed, so that no end is missed between two scrapes. The totals and the list of
the jobs in them are one file, replaced as a whole: a job is counted once, whatever is killed meanwhile.

A scraper waits for its answer, so a scrape may read so much and no more (`Most`), the newest records first, and the
next one goes on behind it; a metric says how many records are left. Until everything that was there at the first
scrape has been counted there are no totals to show: to a scraper, what happened long ago would be happening now.
"""

from __future__ import annotations

import os

from unhang.core import events as ev
from unhang.core import values
from unhang.core.metrics import series
from unhang.core.metrics.exposition import exposition
from unhang.core.metrics.tally import Tally, add, totals
from unhang.core.record import Record
from unhang.errors import StateError, UnhangError
from unhang.jobs import reconcile
from unhang.jobs.listing import row_of
from unhang.jobs.results import recorded_end
from unhang.jobs.token_file import read_or_make
from unhang.procs.usage import readers_of, usage_of
from unhang.store import alert_news, file_lock, files, find, records
from unhang.store import home as homes
from unhang.store.layout import JobDir
from unhang.store.reader import EventReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.overview import Usage
    from unhang.store.index import Row

FOLDER = "metrics"
# How long another process may take to bring the totals up to date: one that is stopped holds up no scrape and no `gc`.
_PATIENCE = 5.0


class Most(Record):
    """How much one scrape may read. `records`: of those that no scrape has seen yet. `events`: in all."""

    records: int
    events: int


# Half a second of work, on a slow machine or one under load some seconds: Prometheus waits for ten.
OF_A_SCRAPE = Most(4000, 20_000)


def metrics_text(home: str, most: Most | None = None) -> str:
    """Return the metrics of a home, as Prometheus reads them. `most`: what may be read for it; else everything."""
    from unhang import __version__

    found = collect(home, most)
    return exposition(found.counts, __version__, has_totals=found.is_whole)


class Counts(Record):
    """Every count, by its key. `is_whole`: what was there at the first scrape has been counted."""

    counts: dict[str, float]
    is_whole: bool


def collect(home: str, most: Most | None = None) -> Counts:
    """Return every count: what has happened so far, and how it stands now."""
    homes.make(home)
    state = _count(home, most)
    counts = state.counts()
    for row in state.running:
        phase = row.phase if row.phase in series.STATES else "running"
        add(counts, {series.counted(series.JOBS, phase): 1})
    own = {os.getpid(), *state.keepers}
    logs = {JobDir(home, row.id).events for row in state.running}
    counts |= {
        series.counted(series.UNCOUNTED): state.left,
        series.counted(series.KEEPERS): len(state.usage),
        series.counted(series.KEEPER_MEMORY): sum(each.memory for each in state.usage.values()),
        series.counted(series.FOLLOWERS): readers_of(logs, own) if logs else 0,
    }
    return Counts(counts | _deliveries(home), state.is_whole)


def scraper_token(home: str) -> str:
    """Return what a scraper shows to the page as a bearer token: made with the first start, in `metrics/token`."""
    homes.make(home)
    homes.make(f"{home}/{FOLDER}")
    return read_or_make(f"{home}/{FOLDER}/token")


def count_before_removal(home: str) -> None:
    """Count what is in records that are about to be removed, if metrics were ever asked for here."""
    if not os.path.exists(_state_path(home)):
        return
    try:
        _count(home, None)
    except (UnhangError, OSError):
        pass  # totals that cannot be written must not keep a full disk full


def _state_path(home: str) -> str:
    return f"{home}/{FOLDER}/state.json"


def _count(home: str, most: Most | None) -> _State:
    """Bring the totals up to date, as far as `most` allows; the totals, and what was seen on the way."""
    homes.make(f"{home}/{FOLDER}")
    held = files.open_plain(f"{home}/{FOLDER}/lock", os.O_RDWR | os.O_CREAT)
    try:
        alone = file_lock.wait_for_lock(held, _PATIENCE)
        before = files.read_json(_state_path(home)) or {}
        files.refuse_newer(before, _state_path(home))
        state = _State(before)
        state.count(home, most)
        after = state.to_json()
        # else the process that holds the lock hangs: it is counted again the next time
        if alone and after != {name: value for name, value in before.items() if name != "v"}:
            files.write_json(_state_path(home), after, durable=True)
    finally:
        os.close(held)
    return state


class _State:
    def __init__(self, value: dict[str, Any]) -> None:
        self._totals = totals(value.get("totals"))
        self._done = set(values.texts(value.get("done")) or [])
        self._open: dict[str, _Counted] = {}
        for job, each in (values.mapping(value.get("open")) or {}).items():
            if isinstance(each, dict):
                self._open[job] = _Counted(each)
        self.is_whole = "totals" in value and value.get("partial") is not True
        self.left = 0  # records that have not been counted, or not to their end
        self.running: list[Row] = []
        self.keepers: dict[int, str] = {}
        self.usage: dict[int, Usage] = {}

    def to_json(self) -> dict[str, Any]:
        return {
            "totals": self._totals,
            "done": sorted(self._done),
            "open": {job: each.to_json() for job, each in self._open.items()},
            **({} if self.is_whole else {"partial": True}),
        }

    def counts(self) -> dict[str, float]:
        found = dict(self._totals)
        for each in self._open.values():
            add(found, each.tally.counts)
        return found

    def count(self, home: str, most: Most | None) -> None:
        ids = set(find.all_ids(home))
        self._done &= ids
        events = None if most is None else most.events
        for job in self._to_read(home, ids, most):
            place, found = JobDir(home, job), self._open.setdefault(job, _Counted({}))
            row = None
            events = found.read(place, events)
            if not found.tally.ended:
                row = row_of(place)  # which records the loss of a job that has lost its keeper
                events = found.read(place, events)
            if row is not None and not row.final:
                self.running.append(row)
            if not found.tally.ended:
                self.left += events == 0 or (row is not None and row.final)
        self._look_at_keepers(home)
        for job, found in list(self._open.items()):
            gone = job not in ids  # removed by hand; what it had counted stays
            if gone or found.tally.ended:
                add(self._totals, found.tally.counts)
                del self._open[job]
                if not gone:
                    self._done.add(job)
        self.is_whole = self.is_whole or not self.left

    def _to_read(self, home: str, ids: set[str], most: Most | None) -> list[str]:
        """Those that run, as far as is known, and of the others as many as may be read, the newest first."""
        new = ids - self._done - self._open.keys()
        if most is None or len(new) <= most.records:
            return sorted(ids - self._done)
        self.left = len(new) - most.records
        by_time = sorted(new, key=lambda job: _last_written(JobDir(home, job).events), reverse=True)
        return [*sorted(ids & self._open.keys()), *by_time[: most.records]]

    def _look_at_keepers(self, home: str) -> None:
        self.keepers = _keepers(home, self.running)
        self.usage = usage_of(self.keepers)
        for pid, used in self.usage.items():
            self._open[self.keepers[pid]].tally.saw_keeper(used.cpu_ms / 1000)


def _last_written(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


class _Counted:
    """A job that has not ended, as far as it was counted."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.tally = Tally.from_json(values.mapping(value.get("tally")) or {})
        self._seq = values.whole(value.get("seq")) or 0
        self._position = values.whole(value.get("position")) or 0

    def to_json(self) -> dict[str, Any]:
        return {"seq": self._seq, "position": self._position, "tally": self.tally.to_json()}

    def read(self, place: JobDir, most: int | None) -> int | None:
        """Count what is new, at most so many events; how many more may be counted."""
        try:
            with EventReader(place.events, after_seq=self._seq, position=self._position) as reader:
                found = reader.read_new(most)
        except (StateError, OSError):
            return most  # just born, or no file of ours: it is looked at again the next time
        self._seq, self._position = reader.seq, reader.position
        for event in found:
            if event["type"] != ev.EXITED:
                self.tally.apply(event)
        if not self.tally.ended and (end := recorded_end(place, self._seq)) is not None:
            self.tally.apply(end)
        return None if most is None else most - len(found)


def _keepers(home: str, rows: list[Row]) -> dict[int, str]:
    """The keepers that run here: pid → job."""
    found: dict[int, str] = {}
    for row in rows:
        job = records.job(JobDir(home, row.id)) or {}
        pid = values.pid((job.get("keeper") or {}).get("pid"))
        if pid is not None and row.phase != reconcile.ELSEWHERE and reconcile.keeper_lives(job):
            found[pid] = row.id
    return found


def _deliveries(home: str) -> dict[str, float]:
    """What the deliverer of alerts has counted; it keeps these totals itself."""
    state = files.read_json(f"{home}/{alert_news.FOLDER}/state.json") or {}
    counts = values.mapping(state.get("counts")) or {}
    return {
        series.counted(series.DELIVERED, outcome): values.number(counts.get(outcome)) or 0
        for outcome in series.DELIVERIES
    }
