"""The session updates that change no state of a turn, each in words; plans, contents and token counts."""

from __future__ import annotations

from unhang.agents.said import Said, dig, one_line, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.agents.said import Message

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


def plain(kind: str, update: Message, phase: str) -> list[Said]:
    if kind not in _PLAIN:
        return [
            Said("unknown", f"Something new: {one_line(kind or 'an update without a kind', 80)}.", "session/update")
        ]
    text = _PLAIN[kind]
    if kind == "current_mode_update":
        text = f"The session's mode is {one_line(text_of(update, 'currentModeId'), 60) or 'unknown'}."
    if kind in _OUTPUT:
        return [Said(alive=True)]
    return [Said(phase, text, kind)] if text else []


def content_text(content: Any) -> str:
    """Of one block, or of several."""
    if isinstance(content, list):
        return "".join(content_text(one) for one in content)
    kind = text_of(content, "type")
    if kind == "text":
        return text_of(content, "text")
    if kind == "resource_link":
        return text_of(content, "uri")
    return text_of(content, "resource", "text") or (f"[{kind}]" if kind else "")


def plan_of(update: Message) -> list[Message] | None:
    """The entries, as short as they can be shown; None: none are said."""
    entries = update.get("entries")
    if not isinstance(entries, list):
        entries = dig(update, "plan", "entries")
    if not isinstance(entries, list):
        return None
    found = [entry for entry in entries if isinstance(entry, dict)]
    return [
        {"content": one_line(text_of(entry, "content"), 120), "status": text_of(entry, "status") or "pending"}
        for entry in found[:100]
    ]


class Meter:
    """Token counts: what an agent says during a turn, and what it sums up at the end."""

    def __init__(self) -> None:
        self.usage: Message = {}

    def read(self, update: Message) -> list[Said]:
        used, size = _count(update.get("used")), _count(update.get("size"))
        share = round(used / size, 4) if used is not None and size else None
        new = {"contextTokens": used, "contextWindow": size, "occupancy": share, "cost": _cost(update.get("cost"))}
        new = {name: value for name, value in new.items() if value is not None}
        if not new:
            return []
        self.usage |= new
        text = f"{used if used is not None else '?'} tokens in the context"
        text += f", {share:.0%} of {size}." if share is not None else "."
        return [Said("metering", text, "usage_update", fields=dict(self.usage))]

    def total(self, result: Message) -> None:
        """As the answer to a prompt has it: in `usage`, or in Gemini's own place."""
        usage = result.get("usage")
        own = dig(result, "_meta", "quota", "token_count")
        names = ("inputTokens", "outputTokens", "totalTokens", "thoughtTokens", "cachedReadTokens", "cachedWriteTokens")
        found = {name: _count(dig(usage, name)) for name in names}
        if not isinstance(usage, dict) and isinstance(own, dict):
            found |= {"inputTokens": _count(own.get("input_tokens")), "outputTokens": _count(own.get("output_tokens"))}
        self.usage |= {name: value for name, value in found.items() if value is not None}


def _cost(value: Any) -> Message | None:
    amount, currency = dig(value, "amount"), text_of(value, "currency")
    usable = isinstance(amount, int | float) and not isinstance(amount, bool)
    return {"amount": amount, "currency": currency} if usable and currency else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
