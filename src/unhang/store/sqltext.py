"""Texts in SQLite, also those that are no Unicode: a file name that is no UTF-8 holds lone surrogates.

SQLite takes UTF-8 only. Such a text is stored as a blob of the bytes that Python makes of it, so it comes back as it
was; all others are stored as text, and are what people see who look into the file.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def stored(value: Any) -> Any:
    """Any value of a column as SQLite takes it."""
    if not isinstance(value, str):
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass")
    return value


def read(value: Any) -> Any:
    """The reverse; a blob that we did not write becomes text with marks in it."""
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return value.decode("utf-8", "replace")
