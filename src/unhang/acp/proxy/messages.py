"""The few lines that a proxy says itself, and what it calls things."""

from __future__ import annotations

import json
import re
from enum import Enum

from unhang.agents.base import jsonrpc_message
from unhang.agents.base.jsonrpc_message import INTERNAL_ERROR, encode, notification
from unhang.agents.base.update import preview
from unhang.core.durations import human
from unhang.core.values import mapping_of, text_of, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Notice(Enum):
    """How a notice is shown: as the agent's thought, as its message, or not at all."""

    THOUGHT = "thought"
    MESSAGE = "message"
    OFF = "off"


# The ids of a protocol are counters or UUIDs; an id is kept as long as its request is open.
_LONGEST_ID, _LARGEST_ID = 1000, 1e300
_CHUNK = re.compile(rb'"sessionUpdate":"agent_(?:message|thought)_chunk"')
_EMPTY = re.compile(rb'"text"\s*:\s*""')
_SESSION = re.compile(rb'"sessionId":"([^"\\\\]*)"')


def chunk_of(line: bytes) -> tuple[str, bytes] | None:
    """Return the session, if this is plainly a few words of the agent's: most lines are, and need not be read whole.

    And how the line begins: one that begins just so is another of the kind. A quotation mark inside a text is written
    with a backslash, so what is looked for cannot stand in one.
    """
    kind = _CHUNK.search(line)
    if kind is None:
        return None
    start = line[: kind.end()]
    found = _SESSION.search(start)
    if found is None or b'"method":"session/update"' not in start:
        return None
    return found[1].decode("utf-8", "replace"), start


def is_empty_chunk(line: bytes) -> bool:
    """Return whether a line that `chunk_of` knows carries no word at all."""
    return _EMPTY.search(line) is not None


def key_of(id: Any) -> str | None:
    """Return the id as a key, in which 1 and "1" differ; None: no usable id (a list, NaN, a very long text)."""
    usable = isinstance(id, int | float) and not isinstance(id, bool) and abs(id) <= _LARGEST_ID
    return json.dumps(id) if usable or (isinstance(id, str) and len(id) <= _LONGEST_ID) else None


def answer(id: Any, result: Any) -> bytes:
    """Return unhang's answer to a request, as a line."""
    return encode(jsonrpc_message.result(id, result))


def error(id: Any, text: str, code: int = INTERNAL_ERROR) -> bytes:
    """Return unhang's refusal of a request, as a line; its text names unhang."""
    return encode(jsonrpc_message.error(id, code, f"unhang: {text}"))


def cancel(session: str) -> bytes:
    """Return the line that asks the agent to cancel the turn of a session."""
    return encode(notification("session/cancel", {"sessionId": session}))


def notice(session: str, text: str, how: Notice) -> bytes:
    """Return the session update that shows a text of unhang's in the turn, as a paragraph of its own."""
    # a chunk is glued to what was said before it: a paragraph of its own keeps it readable
    content = {"type": "text", "text": f"\n\n[unhang] {text}\n\n"}
    update = {"sessionUpdate": f"agent_{how.value}_chunk", "content": content}
    return encode(notification("session/update", {"sessionId": session, "update": update}))


def title_of(update: dict[str, Any], before: str = "") -> str:
    """Return what a tool call is called, on one line: its command, where it says one. `before`: its name so far."""
    command = words_of(update, "rawInput", "command") or words_of(update, "rawInput", "cmd")
    return preview(command or text_of(update, "title") or before or text_of(update, "kind") or "a tool", 80)


def stall_text(silence: float, tool: tuple[str, float] | None, why: str, left: float | None) -> str:
    """Return the sentences about a stall: its length, the tool that runs, the reason, the time left."""
    if tool is None:
        text = f"Nothing has come from the agent for {human(silence)}"
    else:
        text = f"{tool[0]} has been running for {human(tool[1])}, without news for {human(silence)}"
    text += f": {why}." if why else "."
    return text if left is None else f"{text} The turn will be cancelled in {human(max(0.0, left))} if this goes on."


def limit_text(limit: str, length: float, set_to: float, tools: list[str], *, over: bool = False) -> str:
    """Return the sentence that says which limit cancels the turn; `over`: it has cancelled it."""
    during = f" while {tools[0]} was running" if tools else ""
    why = {
        "repeat": f"it has only repeated itself for {human(length)}",
        "hard": f"it has taken {human(length)}{during}",
    }.get(limit, f"nothing came from the agent for {human(length)}{during}")
    return f"The turn {'was' if over else 'is being'} cancelled: {why} (limit {human(set_to)})."


def opens_or_closes(lines: list[bytes]) -> bool:
    """Return whether one of the lines may be an `initialize`, or the end of a session."""
    return any(b'"initialize"' in line or b'"session/close"' in line or b"session\\/close" in line for line in lines)


def names_terminals(lines: list[bytes]) -> bool:
    """Return whether one of the lines may be a `terminal/*` request, its slash escaped or not."""
    return any(b'"terminal/' in line or b'"terminal\\/' in line for line in lines)


def may_be_cancelled(lines: list[bytes]) -> bool:
    """Return whether one of the lines may end a turn as cancelled."""
    return any(b'"cancelled"' in line for line in lines)


def with_terminals(message: dict[str, Any]) -> bytes | None:
    """Return an `initialize` that offers terminals; None: it does already."""
    params = mapping_of(message, "params")
    offered = mapping_of(params, "clientCapabilities")
    if offered.get("terminal") is True:
        return None
    params = params | {"clientCapabilities": offered | {"terminal": True}}
    try:
        return json.dumps(message | {"params": params}, separators=(",", ":")).encode() + b"\n"
    except RecursionError:  # as deep as a reader can go; it passes as it came
        return None
