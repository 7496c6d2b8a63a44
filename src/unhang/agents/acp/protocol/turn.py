"""One ACP session, as its agent tells of it: updates → events, signs of life, windows, the turn's end.

Signs of life are what costs the model or a tool work: text, thoughts, plans, tool calls that begin, move or end.
Lists of commands, modes, titles, token counts and whatever is new to us are not, however often they come. Every
moment has exactly one budget that runs (`budget`): start-up, first response, silence between updates, a tool in
flight, or an open question. `window` is its length as the keeper knows it; None: the idle limit.
"""

from __future__ import annotations

from unhang.agents.acp.protocol import updates
from unhang.agents.acp.protocol.tools import OVER, AcpTools
from unhang.agents.acp.protocol.updates import AcpUsage
from unhang.agents.base.state import AgentState
from unhang.agents.base.update import UNSURE, AgentUpdate, StallReason, preview, raw_of
from unhang.core.diagnosis.time_left import for_time
from unhang.core.durations import human
from unhang.core.record import Record
from unhang.core.values import id_of, integer_of, mapping_of, text_of
from unhang.core.watchdog import facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.agents.acp.protocol.tools import AcpTool
    from unhang.core.policy.model import Policy
    from unhang.core.values import Message

_KEPT_TEXT = 64_000
_PASSED_OVER = frozenset({"elicitation/complete", "mcp/message"})
STARTUP, FIRST, IDLE, TOOL, PERMISSION = "startup", "first", "idle", "tool", "permission"
_PURPOSES = {STARTUP: facts.STARTUP, FIRST: facts.FIRST, TOOL: facts.TOOL, PERMISSION: facts.PERSON}
# What it waits for then is not its own.
_OTHERS = frozenset({TOOL, PERMISSION})


class TurnBudgets(Record):
    """The budgets of a session in seconds; None: it has none of its own, and the idle limit holds."""

    startup: float | None = None
    first: float | None = None
    idle: float | None = None
    tool: float | None = None


class TurnBudget(Record):
    """A budget that runs: its limit (None: none), and how much of it is gone."""

    name: str
    limit: float | None
    elapsed: float

    def to_json(self) -> dict[str, Any]:
        """Return the budget as events have it."""
        limit = None if self.limit is None else round(self.limit * 1000)
        return {"name": self.name, "limitMs": limit, "elapsedMs": max(0, round(self.elapsed * 1000))}


class AcpTurnEnd(Record):
    """A turn that has ended. `reason`: the agent's stop reason; "" if there was an error instead."""

    reason: str
    error: dict[str, Any] | None = None


class AcpSession(AgentState):
    """The state of one session: told its messages and the time, it says what they mean."""

    def __init__(self, budgets: TurnBudgets | None = None, policy: Policy | None = None, now: float = 0.0) -> None:
        super().__init__(now)
        self.budgets = budgets or TurnBudgets()
        self.id = ""
        self.version = 1  # of the protocol, as negotiated
        self.name = "the agent"
        self.in_turn = False
        self.ended: AcpTurnEnd | None = None
        self.text = ""  # the newest turn's, its end if it is long
        self.plan: list[Message] = []
        self._planned_once = False
        self.usage = AcpUsage()
        self.tools = AcpTools(self.budgets.tool, policy, self.budgets.idle)
        self.doing = "starting"
        self._stage = STARTUP
        self._asking: dict[str, float] = {}  # open questions: tool call → how long a person may take
        self._window: tuple[float | None, str] = (None, "")  # as the keeper knows it
        self._message = ""  # the id of the message that is being written
        self._fresh = ""
        self._breaks = False  # something came between: what is written next stands on a line of its own

    # --- clocks ---------------------------------------------------------------------------------------------

    @property
    def stage(self) -> str:
        """Return which budget runs."""
        if self._asking:
            return PERMISSION
        if self._stage == IDLE and self.tools.running:
            return TOOL
        return self._stage

    @property
    def window(self) -> float | None:
        """Return the limit that stands in the place of the idle limit; None: the idle limit holds."""
        match self.stage:
            case "startup":
                return self.budgets.startup
            case "first":
                return self.budgets.first
            case "permission":
                return max(self._asking.values())
            case "tool":
                return self.tools.window
        return None

    def budget(self, now: float) -> TurnBudget:
        """Return the one that runs, and how much of it is gone."""
        limit = self.window
        return TurnBudget(self.stage, self.budgets.idle if limit is None else limit, max(0.0, now - self._heard))

    def _rewind(self, found: list[AgentUpdate]) -> list[AgentUpdate]:
        """With the window, if it is another one now."""
        window = self.window
        purpose = "" if window is None else _PURPOSES.get(self.stage, "")
        if (window, purpose) == self._window:
            return [one for one in found if not one.empty]
        self._window = (window, purpose)
        last = (found[-1] if found else AgentUpdate()).replace(windowed=True, window=window, window_for=purpose)
        return [one for one in [*found[:-1], last] if not one.empty]

    def begin(self, now: float) -> list[AgentUpdate]:
        """Note that the agent is being started."""
        self._heard = now
        return self._rewind(
            [AgentUpdate("starting", "The agent is being started.", fields={"budget": self._json(now)})]
        )

    def adopt(self, session: str, now: float) -> None:
        """Take the updates of a session that was opened for ours from here on."""
        self.id = session
        self._heard = now
        self.text = ""  # of a replay

    def prompt(self, now: float) -> list[AgentUpdate]:
        """Note that a turn begins: the prompt has been sent."""
        self.in_turn, self.ended, self.text = True, None, ""
        self._stage, self._heard, self.phase = FIRST, now, "thinking"
        self._message, self._breaks, self.doing = "", False, "in a turn"
        fields: Message = {"sessionId": self.id, "budget": self._json(now)}
        return self._rewind([AgentUpdate("thinking", "The turn has started.", "session/prompt", True, fields=fields)])

    def asks(self, tool: Any, wait: float, now: float) -> list[AgentUpdate]:
        """Note that a person is asked, and may take so long."""
        self._asking[id_of(tool, "toolCallId")] = wait
        self._heard = now
        return self._rewind([AgentUpdate(alive=True)])

    def permitted(self, tool: Any, allowed: bool, now: float) -> list[AgentUpdate]:
        """Note that a question was answered. The call is known from here on, even if nothing was said of it before."""
        identity = id_of(tool, "toolCallId")
        self._asking.pop(identity, None)
        if self.in_turn:
            self.tools.note(tool, now)
        if allowed:
            self.tools.granted(identity, now)
        else:
            self.tools.refused(identity)
        self._heard = now
        if self._stage == FIRST:
            self._stage = IDLE
        return self._rewind([AgentUpdate(alive=True)])

    def _json(self, now: float) -> Message:
        return self.budget(now).to_json()

    # --- one message ----------------------------------------------------------------------------------------

    def hear(self, message: Message, now: float) -> list[AgentUpdate]:
        """Return what a notification means; requests and answers are the driver's."""
        method = text_of(message, "method", most=120)
        if not method or "id" in message:
            return []
        params = mapping_of(message, "params")
        if method != "session/update":
            return self._other(method, message)
        found = [self._finished(one, message) for one in self._update(params, now)]
        if any(one.alive for one in found):
            self._heard = now
            self._stage = IDLE
        return self._rewind(found)

    def _other(self, method: str, message: Message) -> list[AgentUpdate]:
        if method.startswith("$/") or method in _PASSED_OVER:
            return []
        if method.startswith("_"):
            return [
                AgentUpdate(self.phase, f"An extension's message: {preview(method, 80)}.", method, raw=raw_of(message))
            ]
        return [AgentUpdate("unknown", f"Unknown message type: {preview(method, 80)}.", method, raw=raw_of(message))]

    def _finished(self, said: AgentUpdate, message: Message) -> AgentUpdate:
        if not self.in_turn:
            # there is no limit to set back; start-up has one budget for all of it
            said = said.replace(alive=False)
        return said.of_message(message, sessionId=self.id)

    def _update(self, params: Message, now: float) -> list[AgentUpdate]:
        update = mapping_of(params, "update")
        kind = text_of(update, "sessionUpdate", most=120)
        ours = text_of(params, "sessionId") in ("", self.id)
        match kind:
            case "agent_message_chunk" | "agent_thought_chunk":
                return self._chunk(kind, update, ours, now)
            case "tool_call" | "tool_call_update":
                return self._tool(kind, update, now)
            case "plan" | "plan_update":
                return self._planned(kind, update)
            case "usage_update":
                return self.usage.read(update) if ours else []
            case "state_update":
                return self._state(update, now) if ours else []
        return updates.stateless_updates(kind, update, self.phase)

    def _chunk(self, kind: str, update: Message, ours: bool, now: float) -> list[AgentUpdate]:
        text = updates.content_text(update.get("content"))
        if not text:
            return []
        self.tools.model_spoke()
        written = kind == "agent_message_chunk"
        if ours and written and self.in_turn:
            self._write(text, id_of(update, "messageId"))
        if not (self.in_turn and self._is_due(now)):
            return [AgentUpdate(alive=True)]
        self.phase = "thinking"
        shown = self.text[-200:] if written and ours else text[-200:]
        return [AgentUpdate("thinking", f"The agent {'writes' if written else 'thinks'}: {preview(shown)}", kind, True)]

    def _write(self, text: str, message: str) -> None:
        another = self._breaks or (message and self._message and message != self._message)
        if another and self.text and not self.text.endswith("\n"):
            text = "\n" + text
        self._message, self._breaks = message or self._message, False
        self._fresh += text
        self.text = (self.text + text)[-_KEPT_TEXT:]

    def fresh(self) -> str:
        """Return what was written since the last call."""
        found, self._fresh = self._fresh, ""
        return found

    def _tool(self, kind: str, update: Message, now: float) -> list[AgentUpdate]:
        if not self.in_turn:
            return []  # a replay of an older turn, or a late word about one
        tool, changed, moved = self.tools.note(update, now)
        if tool is None or (tool.repeats and not changed):
            return []
        self._breaks = True
        if not self._is_due(now, news=changed):
            return [AgentUpdate(alive=moved)]
        self.phase = tool.phase
        return [AgentUpdate(tool.phase, _about(tool, now), kind, moved, fields=tool.fields(now))]

    def _planned(self, kind: str, update: Message) -> list[AgentUpdate]:
        entries = updates.plan_of(update)
        if entries is None:
            return [AgentUpdate(self.phase, "The plan has changed.", kind, True)]
        moved, self._planned_once, self.plan = not self._planned_once or entries != self.plan, True, entries
        done = sum(1 for entry in entries if entry["status"] == "completed")
        now = next((entry["content"] for entry in entries if entry["status"] == "in_progress"), "")
        text = f"The plan: {done} of {len(entries)} done{'; now ' + preview(now) if now else ''}."
        return [AgentUpdate(self.phase, text, kind, moved, fields={"plan": entries[:20]})]

    def _state(self, update: Message, now: float) -> list[AgentUpdate]:
        """Version 2 of the protocol: the end of a turn is an update."""
        state = text_of(update, "state")
        if state == "idle" and self.in_turn and self.version >= 2:
            return self.answered(update, now)
        return [AgentUpdate(self.phase, f"The agent says that it is {preview(state, 40)}.", "session/update")]

    # --- the end --------------------------------------------------------------------------------------------

    def accepted_only(self, result: Message) -> bool:
        """Return whether the answer to a prompt meant no more than that it was understood, as in version 2."""
        return self.version >= 2 and not text_of(result, "stopReason")

    def answered(self, result: Message, now: float) -> list[AgentUpdate]:
        """Note that the turn has ended, in the agent's words."""
        self._heard = now
        reason = text_of(result, "stopReason", most=80) or "unknown"
        self.usage.total(result)
        left = self._close(AcpTurnEnd(reason))
        fields: Message = {"sessionId": self.id, "stopReason": reason, "text": self.text[:1500] or None}
        fields |= {"usage": self.usage.latest or None, "unfinished": left[:10] or None}
        self.phase = "completed" if reason == "end_turn" else "stopping" if reason == "cancelled" else "warning"
        text = f": {preview(self.text)}" if self.text else "."
        said = f"The turn is complete{text}" if reason == "end_turn" else f"The turn ended: {preview(reason, 60)}."
        fields = {name: value for name, value in fields.items() if value is not None}
        return self._rewind([AgentUpdate(self.phase, said, "session/prompt", True, fields=fields)])

    def failed(self, error: Message, now: float) -> list[AgentUpdate]:
        """Note that the prompt was answered by an error."""
        self._heard = now
        error = {
            "code": integer_of(error, "code"),
            "message": text_of(error, "message", most=1000) or "no reason given",
        }
        text = preview(error["message"], 500)
        self._close(AcpTurnEnd("", error))
        self.phase = "failed"
        fields: Message = {"sessionId": self.id, "error": error}
        return self._rewind([AgentUpdate("failed", f"The turn failed: {text}", "session/prompt", fields=fields)])

    def _close(self, how: AcpTurnEnd) -> list[str]:
        self.in_turn, self.ended, self._stage, self.doing = False, how, IDLE, "between turns"
        self._asking.clear()
        return self.tools.clear()

    # --- in words -------------------------------------------------------------------------------------------

    def silent(self, now: float) -> float:
        """Return seconds without a sign of life that are the agent's own: not its tool's, and not a person's."""
        own = self.in_turn or self._stage == STARTUP
        return max(0.0, now - self._heard) if own and self.stage not in _OTHERS else 0.0

    def stall_reason(self, now: float) -> StallReason:
        """Return what it is at, or what it waits for: the cause of a stall, in words."""
        seconds = max(0.0, now - self._heard)
        silent = for_time(seconds)
        match self.stage:
            case "startup":
                hints = ["run the agent by hand in a terminal: it may want a login", "give it more time: --startup"]
                text = f"{self.name} has not answered {silent} ({self.doing})"
                return StallReason("unknown", text, hints, state=UNSURE, silent=seconds)
            case "permission":
                text = f"{self.name} waits for a permission ({silent})"
                return StallReason("input", text, ["unhang send JOB yes"], silent=seconds)
            case "tool":
                names = ", ".join(preview(name, 120) for name in self.tools.names[:4])
                text = f"a tool call of {self.name} has produced no output {silent}: {names}"
                return StallReason("unknown", text, ["give its tools more time: --tool"], silent=seconds)
        if not self.in_turn:
            return StallReason("unknown", f"{self.name} runs no turn", [])
        text = f"{self.name} has had nothing from its model {silent}"
        hint = "check the network and the address of the model's service"
        return StallReason("network", text, [hint], silent=seconds)


def _about(tool: AcpTool, now: float) -> str:
    if tool.status in OVER:
        return f"{tool.name}: {tool.status} after {human(max(0.0, now - tool.since))}"
    return tool.name
