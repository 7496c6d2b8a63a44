"""What is known of a session, from hooks, the status file and the transcript; and what state that makes.

The status file is right whenever it is there, with one gap: it says "busy" also while only background agents run
and the prompt is free. The hooks close that gap (the main loop's turn has stopped), and tell the tool calls.
"""

from __future__ import annotations

from unhang.sessions.state import facts
from unhang.sessions.state.calls import Call, Calls

IDLE, BUSY, WAITING, BACKGROUND, UNKNOWN, GONE = "idle", "busy", "waiting", "background", "unknown", "gone"

_ENDS = frozenset({"PostToolUse", "PostToolUseFailure", "PermissionDenied"})
_AGENTS = ("Agent", "Task")
# More subagents at once than this are records that nobody closed.
MOST_AGENTS = 1000
# Hooks that say nothing about the main loop: they come on their own time.
_ASIDE = frozenset({"Notification", "UserPromptExpansion", "ConfigChange", "FileChanged", "TeammateIdle"})


class Known:
    def __init__(self, born: float) -> None:
        """`born`: when the process began; nothing that is known is older."""
        self.calls = Calls()
        self.agents: set[str] = set()  # subagents that have started and not stopped
        self.background = 0  # tasks that went on after the last Stop
        self.active: bool | None = None  # the main loop has a turn, by the hooks; None: no hook has said
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
        """The screen says so: a turn was interrupted, and only the agents in the background go on."""
        self.active = False
        self.background = max(1, self.background)
        self.calls.close_of("")

    # --- facts ------------------------------------------------------------------------------------------------

    def tell(self, fact: facts.Fact) -> None:
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
        if hook.agent:
            self._of_agent(hook)
            if any(
                call.tool in _AGENTS for call in self.calls.main()
            ):  # the turn waits for it: its steps are the turn's
                self.finished = max(self.finished, hook.at)
            return
        self.sign = max(self.sign, hook.at)
        if hook.method == "SubagentStart":  # without a name of its own
            return
        self.calls.close_doubtful()
        if hook.method == "PreToolUse":
            self.active = True
            self.calls.open(Call(hook.call or f"?{hook.at}", hook.tool, hook.given, "", hook.at, hook.at))
        elif hook.method in _ENDS:
            self.active = True
            self.calls.close(hook.call)
            self.finished = max(self.finished, hook.at)
        elif hook.method == "PostToolBatch":
            self.calls.close_of("")
            self.finished = max(self.finished, hook.at)
        elif hook.method in ("Stop", "StopFailure"):
            self._stop(hook)
        elif hook.method == "SessionEnd" or (hook.method == "SessionStart" and hook.source != "compact"):
            self._reset(hook.at)

    def _prompt(self, hook: facts.Hook) -> None:
        """A message may only have been queued: then it is no sign of life, and starts nothing."""
        if self.status == facts.BUSY and self.active:
            return
        self.active = True
        self.calls.close_of("")
        self.sign = self.finished = self.turn_since = max(self.sign, hook.at)

    def _of_agent(self, hook: facts.Hook) -> None:
        if hook.method == "SubagentStart":
            self._started(hook.agent)
        elif hook.method == "SubagentStop":
            self.agents.discard(hook.agent)
            self.calls.close_of(hook.agent)
        elif hook.method == "PreToolUse":
            self._started(hook.agent)
            self.calls.open(Call(hook.call or f"?{hook.at}", hook.tool, hook.given, hook.agent, hook.at, hook.at))
        elif hook.method in _ENDS:
            self.calls.close(hook.call)
        elif hook.method == "PostToolBatch":
            self.calls.close_of(hook.agent)

    def _started(self, agent: str) -> None:
        if len(self.agents) < MOST_AGENTS:
            self.agents.add(agent)

    def _stop(self, hook: facts.Hook) -> None:
        self.active = False
        self.calls.close_of("")
        self.finished = self.turn_since = max(self.finished, hook.at)
        if hook.background is not None:
            self.background = hook.background
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
        if before == facts.WAITING:  # a person has answered just now
            self.calls.begin_again(at)
            self.turn_since = self.finished = self.sign = max(self.sign, at)
            return
        if before == facts.BUSY:  # something came between that we have not seen
            self.calls.doubt()
        else:
            self.calls.close_before(at)
        if before == facts.IDLE and not self.active:
            self.active = None  # a turn has begun; a hook will say so, too
        self.turn_since = max(self.turn_since, at)
        self.sign = max(self.sign, at)
        self.finished = max(self.finished, at)

    def _reset(self, at: float) -> None:
        self.calls.close_all()
        self.agents.clear()
        self.background = 0
        self.active = False
        self.sign = max(self.sign, at)
