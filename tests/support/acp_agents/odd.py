"""Messages that were recorded with real agents, with odd values in them: what an adapter must take without harm."""

from __future__ import annotations

import functools
import json
from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings

from tests.support.places import TESTS

# Few and cheap examples: a suite is run often, and each run tries others.
FEW = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))


def _nested(depth: int) -> Any:
    value: Any = "x"
    for level in range(depth):
        value = [value] if level % 2 else {"options": value}
    return value


ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 10**16, 10**400, -(10**400), 1e308, float("nan"), float("inf"), float("-inf")),
    *("", "x", "\ud800", "\udcff\0", "\x1b[2J\r", "a" * 50_000, "9" * 5000, "²", "e\u0301", "../../etc", "#(touch x)"),
    *([], {}, [1], [None], [[]] * 50, [{}], {"a": 1}, {"type": "text"}, ["a"] * 3000, {"": {"": {"": 1}}}),
    *(_nested(60), _nested(300), {"message": ["x"], "code": {}}),
)

odd = st.sampled_from(range(len(ODD))).map(ODD.__getitem__)


@functools.cache
def recorded(*folders: str, prefix: str = "") -> tuple[dict[str, Any], ...]:
    """Every message of these recordings, each kind of it once or twice."""
    found: dict[str, dict[str, Any]] = {}
    for folder in folders:
        for path in sorted((TESTS / folder / "recordings").glob(f"{prefix}*.ndjson")):
            for line in path.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                message = entry.get("line", entry.get("raw"))
                if isinstance(message, str):
                    try:
                        message = json.loads(message)
                    except ValueError:
                        continue
                if isinstance(message, dict):
                    found.setdefault(_kind(message) + str(len(found) % 2), message)
    assert len(found) > 10
    return tuple(found.values())


def _kind(message: dict[str, Any]) -> str:
    params = message.get("params")
    params = params if isinstance(params, dict) else {}
    inner = params.get("update") or params.get("item") or message.get("item") or message.get("event") or {}
    words = [message.get(name) for name in ("type", "subtype", "method")]
    words += [inner.get(name) for name in ("sessionUpdate", "type")] if isinstance(inner, dict) else []
    return repr(words) + repr(sorted(message))


@st.composite
def _way(draw: st.DrawFn, value: Any) -> tuple[str | int, ...]:
    """To some place in a value: often not far, because what an adapter looks at is near the top."""
    way: list[str | int] = []
    while isinstance(value, dict | list) and value and (not way or draw(st.integers(0, 3))):
        names = list(value) if isinstance(value, dict) else range(min(len(value), 20))
        name = names[draw(st.integers(0, len(names) - 1))]
        way.append(name)
        value = value[name]
    return tuple(way)


def replaced(value: Any, at: tuple[str | int, ...], new: Any) -> Any:
    """A copy with something else there; `...`: with nothing there."""
    copy: Any = list(value) if isinstance(value, list) else dict(value)
    if len(at) > 1:
        copy[at[0]] = replaced(value[at[0]], at[1:], new)
    elif new is ...:
        del copy[at[0]]
    else:
        copy[at[0]] = new
    return copy


@st.composite
def mutated(draw: st.DrawFn, messages: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """One of them, as it was or with up to three values replaced or left out."""
    message = messages[draw(st.integers(0, len(messages) - 1))]
    for _ in range(draw(st.integers(0, 3))):
        way = draw(_way(message))
        if not way:
            break
        message = replaced(message, way, draw(odd | st.just(...)))
    return message
