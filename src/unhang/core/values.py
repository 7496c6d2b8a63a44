"""Typed reading: values from outside become values of the types that unhang works with, or nothing.

A record, an event or a row may have been written by another version, torn by a crash or edited by hand: any field may
hold anything. The first part has one function for each type; it takes what was found and returns a value of that type,
or None. Code that turns bytes into records calls them (events, spec, index, history), so that later code
need not doubt.

A message of another program (an agent, an editor, a hook) may hold a list where a text belongs, a number of four
hundred digits, NaN, half of a surrogate pair, or twenty megabytes in a title. The last part reads its fields by path,
so that such a value costs no more than its own field: a wrong type is None or empty, a long text is cut. `bounded` does
the same for a whole value that is to be recorded.
"""

from __future__ import annotations

from unhang.core import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Reading = Callable[[Any], Any]  # what was found → a value of one type, or None
    Message = dict[str, Any]  # an object that another program sent

# Whole numbers up to here survive every JSON reader, and SQLite.
LARGEST = 1 << 53
# Nothing that we write is nested more deeply than ten levels. A reader that descends further uses up its stack.
DEEPEST = 64
# Texts for people, names, commands: what is longer is cut.
TEXT = 4000
# Names that an agent gives to its calls, items and tasks. One of this length has never been seen.
ID = 300
ITEMS = 1000
# One of the values in a line costs about a hundred bytes once it is parsed, and three bytes on the wire.
PARTS = 1_000_000
_SMALL = 1 << 16
_NODES = 2000
_DEPTH = 6
_CUT = "…"


def text(value: Any) -> str | None:
    """Return the value if it is a text, else None."""
    return value if isinstance(value, str) else None


def flag(value: Any) -> bool | None:
    """Return the value if it is true or false, else None."""
    return value if isinstance(value, bool) else None


def whole(value: Any, least: int = 0, most: int = LARGEST) -> int | None:
    """Return the value if it is a whole number within the bounds, else None."""
    found = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    return value if found else None


def integer(value: Any) -> int | None:
    """Return the value if it is a whole number of 32 bits and either sign, such as an exit code; else None."""
    return whole(value, -(1 << 31), (1 << 31) - 1)


def pid(value: Any) -> int | None:
    """Return the value if it is a process number that system calls take, else None."""
    return whole(value, 0, (1 << 31) - 1)


def number(value: Any) -> float | None:
    """Return the value if it is finite and not negative (a duration, a share, a limit), else None."""
    found = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LARGEST
    return value if found else None


def moment(value: Any) -> float | None:
    """Return an RFC 3339 time as seconds of the wall clock.

    None where it is no time of the last or the next centuries.
    """
    if not isinstance(value, str) or len(value) > 40:
        return None
    from datetime import datetime

    try:
        seconds = datetime.fromisoformat(value).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
    return seconds if 0 <= seconds < 1e11 else None


def mapping(value: Any) -> dict[str, Any] | None:
    """Return the value if it is an object, else None."""
    return value if isinstance(value, dict) else None


def texts(value: Any) -> list[str] | None:
    """Return the entries of a list that are texts; None if it is no list."""
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else None


def one_of(*words: str) -> Reading:
    """Return a reading that accepts exactly these words."""
    return lambda value: value if isinstance(value, str) and value in words else None


def each_of(reading: Reading) -> Reading:
    """Return a reading that takes, of a list, the entries that can be read."""

    def read(value: Any) -> list[Any] | None:
        if not isinstance(value, list):
            return None
        return [found for entry in value if (found := reading(entry)) is not None]

    return read


def table_of(reading: Reading) -> Reading:
    """Return a reading that takes, of an object with any names, the values that can be read."""

    def read(value: Any) -> dict[str, Any] | None:
        if not isinstance(value, dict):
            return None
        return {name: found for name, entry in value.items() if (found := reading(entry)) is not None}

    return read


def object_of(fields: Mapping[str, Reading]) -> Reading:
    """Return an object whose named fields have their types; see `with_types`."""
    return lambda value: with_types(value, fields) if isinstance(value, dict) else None


def with_types(value: dict[str, Any], fields: Mapping[str, Reading]) -> dict[str, Any]:
    """Return `value` with every named field read.

    A field that cannot be read is left out, as if it had not been written; null stays null; fields that are not named
    stay as they are.
    """
    wrong: list[str] = []
    changed: dict[str, Any] = {}
    for name, found in value.items():
        reading = fields.get(name)
        if reading is None or found is None:
            continue
        read = reading(found)
        if read is None:
            wrong.append(name)
        elif read is not found:
            changed[name] = read
    if not wrong and not changed:
        return value
    return {name: changed.get(name, found) for name, found in value.items() if name not in wrong}


# --- JSON -----------------------------------------------------------------------------------------------------


def _finite(digits: str) -> float | None:
    found = float(digits)
    return found if abs(found) != float("inf") else None


def _no_number(_: str) -> None:
    """NaN and Infinity are no JSON, though Python reads and writes them."""


_decode_finite = json_text.decoder(_finite, _no_number)


def parse(data: bytes) -> Any:
    """Return the value of JSON in UTF-8, with null for numbers that are not finite, and not too deep.

    Raises ValueError.
    """
    try:
        value = _decode_finite(data.decode())
    except RecursionError:
        raise ValueError("nested too deeply") from None
    # counting is quick, and what is nested more deeply has more brackets
    return _shallow(value, DEEPEST) if data.count(b"[") + data.count(b"{") > DEEPEST else value


def parse_object(data: bytes) -> dict[str, Any] | None:
    """Return the object that JSON in UTF-8 holds, as `parse` reads it; None if it holds none."""
    try:
        value = parse(data)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _shallow(value: Any, levels: int) -> Any:
    if not isinstance(value, list | dict):
        return value
    if levels == 0:
        return None
    if isinstance(value, list):
        return [_shallow(entry, levels - 1) for entry in value]
    return {name: _shallow(entry, levels - 1) for name, entry in value.items()}


def dump(value: Any, *, compact: bool = False) -> str:
    """Return one line of JSON that every reader and every terminal takes: bytes that were no UTF-8 (lone surrogates)
    are shown as \\xNN, numbers that are not finite are null, and what is nested too deeply is left out. The exact bytes
    are in job.json.
    """
    try:
        line = json_text.encode(value, spaced=not compact, finite=True)
        line.encode()
    except (ValueError, RecursionError):  # rare, and found at no cost for all others
        line = json_text.encode(for_json(value), spaced=not compact)
    # JSON escapes the control characters below a blank; others move a cursor, or end a line for some readers
    return line if line.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in line)


def _escaped(c: str) -> str:
    """As JSON has it, in two halves beyond the first 65,536 characters."""
    return json_text.encode(c, ascii_only=True)[1:-1]


def for_json(value: Any, levels: int = DEEPEST) -> Any:
    """Return the same as a value; see `dump`."""
    if isinstance(value, str):
        return value if value.isascii() else visible_bytes(value)
    if isinstance(value, dict | list | tuple) and levels == 0:
        return None
    if isinstance(value, dict):
        return {_name(key): for_json(entry, levels - 1) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [for_json(entry, levels - 1) for entry in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value


def _name(key: Any) -> str:
    return key if isinstance(key, str) and key.isascii() else visible_bytes(str(key))


def visible_bytes(value: str) -> str:
    """Return a text with lone surrogates shown: a byte that was no UTF-8 as \\xNN, any other as U+FFFD."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return "".join(_visible(char) if "\ud800" <= char <= "\udfff" else char for char in value)
    return value


def _visible(char: str) -> str:
    return f"\\x{ord(char) - 0xDC00:02x}" if "\udc80" <= char <= "\udcff" else "\ufffd"


# --- fields of a message that another program sent: by path, each in its own type and of a bounded size ---------------


def parse_message(line: bytes, most_parts: int = PARTS) -> Any:
    """Return the value that a line of JSON holds; None if it holds none, or so many that memory would suffer.

    A byte that is no UTF-8 costs the character that it stands in, not the line.
    """
    if len(line) > _SMALL and line.count(b",") + line.count(b"[") + line.count(b"{") > most_parts:
        return None
    try:
        return json_text.decode(line.decode("utf-8", "replace").removeprefix("\ufeff"))
    except (ValueError, RecursionError, MemoryError):
        return None


def dig(value: Any, *path: str) -> Any:
    """Return value[a][b]…, or None wherever the shape is another one."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def mapping_of(value: Any, *path: str) -> Message:
    """Return the object at this path; an empty one if there is none."""
    found = dig(value, *path)
    return found if isinstance(found, dict) else {}


def items_of(value: Any, *path: str, most: int = ITEMS) -> list[Any]:
    """Return the list at this path, cut after `most` entries; an empty one if there is none."""
    found = dig(value, *path)
    return found[:most] if isinstance(found, list) else []


def mappings_of(value: Any, *path: str, most: int = ITEMS) -> list[Message]:
    """Return the objects in the list at this path."""
    return [each for each in items_of(value, *path, most=most) if isinstance(each, dict)]


def text_of(value: Any, *path: str, most: int = TEXT) -> str:
    """Return the text at this path, cut after `most` characters; "" if there is none."""
    found = dig(value, *path)
    return found[:most] if isinstance(found, str) else ""


def whole_of(value: Any, *path: str) -> str:
    """Return the text at this path, of any length: what an agent has written, which its reader wants whole."""
    found = dig(value, *path)
    return found if isinstance(found, str) else ""


def id_of(value: Any, *path: str) -> str:
    """Return a name that the agent gave to something: a text, or a number as one.

    "" if it has none that can be used.
    """
    found = dig(value, *path)
    if isinstance(found, int) and not isinstance(found, bool) and abs(found) <= LARGEST:
        return str(found)
    return found[:ID] if isinstance(found, str) else ""


def words_of(value: Any, *path: str, most: int = TEXT) -> str:
    """Return a command line: one text, or a list of its words."""
    found = dig(value, *path)
    if isinstance(found, list):
        return " ".join(word[:most] for word in found[:ITEMS] if isinstance(word, str))[:most]
    return text_of(found, most=most)


def number_of(value: Any, *path: str) -> float | int | None:
    """Return the number at this path if it is finite and of a usable size, else None."""
    found = dig(value, *path)
    usable = isinstance(found, int | float) and not isinstance(found, bool) and abs(found) <= LARGEST
    return found if usable else None  # NaN compares as false


def integer_of(value: Any, *path: str) -> int | None:
    """Return the whole number at this path; None if there is none of a usable size."""
    found = number_of(value, *path)
    return found if isinstance(found, int) else None


def count_of(value: Any, *path: str) -> int | None:
    """Return the whole number at this path that is 0 or greater; None if there is none."""
    found = integer_of(value, *path)
    return found if found is not None and found >= 0 else None


def bounded(value: Any, *, text: int = TEXT, nodes: int = _NODES, depth: int = _DEPTH) -> Any:
    """Return a copy that is JSON in every reader's eyes, of at most so many values, so deep, with texts so long."""
    return _Copy(text, nodes).of(value, depth)


class _Copy:
    def __init__(self, text: int, nodes: int) -> None:
        self._text = text
        self._left = nodes

    def of(self, value: Any, depth: int) -> Any:
        self._left -= 1
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return value if len(value) <= self._text else value[: self._text - 1] + _CUT
        if isinstance(value, int | float):
            return value if abs(value) < 2**63 else None
        if depth <= 0 or self._left <= 0:
            return _CUT
        if isinstance(value, dict):
            found: Message = {}
            for name, entry in value.items():
                if self._left <= 0:
                    break
                found[str(name)[:ID]] = self.of(entry, depth - 1)
            return found
        if isinstance(value, list | tuple):
            listed: list[Any] = []
            for entry in value:
                if self._left <= 0:
                    break
                listed.append(self.of(entry, depth - 1))
            return listed
        return None
