"""`codex exec --json`: one line an event, without deltas. The same words as for the app server.

It is silent while the model thinks, so silence says nothing here: the driver must look at the socket. Usage is
cumulative over the thread and is not how full the context is; compactions are invisible.
"""

from __future__ import annotations

from unhang.agents.base.update import AgentUpdate, StallReason, preview, raw_of
from unhang.agents.codex.protocol import errors, hints, items, stalls
from unhang.agents.codex.protocol.tools_in_flight import CodexTools
from unhang.core.values import count_of, id_of, mapping_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.policy.model import Policy
    from unhang.core.values import Message

_RECONNECTING = "Reconnecting..."
TYPES = frozenset(
    {"thread.started", "turn.started", "turn.completed", "turn.failed", "item.started", "item.updated",
     "item.completed", "error"}
)  # fmt: skip


class CodexExec:
    """The state of one `codex exec`: told its lines and the time, it says what they mean."""

    def __init__(self, *, tool_limit: float | None = None, policy: Policy | None = None, job: str = "") -> None:
        self.thread = ""
        self.status = ""  # completed or failed, once it is known
        self.error = ""
        self.reply = ""
        self.tools = CodexTools(tool_limit, policy)
        self._job = job
        self._reconnects = 0
        self._since = 0.0
        self._heard = 0.0

    def hear(self, message: Message, now: float) -> list[AgentUpdate]:
        """Return what a line means."""
        kind = text_of(message, "type", most=80)
        found = self._judge(kind, message, now)
        if found.alive:
            self._heard, self._reconnects = now, 0
        if found.phase:
            fields = {"threadId": self.thread or None} | found.fields
            found = found.replace(
                method=kind,
                fields={name: value for name, value in fields.items() if value is not None},
                raw=raw_of(message),
            )
        return [] if found.empty else [found]

    def begin(self, now: float) -> None:
        """Note that it is being started."""
        self._heard = now

    def silent(self, now: float) -> float:
        """Return seconds since the last sign of life, until its turn has ended."""
        return 0.0 if self.status else max(0.0, now - self._heard)

    def bytes_came(self, now: float) -> AgentUpdate:
        """Note that the model's socket has received something: the only life that a thinking model shows here."""
        self._heard = now
        return AgentUpdate(alive=True)

    def _judge(self, kind: str, message: Message, now: float) -> AgentUpdate:
        match kind:
            case "thread.started":
                self.thread = id_of(message, "thread_id")
                return AgentUpdate("starting", "A thread was started.", alive=True)
            case "turn.started":
                return AgentUpdate("thinking", "The turn has started.", alive=True)
            case "turn.completed":
                self.status = "completed"
                usage = {"totalTokens": _total(mapping_of(message, "usage"))}
                text = f"The turn is complete: {preview(self.reply)}"
                fields: Message = {"turnStatus": self.status, "reply": self.reply[:1500] or None, "usage": usage}
                return AgentUpdate("completed", text, alive=True, fields=fields)
            case "turn.failed":
                self.status, self.error = "failed", text_of(message, "error", "message") or self.error
                error = {"message": preview(self.error, 500), "info": errors.info_from_text(self.error)}
                names = hints.after_error(error["info"], self.thread)
                fields = {"turnStatus": self.status, "error": error} | hints.fields(names, self._job, self.thread)
                return AgentUpdate("failed", f"The turn failed: {preview(self.error, 500)}", fields=fields)
            case "error":
                return self._error(text_of(message, "message"), now)
        item = message.get("item")
        if kind not in TYPES or not isinstance(item, dict):
            return AgentUpdate("unknown", f"Unknown message type: {preview(kind)}.")
        return self._item(kind, item)

    def _error(self, text: str, now: float) -> AgentUpdate:
        self.error = text
        if not text.startswith(_RECONNECTING):
            return AgentUpdate("failed", preview(text, 500))
        if not self._reconnects:
            self._since = now
        self._reconnects += 1
        return AgentUpdate(
            "warning", f"Codex reconnects: {preview(text, 500)}", fields={"reconnects": self._reconnects}
        )

    def _item(self, kind: str, item: Message) -> AgentUpdate:
        name, phase, fields = items.kind_of(item), items.phase_of(item), items.details(item)
        if name == "agentMessage" and kind == "item.completed":
            self.reply = items.message_text(item)
        changed = False
        if kind == "item.started":
            changed = self.tools.begin(item) or (name == "agentMessage" and self.tools.model_spoke())
        elif kind == "item.completed":
            changed = self.tools.end(item) or (name == "agentMessage" and self.tools.model_spoke())
        text = items.describe_start(item) if kind == "item.started" else items.describe_end(item)
        alive = items.from_the_model(item)
        return AgentUpdate(phase, text, "", alive, changed, self.tools.window, fields)

    def stall_reason(self, now: float) -> StallReason:
        """Return what it waits for: the cause of a stall, in words."""
        seconds = max(0.0, now - self._heard)
        if self._reconnects:
            text = stalls.reconnecting(self._reconnects, max(0.0, now - self._since), self.error)
            return StallReason("network", text, hints.sentences([hints.NETWORK], {}), [hints.NETWORK])
        if self.tools.window is not None:
            text = stalls.silent_tool(self.tools.names.values(), seconds)
            return StallReason("unknown", text, [], silent=seconds)
        return StallReason("network", stalls.silent_model(seconds), [], silent=seconds)


def _total(usage: Message) -> int | None:
    read, written = count_of(usage, "input_tokens"), count_of(usage, "output_tokens")
    return None if read is None or written is None else read + written
