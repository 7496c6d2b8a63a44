"""The metrics of a home: totals that outlive the jobs they were counted from, and what runs now.

    metrics/state.json   totals of jobs that have ended, which jobs those are, and how far each running one is counted
    metrics/lock         held while the totals are brought up to date
    metrics/token        what a scraper of `unhang web` shows

Who asks for metrics brings the totals up to date; nothing is counted before the first one does. From then on a job
is also counted before its record is removed, so that no end is missed between two scrapes. The totals and the list of
the jobs in them are one file, replaced as a whole: a job is counted once, whatever is killed meanwhile.
"""

from __future__ import annotations

import os

from unhang.core import values
from unhang.core.metrics import series
from unhang.core.metrics.exposition import exposition
from unhang.core.metrics.tally import Tally, add, totals
from unhang.errors import StateError, UnhangError
from unhang.jobs import reconcile
from unhang.jobs.listing import list_jobs
from unhang.jobs.token_file import read_or_make
from unhang.procs.usage import readers_of, usage_of
from unhang.store import alert_news, file_lock, files, find, records
from unhang.store import home as homes
from unhang.store.layout import JobDir
from unhang.store.reader import EventReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.store.index import Row

FOLDER = "metrics"
# How long another process may take to bring the totals up to date: one that is stopped holds up no scrape and no `gc`.
_PATIENCE = 5.0


def metrics_text(home: str) -> str:
    """Return the metrics of a home, as Prometheus reads them."""
    from unhang import __version__

    return exposition(collect(home), __version__)


def collect(home: str) -> dict[str, float]:
    """Return every count, by its key: what has happened so far, and how it stands now."""
    homes.make(home)
    rows = list_jobs(home, running_only=True)
    keepers = _keepers(home, rows)
    usage = usage_of(keepers)
    counts = _count(home, {job: usage[pid].cpu_ms / 1000 for pid, job in keepers.items() if pid in usage})
    for row in rows:
        state = row.phase if row.phase in series.STATES else "running"
        add(counts, {series.counted(series.JOBS, state): 1})
    own = {os.getpid(), *keepers}
    following = readers_of({JobDir(home, row.id).events for row in rows}, own) if rows else 0
    counts |= {
        series.counted(series.KEEPERS): len(usage),
        series.counted(series.KEEPER_MEMORY): sum(each.memory for each in usage.values()),
        series.counted(series.FOLLOWERS): following,
    }
    return counts | _deliveries(home)


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
        _count(home, {})
    except (UnhangError, OSError):
        pass  # totals that cannot be written must not keep a full disk full


def _state_path(home: str) -> str:
    return f"{home}/{FOLDER}/state.json"


def _count(home: str, cpu: dict[str, float]) -> dict[str, float]:
    """Bring the totals up to date; all that was ever counted. `cpu`: seconds of the keepers that run."""
    homes.make(f"{home}/{FOLDER}")
    held = files.open_plain(f"{home}/{FOLDER}/lock", os.O_RDWR | os.O_CREAT)
    try:
        alone = file_lock.wait_for_lock(held, _PATIENCE)
        before = files.read_json(_state_path(home)) or {}
        files.refuse_newer(before, _state_path(home))
        state = _State(before)
        state.count(home, cpu)
        after = state.to_json()
        # else the process that holds the lock hangs: it is counted again the next time
        if alone and after != {name: value for name, value in before.items() if name != "v"}:
            files.write_json(_state_path(home), after, durable=True)
    finally:
        os.close(held)
    return state.counts()


class _State:
    def __init__(self, value: dict[str, Any]) -> None:
        self._totals = totals(value.get("totals"))
        self._done = set(values.texts(value.get("done")) or [])
        self._open: dict[str, _Counted] = {}
        for job, each in (values.mapping(value.get("open")) or {}).items():
            if isinstance(each, dict):
                self._open[job] = _Counted(each)

    def to_json(self) -> dict[str, Any]:
        return {
            "totals": self._totals,
            "done": sorted(self._done),
            "open": {job: each.to_json() for job, each in self._open.items()},
        }

    def counts(self) -> dict[str, float]:
        found = dict(self._totals)
        for each in self._open.values():
            add(found, each.tally.counts)
        return found

    def count(self, home: str, cpu: dict[str, float]) -> None:
        ids = set(find.all_ids(home))
        self._done &= ids
        for job in sorted(ids - self._done):
            found = self._open.setdefault(job, _Counted({}))
            if job in cpu:
                found.tally.saw_keeper(cpu[job])
            try:
                found.read(JobDir(home, job))
            except (StateError, OSError):
                continue  # just born, or no file of ours: it is looked at again the next time
        for job, found in list(self._open.items()):
            if found.tally.ended or job not in ids:  # what is gone was removed by hand; what it had counted stays
                add(self._totals, found.tally.counts)
                del self._open[job]
                if job in ids:
                    self._done.add(job)


class _Counted:
    """A job that has not ended, as far as it was counted."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.tally = Tally.from_json(values.mapping(value.get("tally")) or {})
        self._seq = values.whole(value.get("seq")) or 0
        self._position = values.whole(value.get("position")) or 0

    def to_json(self) -> dict[str, Any]:
        return {"seq": self._seq, "position": self._position, "tally": self.tally.to_json()}

    def read(self, place: JobDir) -> None:
        with EventReader(place.events, after_seq=self._seq, position=self._position) as reader:
            for event in reader.read_new():
                self.tally.apply(event)
            self._seq, self._position = reader.seq, reader.position


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
