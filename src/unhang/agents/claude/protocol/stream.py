"""One headless Claude Code, as its stream-json tells of it: lines → events, signs of life, windows, the turn's end.

Signs of life are what costs the model or a tool work: deltas, messages, tool calls that begin or end, tasks with news.
Retries, pings, rate limits and the clock that ticks beside a tool are not, however often they come. A `result` ends a
turn, and there may be several: a task in the background that ends begins another turn. The last one counts.
"""

from __future__ import annotations

from unhang.agents.base.state import AgentState
from unhang.agents.base.update import AgentUpdate, StallReason, preview
from unhang.agents.claude.protocol import errors, tools
from unhang.agents.claude.protocol.system import stateless_update
from unhang.agents.claude.protocol.usage import ClaudeUsage
from unhang.core.diagnosis.time_left import for_time
from unhang.core.durations import human
from unhang.core.record import Record
from unhang.core.values import count_of, dig, id_of, mappings_of, number_of, text_of, whole_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.values import Message

_KEPT_TEXT = 4000
_KEPT_HOOKS = 100  # that run at once
_AGENTS = frozenset({"local_agent", "remote_agent", "in_process_teammate", "local_workflow"})
_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
_VERBS = {"thinking_delta": "thinks", "signature_delta": "thinks", "input_json_delta": "writes a call"}
_STREAM = frozenset(
    {"message_start", "message_delta", "message_stop", "content_block_start", "content_block_delta",
     "content_block_stop", "ping", "error"}
)  # fmt: skip


class ClaudeTurnEnd(Record):
    """How a turn has ended; `reason`: completed, api_error, aborted_tools, aborted_streaming, max_turns or others."""

    is_error: bool
    reason: str
    text: str
    error: dict[str, Any] | None = None

    @property
    def aborted(self) -> bool:
        """Return whether the turn was interrupted."""
        return self.reason.startswith("aborted")


class ClaudeStream(AgentState):
    """The state of one headless Claude: told its lines and the time, it says what they mean."""

    def __init__(self, *, flight: tools.ClaudeTools | None = None) -> None:
        super().__init__()
        self.session = ""
        self.model = ""
        self.turn = False  # one runs
        self.ended: ClaudeTurnEnd | None = None  # the last one that has ended
        self.results = 0
        self.reply = ""
        self.background: dict[str, str] = {}  # task → what it is
        self.agents: set[str] = set()  # those of them that are agents, whose end begins another turn
        self.usage = ClaudeUsage()
        self.tools = flight or tools.ClaudeTools()
        self._hooks: dict[str, tuple[str, float]] = {}  # hook → its name, and since when it runs
        self._retries = 0
        self._retrying_since = 0.0
        self._trouble = ""
        self._writing = ""

    def begin(self, now: float) -> None:
        """Note that the task was handed over."""
        self.turn, self._heard = True, now

    # --- one line -------------------------------------------------------------------------------------------

    def hear(self, message: Message, now: float) -> list[AgentUpdate]:
        """Return what a line means."""
        kind = text_of(message, "type", most=80)
        if not kind:
            return []
        self.session = id_of(message, "session_id") or self.session
        found = [self._finished(one, message) for one in self._judge(kind, message, now)]
        if any(one.alive for one in found):
            self._heard = now
            self._retries = 0
        return [one for one in found if not one.empty]

    def _finished(self, said: AgentUpdate, message: Message) -> AgentUpdate:
        return said.of_message(message, sessionId=self.session, agentId=id_of(message, "agent_id"))

    def _judge(self, kind: str, message: Message, now: float) -> list[AgentUpdate]:
        match kind:
            case "stream_event":
                return self._stream(message, now)
            case "assistant":
                return self._assistant(message, now)
            case "user":
                return self._user(message)
            case "result":
                return self._result(message)
            case "system":
                return self._system(text_of(message, "subtype", most=80), message, now)
            case "control_request":
                what = text_of(message, "request", "subtype") or "something"
                return [AgentUpdate("warning", f"Claude asks its host: {preview(what)}.", "control_request")]
        found = stateless_update(message, self.phase)
        return [found or AgentUpdate("unknown", f"Unknown message type: {preview(kind)}.", kind)]

    # --- system lines ---------------------------------------------------------------------------------------

    def _system(self, subtype: str, message: Message, now: float) -> list[AgentUpdate]:
        match subtype:
            case "init":
                return [self._init(message)]
            case "status":
                return self._status(message)
            case "api_retry":
                return [self._retry(message, now)]
            case "compact_boundary":
                return [self._compacted(message)]
            case "background_tasks_changed":
                return self._tasks(message)
            case "hook_started":
                self._hooks[id_of(message, "hook_id")] = (preview(text_of(message, "hook_name"), 120), now)
                while len(self._hooks) > _KEPT_HOOKS:
                    del self._hooks[next(iter(self._hooks))]
            case "hook_response":
                self._hooks.pop(id_of(message, "hook_id"), None)
        found = stateless_update(message, self.phase)
        if found is None:
            return [AgentUpdate("unknown", f"Unknown message type: system/{preview(subtype)}.", f"system/{subtype}")]
        if subtype == "permission_denied":
            found = found.replace(fields={"denied": text_of(message, "tool_name", most=120)})
        elif found.phase and found.alive:
            self.phase = found.phase
        return [found]

    def _init(self, message: Message) -> AgentUpdate:
        again = self.ended is not None
        self.turn, self.model = True, text_of(message, "model", most=120) or self.model
        version = text_of(message, "claude_code_version", most=60)
        fields = {"model": self.model, "claudeVersion": version or None}
        fields["permissionMode"] = text_of(message, "permissionMode", most=60) or None
        if again:
            return self._now("thinking", "Another turn has started.", "system/init", alive=True, **fields)
        return self._now("starting", f"Claude Code {version} is ready.", "system/init", alive=True, **fields)

    def _status(self, message: Message) -> list[AgentUpdate]:
        match text_of(message, "status"):
            case "requesting":
                return [self._now("thinking", "Claude asks the model.", "system/status")]
            case "compacting":
                return [self._now("compacting", "Compacting the context.", "system/status")]
        return []

    def _retry(self, message: Message, now: float) -> AgentUpdate:
        if not self._retries:
            self._retrying_since = now
        self._retries += 1
        status, error = count_of(message, "error_status"), preview(text_of(message, "error"), 500)
        self._trouble = f"{error or 'no reason given'}{f' ({status})' if status else ''}"
        attempt, most = (_shown(count_of(message, name)) for name in ("attempt", "max_retries"))
        text = f"Claude tries again (attempt {attempt} of {most}): {preview(self._trouble)}"
        known = {"retries": self._retries, "httpStatus": status, "error": {"message": self._trouble}}
        return AgentUpdate("warning", text, "system/api_retry", fields=known)

    def _compacted(self, message: Message) -> AgentUpdate:
        before, after = (count_of(message, "compact_metadata", name) for name in ("pre_tokens", "post_tokens"))
        text = f"The context was compacted: {_shown(before)} → {_shown(after)} tokens."
        fields = {"tokensBefore": before, "tokensAfter": after}
        return self._now("compacting", text, "system/compact_boundary", alive=True, **fields)

    def _tasks(self, message: Message) -> list[AgentUpdate]:
        listed = mappings_of(message, "tasks", most=100)
        self.background = {id_of(task, "task_id"): _about(task) for task in listed}
        self.agents = {id_of(task, "task_id") for task in listed if text_of(task, "task_type") in _AGENTS}
        changed = not self.agents and self.tools.clear(agents=True)
        return [AgentUpdate(windowed=True, window=self.tools.window)] if changed else []

    # --- the model ------------------------------------------------------------------------------------------

    def _stream(self, message: Message, now: float) -> list[AgentUpdate]:
        event = message.get("event")
        kind = text_of(event, "type", most=80)
        if kind not in _STREAM:
            return [
                AgentUpdate("unknown", f"Unknown message type: stream_event/{preview(kind)}.", f"stream_event/{kind}")
            ]
        ours = not message.get("parent_tool_use_id")
        match kind:
            case "ping":
                return []
            case "error":
                words = text_of(event, "error", "message") or "no reason given"
                return [AgentUpdate("warning", f"The stream broke off: {preview(words)}", "stream_event/error")]
            case "message_start" if ours:
                self.turn = True
                self._writing = ""
                self.usage.start(dig(event, "message", "usage"))
            case "message_delta" if ours and text_of(event, "delta", "stop_reason"):
                return [AgentUpdate(alive=True), *self.usage.delta(dig(event, "usage"), "stream_event/message_delta")]
            case "message_delta" | "message_stop" | "content_block_stop":
                # Claude itself writes these when it breaks off: only a whole message is the model's doing
                return []
            case "content_block_delta":
                return [self._delta(event, now)]
        return [AgentUpdate(alive=True)]

    def _delta(self, event: Any, now: float) -> AgentUpdate:
        kind = text_of(event, "delta", "type")
        self._writing = (self._writing + text_of(event, "delta", _DELTAS.get(kind, "text")))[-_KEPT_TEXT:]
        if not self._is_due(now):
            return AgentUpdate(alive=True)
        verb = _VERBS.get(kind, "writes")
        text = f"Claude {verb}: {preview(self._writing[-200:])}"
        return self._now("thinking", text, "stream_event/content_block_delta", alive=True)

    def _assistant(self, message: Message, now: float) -> list[AgentUpdate]:
        ours = not message.get("parent_tool_use_id")
        said: list[AgentUpdate] = []
        for block in mappings_of(message, "message", "content"):
            match block.get("type"):
                case "tool_use" | "server_tool_use" | "mcp_tool_use":
                    said.append(self._call(block, now, id_of(message, "parent_tool_use_id")))
                case "text" if message.get("is_api_error_message"):
                    text = preview(text_of(block, "text"), 500)
                    status = count_of(message, "api_error_status")
                    said.append(AgentUpdate("warning", text, "assistant", fields={"httpStatus": status}))
                case "text":
                    if ours:
                        self.reply = whole_of(block, "text")
                    who = "Claude" if ours else "An agent of Claude's"
                    text = f"{who} said: {preview(text_of(block, 'text'))}"
                    said.append(self._now("thinking", text, "assistant", alive=True))
                case "thinking" | "redacted_thinking":
                    thought = preview(text_of(block, "thinking"))
                    words = f"Thought: {thought}" if thought else "Thought."
                    said.append(self._now("thinking", words, "assistant", alive=True))
                case _:
                    said.append(AgentUpdate(alive=True))
        return said

    def _call(self, use: Message, now: float, agent: str) -> AgentUpdate:
        self.phase = tools.phase_of(use)
        fields: Message = {"toolUseId": id_of(use, "id"), "tool": text_of(use, "name", most=120)}
        if fields["tool"] == "Bash":
            fields["command"] = tools.subject_of(use)
        if use.get("type") != "tool_use":  # the service runs it: nothing of it ends here
            return AgentUpdate(self.phase, tools.describe_start(use), "assistant", True, fields=fields)
        self.tools.begin(use, now, agent)
        return AgentUpdate(self.phase, tools.describe_start(use), "assistant", True, True, self.tools.window, fields)

    def _user(self, message: Message) -> list[AgentUpdate]:
        said: list[AgentUpdate] = []
        for block in mappings_of(message, "message", "content"):
            if block.get("type") == "tool_result":
                said.append(self._returned(block))
            elif text_of(block, "text").startswith("[Request interrupted"):
                said.append(self._now("stopping", "The turn was interrupted.", "user"))
        return said

    def _returned(self, block: Message) -> AgentUpdate:
        identity, failed = id_of(block, "tool_use_id"), block.get("is_error") is True
        tool = self.tools.end(identity)
        self.phase = "thinking"
        text = tools.describe_end(tool, failed, tools.result_text(block))
        fields: Message = {"toolUseId": identity, "tool": tool.name if tool else None, "failed": failed or None}
        return AgentUpdate("running", text, "user", True, tool is not None, self.tools.window, fields)

    # --- the end of a turn ----------------------------------------------------------------------------------

    def _result(self, message: Message) -> list[AgentUpdate]:
        self.turn = False
        self._hooks.clear()
        self.results += 1
        failed = message.get("is_error") is not False
        subtype = text_of(message, "subtype", most=60)
        reason = text_of(message, "terminal_reason", most=60) or subtype
        text = whole_of(message, "result")
        error = errors.error_json(message) if failed else None
        self.ended = ClaudeTurnEnd(failed, reason, text, error)
        denials = mappings_of(message, "permission_denials", most=20)
        names = [text_of(denial, "tool_name", most=80) for denial in denials]
        method = f"result/{subtype}"
        fields: Message = {
            "isError": failed,
            "terminalReason": reason or None,
            "result": text[:1500] or None,
            "resultLength": len(text) if len(text) > 1500 else None,
            "error": error,
            "costUsd": number_of(message, "total_cost_usd"),
            "numTurns": count_of(message, "num_turns"),
            "permissionDenials": names,
            "results": self.results,
        }
        metered = self.usage.result(message, self.model, method)
        fields["usage"] = self.usage.latest or None
        changed = self.tools.clear(agents=False)  # those of agents in the background go on
        if not failed:
            phase, words = "completed", f"The turn is complete{': ' + preview(text) if text else '.'}"
        elif self.ended.aborted:
            phase, words = "stopping", f"The turn was interrupted ({reason})."
        else:
            phase, words = "failed", f"The turn failed: {(error or {}).get('message')}"
            fields["suggestions"] = errors.suggestions(error, self.session) or None
        self.phase = "idle"
        return [*metered, AgentUpdate(phase, words, method, True, changed, self.tools.window, fields)]

    # --- in words -------------------------------------------------------------------------------------------

    def silent(self, now: float) -> float:
        """Return seconds since the last sign of life, while a turn or an agent in the background runs; else 0."""
        return max(0.0, now - self._heard) if self.turn or self.agents else 0.0

    def stall_reason(self, now: float) -> StallReason:
        """Return what it is at, or what it waits for: the cause of a stall, in words."""
        seconds = max(0.0, now - self._heard)
        silent = for_time(seconds)
        again = [errors.how_to_resume(self.session)] if self.session else []
        if self._retries:
            since = human(max(0.0, now - self._retrying_since))
            times = f"{self._retries} times" if self._retries > 1 else "once"
            text = f"Claude gets no answer from the model and keeps trying ({times} in {since}): {self._trouble}"
            return StallReason("network", text, [errors.network(), *again])
        if self.tools.window is not None:
            return StallReason("unknown", self.tools.words(now), ["give its tools more time: --tool-limit", *again])
        if self._hooks:
            name, since_when = next(iter(self._hooks.values()))
            text = f"a hook of Claude Code's has been running for {human(max(0.0, now - since_when))}: {name}"
            return StallReason(
                "unknown", text, ["look at the hooks in settings.json, or go without: -- --bare", *again]
            )
        if not self.turn:
            left = preview(", ".join(self.background.values()), 200)
            text = f"only tasks in the background are left: {left}" if left else "Claude runs no turn"
            return StallReason("unknown", text, again)
        if self.phase == "compacting":
            text = f"the compaction has had no answer from the model {silent}"
            return StallReason("network", text, again, silent=seconds)
        return StallReason("network", f"Claude has had nothing from the model {silent}", again, silent=seconds)


def _about(task: Message) -> str:
    return preview(text_of(task, "description") or text_of(task, "task_type"), 200)


def _shown(count: int | None) -> str:
    return "?" if count is None else str(count)
