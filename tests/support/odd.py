"""Values that no unhang would write, for tests of every place that reads what is on disk or comes from outside."""

from __future__ import annotations

import json
from typing import Any

import hypothesis.strategies as st

# what broke something once, or might
SEEDS: list[Any] = [
    *(None, True, 0, -1, 10**30, 10**400, 1e308, float("nan"), float("inf"), "", "x", "\udcff", "\ud800", "\0"),
    *("\x1b[2J", "\x1b]0;t", "9999-99-99T99:99:99Z", "0001-01-01T00:00:00", "2026", "a\nb", "a" * 5000, "SIG²"),
    *([], [1], ["a", None], {}, {"a": 1}, {"pid": "x"}, {"value": "x"}, {"value": None}, [[[]]], "²", "\u202e"),
]

anything = st.sampled_from(SEEDS) | st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def places(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The way to everything in a JSON value, itself included."""
    found = [at]
    entries: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, entry in entries:
        found += places(entry, (*at, name))
    return found


def replaced(value: Any, at: tuple[str | int, ...], new: Any) -> Any:
    """A copy of a JSON value with something else there; `...`: with nothing there."""
    if not at:
        return None if new is ... else new
    copy: Any = list(value) if isinstance(value, list) else dict(value)
    if len(at) == 1 and new is ...:
        del copy[at[0]]
    else:
        copy[at[0]] = replaced(value[at[0]], at[1:], new)
    return copy


@st.composite
def records(draw: st.DrawFn, original: Any) -> Any:
    """The record with up to three values in it replaced or left out."""
    value = original
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.sampled_from(places(value)))
        value = replaced(value, at, draw(anything | st.just(...)))
    return value


@st.composite
def harmed(draw: st.DrawFn, data: bytes) -> bytes:
    """Bytes with some of them changed, missing or added."""
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        data = data[:at] + draw(st.binary(max_size=6)) + data[at + draw(st.integers(0, 20)) :]
    return data


@st.composite
def files(draw: st.DrawFn, data: bytes) -> bytes:
    """A file of JSON lines with one line that is odd in its values or in its bytes."""
    if draw(st.integers(0, 3)) == 0:
        return draw(harmed(data))
    lines = data.splitlines()
    place = draw(st.integers(0, len(lines) - 1))
    lines[place] = json.dumps(draw(records(json.loads(lines[place])))).encode()
    return b"\n".join(lines) + b"\n"
