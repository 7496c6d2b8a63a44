"""What one message of an agent means: an event, a sign of life, a window for a tool, or none of them."""

from __future__ import annotations

import json

from unhang.core import plain_text
from unhang.core.diagnosis.time_left import SILENT, in_ms
from unhang.core.record import Record
from unhang.core.values import bounded
from unhang.core.watchdog.facts import TOOL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.values import Message

# `raw` is the first thing that a long line loses; more than this of it does not help.
_RAW = 1500
_RAW_DEPTH = 20
PREVIEW = 240
# How the name of a number ends that is a time.
_TIMES = ("Ms", "_ms")
# The states of a diagnosis; a slow start is no proof of anything.
HUNG, UNSURE = "hung", "unsure"


class AgentUpdate(Record):
    """What one message means.

    `phase` "": nothing to record. `windowed`: what the agent waits for has changed, `window` is its limit now, and
    `window_for` says what that is (`core/watchdog/facts.py`).
    """

    phase: str = ""
    message: str = ""
    method: str = ""
    alive: bool = False
    windowed: bool = False
    window: float | None = None
    fields: dict[str, Any] = {}  # noqa: RUF012 - a Record is frozen; nothing writes to it
    raw: str = ""
    window_for: str = TOOL

    @property
    def empty(self) -> bool:
        """Return whether there is nothing to tell the keeper."""
        return not (self.phase or self.alive or self.windowed)

    def of_message(self, message: Message, **always: str) -> AgentUpdate:
        """Return it with what every event of its agent carries, where that is known, and with the message as it came.

        Where there is nothing to record it is returned as it is.
        """
        if not self.phase:
            return self
        fields = {name: value for name, value in (always | self.fields).items() if value not in (None, "")}
        return self.replace(fields=fields, raw=raw_of(message))

    def to_json(self) -> Message:
        """Return it as the keeper is told it (keeper/agent_channel.py)."""
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
            told |= {"window": self.window, "windowFor": self.window_for}
        return told


class StallReason(Record):
    """Why an agent shows no sign of life. `cause`: one of the causes of a diagnosis; `reason`: in words.

    `silent`: the time that the reason names in the words of `for_time`, so that later readers are told that of theirs.
    """

    cause: str
    reason: str
    suggestions: list[str]  # in the words of the command line
    hints: list[str] | None = None  # their names, where the protocol has some: another face has other words for them
    state: str = HUNG
    silent: float | None = None

    def diagnosis(self) -> dict[str, Any]:
        """Return the reason in the shape of a diagnosis."""
        evidence = {} if self.silent is None else {SILENT: in_ms(self.silent)}
        return {"state": self.state, "cause": self.cause, "reason": self.reason, "evidence": evidence, "processes": []}


def preview(text: str, most: int = PREVIEW) -> str:
    """Return the beginning of a text on one line, for people.

    Control characters stay: what shows it makes it harmless.
    """
    line = " ".join(text[: 8 * most].split())
    return plain_text.cut_line(line, most, rest=text[8 * most :])


def mark_of(update: Any) -> int:
    """Return a number that tells one message of an agent from another: what only repeats itself has the same.

    A clock that ticks beside it is nothing new: Qwen Code sends one in `_meta` every ten seconds of a silent command.
    """
    try:
        if isinstance(update, dict) and "_meta" in update:
            update = update | {"_meta": _without_times(update["_meta"])}
        return hash(json.dumps(update, sort_keys=True))
    except (TypeError, ValueError, RecursionError):
        return 0


def _without_times(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        name: _without_times(inner)
        for name, inner in value.items()
        if not (isinstance(inner, int | float) and str(name).endswith(_TIMES))
    }


def raw_of(message: Any) -> str:
    """Return the beginning of a message as JSON; of one that is very large or deep, what `bounded` leaves of it."""
    small = bounded(message, text=_RAW, nodes=_RAW // 3, depth=_RAW_DEPTH)
    return json.dumps(small, ensure_ascii=False, separators=(",", ":"))[:_RAW]
