"""The logs of a home as a spool: which jobs have events that are not on the server yet, and these events.

Nothing is copied: the files are the spool, and what the server has last says how far it has been read. So a server that
is away for an hour costs nothing but its absence. Only of jobs whose whole log is on the server a note is kept.
"""

from __future__ import annotations

import os
import time

from unhang.core import events as ev
from unhang.core import values
from unhang.core.fleet import subjects
from unhang.core.fleet.chain import Chain
from unhang.core.fleet.messages import LARGEST
from unhang.errors import StateError
from unhang.procs.file_watch import ADDED, CHANGED, GONE, REMOVED, FileWatch
from unhang.store import files, find
from unhang.store import home as homes
from unhang.store.layout import JobDir
from unhang.store.reader import EventReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.fleet.messages import Line, Stored

# Events that are read at once: as many as a message can hold, and not much more.
_AT_ONCE = 2 * LARGEST // 200
# How often the folder is looked at where nothing tells of a change; and while a job is only just being born.
NAP, LOOK = 0.25, 10.0


class JobSpool:
    """The log of one job on its way to the server."""

    def __init__(self, place: JobDir, machine: str) -> None:
        self.place = place
        self.chain = Chain(subjects.events_of(machine, place.id))
        self.ended = False  # the last event is on the server
        self._position = 0
        self._seq = 0

    @property
    def behind(self) -> bool:
        """Return whether there may be events that are not on the server."""
        try:
            return not self.ended and (not self.chain.sure or os.stat(self.place.events).st_size > self._position)
        except OSError:
            return False

    def lines(self) -> list[Line]:
        """Return the events behind those that the server has, as many as fit into a message."""
        position = self._position if self._seq == self.chain.last else None
        try:
            with EventReader(self.place.events, after_seq=self.chain.last, position=position) as reader:
                found = reader.read_lines(_AT_ONCE)
                if not found:
                    self._seq, self._position = self.chain.last, reader.position
        except (OSError, StateError):
            return []
        return [(int(event["seq"]), line) for event, line in found]

    def resume(self, stored: Stored | None) -> None:
        """Take what the server has last."""
        self._seq = -1
        self.chain.resume(stored, None if stored is None else self._line(stored.last))

    def stored(self, lines: list[Line], place: int) -> None:
        """Note that the server has stored what the chain made of these lines."""
        self.chain.stored(place)
        last = next((line for seq, line in lines if seq == self.chain.last), b"")
        event = ev.from_line(last)
        self.ended = event is not None and event["type"] == ev.EXITED

    def check_end(self) -> None:
        """Learn whether the last event is on the server already (a publisher before may have brought it there)."""
        event = ev.from_line(self._line(self.chain.last) or b"")
        self.ended = self.chain.sure and event is not None and event["type"] == ev.EXITED

    def _line(self, seq: int) -> bytes | None:
        if seq <= 0:
            return None
        try:
            with EventReader(self.place.events, after_seq=seq - 1) as reader:
                found = reader.read_lines(1)
        except (OSError, StateError):
            return None
        return found[0][1] if found and found[0][0]["seq"] == seq else None


class Spool:
    """All logs of a home that are not wholly on the server. `done`: the jobs that are, with their rows."""

    def __init__(self, home: str, machine: str) -> None:
        self.jobs: dict[str, JobSpool] = {}
        self.done: set[str] = set()
        self._home = home
        self._machine = machine
        self._path = f"{home}/fleet/done.json"
        self._store = ""
        self._files = FileWatch()
        self._watches: dict[str, int] = {}
        self._saved: set[str] = set()
        self._stamp = (0.0, 0.0)  # of the folder of jobs when it was listed, and when that was

    @property
    def fd(self) -> int:
        """Return a descriptor that is readable when a log may have grown; -1 where the system cannot tell."""
        return self._files.fd

    @property
    def restless(self) -> bool:
        """Return whether something is not watched, or not yet: look again soon."""
        return self._files.fd < 0 or any(job not in self._watches for job in self.jobs)

    def begin(self, store: str, *, fresh: bool = False) -> None:
        """Begin with the server whose store this is; what was noted of another is void, or if it is `fresh` for us."""
        found = files.read_json(self._path) or {}
        known = values.texts(found.get("jobs")) or [] if found.get("store") == store and not fresh else []
        self._store, self.done = store, set(known)
        self._saved, self._stamp = set(known), (0.0, 0.0)
        for job in list(self.jobs):
            self._forget(job)

    def look(self) -> set[str]:
        """Look for new jobs; return those that were removed from the disk."""
        gone = self._list()
        for job, spool in self.jobs.items():
            if job not in self._watches and os.path.exists(spool.place.events):
                watch = self._files.add(spool.place.events, CHANGED | GONE)
                if watch is not None:
                    self._watches[job] = watch
        return gone

    def _list(self) -> set[str]:
        """List the jobs, unless the folder is as it was; its time has grains, so a young one is not believed."""
        folder, now = os.path.join(self._home, homes.JOBS), time.time()
        try:
            stamp = os.stat(folder).st_mtime
            if stamp == self._stamp[0] and now < self._stamp[1] + LOOK:
                return set()
            self._files.add(folder, ADDED | REMOVED | GONE)
            there = set(find.all_ids(self._home))
        except (StateError, OSError):
            return set()
        self._stamp = (stamp if abs(now - stamp) > 1.0 else 0.0, now)
        gone = (self.done | set(self.jobs)) - there
        for job in gone & set(self.jobs):
            self._forget(job)
        for job in there - self.done - set(self.jobs):
            self.jobs[job] = JobSpool(JobDir(self._home, job), self._machine)
        return gone

    def clear(self) -> None:
        """Forget what woke us, before looking."""
        self._files.read()

    def finish(self, job: str) -> None:
        """Note that the whole log and the last row of a job are on the server."""
        self._forget(job)
        self.done.add(job)

    def _forget(self, job: str) -> None:
        self.jobs.pop(job, None)
        watch = self._watches.pop(job, None)
        if watch is not None:
            self._files.remove(watch)

    def save(self) -> None:
        """Write down which jobs are done, if that has changed. A lost note costs a question to the server each."""
        if self.done != self._saved:
            self._saved = set(self.done)
            files.write_json(self._path, {"store": self._store, "jobs": sorted(self.done)})

    def close(self) -> None:
        """Give every watch back."""
        self._files.close()
