"""What an ACP agent asks of its client: permissions, files, terminals, answers. None may stay unanswered."""

from __future__ import annotations

from unhang.agents.said import dig, one_line, text_of
from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.agents.said import Message

PERMISSION, READ, WRITE = "session/request_permission", "fs/read_text_file", "fs/write_text_file"
DENY, ALLOW, ALLOW_ONCE, ASK = POLICIES = ("deny", "allow", "allow-once", "ask")
NOT_OURS, INVALID, NOT_FOUND, INTERNAL = -32601, -32602, -32002, -32603
# What each decision picks, the most cautious first: "always" outlives the turn, sometimes in the user's own settings.
_PICKS = {
    DENY: ("reject_once", "reject_always"),
    ALLOW: ("allow_once", "allow_always"),
    ALLOW_ONCE: ("allow_once",),
}


class Option(Record):
    id: str
    kind: str
    name: str


class Request(Record):
    """`id`: as it came; an answer carries the same."""

    id: Any
    method: str
    text: str
    params: dict[str, Any]
    options: tuple[Option, ...] = ()

    @property
    def tool(self) -> str:
        """The call that it is about."""
        return text_of(self.params, "toolCall", "toolCallId")

    def result(self, value: Message) -> Message:
        return {"id": self.id, "result": value}

    def error(self, code: int, text: str) -> Message:
        return {"id": self.id, "error": {"code": code, "message": text}}

    def pick(self, decision: str) -> Option | None:
        """The option for a decision, or the one that is named by its id, its kind, its name or its number."""
        for kind in _PICKS.get(decision, ()):
            for option in self.options:
                if option.kind == kind:
                    return option
        if decision in _PICKS:
            return None
        word = decision.strip().lower()
        for number, option in enumerate(self.options, 1):
            if word in (option.id.lower(), option.kind, option.name.lower(), str(number)):
                return option
        return None

    def decided(self, decision: str) -> tuple[Message, str]:
        """The reply, and what it says: allowed, denied, or cancelled where no such option was offered."""
        option = self.pick(decision)
        if option is None and decision == ALLOW_ONCE:
            option = self.pick(DENY)
        if option is None:
            return self.cancelled(), "cancelled"
        outcome = {"outcome": "selected", "optionId": option.id}
        return self.result({"outcome": outcome}), "allowed" if option.kind.startswith("allow") else "denied"

    def cancelled(self) -> Message:
        """As the protocol wants every open question answered when a turn is cancelled."""
        return self.result({"outcome": {"outcome": "cancelled"}})

    def refusal(self) -> Message:
        """For what nobody serves here."""
        if self.method == "elicitation/create":
            return self.result({"action": "decline"})
        return self.error(NOT_OURS, f"unhang does not serve {one_line(self.method, 80)}")


def request_of(message: Message) -> Request | None:
    """None: this is no request."""
    method = message.get("method")
    if not isinstance(method, str) or message.get("id") is None:
        return None
    params = message.get("params")
    params = params if isinstance(params, dict) else {}
    return Request(message["id"], method, _text(method, params), params, _options(params))


def _options(params: Message) -> tuple[Option, ...]:
    listed = params.get("options")
    found = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    named = [Option(text_of(one, "optionId"), text_of(one, "kind"), text_of(one, "name")) for one in found]
    return tuple(option for option in named if option.id)


def _text(method: str, params: Message) -> str:
    match method:
        case "session/request_permission":
            command = dig(params, "toolCall", "rawInput", "command")
            title = command if isinstance(command, str) and command else text_of(params, "toolCall", "title")
            return (
                f"The agent asks for permission: {one_line(title or text_of(params, 'toolCall', 'kind') or 'a tool')}"
            )
        case "fs/read_text_file":
            return f"The agent asks to read {one_line(text_of(params, 'path'))}"
        case "fs/write_text_file":
            return f"The agent asks to write {one_line(text_of(params, 'path'))}"
        case "elicitation/create":
            return f"The agent asks: {one_line(text_of(params, 'message'))}"
    return f"The agent asks for {one_line(method, 80)}"
