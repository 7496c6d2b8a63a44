"""The tool calls that are open, according to the hooks.

No hook fires when a call is interrupted, so a call is often closed by something else: the end of its batch, the end of
the turn, an idle session. A call that may have been interrupted unseen (the status changed and changed back between
two looks) is *doubtful*: its own limit no longer holds, but as long as it may run, silence is not the API's.
"""

from __future__ import annotations

from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# More open calls than this are calls whose end was never recorded.
MOST = 200


# What a call is about, by the names that tools give to it.
_SUBJECTS = ("command", "url", "query", "file_path", "pattern", "description")
_LONGEST_SUBJECT = 100


def subject_of(given: dict[str, Any]) -> str:
    """Return the command, the address, the file that a call is about, in one line; empty: not known."""
    for name in _SUBJECTS:
        value = given.get(name)
        if isinstance(value, str):
            text = " ".join("".join(c if c.isprintable() else " " for c in value[:400]).split())
            return text if len(text) <= _LONGEST_SUBJECT else text[: _LONGEST_SUBJECT - 1] + "…"
    return ""


class ToolCall(Record):
    """One open tool call."""

    id: str
    tool_name: str
    tool_input: dict[str, Any]
    agent_id: str  # "": the main loop's
    at: float  # since when its limit counts
    opened: float
    doubtful: bool = False

    def title(self) -> str:
        """Return the tool, and what the call is about, for people."""
        about = subject_of(self.tool_input)
        return f"{self.tool_name} {about}" if about else self.tool_name

    def to_json(self) -> dict[str, Any]:
        """Return which call it is, as events and `--json` name it."""
        fields = {"toolName": self.tool_name, "toolUseId": self.id}
        return fields | {"agentId": self.agent_id} if self.agent_id else fields


class Calls:
    """The open calls, by their ids."""

    def __init__(self) -> None:
        self._open: dict[str, ToolCall] = {}

    def open(self, call: ToolCall) -> None:
        """Add a call; the oldest is dropped where there are too many."""
        while len(self._open) >= MOST:
            del self._open[next(iter(self._open))]
        self._open[call.id] = call

    def close(self, call_id: str) -> bool:
        """Remove a call; return whether it was open."""
        return self._open.pop(call_id, None) is not None

    def close_of(self, agent: str) -> None:
        """Remove the calls of one agent; an empty name means the main loop."""
        self._open = {call.id: call for call in self._open.values() if call.agent_id != agent}

    def close_before(self, at: float) -> None:
        """Remove the calls that were opened before `at`."""
        self._open = {call.id: call for call in self._open.values() if call.opened >= at}

    def close_doubtful(self) -> None:
        """Remove the calls that may have been interrupted: a later sign shows that they were."""
        self._open = {call.id: call for call in self._open.values() if not call.doubtful}

    def close_all(self) -> None:
        """Remove every call."""
        self._open.clear()

    def doubt(self) -> None:
        """Note that the main loop's calls may have been interrupted; the calls of a subagent are not affected."""
        self._open = {i: call if call.agent_id else call.replace(doubtful=True) for i, call in self._open.items()}

    def begin_again(self, at: float) -> None:
        """Count the limits from `at`: until then the session waited for a person."""
        self._open = {i: call.replace(at=max(call.at, at)) for i, call in self._open.items()}

    def get(self, call_id: str) -> ToolCall | None:
        """Return the open call with this id, if there is one."""
        return self._open.get(call_id)

    def main(self) -> list[ToolCall]:
        """Return the open calls of the main loop."""
        return [call for call in self._open.values() if not call.agent_id]

    def of_agents(self) -> list[ToolCall]:
        """Return the open calls of subagents."""
        return [call for call in self._open.values() if call.agent_id]

    def __iter__(self) -> Any:
        return iter(list(self._open.values()))

    def __len__(self) -> int:
        return len(self._open)
