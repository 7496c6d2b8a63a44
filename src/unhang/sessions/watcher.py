"""The watcher: one process for all sessions of a machine.

It sleeps until a watched file changes, a process ends, or a limit is near. Then it reads, judges and acts. A session
whose files cause an error is skipped for a while; the others are watched as before.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
import traceback
from functools import partial

from unhang.core import session_events
from unhang.core.values import id_of, integer_of
from unhang.errors import StateError, UnhangError
from unhang.procs import clock
from unhang.procs.process_handle import open_process
from unhang.sessions import process_identity, watcher_record
from unhang.sessions.claude import status_file
from unhang.sessions.file_events import FileEvents
from unhang.sessions.lock import WatcherLock
from unhang.sessions.notify import Notifier
from unhang.sessions.settings import WatchSettings
from unhang.sessions.state.budget import Budget
from unhang.sessions.subject import Subject
from unhang.sessions.tmux.client import Tmux
from unhang.sessions.vital_signs import DeadManPing, SystemdWatchdog
from unhang.store import home as homes
from unhang.store import session_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# How often folders that did not exist, and a home that was removed, are looked for; everything else wakes the watcher.
TICK = 20.0
# Changes that belong together (a status file is written three times in a row) are gathered for this long.
GATHER = 0.08
TROUBLE = 60.0
# Hooks may name further places where Claude Code keeps its state; more than these are not looked at.
_MOST_CONFIGS = 64
_MOST_UNREADABLE = 100


class Watcher:
    """Finds the sessions of a machine, and judges each one when its files change or a limit is near.

    `wanted` chooses sessions, `tell` is called with every event, `linger` is how long the watcher stays without a
    session.
    """

    def __init__(
        self,
        home: str,
        settings: WatchSettings,
        config_dirs: list[str],
        *,
        wanted: Callable[[Subject], bool] | None = None,
        tell: Callable[[dict[str, Any]], None] | None = None,
        lock: WatcherLock | None = None,
        linger: float | None = None,
        load: Callable[[], WatchSettings] | None = None,
        systemd: SystemdWatchdog | None = None,
    ) -> None:
        """`load` reads the settings again; `systemd` is told that the loop goes round."""
        self._home = home
        self._settings = settings
        self._configs = config_dirs
        self._wanted = wanted or (lambda _: True)
        self._listener = tell
        self._lock = lock
        self._linger = linger  # leave when there was no session for this long
        self._load = load
        self._reload = False
        self._settings_stamp = _stamp(settings)
        self._machine_budget = Budget(settings.limits.per_machine)
        self._tmux = Tmux()
        self._notifier = Notifier(settings.notify)
        self._systemd = systemd or SystemdWatchdog({})
        self._ping = DeadManPing(self._ping_changed)
        self._ping_trouble = ""
        self._file_events = FileEvents(f"{home}/{session_log.SESSIONS}")
        self.subjects: dict[int, Subject] = {}  # pid →
        self._refused: set[tuple[int, str]] = set()
        self._looked: dict[str, int] = {}  # stream → when it last changed and led nowhere
        self._processes: dict[int, int] = {}  # descriptor → pid
        self._trouble: dict[int, float] = {}  # pid → until
        self._unreadable: set[str] = set()  # what has been said to be so, until it can be read or is gone
        self._poll = select.poll()
        self._wake_fd = -1
        self._stop = False
        # what must be read again, and when each session must be woken; no other session is looked at in a round
        self._status_changed: set[int] = set()
        self._hooks_came: set[int] = set()
        self._due: dict[int, float] = {}

    # --- finding ----------------------------------------------------------------------------------------------

    def scan(self) -> None:
        """Look for sessions in every known place."""
        self._file_events.listen(self._configs)
        there: set[str] = set()
        for config in list(self._configs):
            for pid in status_file.pids(config):
                if pid not in self.subjects:
                    there.add(f"process {pid}")
                    self._found(partial(self._meet, config, pid), f"process {pid}")
        unfollowed = self._unfollowed()
        self._looked = {each: at for each, at in self._looked.items() if each in set(unfollowed)}
        for session_id in unfollowed:
            there.add(f"session {session_id}")
            self._found(partial(self._follow, session_id), f"session {session_id}")
        self._unreadable &= there

    def _found(self, work: Callable[[], None], what: str) -> None:
        """Run `work`; an error costs only the session whose files caused it."""
        try:
            work()
            self._unreadable.discard(what)
        except Exception as error:
            if what not in self._unreadable and len(self._unreadable) < _MOST_UNREADABLE:
                self._unreadable.add(what)
                text = f"cannot be read: {type(error).__name__}: {error}"[:300]
                self._warn(f"{what} {text}")
            if os.environ.get("UNHANG_DEBUG"):
                traceback.print_exc()

    def _meet(self, config: str, pid: int) -> None:
        status = status_file.read(config, pid)
        if status is not None and process_identity.alive(pid, status.start) is not None:
            self._add(pid, status.start, status.session_id, config)

    def _unfollowed(self) -> list[str]:
        """The streams of sessions that no status file has shown."""
        followed = {subject.session_id for subject in self.subjects.values()}
        try:
            return [each for each in session_log.session_ids(self._home) if each not in followed]
        except StateError:
            return []

    def _follow(self, session_id: str) -> None:
        """A session that is known from its hooks only; its config directory may be a new one."""
        changed = _changed(self._home, session_id)
        if self._looked.get(session_id) == changed and f"session {session_id}" not in self._unreadable:
            return
        self._looked[session_id] = changed
        event = session_log.SessionLog(session_id, self._home).last(session_events.HOOK)
        pid, start = integer_of(event, "pid") or 0, id_of(event, "procStart")
        if pid <= 0 or process_identity.alive(pid, start) is None:
            return
        config = status_file.path_of(event, "configDir") or os.path.join(os.path.expanduser("~"), ".claude")
        if config not in self._configs and len(self._configs) < _MOST_CONFIGS:
            self._configs.append(config)
            self._file_events.listen(self._configs)
        if pid in self.subjects:
            return
        self._meet(config, pid)
        if pid not in self.subjects:
            self._add(pid, start, session_id, config)

    def _add(self, pid: int, start: str, session_id: str, config: str) -> None:
        if (pid, start) in self._refused:
            return
        try:
            subject = Subject(
                pid,
                start,
                session_id,
                config,
                home=self._home,
                settings=self._settings,
                machine_budget=self._machine_budget,
                tmux=self._tmux,
                tell=self._tell,
            )
            if not self._wanted(subject):
                self._refused.add((pid, start))
                return
            fd = open_process(pid)
        except (OSError, StateError):
            return
        self.subjects[pid] = subject
        self._processes[fd] = pid
        self._poll.register(fd, select.POLLIN)
        self._guarded(subject, subject.begin)
        if self._lock is not None:
            where = f"tmux pane {subject.address.pane}" if subject.address is not None else "no tmux pane"
            subject.say("found", f"watching pid {pid} in {where}", cwd=subject.cwd or None)
        self._file_events.listen_to(subject.log.path, pid)
        self._due[pid] = 0.0  # at once

    def _tell(self, event: dict[str, Any]) -> None:
        if event.pop("aloud", False):
            self._notifier.tell(event)
        if self._listener is not None:
            self._listener(event)

    # --- the loop ---------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Watch until a signal ends it, the lock is lost, or no session came for `linger` seconds."""
        wake_r, wake_w = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_w)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        signal.signal(signal.SIGUSR1, self._on_reload)
        self._poll.register(wake_r, select.POLLIN)
        self._wake_fd = wake_r
        if self._file_events.fd >= 0:
            self._poll.register(self._file_events.fd, select.POLLIN)
        for folder in (self._home, f"{self._home}/{session_log.SESSIONS}"):
            homes.make(folder)  # there to be listened to
        self._announce()
        self.scan()
        tick = clock.monotonic() + TICK
        empty_since = clock.monotonic()
        while not self._stop and self._holds():
            if self._reload:
                self._read_settings()
            self._judge()
            now = clock.monotonic()
            self._systemd.beat()
            self._ping.turn(self._settings.ping, self._settings.ping_every, trouble=self._not_watched())
            if self.subjects:
                empty_since = now
            elif self._linger is not None and now - empty_since > self._linger:
                break
            if now >= tick:
                tick = now + TICK
                self.scan()
                self._reload = self._reload or _stamp(self._settings) != self._settings_stamp
                self._hooks_came |= self._file_events.deaf
                self._notifier.reap()
                continue
            until = min(self._due.values(), default=tick)
            signs = (self._systemd.due(), self._ping.due(self._settings.ping))
            until = min(until, tick, *(each for each in signs if each is not None))
            if self._linger is not None and not self.subjects:
                until = min(until, empty_since + self._linger + 0.01)
            self._wait(max(0.0, until - now))
        self._notifier.reap(last=True)
        self._ping.close()
        if self._lock is not None:
            watcher_record.remove(self._home)

    def _announce(self) -> None:
        """Let others know with which settings this watcher runs."""
        if self._lock is not None:
            watcher_record.write(self._home, self._settings, self._ping_trouble)

    def _ping_changed(self, trouble: str) -> None:
        self._ping_trouble = trouble
        self._announce()
        if trouble:
            self._warn(trouble)

    def _read_settings(self) -> None:
        """Take an edited settings file over; one with a mistake changes nothing, and is reported once."""
        self._reload = False
        self._settings_stamp = _stamp(self._settings)
        if self._load is None:
            return
        try:
            found = self._load()
        except UnhangError as error:
            self._warn(str(error))
            return
        self._settings_stamp = _stamp(found)
        if found.complaint and found.complaint != self._settings.complaint:
            self._warn(found.complaint)
        self._settings = found
        self._machine_budget.most = found.limits.per_machine
        self._notifier.command = found.notify
        for subject in self.subjects.values():
            subject.use(found)
            self._due[subject.pid] = 0.0
        self._announce()

    def _not_watched(self) -> str:
        """Which session cannot be watched; empty: there is none."""
        skipped = [self.subjects[pid].session_id for pid in self._trouble if pid in self.subjects]
        failing = [f"session {skipped[0]}"] if skipped else sorted(self._unreadable)[:1]
        return f"{failing[0]} is skipped for an error" if failing else ""

    def _warn(self, text: str) -> None:
        """Tell of something that concerns no session."""
        self._tell(session_events.watch("warning", text[:300], ""))

    def _holds(self) -> bool:
        """Whether this is still the watcher: one that was stopped for long may have been replaced."""
        return self._lock is None or self._lock.keep()

    def _on_signal(self, *_: object) -> None:
        self._stop = True

    def _on_reload(self, *_: object) -> None:
        self._reload = True

    def _wait(self, timeout: float) -> None:
        if self._file_events.fd < 0:
            timeout = min(timeout, 0.5)
            self._status_changed.update(self.subjects)
        ready = self._poll.poll(timeout * 1000 + 1)
        if self._wake_fd in (fd for fd, _ in ready):
            os.read(self._wake_fd, 512)
        if not ready:
            return
        gone = [fd for fd, _ in ready if fd in self._processes]
        for fd in gone:
            self._end(fd)
        if self._file_events.fd in (fd for fd, _ in ready):
            time.sleep(GATHER)
            self._listen()

    def _listen(self) -> None:
        heard = self._file_events.read()
        for config, pid in heard.files:
            if pid in self.subjects:
                self._status_changed.add(pid)
            else:
                self._found(partial(self._meet, config, pid), f"process {pid}")
        self._hooks_came |= heard.streams
        for session_id in heard.sessions:
            known = [each for each in self.subjects.values() if each.session_id == session_id]
            for subject in known:
                self._file_events.listen_to(subject.log.path, subject.pid)
                self._hooks_came.add(subject.pid)
            if not known:
                self._found(partial(self._follow, session_id), f"session {session_id}")
        if heard.lost:
            self._status_changed.update(self.subjects)
            self.scan()

    def _judge(self) -> None:
        now = clock.monotonic()
        due = {pid for pid, at in self._due.items() if at <= now}
        status, self._status_changed = self._status_changed | due, set()
        hooks, self._hooks_came = self._hooks_came | status, set()
        for pid in hooks:
            if not self._holds():
                return
            subject = self.subjects.get(pid)
            if subject is not None and self._trouble.get(pid, 0.0) <= now:
                self._guarded(subject, partial(self._turn, subject, read_status=pid in status))
            at = None if subject is None else subject.deadline()
            again = self._trouble.get(pid)  # one that was skipped is looked at again, also if none of its files changes
            if at is None and again is None:
                self._due.pop(pid, None)
            else:
                self._due[pid] = max(at or 0.0, again or 0.0)

    def _turn(self, subject: Subject, *, read_status: bool) -> None:
        """Read the facts first, then judge by the clock."""
        before = subject.session_id
        if read_status:
            subject.read_status()
        subject.read_hooks()
        if subject.session_id != before:
            self._file_events.listen_to(subject.log.path, subject.pid)
            subject.read_hooks()
        subject.turn()

    def _guarded(self, subject: Subject, work: Callable[[], None]) -> None:
        """Run `work`; a session that fails is skipped for a while."""
        try:
            work()
            self._trouble.pop(subject.pid, None)
        except Exception as error:
            self._trouble[subject.pid] = clock.monotonic() + TROUBLE
            if os.environ.get("UNHANG_DEBUG"):
                traceback.print_exc()
            text = f"session skipped for a minute: {type(error).__name__}: {error}"[:300]
            self._tell(session_events.watch("warning", text, subject.session_id, pid=subject.pid))

    def _end(self, fd: int) -> None:
        from unhang.sessions.state import facts

        self._poll.unregister(fd)
        pid = self._processes.pop(fd)
        os.close(fd)
        subject = self.subjects.pop(pid)
        self._due.pop(pid, None)

        def last() -> None:
            subject.read_hooks()
            subject.session.tell(facts.Died())
            subject.turn()

        self._guarded(subject, last)
        self._trouble.pop(pid, None)
        self._file_events.forget(pid)

    def close(self) -> None:
        """Close the descriptors; the sessions go on unwatched."""
        for fd in self._processes:
            os.close(fd)
        self._file_events.close()
        sys.stdout.flush()


def _stamp(settings: WatchSettings) -> list[tuple[int, ...]]:
    """Of each place where settings may be: when they last changed, their size, and who may write to them."""
    return [_stamp_of(path) for path in settings.places]


def _stamp_of(path: str) -> tuple[int, ...]:
    """The same for every file that does not exist."""
    try:
        found = os.stat(os.path.expanduser(path))
    except (OSError, ValueError):
        return ()
    return found.st_mtime_ns, found.st_size, found.st_mode, found.st_uid


def _changed(home: str, session_id: str) -> int:
    try:
        return os.stat(session_log.SessionLog(session_id, home).path).st_mtime_ns
    except (OSError, StateError):
        return 0
