"""The tool calls of an ACP agent: which are in flight, since when, and how long they may be silent.

Agents differ. Claude never says "in_progress", Gemini announces nothing and asks for permission first, some let a
command go on in the background and never say how it ended. So a call is in flight from the first word about it (an
announcement, an update, a permission that was granted) to the word that it is over, or to the end of the turn.
"""

from __future__ import annotations

from unhang.agents.base.commands import MOST_CALLS, CommandLimits, phase_of_command
from unhang.agents.base.update import mark_of, preview
from unhang.core.limits import DEFAULT_IDLE
from unhang.core.values import id_of, text_of, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.policy.model import Policy
    from unhang.core.values import Message

OVER = frozenset({"completed", "failed", "cancelled"})
_PHASES = {"edit": "editing", "delete": "editing", "move": "editing", "think": "thinking"}
_DAY = 86400.0
_RENAMED = 4
_KEPT_OVER = 200  # the ids of calls that are over: a late word about one is no new call


class AcpTool:
    """One call of a tool."""

    def __init__(self, identity: str, now: float) -> None:
        self.id = identity
        self.title = ""
        self.kind = ""
        self.status = "pending"
        self.command = ""
        self.since = now
        self.limit = DEFAULT_IDLE
        self.renamed = 0
        self.mark = 0  # of the last word about it
        self.repeats = False  # that word was the one before once more
        self.parallel = False  # the model has spoken since: it does not wait for this one alone

    @property
    def phase(self) -> str:
        """Return the phase of an event about this call."""
        if self.kind == "execute" or self.command:
            return phase_of_command(self.command or self.title)
        return _PHASES.get(self.kind, "running")

    @property
    def name(self) -> str:
        """Return what people call it: its command, title or kind."""
        return preview(self.command or self.title or self.kind or "a tool")

    def fields(self, now: float) -> dict[str, Any]:
        """Return what an event about this call carries."""
        found = {"toolCallId": self.id, "title": preview(self.title) or None, "toolKind": self.kind or None}
        found |= {"toolStatus": self.status, "command": preview(self.command) or None}
        return found | {"ageMs": max(0, round((now - self.since) * 1000))}


class AcpTools:
    """`limit`: for every tool; None: as the policy has it for the command, but no shorter than `least`: behind a call
    that was only announced, the model may still be writing the next one."""

    def __init__(self, limit: float | None = None, policy: Policy | None = None, least: float | None = None) -> None:
        self._limit = limit
        self._least = least if least is not None and least <= _DAY else 0.0
        self._commands = CommandLimits(policy)
        self._over: dict[str, None] = {}
        self._refused: dict[str, AcpTool] = {}
        self.running: dict[str, AcpTool] = {}

    @property
    def window(self) -> float | None:
        """Return the limit that stands in the place of the idle limit; None: nothing is in flight."""
        return max((tool.limit for tool in self.running.values()), default=None)

    @property
    def names(self) -> list[str]:
        """Return the calls in flight, for people."""
        return [tool.name for tool in self.running.values()]

    def name_of(self, call: Any) -> str | None:
        """Return what people call a call that an agent asks a permission for; None: it does not say."""
        tool = self.running.get(id_of(call, "toolCallId"))
        return tool.name if tool is not None else preview(text_of(call, "title", most=500)) or None

    def note(self, call: Any, now: float) -> tuple[AcpTool | None, bool, bool]:
        """Take a word about a call; return the call, whether it began, ended or got its name by it, and whether it is
        progress.
        """
        identity = id_of(call, "toolCallId")
        if not identity or identity in self._over:
            return None, False, False
        tool = self.running.get(identity)
        begun = tool is None
        tool = tool or self._refused.pop(identity, None) or AcpTool(identity, now)
        before, called = tool.status, tool.name
        mark = mark_of(call)
        tool.repeats, tool.mark = mark == tool.mark and not begun, mark
        self._learn(tool, call)
        if tool.status in OVER:
            self._remember(identity)
            return tool, True, True
        if tool.status == "in_progress" and text_of(call, "status"):
            tool.parallel = False  # it says itself that it works
        self.running[identity] = tool
        while len(self.running) > MOST_CALLS:
            self._remember(next(iter(self.running)))
        tool.renamed += tool.name != called
        named = tool.name != called and tool.renamed <= _RENAMED  # some count their progress in the title
        return tool, begun or named, begun or tool.status != before or not (tool.parallel or tool.repeats)

    def granted(self, identity: str, now: float) -> None:
        """Note that a call may run from now on."""
        tool = self.running.get(identity)
        if tool is not None:
            tool.since = now

    def refused(self, identity: str) -> None:
        """Note that a call will not run; its agent may or may not say so."""
        tool = self.running.pop(identity, None)
        if tool is not None:
            self._refused[identity] = tool
            while len(self._refused) > MOST_CALLS:
                del self._refused[next(iter(self._refused))]

    def model_spoke(self) -> None:
        """Note that the model has spoken: it does not wait for the calls in flight alone."""
        for tool in self.running.values():
            tool.parallel = True

    def clear(self) -> list[str]:
        """Forget whatever was still called in flight: the turn is over."""
        left = self.names
        for identity in (*self.running, *self._refused):
            self._remember(identity)
        self.running.clear()
        self._refused.clear()
        return left

    def _remember(self, identity: str) -> None:
        self.running.pop(identity, None)
        self._over[identity] = None
        while len(self._over) > _KEPT_OVER:
            del self._over[next(iter(self._over))]

    def _learn(self, tool: AcpTool, call: Message) -> None:
        tool.title = text_of(call, "title", most=500) or tool.title
        tool.kind = text_of(call, "kind", most=60) or tool.kind
        tool.status = text_of(call, "status", most=60) or tool.status
        command = words_of(call, "rawInput", "command") or words_of(call, "rawInput", "cmd")
        if command and command != tool.command:
            tool.command = command
            tool.limit = self._limit_of(tool)
        elif self._limit is not None:
            tool.limit = self._limit

    def _limit_of(self, tool: AcpTool) -> float:
        if self._limit is not None:
            return self._limit
        return max(self._commands.idle_of(tool.command), self._least)
