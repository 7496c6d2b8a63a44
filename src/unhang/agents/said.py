"""What an adapter makes of one message of its agent: an event, a sign of life, a window for a tool; or none of them."""

from __future__ import annotations

import json

from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]

# `raw` is the first thing that a long line loses; more than this of it helps nobody.
_RAW = 1500
PREVIEW = 240


class Said(Record):
    """`phase` "": nothing to record. `windowed`: the tools in flight have changed, and `window` is their limit now."""

    phase: str = ""
    message: str = ""
    method: str = ""
    alive: bool = False
    windowed: bool = False
    window: float | None = None
    fields: dict[str, Any] = {}  # noqa: RUF012 - a Record is frozen; nobody writes to it
    raw: str = ""

    @property
    def empty(self) -> bool:
        return not (self.phase or self.alive or self.windowed)

    def to_json(self) -> Message:
        """As the keeper is told it (keeper/agentline.py)."""
        told: Message = {}
        if self.phase:
            told |= {"phase": self.phase, "message": self.message}
            if self.method:
                told["method"] = self.method
            told |= {name: value for name, value in self.fields.items() if value is not None}
            if self.raw:
                told["raw"] = self.raw
        if self.alive:
            told["alive"] = True
        if self.windowed:
            told["window"] = self.window
        return told


class Standing(Record):
    """`cause`: one of the diagnosis's words."""

    cause: str
    reason: str
    suggestions: list[str]

    def diagnosis(self) -> dict[str, Any]:
        return {"state": "hung", "cause": self.cause, "reason": self.reason, "evidence": {}, "processes": []}


def one_line(text: object, most: int = PREVIEW) -> str:
    """Short, and in one line, for people."""
    line = " ".join(str(text).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def raw_of(message: Message) -> str:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"))[:_RAW]


def dig(value: Any, *path: str) -> Any:
    """value[a][b]…, or None wherever the shape is another one."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def text_of(value: Any, *path: str) -> str:
    found = dig(value, *path)
    return found if isinstance(found, str) else ""
