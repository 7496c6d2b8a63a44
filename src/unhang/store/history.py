"""Finished runs, in SQLite, and what they say about a command: counts, quantiles, timeouts in a row.

The table shares `index.db` with the list of jobs and touches nothing else there. Every run is kept, but
only one that `core.policy.learn.teaches` allows has `teaches = 1`, and only those are asked for limits. WAL
and a busy timeout let any number of keepers write at once; each run is one short transaction, so none is
lost.

What is asked for a limit is the last `WINDOW` runs: a project that became slower is believed after a while,
and the answer takes the same time after a million runs as after a thousand.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from unhang.core import mask, values
from unhang.core.policy.learn import Profile, rank
from unhang.errors import StateError
from unhang.store import sqlite_file

# Enough for a p99 that means something; more would only hold on to the past.
WINDOW = 500
# What is older is dropped now and then, so that the file does not grow for ever.
KEPT = 200_000
_BUSY_SECONDS = 10.0
_VERSION = 1

_SCHEMA = """
CREATE TABLE IF NOT EXISTS history_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS history_runs (
    id INTEGER PRIMARY KEY,
    command TEXT NOT NULL,
    directory TEXT NOT NULL,
    started_at REAL NOT NULL,
    duration REAL NOT NULL,
    silence REAL NOT NULL,
    status TEXT NOT NULL,
    timeout_reason TEXT,
    teaches INTEGER NOT NULL,
    job TEXT
);
CREATE UNIQUE INDEX IF NOT EXISTS history_by_job ON history_runs (job) WHERE job IS NOT NULL;
CREATE INDEX IF NOT EXISTS history_by_command ON history_runs (command, directory, id);
CREATE INDEX IF NOT EXISTS history_teaching ON history_runs (command, directory, id, duration, silence)
    WHERE teaches = 1;
CREATE TABLE IF NOT EXISTS history_commands (
    command TEXT NOT NULL,
    directory TEXT NOT NULL,
    last_id INTEGER NOT NULL,
    last_at REAL NOT NULL,
    runs INTEGER NOT NULL,
    succeeded INTEGER NOT NULL,
    idle_timeouts INTEGER NOT NULL,
    hard_timeouts INTEGER NOT NULL,
    longest REAL NOT NULL,
    longest_silence REAL NOT NULL,
    PRIMARY KEY (command, directory)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS history_newest ON history_commands (last_id);
"""
# A listing asks for the newest successes and the number of failures; with this it reads neither the other runs nor
# the table. It came later than the tables: a history that an older unhang made gets it when it is next written.
_BY_STATUS = """
CREATE INDEX IF NOT EXISTS history_by_status ON history_runs (command, directory, status, id, duration)
"""

_ADD = """
INSERT OR IGNORE INTO history_runs
    (command, directory, started_at, duration, silence, status, timeout_reason, teaches, job)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
# Totals are kept as they come: adding them up for every listing would read everything that ever ran.
_COUNT = """
INSERT INTO history_commands VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?)
ON CONFLICT (command, directory) DO UPDATE SET
    last_id = excluded.last_id,
    last_at = excluded.last_at,
    runs = runs + 1,
    succeeded = succeeded + excluded.succeeded,
    idle_timeouts = idle_timeouts + excluded.idle_timeouts,
    hard_timeouts = hard_timeouts + excluded.hard_timeouts,
    longest = max(longest, excluded.longest),
    longest_silence = max(longest_silence, excluded.longest_silence)
"""


class Run(NamedTuple):
    """One finished run. Seconds; `command` is `core.policy.command_key` of what was run."""

    command: str
    directory: str
    started_at: float
    duration: float
    silence: float
    status: str
    timeout_reason: str | None = None
    teaches: bool = True
    job: str | None = None


class Summary(NamedTuple):
    """What `unhang history` shows of one command in one directory."""

    command: str
    directory: str
    runs: int
    succeeded: int
    median: float | None  # of the runs that succeeded; None: none did
    p95: float | None
    longest: float
    longest_silence: float
    idle_timeouts: int
    hard_timeouts: int
    last_at: float
    recent: tuple[float, ...]
    failed: int = 0  # ended with another code than 0, or by a signal
    job: str | None = None  # of the newest run
    task: str | None = None  # of an agent: "codex: fix the failing test", of the newest run; None: it is no agent's


class History:
    """`path` is the database file, made when the first run is added."""

    def __init__(self, path: str) -> None:
        self.path = path

    # -- writing

    def add(self, run: Run) -> None:
        """Record one finished run."""
        self.add_many([run])

    def add_many(self, runs: Iterable[Run]) -> None:
        """Add all of these runs or none of them, in one transaction."""
        with self._writing() as db:
            for run in runs:
                run = run._replace(command=_text(run.command), directory=_text(run.directory))
                added = db.execute(_ADD, (*run[:7], int(run.teaches), run.job))
                number = added.lastrowid
                if added.rowcount == 0 or number is None:
                    continue  # this job has been counted already, by another process that looked at the same moment
                counted = (
                    run.status == "success",
                    run.timeout_reason == "no_output_timeout",
                    run.timeout_reason == "exec_timeout",
                )
                db.execute(
                    _COUNT, (run.command, run.directory, number, run.started_at, *counted, run.duration, run.silence)
                )
                if number % 1000 == 0:
                    db.execute("DELETE FROM history_runs WHERE id <= ?", (number - KEPT,))
                    db.execute("DELETE FROM history_commands WHERE last_id <= ?", (number - KEPT,))

    def forget(self, before: float) -> int:
        """Forget every run that was started before that time, and each command that was not run since.

        Return the number of runs.
        """
        with self._reading() as db:
            if db is None or not _has_old(db, before):
                return 0  # nothing to write, and no lock to wait for
        with self._writing() as db:
            gone = db.execute("DELETE FROM history_runs WHERE started_at < ?", (before,)).rowcount
            db.execute("DELETE FROM history_commands WHERE last_at < ?", (before,))
        with self._reading() as db:
            if db is not None:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # what was overwritten is not in the log either
        return gone

    # -- reading

    def profile(self, command: str, directory: str, quantile: float = 0.95) -> Profile | None:
        """Return what the last runs that may teach say; None when there are none."""
        with self._reading() as db:
            if db is None:
                return None
            rows = db.execute(
                "SELECT duration, silence FROM history_runs"
                " WHERE command = ? AND directory = ? AND teaches = 1 ORDER BY id DESC LIMIT ?",
                (_text(command), _text(directory), WINDOW),
            ).fetchall()
        if not rows:
            return None
        durations = sorted(values.number(row[0]) or 0.0 for row in rows)
        silences = sorted(values.number(row[1]) or 0.0 for row in rows)
        at = rank(len(rows), quantile)
        return Profile(len(rows), durations[at], silences[at], quantile, durations[rank(len(rows), 0.5)])

    def last_statuses(self, command: str, directory: str, count: int = 3) -> list[str]:
        """Return how the newest runs ended, newest first: what the circuit breaker looks at."""
        with self._reading() as db:
            if db is None:
                return []
            rows = db.execute(
                "SELECT status FROM history_runs WHERE command = ? AND directory = ? ORDER BY id DESC LIMIT ?",
                (_text(command), _text(directory), count),
            ).fetchall()
        return [values.text(row[0]) or "error" for row in rows]

    def runs(self, command: str, directory: str, count: int) -> list[Run]:
        """Return the newest runs of a command in a directory, oldest first."""
        with self._reading() as db:
            if db is None:
                return []
            rows = db.execute(
                "SELECT started_at, duration, silence, status, timeout_reason, teaches, job FROM history_runs"
                " WHERE command = ? AND directory = ? ORDER BY id DESC LIMIT ?",
                (_text(command), _text(directory), count),
            ).fetchall()
        found: list[Run] = []
        for started, duration, silence, status, reason, teaches, job in reversed(rows):
            at, took = values.number(started), values.number(duration)
            if at is not None and took is not None:
                found.append(
                    Run(
                        command,
                        directory,
                        at,
                        took,
                        values.number(silence) or 0.0,
                        values.text(status) or "error",
                        values.text(reason),
                        teaches == 1,
                        values.text(job),
                    )
                )
        return found

    def summary(self, command: str | None = None, directory: str | None = None, limit: int = 20) -> list[Summary]:
        """Return the commands that ran last, newest first; `command` is matched as a part of the text."""
        with self._reading() as db:
            if db is None:
                return []
            totals = db.execute(
                "SELECT * FROM history_commands WHERE (?1 IS NULL OR instr(command, ?1) > 0)"
                " AND (?2 IS NULL OR directory = ?2) ORDER BY last_id DESC LIMIT ?3",
                (command and _text(command), directory and _text(directory), limit),
            ).fetchall()
            found = [self._summary(db, row) for row in totals]
        return [summary for summary in found if summary is not None]

    def _summary(self, db: sqlite3.Connection, row: tuple[Any, ...]) -> Summary | None:
        """The summary of a row; None if another program has written something else into it."""
        command, directory = (values.text(sqlite_file.read(value)) for value in row[:2])
        last_at, longest, longest_silence = (values.number(row[i]) for i in (3, 8, 9))
        runs, succeeded, idle, hard = (values.whole(row[i]) for i in (4, 5, 6, 7))
        if command is None or directory is None or not runs:
            return None
        rows = db.execute(
            "SELECT duration FROM history_runs WHERE command = ? AND directory = ? AND status = 'success'"
            " ORDER BY id DESC LIMIT ?",
            (row[0], row[1], WINDOW),
        ).fetchall()
        newest = [duration for (value,) in rows if (duration := values.number(value)) is not None]
        recent = tuple(reversed(newest[:40]))
        ordered = sorted(newest)
        median, p95 = (ordered[rank(len(ordered), part)] if ordered else None for part in (0.5, 0.95))
        failed = db.execute(
            "SELECT count(*) FROM history_runs WHERE command = ? AND directory = ? AND status = 'error'",
            (row[0], row[1]),
        ).fetchone()
        newest_run = db.execute("SELECT job FROM history_runs WHERE id = ?", (row[2],)).fetchone()
        return Summary(
            command,
            directory,
            runs,
            min(succeeded or 0, runs),
            median,
            p95,
            longest or 0.0,
            longest_silence or 0.0,
            idle or 0,
            hard or 0,
            last_at or 0.0,
            recent,
            values.whole(failed[0]) or 0,
            None if newest_run is None else values.text(sqlite_file.read(newest_run[0])),
        )

    # -- the file

    def _opened(self) -> sqlite3.Connection:
        try:
            return sqlite_file.connect(self.path, _BUSY_SECONDS)
        except sqlite3.Error as error:
            raise StateError(f"cannot open the history {self.path}: {error}") from None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction that has the write lock from its beginning: it waits rather than fail half-way."""
        db = self._opened()
        try:
            _prepare(db)
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")
        except sqlite3.Error as error:
            raise StateError(f"cannot write the history {self.path}: {error}") from None
        finally:
            db.close()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """None where there is no history yet: asking for one does not make a file."""
        if not os.path.exists(self.path):
            yield None
            return
        db = self._opened()
        try:
            found = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'history_runs'").fetchone()
            yield db if found else None
        except sqlite3.Error as error:
            raise StateError(f"cannot read the history {self.path}: {error}") from None
        finally:
            db.close()


def _text(value: str) -> str:
    """File names that are no UTF-8 come as lone surrogates, which SQLite does not take."""
    return values.visible_bytes(value)


def _prepare(db: sqlite3.Connection) -> None:
    """The tables, once; a newer version of them is read but never written."""
    version = _version(db)
    if version is None:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            # another writer is making the same file at this moment and does it for us: this one statement does not wait
            pass
        db.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA.split(";"):
            if statement.strip():
                db.execute(statement)
        db.execute("INSERT OR IGNORE INTO history_meta VALUES ('version', ?)", (str(_VERSION),))
        db.execute("COMMIT")
    elif version > _VERSION:
        raise StateError(f"the history was written by a newer unhang (format {version}, this one knows {_VERSION})")
    db.execute(_BY_STATUS)
    if db.execute("SELECT 1 FROM history_meta WHERE name = 'masked'").fetchone() is None:
        _mask_commands(db)
    # a run lost in a power cut is no loss; waiting for the disk at the end of every job would be
    db.execute("PRAGMA synchronous = NORMAL")


def _has_old(db: sqlite3.Connection, before: float) -> bool:
    """Runs that are to be forgotten, or of before secrets were masked."""
    masked = db.execute("SELECT 1 FROM history_meta WHERE name = 'masked'").fetchone()
    old = db.execute("SELECT 1 FROM history_runs WHERE started_at < ? LIMIT 1", (before,)).fetchone()
    return masked is None or old is not None


def _mask_commands(db: sqlite3.Connection) -> None:
    """Once: runs of before secrets were masked. Their totals begin anew."""
    db.execute("BEGIN IMMEDIATE")
    for (found,) in db.execute("SELECT DISTINCT command FROM history_runs").fetchall():
        shown = mask.line(str(found))
        if shown != found:
            db.execute("UPDATE history_runs SET command = ? WHERE command = ?", (shown, found))
            db.execute("DELETE FROM history_commands WHERE command = ?", (found,))
    db.execute("INSERT OR IGNORE INTO history_meta VALUES ('masked', '1')")
    db.execute("COMMIT")


def _version(db: sqlite3.Connection) -> int | None:
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'history_meta'").fetchone() is None:
        return None
    row = db.execute("SELECT value FROM history_meta WHERE name = 'version'").fetchone()
    if row is None or not str(row[0]).isdecimal():
        return None
    return int(str(row[0])[:9])
