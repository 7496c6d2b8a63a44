"""Where in a policy file something stands: the line and column of a key or an element, for error messages.

The parsers of the standard library forget positions. They are only wanted when something is wrong, so the
file is walked a second time then, towards the one place that matters. A place that cannot be found is (1,
1), never an error.
"""

from __future__ import annotations

import json
import re

from unhang.core.settings_text import line_column

__all__ = ["in_json", "in_toml", "line_column"]

Path = tuple[str | int, ...]

_WHITE = re.compile(r"[ \t\r\n]*")
_HEADER = re.compile(r"^\s*\[([^\[\]]+)\]\s*(?:#.*)?$")
_KEY = re.compile(r"""^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")
_TOML_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"|\'[^\']*\'')


def in_json(text: str, path: Path) -> tuple[int, int]:
    """Find a place in a text that is known to be JSON: it has been parsed."""
    try:
        return line_column(text, _json_offset(text, path))
    except (ValueError, IndexError, AttributeError):
        return 1, 1


def _json_offset(text: str, path: Path) -> int:
    decoder = json.JSONDecoder()
    at = _skip(text, 0)
    for step in path:
        if text[at] == "{":
            at, found = _member(text, at, step, decoder)
        else:
            at, found = _element(text, at, step, decoder)
        if not found:
            break
    return at


def _skip(text: str, at: int) -> int:
    white = _WHITE.match(text, at)
    return white.end() if white else at


def _member(text: str, at: int, key: str | int, decoder: json.JSONDecoder) -> tuple[int, bool]:
    opening = at
    at = _skip(text, at + 1)
    while text[at] == '"':
        start = at
        name, at = json.decoder.scanstring(text, at + 1, True)  # type: ignore[attr-defined]
        value = _skip(text, _skip(text, at) + 1)
        if name == key:
            return (value if text[value] in "{[" else start), True
        _, at = decoder.raw_decode(text, value)
        at = _skip(text, at)
        if text[at] != ",":
            break
        at = _skip(text, at + 1)
    return opening, False


def _element(text: str, at: int, index: str | int, decoder: json.JSONDecoder) -> tuple[int, bool]:
    opening = at
    at = _skip(text, at + 1)
    number = 0
    while text[at] != "]":
        if number == index:
            return at, True
        _, at = decoder.raw_decode(text, at)
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
        number += 1
    return opening, False


def in_toml(text: str, path: Path) -> tuple[int, int]:
    """Find a line by its table headers and keys: that of the deepest part of the path that has one of its own."""
    keys = [str(step) for step in path if isinstance(step, str)]
    best_depth, best = 0, (1, 1)
    table: list[str] = []
    offset = 0
    for number, line in enumerate(text.split("\n"), 1):
        header, key = _HEADER.match(line), _KEY.match(line)
        here: list[str] | None = None
        if header:
            table = _parts(header.group(1))
            here = table
        elif key:
            here = table + _parts(key.group(1))
        if here is not None and here == keys[: len(here)] and len(here) > best_depth:
            best_depth, best = len(here), (number, len(line) - len(line.lstrip()) + 1)
            if key and path and isinstance(path[-1], int) and here == keys:
                return _toml_element(text, offset + key.end(), path[-1], best)
        offset += len(line) + 1
    return best


def _toml_element(text: str, at: int, index: int, otherwise: tuple[int, int]) -> tuple[int, int]:
    for number, string in enumerate(_TOML_STRING.finditer(text, at)):
        if number == index:
            return line_column(text, string.start())
    return otherwise


def _parts(dotted: str) -> list[str]:
    return [part.strip().strip("\"'") for part in dotted.split(".")]
