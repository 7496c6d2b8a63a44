"""JSON as people keep it in settings files: with comments and trailing commas. Reading it, and editing it as a text.

Nothing is ever written anew: an entry is put in or cut out at one place, and everything else stays as it was.
"""

from __future__ import annotations

import json
from typing import Any

# No settings file is nested so deep; and all that walks through one may recurse.
_DEEPEST = 100


def without_comments(text: str, *, commas: bool = False) -> str:
    """Return the text with comments and trailing commas blanked out; every position stays where it was.

    `commas`: the trailing ones stay. Raises ValueError for a text that is nested too deep.
    """
    out = list(text)
    i = depth = 0
    comma = -1  # the place of a comma that may turn out to be a trailing one
    while i < len(text):
        c = text[i]
        if c == '"':
            comma = -1
            i += 1
            while i < len(text) and text[i] != '"':
                i += 2 if text[i] == "\\" else 1
            i += 1
            continue
        if text.startswith("//", i):
            end = text.find("\n", i)
            end = len(text) if end < 0 else end
            out[i:end] = " " * (end - i)
            i = end
            continue
        if text.startswith("/*", i):
            end = text.find("*/", i + 2)
            end = len(text) if end < 0 else end + 2
            out[i:end] = [ch if ch == "\n" else " " for ch in text[i:end]]
            i = end
            continue
        if c in "[{":
            depth += 1
            if depth > _DEEPEST:
                raise ValueError(f"nested more than {_DEEPEST} deep")
        elif c in "]}":
            depth -= 1
        if c == ",":
            comma = i
        elif c in "}]" and comma >= 0:
            out[comma] = "," if commas else " "
            comma = -1
        elif not c.isspace():
            comma = -1
        i += 1
    return "".join(out)


def parse(text: str) -> Any:
    """Parse JSON with comments and trailing commas. Raises ValueError with line and column."""
    return json.loads(without_comments(text.removeprefix("\ufeff")))


def same(one: Any, other: Any) -> bool:
    """Return whether two parsed texts hold the same. Unlike `==`, a NaN is the same as another."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and (one == other or (one != one and other != other))


def insert(text: str, keys: tuple[str, ...], name: str, entry: Any) -> str:
    """Return the text with `entry` as `name` in the table at `keys`, which is made if it is not there."""
    if not text.strip():
        value: Any = {name: entry}
        for key in reversed(keys):
            value = {key: value}
        return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    bare = without_comments(text)
    at = bare.index("{")
    value = entry
    found = 0
    for key in keys:
        inner = _child(bare, at, key)
        if inner is None:
            break
        at, found = inner, found + 1
    missing = [*keys[found:], name]
    for key in reversed(missing[1:]):
        value = {key: value}
    return _put(text, bare, at, missing[0], value, found + 1)


def insert_first(text: str, path: tuple[str | int, ...], entry: Any) -> str:
    """Return the text with `entry` as the first one of the array at `path`, which must be there."""
    bare = without_comments(text)
    at = _value_at(bare, path)
    indent = _indent(text)
    inner = indent * (len(path) + 1)
    shown = json.dumps(entry, indent=indent, ensure_ascii=False).replace("\n", f"\n{inner}")
    rest = at + 1
    if bare[rest:].lstrip().startswith("]"):
        close = bare.index("]", rest)
        return f"{text[:rest]}\n{inner}{shown}{text[rest:close].rstrip()}\n{indent * len(path)}{text[close:]}"
    return f"{text[:rest]}\n{inner}{shown},{text[rest:]}"


def remove(text: str, path: tuple[str | int, ...]) -> str:
    """Return the text without the entry at `path`, and without the comma that it needed."""
    bare = without_comments(text)
    entries = _entries(bare, _value_at(bare, path[:-1]))
    number = next(i for i, (name, _, _, _) in enumerate(entries) if name == path[-1])
    _, start, _, end = entries[number]
    left = len(text[:start].rstrip())
    if not bare[left - 1].isspace():  # else a comment stands there, which may need the end of its line
        start = left
    with_commas = without_comments(text, commas=True)
    after = len(with_commas) - len(with_commas[end:].lstrip())
    if with_commas[after : after + 1] == ",":
        return text[:start] + text[end:after] + text[after + 1 :]
    if number == 0:
        return text[:start] + text[end:]
    comma = with_commas.index(",", entries[number - 1][3])
    return text[:comma] + text[comma + 1 : start] + text[end:]


def _value_at(bare: str, path: tuple[str | int, ...]) -> int:
    """Where the value at this path begins."""
    at = len(bare) - len(bare.lstrip().removeprefix("\ufeff").lstrip())
    for step in path:
        at = next(value for name, _, value, _ in _entries(bare, at) if name == step)
    return at


def _entries(bare: str, at: int) -> list[tuple[str | int, int, int, int]]:
    """Of the object or array at `at`: name or number, where the entry begins, where its value begins and ends."""
    decoder = json.JSONDecoder()
    found: list[tuple[str | int, int, int, int]] = []
    i = at + 1
    while True:
        while i < len(bare) and (bare[i].isspace() or bare[i] == ","):
            i += 1
        if i >= len(bare) or bare[i] in "}]":
            return found
        start, name = i, len(found)
        key: str | int = name
        if bare[at] == "{":
            key, i = json.decoder.scanstring(bare, i + 1)  # type: ignore[attr-defined]
            i = bare.index(":", i) + 1
            while bare[i].isspace():
                i += 1
        value = i
        _, i = decoder.raw_decode(bare, i)
        found.append((key, start, value, i))


def _child(bare: str, at: int, key: str) -> int | None:
    """Where the object that is the value of `key` in the object at `at` begins."""
    value = next((value for name, _, value, _ in _entries(bare, at) if name == key), None)
    return value if value is not None and bare[value] == "{" else None


def _put(text: str, bare: str, at: int, name: str, value: Any, depth: int) -> str:
    """As the first member of the object at `at`: what stands before it never needs a comma then."""
    indent = _indent(text)
    inner = indent * depth
    shown = json.dumps(value, indent=indent, ensure_ascii=False).replace("\n", f"\n{inner}")
    rest = at + 1
    empty = bare[rest:].lstrip().startswith("}")
    member = f"\n{inner}{json.dumps(name)}: {shown}" + ("" if empty else ",")
    if empty:
        close = bare.index("}", rest)
        return text[:rest] + member + text[rest:close].rstrip() + f"\n{indent * (depth - 1)}" + text[close:]
    return text[:rest] + member + text[rest:]


def _indent(text: str) -> str:
    for line in text.splitlines():
        stripped = line.lstrip(" \t")
        if stripped and stripped != line:
            return "\t" if line[0] == "\t" else " " * min(8, len(line) - len(stripped))
    return "  "
