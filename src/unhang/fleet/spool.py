"""The logs of a home as a spool: which jobs and sessions have events that are not on the server yet, and these events.

Nothing is copied: the files are the spool, and what the server has last says how far it has been read. So a server that
is away for an hour costs nothing but its absence. Only of jobs whose whole log is on the server a note is kept.
A session has no last event: it may be taken up again.
"""

from __future__ import annotations

import os
import time

from unhang.core import events as ev
from unhang.core import values
from unhang.core.fleet import subjects
from unhang.core.fleet.chain import Chain
from unhang.core.fleet.messages import LARGEST
from unhang.core.fleet.session_rows import published_event
from unhang.errors import StateError
from unhang.procs.file_watch import ADDED, CHANGED, GONE, REMOVED, FileWatch
from unhang.store import files, find
from unhang.store import home as homes
from unhang.store.layout import JobDir
from unhang.store.reader import EventReader
from unhang.store.session_log import SESSIONS, SessionLog, session_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.fleet.messages import Line, Stored

# Events that are read at once: as many as a message can hold, and not much more.
_AT_ONCE = 2 * LARGEST // 200
# How often the folder is looked at where nothing tells of a change; and while a job is only just being born.
NAP, LOOK = 0.25, 10.0


class LogSpool:
    """The log of one job or session on its way to the server. `part`: which one, as subjects and keys have it.

    `watched`: what changes when the log grows.
    """

    def __init__(self, part: str, path: str, watched: str, machine: str) -> None:
        self.part = part
        self.path = path
        self.watched = watched
        self.is_job = subjects.session_in(part) is None
        self.chain = Chain(subjects.events_of(machine, part))
        self.ended = False  # the last event is on the server
        self._position = 0
        self._seq = 0

    @property
    def behind(self) -> bool:
        """Return whether there may be events that are not on the server."""
        try:
            return not self.ended and (not self.chain.sure or os.stat(self.path).st_size != self._position)
        except OSError:
            return False

    def lines(self) -> list[Line]:
        """Return the events behind those that the server has, as many as fit into a message."""
        position = self._position if self._seq == self.chain.last else None
        try:
            if os.stat(self.path).st_size < self._position:  # a session that was removed, and begins anew
                self._position = 0
                self.chain.doubt()
                return []
            with EventReader(self.path, after_seq=self.chain.last, position=position) as reader:
                found = reader.read_lines(_AT_ONCE)
                if not found:
                    self._seq, self._position = self.chain.last, reader.position
        except (OSError, StateError):
            return []
        return [(int(event["seq"]), self._published(event, line)) for event, line in found]

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
            with EventReader(self.path, after_seq=seq - 1) as reader:
                found = reader.read_lines(1)
        except (OSError, StateError):
            return None
        return self._published(*found[0]) if found and found[0][0]["seq"] == seq else None

    def _published(self, event: ev.Event, line: bytes) -> bytes:
        """A line of a job as it is on disk; of a session, with its secrets masked."""
        return line if self.is_job else ev.to_line(published_event(event))


class Spool:
    """All logs of a home that are not wholly on the server. `done`: the jobs that are, with their rows."""

    def __init__(self, home: str, machine: str) -> None:
        self.logs: dict[str, LogSpool] = {}
        self.done: set[str] = set()
        self._home = home
        self._machine = machine
        self._path = f"{home}/fleet/done.json"
        self._store = ""
        self._files = FileWatch()
        self._watches: dict[str, int] = {}
        self._saved: set[str] = set()
        self._stamps: list[float] = []  # of the folders of jobs and of sessions when they were listed
        self._listed = 0.0

    @property
    def fd(self) -> int:
        """Return a descriptor that is readable when a log may have grown; -1 where the system cannot tell."""
        return self._files.fd

    @property
    def restless(self) -> bool:
        """Return whether something is not watched, or not yet: look again soon."""
        return self._files.fd < 0 or any(part not in self._watches for part in self.logs)

    def begin(self, store: str, *, fresh: bool = False) -> None:
        """Begin with the server whose store this is; what was noted of another is void, or if it is `fresh` for us."""
        homes.ensure(self._home)  # a home may have sessions, and no job yet
        found = files.read_json(self._path) or {}
        known = values.texts(found.get("jobs")) or [] if found.get("store") == store and not fresh else []
        self._store, self.done = store, set(known)
        self._saved, self._stamps = set(known), []
        for part in list(self.logs):
            self._forget(part)

    def look(self) -> set[str]:
        """Look for new jobs and sessions; return those that were removed from the disk."""
        gone = self._list()
        for part, spool in self.logs.items():
            if part not in self._watches and os.path.exists(spool.watched):
                watch = self._files.add(spool.watched, CHANGED | GONE)
                if watch is not None:
                    self._watches[part] = watch
        return gone

    def _list(self) -> set[str]:
        """List them, unless the folders are as they were; their times have grains, so a young one is not believed."""
        now = time.time()
        try:
            folders = [os.path.join(self._home, name) for name in (homes.JOBS, SESSIONS)]
            there_are = os.path.exists(folders[1])
            stamps = [os.stat(folder).st_mtime for folder in folders[: 1 + there_are]]
            if stamps == self._stamps and now < self._listed + LOOK:
                return set()
            for folder in folders if there_are else [folders[0], self._home]:
                self._files.add(folder, ADDED | REMOVED | GONE)
            there = {*find.all_ids(self._home), *map(subjects.session_part, session_ids(self._home))}
        except (StateError, OSError):
            return set()
        self._stamps = stamps if all(abs(now - stamp) > 1.0 for stamp in stamps) else []
        self._listed = now
        gone = (self.done | set(self.logs)) - there
        for part in gone & set(self.logs):
            self._forget(part)
        for part in there - self.done - set(self.logs):
            self.logs[part] = self._log(part)
        return gone

    def _log(self, part: str) -> LogSpool:
        session = subjects.session_in(part)
        if session is None:
            events = JobDir(self._home, part).events
            return LogSpool(part, events, events, self._machine)
        log = SessionLog(session, self._home)
        # its folder, since a copy may take the place of the file
        return LogSpool(part, log.path, log.folder, self._machine)

    def clear(self) -> None:
        """Forget what woke us, before looking."""
        self._files.read()

    def finish(self, job: str) -> None:
        """Note that the whole log and the last row of a job are on the server."""
        self._forget(job)
        self.done.add(job)

    def _forget(self, part: str) -> None:
        self.logs.pop(part, None)
        watch = self._watches.pop(part, None)
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
