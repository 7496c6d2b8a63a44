"""The overview of a home, kept up to date: every surface that shows several jobs looks at one of these.

It reads only what is new: a file watch says which log has grown, and the cursor of that log is a number, not an open
descriptor, so a thousand jobs cost a thousand small objects. Where there is no file watch it looks at the sizes of the
logs instead. It needs no other process: begun late it knows all, and nothing changes when it ends.

Not for sharing between threads; `Snapshot` is.
"""

from __future__ import annotations

import os
import select
from collections import deque
from functools import partial
from itertools import islice

from unhang.core import plain_text, values
from unhang.core.events import EXITED
from unhang.core.overview import (
    LINE,
    SAME_MS,
    Pulse,
    clocks_told,
    count_in,
    counts,
    entry_of,
    in_order,
    session_entry,
    shown_command,
    unreadable_entry,
    usage_json,
)
from unhang.core.policy.command_key import command_key
from unhang.core.record import Record
from unhang.core.session_view import SessionView
from unhang.core.spec import history_name
from unhang.core.view import View
from unhang.errors import StateError, UnhangError
from unhang.jobs import reconcile, unseen_ends
from unhang.jobs.end_time import EndTime, ask_keeper
from unhang.jobs.listing import list_jobs
from unhang.jobs.outlook import listening_below
from unhang.jobs.results import fold, recorded_end, view_with_limits
from unhang.jobs.slow_look import SlowLook
from unhang.procs import clock, identity, vantage
from unhang.procs.file_watch import ADDED, CHANGED, GONE, OVERFLOWED, REMOVED, FileWatch
from unhang.procs.usage import usage_below
from unhang.store import find, profiles, records
from unhang.store import home as homes
from unhang.store.layout import JobDir
from unhang.store.reader import EventReader
from unhang.store.session_log import SESSIONS, SessionLog, session_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.overview import Entry, Usage

# How many that have ended are shown, the newest; the history has the others.
MOST_ENDED = 200
MOST_ENDED_SESSIONS = 20
# And how many of those that ended badly and were not looked at so far.
MOST_UNSEEN = 1000
# Changes that a viewer may be behind before it is given everything anew.
_KEPT_CHANGES = 2000
# Each running job's keeper is looked for once in this many seconds: a killed one writes nothing that could wake us.
# They are looked for a few at a time, since an event that comes meanwhile has to wait.
_KEEPERS = 5.0
# The rest between two looks at what the processes use, and at which addresses they listen: see `slow_look`.
_USAGE = 2.0
_PORTS = 5.0
# A keeper is asked when its job ends so long after an event, and then at least so many seconds apart.
_LULL = 1.0
_ENDS = 5.0
# Whether the bad end of a job has been looked at is asked so often.
_SEEN = 1.0
# Without a file watch, and while a job is just being born.
_NAP = 0.25
_SLEEP = 1.0


class Change(Record):
    """What has changed up to a revision: the ids of entries that are new or different, and of those that are gone."""

    revision: int
    changed: tuple[str, ...]
    gone: tuple[str, ...]


class Snapshot(Record):
    """The overview at one moment, for any thread. `at_ms`: the time of the wall clock.

    `machines`: who is there, of a fleet (None: there is none); `machines_at`: the revision since which it is so.
    """

    revision: int
    at_ms: int
    entries: dict[str, Entry]
    changes: tuple[Change, ...]
    counted: dict[str, int]
    machines: list[dict[str, Any]] | None = None
    machines_at: int = 0

    def in_order(self) -> list[Entry]:
        """Return every entry, what needs a person first."""
        return in_order(self.entries.values())

    def counts(self) -> dict[str, int]:
        """Return how many need a person, run, are stuck, have failed, have ended well."""
        return self.counted

    def since(self, revision: int) -> tuple[list[Entry], list[str]] | None:
        """Return the entries that are new or different since a revision, and the ids that are gone; None: it is too
        old.
        """
        if revision == self.revision:
            return [], []
        if revision > self.revision or not self.changes or revision < self.changes[0].revision - 1:
            return None
        touched: dict[str, None] = {}
        for change in reversed(self.changes):
            if change.revision <= revision:
                break
            touched |= dict.fromkeys((*change.changed, *change.gone))
        return (
            [self.entries[each] for each in touched if each in self.entries],
            [each for each in touched if each not in self.entries],
        )


class TrackedJob:
    """One job: its cursor, and what its events have said so far."""

    def __init__(self, place: JobDir) -> None:
        self.place = place
        self.view = View()
        self.pulse = Pulse()
        self.record: dict[str, Any] = {}
        self._command = "?"
        self.where = ""
        self.usual: Any = None
        self.usage: tuple[float, Usage] | None = None
        self.shown_usage: dict[str, Any] | None = None
        self.ports: list[str] = []
        self.ends: EndTime | None = None  # what its keeper has said since the last event
        self._lived = -_KEEPERS  # when its keeper was seen to live
        self._heard = self._asked = 0.0
        self.unseen = False  # its end may still have to be looked at
        self._seq = self._position = 0
        self._begun = False

    def read(self) -> bool:
        """Read what is new. True: something was, or it is the first time."""
        if not self._begun or not self.record:
            self._know()
        if not self._begun:
            self._seq, self._position = fold(self.place, self._apply)
            self._begun = self._seq > 0
            return self._begun
        try:
            with EventReader(self.place.events, after_seq=self._seq, position=self._position) as reader:
                found = reader.read_new()
                self._seq, self._position = reader.seq, reader.position
        except FileNotFoundError:
            return False
        for event in found:
            if event["type"] != EXITED:
                self._apply(event)
        if found:
            self._heard, self.ends = clock.monotonic(), None
        goes_on = self.view.ended or (found and found[-1]["type"] != EXITED)
        end = None if goes_on else recorded_end(self.place, self._seq)
        if end is not None:
            self._apply(end)
        return bool(found) or end is not None

    @property
    def seq(self) -> int:
        """Return the number of the last event that was read."""
        return self._seq

    def wants_end(self, now: float) -> bool:
        """Return whether its keeper is to be asked when it ends: a moment after an event, then ever more rarely."""
        if self._asked <= self._heard:
            due = now - self._heard >= _LULL
        else:
            due = now - self._asked >= max(_ENDS, (self._asked - self._heard) / 4)
        if not due or self.keeper is None or self.pulse.stopping:
            return False
        limit = self.view.limits.get("idleMs") or {}
        return values.number(limit.get("value")) is not None

    def asked_end(self, now: float) -> None:
        """Note that its keeper is asked now."""
        self._asked = now

    def told_end(self, seq: int, said: EndTime | None, shown: Entry) -> bool:
        """Take what its keeper said after this event. True: a person would see the difference to what is shown."""
        if said is None or seq != self._seq:
            return False
        before, self.ends = self.ends, said
        if before is None:
            return self._with_end(shown) != shown
        if before.at is None or said.at is None:
            return before != said
        return abs(before.at - said.at) * 1000 > SAME_MS or before.limit != said.limit

    def _apply(self, event: dict[str, Any]) -> None:
        self.view.apply(event)
        self.pulse.apply(event)

    def _know(self) -> None:
        self.record = records.job(self.place) or {}
        self._command = shown_command(self.record)
        name = history_name(self.record)
        if name is not None:
            self.usual = profiles.read(self.place.home, command_key(name), self.record.get("cwd") or "")

    @property
    def grown(self) -> bool:
        """Return whether the log is longer than what was read of it."""
        try:
            return os.stat(self.place.events).st_size > self._position
        except OSError:
            return False

    @property
    def keeper(self) -> int | None:
        """Return the pid of the keeper of a running job, if that can be judged from here."""
        if self.view.ended or self.where:
            return None
        return values.pid((self.record.get("keeper") or {}).get("pid"))

    def lived(self, now: float) -> bool:
        """Return whether its keeper was seen to live a moment ago."""
        return now - self._lived < _KEEPERS

    def used(self, now: float, after: Usage) -> bool:
        """Take what its processes use now. True: a person would see the difference."""
        if after.start and after.start == (self.record.get("keeper") or {}).get("start"):
            self._lived = now
        at, before = self.usage or (now, None)
        self.usage = (now, after)
        shown = usage_json(before, after, now - at)
        if not _differs(self.shown_usage, shown):
            return False
        self.shown_usage = shown
        return True

    def entry(self) -> Entry:
        """Return what every surface draws of it."""
        view_with_limits(self.place, self.view)
        entry = entry_of(
            self.place.id,
            self.record,
            self.view,
            self.pulse,
            command=self._command,
            where=self.where,
            profile=self.usual,
            unseen=self.unseen,
        )
        if not self.view.ended:
            entry["usage"], entry["ports"] = self.shown_usage, self.ports
            return self._with_end(entry)
        return entry

    def _with_end(self, entry: Entry) -> Entry:
        """The entry with what its keeper has said of its end."""
        if self.ends is None:
            return entry
        at, needs = self.ends.at, entry["attention"]
        if needs is not None and needs["endsAt"] is None and at is not None:
            needs = needs | {"endsAt": clock.rfc3339(at)}
        told = clocks_told(entry["clocks"], None if at is None else at * 1000, self.ends.limit)
        return entry | {"clocks": told, "attention": needs}


class TrackedSession:
    """One session: its cursor, and what its events have said so far."""

    def __init__(self, session: str, home: str) -> None:
        self.log = SessionLog(session, home)
        self.view = SessionView()
        self._moved = False

    def read(self) -> bool:
        """Read what is new. True: something was, or it was found to have ended."""
        found, self._moved = self._moved, False
        for event in self.log.news():
            self.view.apply(event)
            found = True
        return found

    def dead(self, here: vantage.Vantage) -> bool:
        """Return whether its process is known to be gone, though no event says so."""
        view = self.view
        if view.ended_at is not None or view.pid is None or view.start is None:
            return False
        if view.boot is not None and view.boot != here.boot:
            return True
        if not here.sees or not vantage.shares_numbers(view.namespaces, here):
            return False
        return not identity.is_alive(view.pid, view.start)

    def end(self) -> None:
        """Note that its process is gone; nothing is written about that, since no process watches it."""
        self.view.apply({"type": "watch", "phase": "gone", "ts": self.view.last_activity_at})
        self._moved = True

    def entry(self) -> Entry:
        """Return what every surface draws of it."""
        return session_entry(self.log.session_id, self.view.state())


class Overview:
    """`refresh` brings it up to date, `wait` waits until that may be worth while. Close it (or use it as a context)."""

    def __init__(self, home: str, *, most_ended: int = MOST_ENDED, usage: bool = True) -> None:
        self.home = home
        self.revision = 0
        self._most_ended = most_ended
        self._wants_usage = usage
        self._jobs: dict[str, TrackedJob] = {}
        self._sessions: dict[str, TrackedSession] = {}
        self._entries: dict[str, Entry] = {}
        self._changes: deque[Change] = deque(maxlen=_KEPT_CHANGES)
        self._known: set[str] = set()  # every job directory that was looked at, shown or not
        self._files = FileWatch()
        self._watches: dict[int, str] = {}  # watch → id
        self._folders: dict[int, str] = {}  # watch → the home, the folder of jobs or of sessions
        self._moved: set[str] = set()  # names that have come to the folder of jobs, or are gone from it
        self._watched: dict[str, int] = {}
        self._unborn: set[str] = set()
        self._unseen: set[str] = set()  # those that ended badly and were not looked at so far
        self._broken: dict[str, str] = {}  # those that could not be read, and why
        self._unwatched: set[str] = set()
        self._rescan = True
        self._blind = False  # a folder is not watched: it is not there yet, or cannot be
        self._counts = counts(())
        self._some_ended = False  # since the oldest of those were let go
        self._keepers_at = self._seen_at = 0.0
        self._keepers_due: deque[str] = deque()  # those of this round that were not looked for yet
        self._keepers_of_round = 0
        self._usage, self._ports, self._ends = SlowLook(), SlowLook(), SlowLook()
        self._begun = False

    @property
    def fd(self) -> int:
        """Return a descriptor that is readable when there may be something new; -1: there is none, so look now and
        then.
        """
        return self._files.fd

    def snapshot(self) -> Snapshot:
        """Return what is known now. Costs a shallow copy."""
        at = round(clock.wall() * 1000)
        return Snapshot(self.revision, at, dict(self._entries), tuple(self._changes), dict(self._counts))

    def wait(self, timeout: float = _SLEEP) -> bool:
        """Wait until there may be something new, at most so many seconds. False: the time is over."""
        looks = any(look.under_way for look in (self._usage, self._ports, self._ends))
        if self._unborn or self._unwatched or self._blind or looks:
            timeout = min(timeout, _NAP)
        poll = select.poll()
        if self._files.fd >= 0:
            poll.register(self._files.fd, select.POLLIN)
        return bool(poll.poll(max(0.0, min(timeout, _SLEEP)) * 1000))

    def refresh(self) -> bool:
        """Read what is new. True: an entry has changed."""
        touched = self._woken()
        gone: set[str] = set()
        if self._rescan or self._blind:
            self._rescan = False
            self._moved.clear()
            new, gone = self._scan()
            touched |= new
        elif self._moved:
            new, gone = self._look_at_moved()
            touched |= new
        for each in [each for each in self._unborn | self._unwatched if each not in touched]:
            if each in self._unborn or self._has_grown(each):
                touched.add(each)
        changed = {each for each in touched if each not in gone and self._read(each)}
        changed |= {each for each in self._check_keepers() if self._read(each)}
        changed |= self._check_usage() | self._check_ports() | self._check_ends() | self._check_seen()
        gone |= self._let_go()
        return self._publish(changed - gone, gone)

    def close(self) -> None:
        """Give every watch back."""
        self._files.close()

    def __enter__(self) -> Overview:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- what has changed -----------------------------------------------------------------------------------

    def _woken(self) -> set[str]:
        """The ids of what the kernel says has changed."""
        found: set[str] = set()
        for watch, what, name in self._files.read():
            if what & OVERFLOWED:
                self._rescan = True
                found |= {each for each, job in self._jobs.items() if not job.view.ended}
                found |= self._sessions.keys()
                continue
            folder, each = self._folders.get(watch), self._watches.get(watch)
            if folder is not None:
                self._note_moved(folder, "" if what & GONE else name)
            elif each is not None:
                found.add(each)
        return found

    def _note_moved(self, folder: str, name: str) -> None:
        """Note what has come to a folder or is gone from it: a home with many jobs is not listed again for each."""
        if name and folder == os.path.join(self.home, homes.JOBS):
            self._moved.add(name)
        elif not name or folder != self.home or name in (homes.JOBS, SESSIONS):
            self._rescan = True  # other files come and go in a home

    def _watch(self, each: str, path: str) -> None:
        if each in self._watched:
            return
        watch = self._files.add(path, CHANGED | GONE)
        if watch is None:
            self._unwatched.add(each)
            return
        self._watches[watch] = each
        self._watched[each] = watch
        self._unwatched.discard(each)

    def _watch_folders(self) -> None:
        """Any of them may only now be made. Watching twice is watching once."""
        self._blind = False
        for folder in (os.path.join(self.home, homes.JOBS), os.path.join(self.home, SESSIONS), self.home):
            watch = self._files.add(folder, ADDED | REMOVED | GONE)
            if watch is not None:
                self._folders[watch] = folder
            elif self._files.fd < 0 or folder == self.home or os.path.isdir(folder):
                self._blind = True

    def _unwatch(self, each: str) -> None:
        watch = self._watched.pop(each, None)
        if watch is not None:
            self._watches.pop(watch, None)
            self._files.remove(watch)
        self._unwatched.discard(each)
        self._unborn.discard(each)

    def _has_grown(self, each: str) -> bool:
        job = self._jobs.get(each)
        return True if job is None else job.grown

    def _scan(self) -> tuple[set[str], set[str]]:
        """Which jobs and sessions are new, and which of those shown are gone."""
        self._watch_folders()  # before they are listed: what comes meanwhile is reported
        try:
            ids = set(find.all_ids(self.home))
            sessions = set(session_ids(self.home))
        except (StateError, OSError):
            return self._look_again()
        gone = {each for each in self._entries if each not in ids and each not in sessions}
        for each in gone | (self._known - ids - sessions):
            self._forget(each)
        self._known &= ids | sessions
        if self._begun:
            new = ids - self._known
        else:
            self._begun = True
            new = self._first(ids)
        self._known |= ids
        self._begin_with(new)
        for each in sessions - self._sessions.keys() - self._known:
            self._sessions[each] = TrackedSession(each, self.home)
            new.add(each)
        self._known |= sessions
        return set(new), gone

    def _look_at_moved(self) -> tuple[set[str], set[str]]:
        """Do what `_scan` does, for the entries alone of which the kernel has told."""
        moved, self._moved = self._moved, set()
        try:
            there = {name for name in moved if find.is_listed(self.home, name)}
        except (StateError, OSError):
            return self._look_again()
        gone = (moved - there) & self._known
        for each in gone:
            self._forget(each)
        new = there - self._known
        self._known -= gone
        self._known |= new
        self._begin_with(new)
        return new, gone & self._entries.keys()

    def _look_again(self) -> tuple[set[str], set[str]]:
        """Nothing is known for now, and nothing will tell of what has come by then: all is listed at the next look."""
        self._rescan = True
        return set(), set()

    def _begin_with(self, new: set[str]) -> None:
        for each in new:
            self._jobs[each] = TrackedJob(JobDir(self.home, each))
            self._unborn.add(each)

    def _first(self, ids: set[str]) -> set[str]:
        """Of a home with many jobs that have ended, only the newest are looked at."""
        try:
            rows = list_jobs(self.home)
        except (UnhangError, OSError):
            return ids
        ended = sorted((row for row in rows if row.final), key=lambda row: row.ended or row.created, reverse=True)
        old = ended[self._most_ended :]
        unseen = (row.id for row in old if unseen_ends.may_need_a_look(JobDir(self.home, row.id), row))
        return ids - {row.id for row in old} | set(islice(unseen, MOST_UNSEEN))

    def _forget(self, each: str) -> None:
        self._unwatch(each)
        self._jobs.pop(each, None)
        self._unseen.discard(each)
        self._sessions.pop(each, None)

    # --- reading --------------------------------------------------------------------------------------------

    def _read(self, each: str) -> bool:
        """True: its entry has to be made anew."""
        session = self._sessions.get(each)
        if session is not None:
            self._watch(each, session.log.path)
            try:
                return session.read()
            except Exception as error:  # one record must not cost the others
                self._broken[each] = plain_text.one_line(str(error) or type(error).__name__, LINE)
                return True
        job = self._jobs.get(each)
        if job is None:
            return False
        if each not in self._watched and os.path.exists(job.place.events):
            self._watch(each, job.place.events)  # before it is read: what comes meanwhile is reported
        try:
            found = job.read()
            if found and each not in self._watched and not job.view.ended:
                # its log came into being after we looked for it: what came before the watch is read now
                self._watch(each, job.place.events)
                job.read()
            if found and each in self._unborn:
                self._unborn.discard(each)
                job.where = "" if job.view.ended else reconcile.whereabouts(job.place, job.record)
        except FileNotFoundError:
            self._unborn.discard(each)  # it was removed meanwhile
            return False
        except Exception as error:  # one record must not cost the others
            self._unborn.discard(each)
            self._broken[each] = plain_text.one_line(str(error) or type(error).__name__, LINE)
            return True
        if job.view.ended:
            self._unwatch(each)
            job.unseen = unseen_ends.find_unseen_end(job.place, job.view.status, job.view.ended_at) is not None
            if job.unseen:
                self._unseen.add(each)
        return found

    def _check_keepers(self) -> set[str]:
        """Those whose keeper is gone without a word: making the record true writes the end."""
        now = clock.monotonic()
        passed = now - self._keepers_at
        found: set[str] = set()
        left = self._keepers_of_round * (1 - passed / _KEEPERS)
        while self._keepers_due and len(self._keepers_due) > left:
            each = self._keepers_due.popleft()
            if self._is_lost(each):
                found.add(each)
        if passed < _KEEPERS:
            return found
        first = not self._keepers_at
        self._keepers_at = now
        for each in list(self._unborn):
            try:
                if reconcile.settle(JobDir(self.home, each)):
                    found.add(each)
            except (UnhangError, OSError):
                self._unborn.discard(each)
        here = vantage.here()
        for each, session in self._sessions.items():
            if session.dead(here):
                session.end()
                found.add(each)
        running = [each for each, job in self._jobs.items() if not job.view.ended and not job.lived(now)]
        if first:  # a caller that looks only once is told the truth
            return found | {each for each in running if self._is_lost(each)}
        self._keepers_due.extend(running)
        self._keepers_of_round = len(running)
        return found

    def _is_lost(self, each: str) -> bool:
        """Whether a job's keeper is gone; its end is then on record."""
        job = self._jobs.get(each)
        if job is None or job.view.ended or not job.record or job.where or reconcile.keeper_lives(job.record):
            return False
        try:
            reconcile.settle(job.place)
        except (UnhangError, OSError):
            return False
        return True

    def _keepers(self) -> dict[int, str]:
        """The running jobs that can be judged from here, by the pid of their keeper."""
        return {pid: each for each, job in self._jobs.items() if (pid := job.keeper) is not None}

    def _check_usage(self) -> set[str]:
        """Those whose use of processors and memory has changed enough to be shown."""
        if self._wants_usage and self._usage.due:
            self._usage.begin(partial(_usage_of, self._keepers()))
        changed: set[str] = set()
        keepers, now, found = self._usage.take(_USAGE) or ({}, 0.0, {})
        for pid, after in found.items():
            job = self._jobs.get(keepers[pid])
            if job is not None and job.used(now, after):
                changed.add(job.place.id)
        return {each for each in changed if each in self._entries}

    def _check_ports(self) -> set[str]:
        """Those that listen at other addresses than before."""
        if self._wants_usage and self._ports.due:
            self._ports.begin(partial(_ports_of, self._keepers()))
        keepers, found = self._ports.take(_PORTS) or ({}, {})
        changed: set[str] = set()
        for pid, each in keepers.items():
            job = self._jobs.get(each)
            ports: list[str] = found.get(pid, [])
            if job is not None and job.ports != ports:
                job.ports = ports
                changed.add(each)
        return {each for each in changed if each in self._entries}

    def _check_ends(self) -> set[str]:
        """Those that end at another time than their events say: their keepers are asked."""
        if self._wants_usage and self._ends.due:
            now = clock.monotonic()
            asked = [job for job in self._jobs.values() if job.wants_end(now)]
            for job in asked:
                job.asked_end(now)
            if asked:
                self._ends.begin(partial(_ends_of, [(job.place, job.seq) for job in asked]))
        changed: set[str] = set()
        for place, seq, said in self._ends.take(_LULL) or ():
            tracked = self._jobs.get(place.id)
            shown = self._entries.get(place.id)
            if tracked is not None and shown is not None and tracked.told_end(seq, said, shown):
                changed.add(place.id)
        return changed

    def _check_seen(self) -> set[str]:
        """Those whose bad end has been looked at, or is a day old: no event says so."""
        now = clock.monotonic()
        if now - self._seen_at < _SEEN:
            return set()
        self._seen_at = now
        found: set[str] = set()
        for each in [each for each in self._unseen if each in self._entries]:
            job = self._jobs[each]
            if not unseen_ends.awaits_look(job.place, job.view.status, job.view.ended_at):
                job.unseen = False
                self._unseen.discard(each)
                found.add(each)
        return found

    def _let_go(self) -> set[str]:
        """The oldest of those that have ended, beyond the number that is shown."""
        gone: set[str] = set()
        if not self._some_ended:
            return gone
        self._some_ended = False
        kinds = (
            (self._jobs, _is_over, self._most_ended),
            (self._jobs, _is_unseen, MOST_UNSEEN),
            (self._sessions, _is_over, MOST_ENDED_SESSIONS),
        )
        for tracked, is_old, most in kinds:
            ended = [each for each in tracked if is_old(self._entries.get(each))]
            if len(ended) > most + (most >> 2):  # not one by one
                ended.sort(key=lambda each: str(self._entries[each]["endedAt"]))
                gone |= set(ended[: len(ended) - most])
        for each in gone:
            self._forget(each)
        return gone

    def _publish(self, changed: set[str], gone: set[str]) -> bool:
        really: list[str] = []
        for each in changed:
            tracked: TrackedJob | TrackedSession | None = self._jobs.get(each) or self._sessions.get(each)
            if tracked is None:
                continue
            entry = self._entry(each, tracked)
            if self._entries.get(each) != entry:
                self._put(each, entry)
                really.append(each)
        left = [each for each in gone if self._put(each, None)]
        if not really and not left:
            return False
        self.revision += 1
        self._changes.append(Change(self.revision, tuple(really), tuple(left)))
        return True

    def _entry(self, each: str, tracked: TrackedJob | TrackedSession) -> Entry:
        """What is shown of it; of one that cannot be read, that and why."""
        if each not in self._broken:
            try:
                return tracked.entry()
            except Exception as error:  # one record must not cost the others
                self._broken[each] = plain_text.one_line(str(error) or type(error).__name__, LINE)
        return unreadable_entry(each, self._broken.pop(each))

    def _put(self, each: str, entry: Entry | None) -> bool:
        """Show another entry, or none; they are counted as they come and go. True: there was one."""
        before = self._entries.pop(each, None) if entry is None else self._entries.get(each)
        if before is not None:
            count_in(self._counts, before, -1)
        if entry is not None:
            self._entries[each] = entry
            count_in(self._counts, entry)
            self._some_ended |= entry["endedAt"] is not None
        return before is not None


def _is_over(entry: Entry | None) -> bool:
    """Whether it has ended and needs nothing any more."""
    return entry is not None and entry["endedAt"] is not None and entry["attention"] is None


def _is_unseen(entry: Entry | None) -> bool:
    """Whether it has ended and still needs a look."""
    return entry is not None and entry["endedAt"] is not None and entry["attention"] is not None


def _usage_of(keepers: dict[int, str]) -> tuple[dict[int, str], float, dict[int, Usage]]:
    return keepers, clock.monotonic(), usage_below(keepers)


def _ends_of(jobs: list[tuple[JobDir, int]]) -> list[tuple[JobDir, int, EndTime | None]]:
    return [(place, seq, ask_keeper(place)) for place, seq in jobs]


def _ports_of(keepers: dict[int, str]) -> tuple[dict[int, str], dict[int, list[str]]]:
    return keepers, listening_below(list(keepers))


def _differs(before: dict[str, Any] | None, after: dict[str, Any]) -> bool:
    """Whether a person would see the difference: a quiet job is no change a second."""
    if before is None or before["processes"] != after["processes"]:
        return True
    was, now = before["cpuPercent"], after["cpuPercent"]
    if (was is None) != (now is None) or (was is not None and abs(was - now) >= max(2, was / 10)):
        return True
    memory = int(before["memoryBytes"])
    return abs(memory - int(after["memoryBytes"])) > max(1 << 20, memory / 20)
