"""What a driver inside the job says of its agent: one JSON object a line, on a descriptor of its own.

    {"phase": "thinking", "message": "…", "alive": true, "window": 600, …}

becomes an `agent` event. `alive` says whether it is progress (a keep-alive is not), `window` that it waits for
something with a limit of its own (null: no longer), and `windowFor` what that is: a tool in flight, a person. Only the
driver has the descriptor: it must not hand it on to the agent.
Whatever is written there, the keeper holds no more than one line of it, and takes each field only in its own type.
"""

from __future__ import annotations

import os

from unhang.core import events as ev
from unhang.core import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DESCRIPTOR = 3
VARIABLE = "UNHANG_AGENT_FD"
# Where the driver finds its plan: the job's record.
RECORD = "UNHANG_AGENT_RECORD"
_LONGEST = 1 << 20
_PARTS = 20_000
# A window past this is no limit, and a clock could not hold it.
_LONGEST_WINDOW = 100 * 365 * 86400.0
# An event has one line of 4 KiB: `raw` takes what is left of it, the other fields and the head share this much.
_MOST = 3600
_SIZES = (4000, 500, 120, 30)
_HEAD = ("type", "phase", "message", "alive", "window", "windowFor", "seq", "ts", "v")


class AgentChannel:
    """The keeper's end of the descriptor that a driver writes to."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.open = True
        self._rest = b""
        self._skips = False  # in the middle of a line that is too long to be held
        os.set_blocking(fd, False)

    def hear(self) -> list[dict[str, Any]]:
        """Return every whole line that has come; nonsense is passed over."""
        try:
            chunk = os.read(self.fd, 1 << 16)
        except BlockingIOError:
            return []
        except OSError:
            chunk = b""
        if not chunk:
            self.close()
            return []
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if self._skips and lines:
            del lines[0]
            self._skips = False
        if self._skips or len(self._rest) > _LONGEST:
            self._skips, self._rest = True, b""
        return [said for line in lines if (said := said_of(line)) is not None]

    def close(self) -> None:
        """Close the descriptor; a second call does nothing."""
        if self.open:
            self.open = False
            os.close(self.fd)


def said_of(line: bytes) -> dict[str, Any] | None:
    """Return what a driver has said; None: it is not an object.

    `alive` and `window`, if they are there, have the types that the loop expects.
    """
    from unhang.core.values import number_of, parse_message, text_of  # only the keeper of an agent's job needs them

    said = parse_message(line, _PARTS)
    if not isinstance(said, dict):
        return None
    said["alive"] = said.get("alive") is True
    if "window" in said:
        seconds = number_of(said, "window")
        said["window"] = float(seconds) if seconds is not None and 0 < seconds <= _LONGEST_WINDOW else None
        said["windowFor"] = text_of(said, "windowFor", most=20)
    return said


def event_of(said: dict[str, Any]) -> ev.Event | None:
    """Return the event of what a driver has said; None: it only wants to be counted as a sign of life.

    Its fields are cut until they fit into one line.
    """
    from unhang.core.values import bounded, text_of

    phase = text_of(said, "phase", most=40)
    if not phase:
        return None
    phase = phase if phase in ev.PHASES[ev.AGENT] else "unknown"
    head = ev.agent(phase, text_of(said, "message", most=1000), alive=said.get("alive") is True)
    rest = {name: value for name, value in said.items() if name not in (*_HEAD, *_SHAPED, "raw")}
    rest |= {name: shaped for name, shape in _SHAPED.items() if (shaped := shape(said.get(name))) is not None}
    event = head
    for size in _SIZES:
        event = head | bounded(rest, text=size, nodes=max(50, size // 4))
        if _size(event) <= _MOST:
            break
        head["message"] = head["message"][: max(200, size)]
    if "raw" in said:
        event["raw"] = text_of(said, "raw")
    return event


def _suggestions(value: Any) -> list[str] | None:
    from unhang.core.values import items_of, text_of

    return [text for each in items_of(value, most=10) if (text := text_of(each, most=500))] or None


def _size(event: ev.Event) -> int:
    return len(json_text.encode(event).encode("utf-8", "replace"))


def verdict_of(said: dict[str, Any]) -> dict[str, Any] | None:
    """Return why the agent is silent, as its driver says; None: it says nothing of that."""
    return _diagnosis(said.get("diagnosis"))


def _diagnosis(value: Any) -> dict[str, Any] | None:
    from unhang.core.values import mapping_of, mappings_of, text_of

    if not isinstance(value, dict):
        return None
    words = {name: text_of(value, name, most=1000) for name in ("state", "cause", "reason")}
    return words | {"evidence": mapping_of(value, "evidence"), "processes": mappings_of(value, "processes", most=20)}


# Fields that other parts read as well: in the shape that they expect, or not at all.
_SHAPED = {"diagnosis": _diagnosis, "suggestions": _suggestions}
