"""The tools of Claude Code: each in words, its phase, its age, and how long it may take before it counts as hung.

While a tool runs it is the tool that must come to its end, by its own limit: a build is not the model thinking.
"""

from __future__ import annotations

from unhang.agents.base.commands import MOST_CALLS, CommandLimits, phase_of_command
from unhang.agents.base.update import preview
from unhang.agents.claude.protocol.tool_limits import BASH_DEFAULT, BASH_MOST, bash_limit, usual_limit
from unhang.core.durations import human
from unhang.core.limits import DEFAULT_IDLE
from unhang.core.record import Record
from unhang.core.values import id_of, items_of, number_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.policy.model import Policy
    from unhang.core.values import Message

# A run without a terminal waits for its agents as for a tool; in a session their own steps are signs of life.
_AGENT_LIMIT = 1800.0
_AGENTS = frozenset({"Task", "Agent", "Workflow"})
_EDITS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
_THOUGHTS = frozenset({"TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "ToolSearch", "EnterPlanMode", "Skill"})
# the word of its input that says what the call is about
_SUBJECTS = ("file_path", "notebook_path", "url", "query", "pattern", "path", "description", "skill", "prompt")


class ClaudeTool(Record):
    """A call that is in flight."""

    name: str
    what: str
    since: float
    limit: float
    agent: str = ""  # the call that started the agent whose call this is; "": Claude's own


def phase_of(use: Message) -> str:
    """Return the phase of an event about a call."""
    name = text_of(use, "name")
    if name == "Bash":
        return phase_of_command(text_of(use, "input", "command"))
    if name in _EDITS:
        return "editing"
    return "thinking" if name in _THOUGHTS else "running"


def subject_of(use: Message) -> str:
    """Return what a call is at: `pytest -q`, a file, an address."""
    if text_of(use, "name") == "Bash":
        return preview(text_of(use, "input", "command"), 500)
    return next((preview(found, 500) for name in _SUBJECTS if (found := text_of(use, "input", name))), "")


def describe_start(use: Message) -> str:
    """Return the beginning of a call, for people."""
    name, subject = text_of(use, "name", most=120) or "a tool", preview(subject_of(use))
    if name == "Bash":
        return f"Running: {subject}"
    if name in _EDITS:
        return f"Editing {subject or 'a file'}."
    shown = _mcp_name(name)
    return f"Tool {shown}: {subject}" if subject else f"Tool {shown}."


def describe_end(tool: ClaudeTool | None, failed: bool, text: str) -> str:
    """Return the end of a call, for people."""
    what = "a tool" if tool is None else (tool.what or _mcp_name(tool.name))
    if failed:
        return f"Failed: {preview(what, 120)}{': ' + preview(text) if text else ''}"
    return f"Done: {preview(what)}"


def _mcp_name(name: str) -> str:
    """mcp__server__tool → server/tool."""
    if not name.startswith("mcp__"):
        return name
    server, _, tool = name[5:].rpartition("__")
    return f"{server}/{tool}" if server else tool


def result_text(block: Message) -> str:
    """Return the beginning of it, for people."""
    return text_of(block, "content") or " ".join(text_of(part, "text") for part in items_of(block, "content", most=20))


class ClaudeTools:
    """The calls that are open. `limit`: for every tool; None: what is usual for each.

    Claude Code shows no output of a command that runs, so its silence cannot be measured. The hard limit that the
    user's policy has for the command can be, and holds beside Claude's own timeout: the shorter one counts.
    """

    def __init__(
        self,
        limit: float | None = None,
        *,
        policy: Policy | None = None,
        bash_default: float = BASH_DEFAULT,
        bash_most: float = BASH_MOST,
    ) -> None:
        self._limit = limit
        self._commands = CommandLimits(policy)
        self._bash_default = bash_default
        self._bash_most = max(bash_most, bash_default)
        self._open: dict[str, ClaudeTool] = {}

    @property
    def window(self) -> float | None:
        """Return the limit that stands in the place of the idle limit; None: nothing is in flight."""
        return max((tool.limit for tool in self._open.values()), default=None)

    def begin(self, use: Message, now: float, agent: str = "") -> None:
        """Note that a call has begun."""
        tool = ClaudeTool(text_of(use, "name", most=120) or "a tool", subject_of(use), now, self.limit_of(use), agent)
        self._open[id_of(use, "id")] = tool
        while len(self._open) > MOST_CALLS:
            del self._open[next(iter(self._open))]

    def end(self, identity: str) -> ClaudeTool | None:
        """Note that a call has ended, and return it; None if it was not known."""
        return self._open.pop(identity, None)

    def clear(self, *, agents: bool) -> bool:
        """Forget the calls of Claude's own, or those of its agents: none is open any more.

        True: the window may have changed.
        """
        kept = {name: tool for name, tool in self._open.items() if bool(tool.agent) != agents}
        changed = len(kept) != len(self._open)
        self._open = kept
        return changed

    def ages(self, now: float) -> list[Message]:
        """Return what is open for events and people, the oldest first."""
        tools = sorted(self._open.values(), key=lambda tool: tool.since)
        return [
            {"tool": tool.name, "what": preview(tool.what), "ageMs": round((now - tool.since) * 1000)}
            for tool in tools[:10]
        ]

    def words(self, now: float) -> str:
        """Return what is open and since when, for people."""
        tools = sorted(self._open.values(), key=lambda tool: tool.since)
        shown = [
            f"{_mcp_name(tool.name)} has been running for {human(max(0.0, now - tool.since))}"
            + (f": {preview(tool.what, 120)}" if tool.what else "")
            for tool in tools[:4]
        ]
        return "; ".join(shown)

    def limit_of(self, use: Message) -> float:
        """Return how long a call may take, in seconds."""
        if self._limit is not None:
            return self._limit
        name = text_of(use, "name")
        if name == "Bash":
            asked = number_of(use, "input", "timeout")
            own = bash_limit(asked, default=self._bash_default, most=self._bash_most)
            hard = self._commands.hard_of(text_of(use, "input", "command"))
            return own if hard is None else min(own, hard)
        return _AGENT_LIMIT if name in _AGENTS else usual_limit(name) or DEFAULT_IDLE
