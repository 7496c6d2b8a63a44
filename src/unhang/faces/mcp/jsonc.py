"""JSON as people keep it in settings files: with comments and trailing commas. Reading it, and putting one entry in."""

from __future__ import annotations

import json
from typing import Any


def plain(text: str) -> str:
    """The same text with comments and trailing commas blanked out: every position stays where it was."""
    out = list(text)
    i = 0
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
        if c == ",":
            comma = i
        elif c in "}]" and comma >= 0:
            out[comma] = " "
            comma = -1
        elif not c.isspace():
            comma = -1
        i += 1
    return "".join(out)


def parse(text: str) -> Any:
    """Raises ValueError (with line and column)."""
    return json.loads(plain(text.removeprefix("\ufeff")))


def insert(text: str, keys: tuple[str, ...], name: str, entry: Any) -> str:
    """The text with `entry` as `name` in the table at `keys`, which is made if it is not there."""
    if not text.strip():
        value: Any = {name: entry}
        for key in reversed(keys):
            value = {key: value}
        return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    bare = plain(text)
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


def _child(bare: str, at: int, key: str) -> int | None:
    """Where the object that is the value of `key` in the object at `at` begins."""
    decoder = json.JSONDecoder()
    i = at + 1
    while True:
        while i < len(bare) and (bare[i].isspace() or bare[i] == ","):
            i += 1
        if i >= len(bare) or bare[i] != '"':
            return None
        name, i = json.decoder.scanstring(bare, i + 1)  # type: ignore[attr-defined]
        i = bare.index(":", i) + 1
        while bare[i].isspace():
            i += 1
        if name == key:
            return i if bare[i] == "{" else None
        _, i = decoder.raw_decode(bare, i)


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
