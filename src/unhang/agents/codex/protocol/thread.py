"""One Codex thread, as its app server tells of it: notifications → events, signs of life, windows, the turn's end.

Signs of life are what costs the model or a tool work: deltas, items that begin or end, output of a command that is
waited for. "Reconnecting…", rate limits, status changes and warnings are not, however often they come.
"""

from __future__ import annotations

from unhang.agents.base.state import AgentState
from unhang.agents.base.update import AgentUpdate, StallReason, preview
from unhang.agents.codex.protocol import errors, hints, items, stalls
from unhang.agents.codex.protocol.notifications import PLAIN, stateless_update
from unhang.agents.codex.protocol.tools_in_flight import CodexTools
from unhang.agents.codex.protocol.usage import CodexUsage
from unhang.core.diagnosis.time_left import for_time
from unhang.core.record import Record
from unhang.core.values import dig, id_of, items_of, mapping_of, mappings_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.policy.model import Policy
    from unhang.core.values import Message

_KEPT_TEXT = 4000
_KEPT_ITEMS = 100  # that are being written at once; more were begun by an agent that finishes none
_AT_REST = frozenset({"starting", "idle", "completed", "failed"})
_DELTAS = {
    "item/agentMessage/delta": "thinking",
    "item/plan/delta": "thinking",
    "item/reasoning/summaryTextDelta": "thinking",
    "item/reasoning/textDelta": "thinking",
}
_OUTPUT = frozenset(
    {
        "item/commandExecution/outputDelta",
        "item/fileChange/outputDelta",
        "command/exec/outputDelta",
        "process/outputDelta",
    }
)
_STATEFUL = frozenset(
    {
        "error", "thread/started", "thread/status/changed", "thread/tokenUsage/updated", "thread/compacted",
        "turn/started", "turn/completed", "item/started", "item/completed", "item/commandExecution/terminalInteraction",
    }
)  # fmt: skip
METHODS = frozenset(PLAIN) | frozenset(_DELTAS) | _OUTPUT | _STATEFUL


class CodexTurnEnd(Record):
    """A turn that has ended. `status`: completed, failed, interrupted."""

    id: str
    status: str
    error: dict[str, Any] | None = None


class CodexThread(AgentState):
    """The state of one thread: told its messages and the time, it says what they mean."""

    def __init__(self, *, tool_limit: float | None = None, policy: Policy | None = None, job: str = "") -> None:
        super().__init__()
        self.thread = ""
        self.turn = ""  # the one that runs
        self.ended: CodexTurnEnd | None = None  # the last one that has ended
        self.reply = ""  # the last message of the model
        self.compacted = 0  # compactions that came to their end
        self.usage = CodexUsage()
        self.tools = CodexTools(tool_limit, policy)
        self.waiting = ""  # "approval" or "input": what it asks for at this moment
        self._job = job
        self._reconnects = 0
        self._reconnecting_since = 0.0
        self._cause = ""
        self._writing: dict[str, str] = {}  # item → the end of what it has written so far

    def adopt(self, thread: str, now: float) -> None:
        """Take the turns of a thread that was started or resumed for ours from here on."""
        self.thread = thread
        self._heard = now

    # --- one message ----------------------------------------------------------------------------------------

    def hear(self, message: Message, now: float) -> list[AgentUpdate]:
        """Return what a notification means."""
        method = text_of(message, "method", most=120)
        if not method:
            return []
        params = mapping_of(message, "params")
        found = [self._finished(one, message) for one in self._judge(method, params, now)]
        if any(one.alive for one in found):
            self._heard = now
            self._reconnects = 0
        return [one for one in found if not one.empty]

    def _finished(self, said: AgentUpdate, message: Message) -> AgentUpdate:
        params = message.get("params")
        thread = id_of(params, "threadId") or self.thread
        return said.of_message(message, threadId=thread, turnId=id_of(params, "turnId"))

    def _judge(self, method: str, params: Message, now: float) -> list[AgentUpdate]:
        if method in _DELTAS:
            return self._delta(method, params, now)
        if method in _OUTPUT:
            return self._output(method, params, now)
        match method:
            case "item/started":
                return self._item_started(params)
            case "item/completed":
                return self._item_completed(params)
            case "turn/started":
                return self._turn_started(params)
            case "turn/completed":
                return self._turn_completed(params)
            case "error":
                return self._error(params, now)
            case "thread/started":
                return [self._now("starting", "A thread was started.", method, alive=True)]
            case "thread/status/changed":
                return [self._status(params)]
            case "thread/tokenUsage/updated":
                return self.usage.read(params, method) if self._ours(params) else []
            case "thread/compacted":
                return [self._now("compacting", "The context was compacted.", method, alive=True)]
            case "item/commandExecution/terminalInteraction":
                changed = self.tools.typed_at(id_of(params, "itemId"))
                return [self._moved("running", "Codex looks at a running command.", method, changed)]
        found = stateless_update(method, params, self.phase)
        return [found or AgentUpdate("unknown", f"Unknown message type: {preview(method)}.", method)]

    def _moved(self, phase: str, text: str, method: str, changed: bool, **fields: Any) -> AgentUpdate:
        """A sign of life that may have changed what is in flight."""
        self.phase = phase
        return AgentUpdate(phase, text, method, True, changed, self.tools.window, fields)

    # --- items ----------------------------------------------------------------------------------------------

    def _item_started(self, params: Message) -> list[AgentUpdate]:
        item = mapping_of(params, "item")
        kind, phase = items.kind_of(item), items.phase_of(item)
        if kind not in items.TYPES:
            return [AgentUpdate("unknown", items.describe_start(item), "item/started")]
        text, fields = items.describe_start(item), items.details(item)
        if not items.from_the_model(item):
            return [self._now(phase, text, "item/started", **fields)]
        tool = kind in items.TOOLS
        changed = self.tools.begin(item) if tool else self.tools.model_spoke()
        if tool and self.waiting:  # it is announced before it may run
            phase, text = "needs_approval", f"Waits for approval. {text}"
        return [self._moved(phase, text, "item/started", changed, **fields)]

    def _item_completed(self, params: Message) -> list[AgentUpdate]:
        item = mapping_of(params, "item")
        kind = items.kind_of(item)
        self._writing.pop(id_of(item, "id"), None)
        if kind not in items.TYPES:
            return [AgentUpdate("unknown", items.describe_end(item), "item/completed")]
        if kind == "userMessage":
            return []  # its beginning has said it all
        if kind == "agentMessage":
            self.reply = items.message_text(item)
        if kind == "contextCompaction":
            self.compacted += 1
        changed = self.tools.end(item)
        fields = items.details(item)
        return [self._moved(items.phase_of(item), items.describe_end(item), "item/completed", changed, **fields)]

    def _delta(self, method: str, params: Message, now: float) -> list[AgentUpdate]:
        changed = self.tools.model_spoke()
        item = id_of(params, "itemId")
        self._writing[item] = (self._writing.pop(item, "") + text_of(params, "delta"))[-_KEPT_TEXT:]
        while len(self._writing) > _KEPT_ITEMS:
            del self._writing[next(iter(self._writing))]
        if not self._is_due(now):
            return [AgentUpdate(alive=True, windowed=changed, window=self.tools.window)]
        verb = "writes" if method == "item/agentMessage/delta" else "thinks"
        text = f"Codex {verb}: {preview(self._writing[item][-200:])}"
        return [self._moved("thinking", text, method, changed, itemId=item)]

    def _output(self, method: str, params: Message, now: float) -> list[AgentUpdate]:
        item = id_of(params, "itemId")
        if item and method == "item/commandExecution/outputDelta" and not self.tools.waited_for(item):
            return []  # a command in the background: the model does not wait for it
        if not self._is_due(now):
            return [AgentUpdate(alive=True)]
        text = f"Output: {preview(text_of(params, 'delta')[-200:])}"
        return [AgentUpdate(self.phase, text, method, True, fields={"itemId": item or None})]

    # --- turns ----------------------------------------------------------------------------------------------

    def _ours(self, params: Message) -> bool:
        """An agent of the agent has a thread of its own, whose turns are not the one we wait for."""
        thread = id_of(params, "threadId")
        return not self.thread or not thread or thread == self.thread

    def _turn_started(self, params: Message) -> list[AgentUpdate]:
        if self._ours(params):
            self.turn, self.ended = id_of(params, "turn", "id"), None
        return [self._now("thinking", "The turn has started.", "turn/started", alive=True, turnId=self.turn)]

    def _turn_completed(self, params: Message) -> list[AgentUpdate]:
        turn = params.get("turn")
        status, identity = text_of(turn, "status", most=60) or "completed", id_of(turn, "id")
        error = errors.error_json(dig(turn, "error"))
        if not self._ours(params):
            return [AgentUpdate("running", f"A turn of another thread is {status}.", "turn/completed", True)]
        self.turn, self.waiting = "", ""
        self.ended = CodexTurnEnd(identity, status, error)
        for item in mappings_of(turn, "items"):
            if items.kind_of(item) == "agentMessage":
                self.reply = items.message_text(item) or self.reply
        fields: Message = {"turnId": identity, "turnStatus": status, "error": error, "usage": self.usage.latest or None}
        changed = self.tools.model_spoke()
        if status == "completed":
            fields["reply"] = self.reply[:1500] or None
            text, phase = f"The turn is complete{': ' + preview(self.reply) if self.reply else '.'}", "completed"
        elif status == "interrupted":
            text, phase = "The turn was interrupted.", "stopping"
        else:
            text, phase = f"The turn failed: {(error or {}).get('message', 'no reason given')}", "failed"
            names = hints.after_error(errors.info_of(dig(turn, "error")), self.thread)
            fields |= hints.fields(names, self._job, self.thread)
        return [self._moved(phase, text, "turn/completed", changed, **fields)]

    def _error(self, params: Message, now: float) -> list[AgentUpdate]:
        error = params.get("error")
        self._cause = errors.error_text(error)
        again = params.get("willRetry") is True
        known: Message = {"error": errors.error_json(error), "willRetry": again}
        if again:
            if not self._reconnects:
                self._reconnecting_since = now
            self._reconnects += 1
            text = f"Codex reconnects (attempt {self._reconnects}): {self._cause}"
            return [AgentUpdate("warning", text, "error", fields=known | {"reconnects": self._reconnects})]
        return [self._now("failed", self._cause, "error", **known)]

    def _status(self, params: Message) -> AgentUpdate:
        method = "thread/status/changed"
        kind = text_of(params, "status", "type")
        flags = items_of(params, "status", "activeFlags")
        if not self._ours(params):
            return AgentUpdate(self.phase, f"Another thread is {preview(kind, 60)}.", method)
        if self.waiting:
            self.waiting, self.phase = "", "running"
        if "waitingOnApproval" in flags:
            self.waiting = "approval"
            return AgentUpdate("needs_approval", "Codex waits for an approval.", method)
        if "waitingOnUserInput" in flags:
            self.waiting = "input"
            return AgentUpdate("needs_input", "Codex waits for an answer.", method)
        if kind == "systemError":
            return AgentUpdate("warning", "The thread is in an error state.", method)
        if kind == "active":
            return AgentUpdate("thinking" if self.phase in _AT_REST else self.phase, "The thread is active.", method)
        return self._now("idle", "The thread is idle." if kind == "idle" else "The thread is not loaded.", method)

    # --- in words -------------------------------------------------------------------------------------------

    def silent(self, now: float) -> float:
        """Return seconds since the last sign of life, while a turn runs; else 0."""
        return max(0.0, now - self._heard) if self.turn else 0.0

    def stall_reason(self, now: float) -> StallReason:
        """Return what it is at, or what it waits for: the cause of a stall, in words."""
        seconds = max(0.0, now - self._heard)
        silent = for_time(seconds)
        if self.waiting:
            what = "approval" if self.waiting == "approval" else "answer"
            return self._stall("input", f"Codex waits for an {what} ({silent})", hints.RESUME, silent=seconds)
        if self._reconnects:
            text = stalls.reconnecting(self._reconnects, max(0.0, now - self._reconnecting_since), self._cause)
            return self._stall("network", text, hints.NETWORK, hints.RESUME)
        if self.tools.window is not None:
            text = stalls.silent_tool(self.tools.names.values(), seconds)
            return self._stall("unknown", text, hints.TOOL_LIMIT, hints.RESUME, silent=seconds)
        if not self.turn:
            return self._stall("unknown", "Codex runs no turn")
        if self.phase == "compacting":
            text = f"the compaction has had no answer from the model {silent}"
            return self._stall("network", text, silent=seconds)
        return self._stall("network", stalls.silent_model(seconds), hints.RESUME, silent=seconds)

    def _stall(self, cause: str, reason: str, *names: str, silent: float | None = None) -> StallReason:
        suggestions = hints.sentences(names, hints.command_line(self._job, self.thread))
        return StallReason(cause, reason, suggestions, list(names), silent=silent)
