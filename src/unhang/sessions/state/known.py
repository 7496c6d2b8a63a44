"""What is known of a session from its hooks, its status file and its transcript, and which state that is.

The status file is right whenever it exists, with one gap: it also says "busy" while only background agents run and the
prompt is free. The hooks close that gap (the main loop's turn has stopped), and name the tool calls.
"""

from __future__ import annotations

from unhang.sessions.state import facts
from unhang.sessions.state.calls import Calls, ToolCall

IDLE, BUSY, WAITING, BACKGROUND, UNKNOWN, GONE = "idle", "busy", "waiting", "background", "unknown", "gone"

_ENDS = frozenset({"PostToolUse", "PostToolUseFailure", "PermissionDenied"})
_AGENTS = ("Agent", "Task")
# More subagents at once than this are subagents whose end was never recorded.
MOST_AGENTS = 1000
# Hooks that say nothing about the main loop: they fire at any time.
_ASIDE = frozenset({"Notification", "UserPromptExpansion", "ConfigChange", "FileChanged", "TeammateIdle"})


class Known:
    """The facts of one session, put together."""

    def __init__(self, born: float) -> None:
        """`born`: when the process began; no fact is older."""
        self.calls = Calls()
        self.agents: set[str] = set()  # subagents that have started and not stopped
        self.background = 0  # tasks that went on after the last Stop
        self.active: bool | None = (
            None  # whether the main loop has a turn, according to the hooks; None: no hook has fired
        )
        self.status: str | None = None
        self.stamp = 0
        self.waiting_for = ""
        self.since = born  # of the state
        self.turn_since = born
        self.sign = born  # the last sign of life of the main loop
        self.finished = born  # the last step that came to an end
        self.stops = 0  # turns that came to their own end
        self.gone = False

    def mode(self) -> str:
        """Return the state of the session."""
        if self.gone:
            return GONE
        if self.status == facts.WAITING:
            return WAITING
        if self.status == facts.IDLE:
            return IDLE
        if self.status == facts.BUSY:
            return BACKGROUND if self.active is False and (self.background or self.agents) else BUSY
        if self.active is None or self.status is not None:
            return UNKNOWN
        return BUSY if self.active else IDLE

    def prompt_is_free(self) -> None:
        """Note that the screen shows a free prompt: a turn was interrupted, and only background agents go on."""
        self.active = False
        self.background = max(1, self.background)
        self.calls.close_of("")

    # --- facts ------------------------------------------------------------------------------------------------

    def tell(self, fact: facts.Fact) -> None:
        """Take in a fact."""
        if isinstance(fact, facts.Hook):
            self._hook(fact)
        elif isinstance(fact, facts.Status):
            self._status(fact)
        elif isinstance(fact, facts.Grew):
            self.sign = max(self.sign, fact.at)
            self.finished = max(self.finished, fact.at)
            self.calls.close_doubtful()
        elif isinstance(fact, facts.Renamed):
            self._reset(self.sign)
        elif isinstance(fact, facts.Died):
            self.gone = True
            self._reset(self.sign)

    def _hook(self, hook: facts.Hook) -> None:
        if hook.method in _ASIDE:
            return
        if hook.method == "UserPromptSubmit":
            self._prompt(hook)
            return
        if hook.agent_id:
            self._of_agent(hook)
            # where the turn waits for the subagent, its steps are the turn's
            if any(call.tool_name in _AGENTS for call in self.calls.main()):
                self.finished = max(self.finished, hook.at)
            return
        self.sign = max(self.sign, hook.at)
        if hook.method == "SubagentStart":  # without a name of its own
            return
        self.calls.close_doubtful()
        if hook.method == "PreToolUse":
            self.active = True
            self._open(hook)
        elif hook.method in _ENDS:
            self.active = True
            self.calls.close(hook.tool_use_id)
            self.finished = max(self.finished, hook.at)
        elif hook.method == "PostToolBatch":
            self.calls.close_of("")
            self.finished = max(self.finished, hook.at)
        elif hook.method in ("Stop", "StopFailure"):
            self._stop(hook)
        elif hook.method == "SessionEnd" or (hook.method == "SessionStart" and hook.source != "compact"):
            self._reset(hook.at)

    def _prompt(self, hook: facts.Hook) -> None:
        """A prompt begins a turn, unless it was only queued: then it is no sign of life."""
        if self.status == facts.BUSY and self.active:
            return
        self.active = True
        self.calls.close_of("")
        self.sign = self.finished = self.turn_since = max(self.sign, hook.at)

    def _of_agent(self, hook: facts.Hook) -> None:
        if hook.method == "SubagentStart":
            self._started(hook.agent_id)
        elif hook.method == "SubagentStop":
            self.agents.discard(hook.agent_id)
            self.calls.close_of(hook.agent_id)
        elif hook.method == "PreToolUse":
            self._started(hook.agent_id)
            self._open(hook)
        elif hook.method in _ENDS:
            self.calls.close(hook.tool_use_id)
        elif hook.method == "PostToolBatch":
            self.calls.close_of(hook.agent_id)

    def _open(self, hook: facts.Hook) -> None:
        call_id = hook.tool_use_id or f"?{hook.at}"
        self.calls.open(ToolCall(call_id, hook.tool_name, hook.tool_input, hook.agent_id, hook.at, hook.at))

    def _started(self, agent: str) -> None:
        if len(self.agents) < MOST_AGENTS:
            self.agents.add(agent)

    def _stop(self, hook: facts.Hook) -> None:
        self.active = False
        self.calls.close_of("")
        self.finished = self.turn_since = max(self.finished, hook.at)
        if hook.background_tasks is not None:
            self.background = hook.background_tasks
        self.stops += hook.method == "Stop"

    def _status(self, told: facts.Status) -> None:
        before, was = self.status, self.stamp
        self.status, self.stamp, self.waiting_for = told.status, told.stamp, told.waiting_for
        if before == told.status and was == told.stamp:
            return
        self.since = told.at
        if told.status == facts.IDLE:
            self.active = False
            self.agents.clear()
            self.background = 0
            self.calls.close_before(told.at)
        elif told.status == facts.BUSY:
            self._busy(told.at, before)

    def _busy(self, at: float, before: str | None) -> None:
        if before == facts.WAITING:  # a person has just answered
            self.calls.begin_again(at)
            self.turn_since = self.finished = self.sign = max(self.sign, at)
            return
        if before == facts.BUSY:  # a change in between was missed
            self.calls.doubt()
        else:
            self.calls.close_before(at)
        if before == facts.IDLE and not self.active:
            self.active = None  # a turn has begun; a hook will confirm it
        self.turn_since = max(self.turn_since, at)
        self.sign = max(self.sign, at)
        self.finished = max(self.finished, at)

    def _reset(self, at: float) -> None:
        self.calls.close_all()
        self.agents.clear()
        self.background = 0
        self.active = False
        self.sign = max(self.sign, at)
