"""Reading a message of an agent's: each field in the type and the size that its reader expects, or nothing.

An agent's message may hold a list where a text belongs, a number of four hundred digits, NaN, half of a surrogate pair,
or twenty megabytes in a title. Every reader of messages takes its fields from here, so that such a value costs no more
than the field it stands in: a wrong type is None or empty, a long text is cut, a number past every measure is none.
`bounded` does the same for a whole value that is to be recorded.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]

# Texts for people, names, commands: what is longer is cut.
TEXT = 4000
# Names that an agent gives to its calls, items and tasks. One of this length has never been seen.
ID = 300
ITEMS = 1000
# Past this no number counts anything, and arithmetic on it leaves what a float and JSON can hold.
LARGEST = 10**15
# One of the values in a line costs about a hundred bytes once it is parsed, and three bytes on the wire.
PARTS = 1_000_000
_SMALL = 1 << 16
_NODES = 2000
_DEPTH = 6
_CUT = "…"


def parsed(line: bytes, most_parts: int = PARTS) -> Any:
    """The value that a line of JSON holds; None if it holds none, or so many that memory would suffer.

    A byte that is no UTF-8 costs the character that it stands in, not the line.
    """
    if len(line) > _SMALL and line.count(b",") + line.count(b"[") + line.count(b"{") > most_parts:
        return None
    try:
        return json.loads(line.decode("utf-8", "replace").removeprefix("\ufeff"))
    except (ValueError, RecursionError, MemoryError):
        return None


def dig(value: Any, *path: str) -> Any:
    """value[a][b]…, or None wherever the shape is another one."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def mapping_of(value: Any, *path: str) -> Message:
    found = dig(value, *path)
    return found if isinstance(found, dict) else {}


def items_of(value: Any, *path: str, most: int = ITEMS) -> list[Any]:
    found = dig(value, *path)
    return found[:most] if isinstance(found, list) else []


def mappings_of(value: Any, *path: str, most: int = ITEMS) -> list[Message]:
    """The items that are objects."""
    return [each for each in items_of(value, *path, most=most) if isinstance(each, dict)]


def text_of(value: Any, *path: str, most: int = TEXT) -> str:
    found = dig(value, *path)
    return found[:most] if isinstance(found, str) else ""


def whole_of(value: Any, *path: str) -> str:
    """A text of any length: what the agent has written, which its reader wants whole."""
    found = dig(value, *path)
    return found if isinstance(found, str) else ""


def id_of(value: Any, *path: str) -> str:
    """A name that the agent gave to something: a text, or a number as one; "" if it has none that can be used."""
    found = dig(value, *path)
    if isinstance(found, int) and not isinstance(found, bool) and abs(found) <= LARGEST:
        return str(found)
    return found[:ID] if isinstance(found, str) else ""


def words_of(value: Any, *path: str, most: int = TEXT) -> str:
    """A command line: one text, or a list of its words."""
    found = dig(value, *path)
    if isinstance(found, list):
        return " ".join(word[:most] for word in found[:ITEMS] if isinstance(word, str))[:most]
    return text_of(found, most=most)


def number_of(value: Any, *path: str) -> float | int | None:
    """Finite, and of a size that something can have."""
    found = dig(value, *path)
    usable = isinstance(found, int | float) and not isinstance(found, bool) and abs(found) <= LARGEST
    return found if usable else None  # NaN compares as false


def integer_of(value: Any, *path: str) -> int | None:
    found = number_of(value, *path)
    return found if isinstance(found, int) else None


def count_of(value: Any, *path: str) -> int | None:
    found = integer_of(value, *path)
    return found if found is not None and found >= 0 else None


def bounded(value: Any, *, text: int = TEXT, nodes: int = _NODES, depth: int = _DEPTH) -> Any:
    """A copy that is JSON in every reader's eyes, of at most so many values, so deep, with texts so long."""
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
