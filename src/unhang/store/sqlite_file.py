"""The SQLite file of this user: how it is opened, and texts in it that are no Unicode.

SQLite makes a file as the umask says, and its -wal and -shm like the file itself; so the file is made before it is
opened, for this user alone. And it takes UTF-8 only, while a file name that is no UTF-8 holds lone surrogates: such a
text is stored as a blob of the bytes that Python makes of it, and comes back as it was.
"""

from __future__ import annotations

import os
import sqlite3

from unhang.errors import StateError
from unhang.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MEMORY = ":memory:"


def connect(path: str, patience: float) -> sqlite3.Connection:
    """Open a database, with autocommit. Raises sqlite3.OperationalError if it cannot be opened."""
    if path != MEMORY:
        _make_private(path)
    db = sqlite3.connect(path, timeout=patience, isolation_level=None)
    db.text_factory = _text
    try:
        # what is deleted is overwritten: a command line that was let go shall not be found in the file afterwards
        db.execute("PRAGMA secure_delete = ON")
    except sqlite3.Error:
        db.close()
        raise
    return db


def _text(data: bytes) -> str:
    """SQLite checks no encoding: a text that another program wrote may be no UTF-8."""
    return data.decode("utf-8", "replace")


def _make_private(path: str) -> None:
    try:
        os.close(files.open_plain(path, os.O_RDWR | os.O_CREAT))
    except (OSError, StateError) as error:
        raise sqlite3.OperationalError(f"unable to open database file: {error}") from None


def stored(value: Any) -> Any:
    """Return any value of a column as SQLite takes it."""
    if not isinstance(value, str):
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass")
    return value


def read(value: Any) -> Any:
    """Return the reverse; a blob that is not of our making becomes text with marks in it."""
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return value.decode("utf-8", "replace")
