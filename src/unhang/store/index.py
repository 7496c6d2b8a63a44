"""The list of jobs, in SQLite: a cache. The job directories are the truth, and it is made anew from them at need.

Only jobs that are not final in here are ever looked at again, so a listing costs what is new and what runs, however
many have ended.
"""

from __future__ import annotations

import json
import os
import sqlite3

from unhang.core import values
from unhang.core.events import STATUSES
from unhang.core.record import Record
from unhang.core.spec import name_of
from unhang.store import sqlite_file
from unhang.store.sqlite_file import MEMORY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

VERSION = 1
_BUSY_MS = 5000
_COLUMNS = "id, created, command, cwd, labels, kind, status, phase, started, ended, exit_code, bytes, final"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY, created TEXT NOT NULL, command TEXT NOT NULL, cwd TEXT NOT NULL, labels TEXT NOT NULL,
    kind TEXT NOT NULL, status TEXT NOT NULL, phase TEXT NOT NULL, started TEXT, ended TEXT, exit_code INTEGER,
    bytes INTEGER NOT NULL, final INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS jobs_by_time ON jobs (created);
CREATE TABLE IF NOT EXISTS index_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


_STATUS = values.one_of("running", *STATUSES)


def discard(path: str) -> None:
    """Remove the database with its side files; it is no error if they are missing."""
    for suffix in ("", "-wal", "-shm"):
        try:
            os.unlink(path + suffix)
        except FileNotFoundError:
            pass


class Row(Record):
    """One job, as a list shows it."""

    id: str
    created: str
    command: str
    cwd: str
    labels: dict[str, str]
    kind: str
    status: str
    phase: str
    started: str | None
    ended: str | None
    exit_code: int | None
    bytes: int
    final: bool

    @property
    def name(self) -> str:
        """Return the name that the job was given; empty if it was given none."""
        return name_of(self.labels)

    @property
    def called(self) -> str:
        """Return what a command may name it by: its name, else its id."""
        return self.name or self.id


class Index:
    """The list of jobs in one database. Without a place on disk that it can write to, it is kept in memory."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.lasting = path != MEMORY
        self._db = self._open()

    def _open(self) -> sqlite3.Connection:
        try:
            return _connect(self.path)
        except sqlite3.OperationalError:
            # no room, no right to write, or a format of the future: the list can be made in memory as well
            self.lasting = False
            return _connect(MEMORY)
        except sqlite3.DatabaseError:
            discard(self.path)
            return _connect(self.path)

    def refresh(self, ids: Iterable[str], read: Callable[[str], Row | None]) -> list[Row]:
        """Bring it up to date with the directories that are there; the rows that became final just now."""
        there = set(ids)
        known = {row[0]: row[1] == 1 for row in self._db.execute("SELECT id, final FROM jobs")}
        rows = [row for row in (read(job) for job in there if not known.get(job, False)) if row is not None]
        gone = [(job,) for job in known if job not in there]
        self._db.execute("BEGIN IMMEDIATE")
        with self._db:
            marks = ", ".join("?" for _ in Row.__match_args__)
            self._db.executemany(f"INSERT OR REPLACE INTO jobs ({_COLUMNS}) VALUES ({marks})", map(_values, rows))
            self._db.executemany("DELETE FROM jobs WHERE id = ?", gone)
        return [row for row in rows if row.final]

    def rows(self, *, running_only: bool = False) -> list[Row]:
        """Return the jobs, newest first; with `running_only` those that are not final."""
        where = "WHERE final = 0" if running_only else ""
        query = f"SELECT {_COLUMNS} FROM jobs {where} ORDER BY created DESC, id"
        found = [_row(columns) for columns in self._db.execute(query)]
        return [row for row in found if row is not None]

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _connect(path: str) -> sqlite3.Connection:
    db = sqlite_file.connect(path, _BUSY_MS / 1000)
    try:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise sqlite3.OperationalError(f"format {version} is newer than {VERSION}")
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=OFF")  # a cache: nothing is lost that cannot be read again
        db.executescript(_SCHEMA)
        db.execute(f"PRAGMA user_version={VERSION}")
        _forget_unmasked(db)
    except sqlite3.Error:
        db.close()
        raise
    return db


def _forget_unmasked(db: sqlite3.Connection) -> None:
    """Rows of before secrets were masked are made anew from the jobs."""
    if db.execute("SELECT 1 FROM index_meta WHERE name = 'masked'").fetchone() is None:
        db.execute("BEGIN IMMEDIATE")
        with db:
            db.execute("DELETE FROM jobs")
            db.execute("INSERT OR IGNORE INTO index_meta VALUES ('masked', '1')")


def listed(
    path: str, ids: list[str], read: Callable[[str], Row | None], *, running_only: bool = False
) -> tuple[list[Row], list[Row]]:
    """Return every row, and those that became final just now. A broken file is made anew; at need it is done in memory,
    and then nothing counts as new: it will be again when the file can be written.
    """
    where, attempts = path, 0
    while True:
        attempts += 1
        try:
            with Index(where) as index:
                ended = index.refresh(ids, read)
                return index.rows(running_only=running_only), ended if index.lasting else []
        except sqlite3.OperationalError:  # another process holds it for too long, or there is no room
            if where == MEMORY:
                raise
            where = MEMORY
        except sqlite3.DatabaseError:
            discard(path)
            if attempts > 1:  # made anew, and broken again
                where = MEMORY


def _values(row: Row) -> tuple[object, ...]:
    columns = row.to_dict() | {"labels": json.dumps(row.labels), "final": int(row.final)}
    return tuple(sqlite_file.stored(columns[name]) for name in Row.__match_args__)


def _row(columns: tuple[object, ...]) -> Row | None:
    """Read a row with doubtful types; None if it has no id."""
    found = {name: sqlite_file.read(value) for name, value in zip(Row.__match_args__, columns, strict=True)}
    job = values.text(found["id"])
    if job is None:
        return None
    return Row(
        id=job,
        created=values.text(found["created"]) or "",
        command=values.text(found["command"]) or "?",
        cwd=values.text(found["cwd"]) or "",
        labels=_labels(found["labels"]),
        kind=values.text(found["kind"]) or "command",
        status=_STATUS(found["status"]) or "error",
        phase=values.text(found["phase"]) or "",
        started=values.text(found["started"]),
        ended=values.text(found["ended"]),
        exit_code=values.integer(found["exit_code"]),
        bytes=values.whole(found["bytes"]) or 0,
        final=found["final"] == 1,
    )


def _labels(column: object) -> dict[str, str]:
    try:
        labels: dict[str, str] | None = values.table_of(values.text)(json.loads(values.text(column) or "{}"))
    except (ValueError, RecursionError):
        return {}
    return labels or {}
