"""The deliverer: one process a home that turns news into messages. It runs while there are jobs, or something to send.

It is started by the process that starts a job, and not by the keeper that has the news: what a keeper starts is below
its guard, where the proof that nothing of the job is left would find it. A mark that no deliverer has seen waits for
the next one, so a machine that went down tells what was due when the next job, hook or `unhang alerts` begins.

Each message is sent by a child that may be slow, hang or crash: it is ended after a while, and the state is written
before it begins and after it ended. So a message is sent at least once, with the same key each time. While the disk is
full, messages are sent all the same, and the deliverer stays until it could write down what it has done.
"""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from unhang.alerts import await_news, deliveries, settings_file
from unhang.alerts.presence import is_watched
from unhang.core import values
from unhang.core.alerts.kinds import settles
from unhang.core.alerts.ledger import Ledger
from unhang.core.alerts.message import message_of
from unhang.core.alerts.occasions import AlertSubject, occasion_of, session_occasion, subject_of
from unhang.core.view import View
from unhang.errors import NoSuchJob, StateError, UsageError
from unhang.procs import clock
from unhang.procs.inherited import close_all_but
from unhang.procs.wakeup import Wakeup
from unhang.store import alert_news, files, find, layout
from unhang.store.reader import EventReader
from unhang.store.session_log import SESSIONS, SessionLog, is_session_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from unhang.core.alerts.ledger import Delivery, Outcome
    from unhang.core.alerts.occasions import Occasion
    from unhang.core.alerts.settings import AlertSettings
    from unhang.core.events import Event

# How often it looks whether jobs run that have left no news: such a look also finds those that were lost.
_LOOK = 60.0
# A child that sends may take longer than any single wait of its own.
_LONGEST = 30.0
# How often it looks for marks where the kernel does not tell of them.
_BLIND = 2.0
# How many outcomes wait for room on the disk.
_MOST_UNWRITTEN = 200


def deliver(home: str) -> int:
    """Be the deliverer of this home until there is nothing to do; 0 at once if there is one.

    The process is to have been started for this: every descriptor that it was started with is closed first. Raises
    UsageError for a mistake in alerts.toml; the news waits until it is mended.
    """
    close_all_but()  # what its starter left open is not for a process that outlives it
    while True:
        held = alert_news.lock(home)
        if held is None:
            alert_news.wake(home)
            return 0
        try:
            _Deliverer(home).run()
        finally:
            os.close(held)
        # else: after the last look a mark was left, or a job began, and its process still saw the lock. Jobs are asked
        # for first: one whose end is read in between has left its mark when the marks are read.
        if not await_news.may_come(home, _cursors_of(_state_of(home))) and not alert_news.marks(home):
            return 0


def _state_of(home: str) -> dict[str, Any]:
    return files.read_json(f"{home}/{alert_news.FOLDER}/state.json") or {}


def _cursors_of(state: dict[str, Any]) -> dict[str, int]:
    """How far each stream was read."""
    return values.table_of(values.whole)(state.get("cursors")) or {}


def _session_marks(home: str) -> list[str]:
    """The names that marks of the sessions of this home have, or would have."""
    try:
        return [alert_news.SESSION + name for name in os.listdir(f"{home}/{SESSIONS}")]
    except FileNotFoundError:
        return []


class _Deliverer:
    def __init__(self, home: str) -> None:
        self._home = home
        self._path = f"{home}/{alert_news.FOLDER}/state.json"
        state = _state_of(home)
        self._cursors = _cursors_of(state)
        counts = values.table_of(values.whole)(state.get("counts"))
        self._counts: dict[str, int] = counts or {}  # of outcomes, for metrics: the list of deliveries is cut
        self._read_at = self._file_stamp()
        self._settings = settings_file.load(os.environ)[0]
        self._ledger = Ledger(self._settings, state, minute_of_day)
        self._flying: dict[int, tuple[Delivery, int, float]] = {}  # child → message, its pipe, when it is too late
        self._look_at = 0.0
        self._running = True
        self._ended = False
        self._saved = True
        self._unwritten: list[tuple[Outcome, str]] = []  # what became of messages while the disk was full, and when
        self._signalled = -1  # readable after a signal: a wait goes on when its handler has returned

    def run(self) -> None:
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        with Wakeup() as wakeup, _signal_pipe() as self._signalled:
            wakeup.add_file(f"{self._home}/{alert_news.FOLDER}/news/.")
            while not self._ended:
                wakeup.clear()
                self._reload()
                if not self._saved:
                    self._save()
                self._write_notes()
                self._take_news()
                now = time.time()
                for each in self._ledger.ready(now):
                    self._send(each, now)
                running = self._jobs_run(now)  # asked in any case: it also says when to look again
                for outcome in self._ledger.failures:
                    self._count(outcome)
                    self._note(outcome)
                self._ledger.failures.clear()
                if not self._flying and self._ledger.next_due() is None and not running:
                    self._save()
                    self._write_notes()
                    if self._saved and not self._unwritten:
                        return
                self._wait(wakeup)
        for pid in self._flying:
            os.kill(pid, signal.SIGKILL)
        self._save()
        self._write_notes()

    def _stop(self, *_: object) -> None:
        self._ended = True

    def _reload(self) -> None:
        """Take over a file that was edited, if there is no mistake in it: `alerts list` and `doctor` name one."""
        stamp = self._file_stamp()
        if stamp != self._read_at:
            self._read_at = stamp
            try:
                self._settings = settings_file.load(os.environ)[0]
            except UsageError:
                return
            self._ledger = Ledger(self._settings, self._ledger.to_json(), minute_of_day)

    def _file_stamp(self) -> tuple[int, int]:
        path = alert_news.settings_file(os.environ)
        if path is None:
            return 0, 0
        try:
            found = os.stat(path)
        except OSError:
            return 0, 0
        return found.st_mtime_ns, found.st_ino

    # --- news -----------------------------------------------------------------------------------------------

    def _take_news(self) -> None:
        marks, now = alert_news.marks(self._home), time.time()  # what is found together has come together
        for mark in marks:
            alert_news.take(self._home, mark)
            try:
                if mark.startswith(alert_news.SESSION):
                    self._read_session(mark.removeprefix(alert_news.SESSION), now)
                else:
                    self._read_job(mark, now)
            except (NoSuchJob, StateError, OSError):
                continue  # deleted, or never there
        if marks:
            self._save()

    def _read_job(self, job_id: str, now: float) -> None:
        place = layout.existing(self._home, job_id)
        job = files.read_json(place.job) or {}
        subject, view, seen = subject_of(job_id, job), View(), self._cursors.get(job_id, 0)
        with EventReader(place.events) as reader:
            for event in reader.read_new():
                view.apply(event)
                if event["seq"] <= seen:
                    continue
                self._cursors[job_id] = event["seq"]
                occasion = occasion_of(event, view, job, subject)
                watched = occasion is not None and is_watched(self._home, job_id, job, now)
                self._take(event, job_id, occasion, now, watched=watched)
        if view.ended:
            self._cursors[job_id] = max(view.seq, self._cursors.get(job_id, 0))
            self._look_at = 0.0  # it may have been the last one

    def _read_session(self, session_id: str, now: float) -> None:
        if not is_session_id(session_id):
            return
        log, mark = SessionLog(session_id, self._home), alert_news.SESSION + session_id
        folder = ""
        for event in log.events():
            folder = str(event.get("cwd") or folder)
            if event["seq"] <= self._cursors.get(mark, 0):
                continue
            self._cursors[mark] = event["seq"]
            name = f"claude in {os.path.basename(folder) or session_id[:8]}"
            subject = AlertSubject(session_id, name, "claude", folder, "claude", session=True)
            self._take(event, session_id, session_occasion(event, subject), now, watched=False)

    def _take(self, event: Event, subject: str, occasion: Occasion | None, now: float, *, watched: bool) -> None:
        """Hand an event to the ledger. A person who is watching is told nothing, and sees that something is over."""
        over = occasion is not None and occasion.kind == "recovered"
        if (over and watched) or (settles(event) and not over):
            self._ledger.settle(subject, answered=bool(event.get("answered") or (occasion and occasion.answered)))
        if occasion is not None and not watched:
            self._ledger.take(occasion, now)

    def _jobs_run(self, now: float) -> bool:
        """Whether a job runs whose keeper may have news. Asked rarely: it costs a look at every job."""
        if now >= self._look_at:
            self._look_at = now + _LOOK
            self._running = await_news.may_come(self._home, self._cursors)
            self._ledger.forget(now)
            known = {*alert_news.marks(self._home), *find.all_ids(self._home), *_session_marks(self._home)}
            self._cursors = {mark: seq for mark, seq in self._cursors.items() if mark in known}
        return self._running

    # --- sending --------------------------------------------------------------------------------------------

    def _send(self, delivery: Delivery, now: float) -> None:
        if any(flying.key == delivery.key for flying, _, _ in self._flying.values()):
            return
        self._save()
        reading, writing = os.pipe()
        try:
            pid = os.fork()
        except OSError as error:  # too many processes: later
            os.close(reading)
            os.close(writing)
            self._over(self._ledger.failed(delivery.key, f"no process could be started: {error.strerror}", now))
            return
        if pid == 0:
            os.setsid()
            close_all_but({writing})  # above all the lock, which says that one delivers
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGALRM, lambda *_: os.killpg(0, signal.SIGKILL))
            signal.alarm(int(2 * _LONGEST))  # a deliverer that was killed cannot end it
            os._exit(_in_child(self._home, self._settings, delivery, writing))
        os.close(writing)
        self._flying[pid] = (delivery, reading, now + _LONGEST)

    def _wait(self, wakeup: Wakeup) -> None:
        """Until there is news, a child has ended, or something is due."""
        now = time.time()
        due = self._ledger.next_due(besides={delivery.key for delivery, _, _ in self._flying.values()})
        times = [self._look_at, *(late for _, _, late in self._flying.values())]
        if due is not None:
            times.append(due)
        pause = max(0.0, min(times) - now)
        pipes = [self._signalled, *(pipe for _, pipe, _ in self._flying.values())]
        if wakeup.fd < 0:  # nothing tells of a new mark here
            pause = min(pause, _BLIND)
        else:
            pipes.append(wakeup.fd)
        select.select(pipes, [], [], min(pause, _LOOK))
        for pid, (delivery, pipe, late) in list(self._flying.items()):
            if select.select([pipe], [], [], 0)[0]:
                self._landed(pid, delivery, pipe, os.read(pipe, 1000))
            elif time.time() >= late:
                os.killpg(pid, signal.SIGKILL)
                self._landed(pid, delivery, pipe, b"?the receiver did not finish its answer")

    def _landed(self, pid: int, delivery: Delivery, pipe: int, said: bytes) -> None:
        os.close(pipe)
        os.waitpid(pid, 0)
        del self._flying[pid]
        if said == b"ok":
            outcome = self._ledger.sent(delivery.key)
        else:
            reason = said[1:].decode(errors="replace") or "the sender was killed"
            outcome = self._ledger.failed(delivery.key, reason, time.time(), for_good=said[:1] == b"!")
        self._over(outcome)

    def _over(self, outcome: Outcome | None) -> None:
        if outcome is not None:
            self._count(outcome)
        self._save()
        if outcome is not None:
            self._note(outcome)

    def _count(self, outcome: Outcome) -> None:
        self._counts[outcome.state] = self._counts.get(outcome.state, 0) + 1

    def _note(self, outcome: Outcome) -> None:
        self._unwritten = [*self._unwritten[-_MOST_UNWRITTEN:], (outcome, clock.now())]
        self._write_notes()

    def _write_notes(self) -> None:
        while self._unwritten:
            try:
                deliveries.record(self._home, *self._unwritten[0])
            except StateError:
                pass  # something else stands in the place of the file: `alerts status` says so
            except OSError:
                self._saved = False
                return
            del self._unwritten[0]

    def _save(self) -> None:
        """Write down what was read, held and sent; then the marks of what was read can go."""
        state = {"cursors": self._cursors, "counts": self._counts} | self._ledger.to_json()
        try:
            files.write_json(self._path, state, durable=True)
            alert_news.drop_taken(self._home)
            self._saved = True
        except OSError:
            self._saved = False


def _in_child(home: str, settings: AlertSettings, delivery: Delivery, pipe: int) -> int:
    """Send it, and say through the pipe how it went: `ok`, `?` and why not yet, `!` and why never."""
    # not before: an idle deliverer needs no HTTP
    from unhang.alerts import links
    from unhang.alerts.targets import NotDelivered, send

    try:
        message = message_of(delivery, links.maker(home, settings.page))
        send(settings.targets[delivery.target], message)
        os.write(pipe, b"ok")
    except NotDelivered as error:
        os.write(pipe, (("!" if error.for_good else "?") + str(error)).encode()[:900])
    except BaseException as error:
        os.write(pipe, f"?{type(error).__name__}: {error}".encode()[:900])
    return 0


@contextmanager
def _signal_pipe() -> Iterator[int]:
    """A descriptor that becomes readable with the first signal that is handled."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield reading
    finally:
        signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(writing)


def minute_of_day(now: float) -> float:
    """Return the minutes since local midnight, with their fraction: quiet hours end at the same moment for all."""
    local = time.localtime(now)
    return local.tm_hour * 60 + local.tm_min + (local.tm_sec + now % 1) / 60
