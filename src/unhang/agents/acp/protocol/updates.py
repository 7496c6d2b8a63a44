"""The session updates that change no state of a turn, each in words; plans, contents and token counts."""

from __future__ import annotations

from unhang.agents.base.context_usage import usage_text
from unhang.agents.base.update import AgentUpdate, preview
from unhang.core.values import count_of, dig, mapping_of, mappings_of, number_of, text_of, whole_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.values import Message

# kind → the text; "" : nothing worth an event
_PLAIN = {
    "user_message_chunk": "",
    "available_commands_update": "",
    "config_option_update": "The session's options have changed.",
    "current_mode_update": "The session's mode has changed.",
    "session_info_update": "",
    "plan_removed": "The plan was removed.",
    "terminal_update": "",
    "terminal_output_chunk": "",
    "tool_call_content_chunk": "",
}
_STATEFUL = frozenset(
    {
        "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan", "plan_update",
        "usage_update", "state_update",
    }
)  # fmt: skip
KINDS = frozenset(_PLAIN) | _STATEFUL
# Version 2 shows an agent's own terminals like this: their output is a sign of life.
_OUTPUT = frozenset({"terminal_update", "terminal_output_chunk", "tool_call_content_chunk"})


def stateless_updates(kind: str, update: Message, phase: str) -> list[AgentUpdate]:
    """Return what an update means that changes no state of a turn."""
    if kind not in _PLAIN:
        return [AgentUpdate("unknown", f"Unknown update: {preview(kind or 'none', 80)}.", "session/update")]
    text = _PLAIN[kind]
    if kind == "current_mode_update":
        text = f"The session's mode is {preview(text_of(update, 'currentModeId'), 60) or 'unknown'}."
    if kind in _OUTPUT:
        return [AgentUpdate(alive=True)]
    return [AgentUpdate(phase, text, kind)] if text else []


def content_text(content: Any) -> str:
    """Return the text of one block or of several, whole, since it is what the agent has written."""
    if isinstance(content, list):
        return "".join(_block_text(one) for one in content)
    return _block_text(content)


def _block_text(block: Any) -> str:
    kind = text_of(block, "type", most=60)
    if kind == "text":
        return whole_of(block, "text")
    if kind == "resource_link":
        return text_of(block, "uri")
    return whole_of(block, "resource", "text") or (f"[{kind}]" if kind else "")


def plan_of(update: Message) -> list[Message] | None:
    """Return the entries, as short as they can be shown; None: none are said."""
    plan = update if isinstance(update.get("entries"), list) else mapping_of(update, "plan")
    if not isinstance(plan.get("entries"), list):
        return None
    return [
        {"content": preview(text_of(entry, "content"), 120), "status": text_of(entry, "status", most=60) or "pending"}
        for entry in mappings_of(plan, "entries", most=100)
    ]


class AcpUsage:
    """Token counts: what an agent says during a turn, and what it sums up at the end."""

    def __init__(self) -> None:
        self.latest: Message = {}

    def read(self, update: Message) -> list[AgentUpdate]:
        """Take a `usage_update`, which tells the tokens so far."""
        used, size = count_of(update, "used"), count_of(update, "size")
        share = round(used / size, 4) if used is not None and size else None
        new = {"contextTokens": used, "contextWindow": size, "occupancy": share, "cost": _cost(update.get("cost"))}
        new = {name: value for name, value in new.items() if value is not None}
        if not new:
            return []
        self.latest |= new
        return [AgentUpdate("metering", usage_text(used, size, share), "usage_update", fields=dict(self.latest))]

    def total(self, result: Message) -> None:
        """Take the tokens that the answer to a prompt tells: in `usage`, or in Gemini's own place."""
        usage = result.get("usage")
        own = dig(result, "_meta", "quota", "token_count")
        names = ("inputTokens", "outputTokens", "totalTokens", "thoughtTokens", "cachedReadTokens", "cachedWriteTokens")
        found = {name: count_of(usage, name) for name in names}
        if not isinstance(usage, dict) and isinstance(own, dict):
            found |= {"inputTokens": count_of(own, "input_tokens"), "outputTokens": count_of(own, "output_tokens")}
        self.latest |= {name: value for name, value in found.items() if value is not None}


def _cost(value: Any) -> Message | None:
    amount, currency = number_of(value, "amount"), text_of(value, "currency", most=20)
    return {"amount": amount, "currency": currency} if amount is not None and currency else None
