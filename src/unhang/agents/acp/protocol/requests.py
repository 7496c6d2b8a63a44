"""What an ACP agent asks of its client: permissions, files, terminals, answers. None may stay unanswered."""

from __future__ import annotations

from unhang.agents.base import jsonrpc_message
from unhang.agents.base.update import preview
from unhang.core.record import Record
from unhang.core.values import mapping_of, mappings_of, text_of, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.values import Message

PERMISSION, READ, WRITE = "session/request_permission", "fs/read_text_file", "fs/write_text_file"
DENY, ALLOW, ALLOW_ONCE, ASK = POLICIES = ("deny", "allow", "allow-once", "ask")
_OPTIONS = 20  # that a question may offer
_PLACES = 10  # files and pieces of content that a question names
_LONGEST_PART, _LONGEST_QUESTION = 500, 900
_TELLING = ("file_path", "filePath", "path", "absolute_path", "url", "query", "pattern")
# What each decision picks, the most cautious first: "always" outlives the turn, sometimes in the user's own settings.
_PICKS = {
    DENY: ("reject_once", "reject_always"),
    ALLOW: ("allow_once", "allow_always"),
    ALLOW_ONCE: ("allow_once",),
}


class Option(Record):
    """One of the answers that a question offers."""

    id: str
    kind: str
    name: str


class AcpRequest(Record):
    """A request of the agent. `id`: as it came; an answer carries the same."""

    id: Any
    method: str
    text: str
    params: dict[str, Any]
    options: tuple[Option, ...] = ()

    def result(self, value: Message) -> Message:
        """Return the reply to a request that was served."""
        return jsonrpc_message.result(self.id, value)

    def error(self, code: int, text: str) -> Message:
        """Return the reply to a request that was refused or failed."""
        return jsonrpc_message.error(self.id, code, text)

    def pick(self, decision: str) -> Option | None:
        """Return the option for a decision, or the one that is named by its id, its kind, its name or its number."""
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
        """Return the reply, and what it says: allowed, denied, or cancelled where no such option was offered."""
        option = self.pick(decision)
        if option is None and decision == ALLOW_ONCE:
            option = self.pick(DENY)
        if option is None:
            return self.cancelled(), "cancelled"
        outcome = {"outcome": "selected", "optionId": option.id}
        return self.result({"outcome": outcome}), "allowed" if option.kind.startswith("allow") else "denied"

    def cancelled(self) -> Message:
        """Return the answer that the protocol wants to every open question when a turn is cancelled."""
        return self.result({"outcome": {"outcome": "cancelled"}})

    def refusal(self) -> Message:
        """Return the reply to a method that unhang does not serve."""
        if self.method == "elicitation/create":
            return self.result({"action": "decline"})
        return self.error(jsonrpc_message.METHOD_NOT_FOUND, f"unhang does not serve {preview(self.method, 80)}")


def request_of(message: Message) -> AcpRequest | None:
    """Return the request that a message holds; None: it holds none."""
    method = message.get("method")
    if not isinstance(method, str) or message.get("id") is None:
        return None
    params = mapping_of(message, "params")
    return AcpRequest(message["id"], method, _text(method, params), params, _options(params))


def _options(params: Message) -> tuple[Option, ...]:
    found = [
        Option(text_of(one, "optionId"), text_of(one, "kind", most=60), preview(text_of(one, "name"), 120))
        for one in mappings_of(params, "options", most=_OPTIONS)
    ]
    return tuple(option for option in found if option.id)


def asked_for(call: Message) -> str:
    """Return what a call would do, as far as the agent says it anywhere: its command, its files, its address, its text.

    Some put the command into the raw input, some into the title, some only into the content.
    """
    raw = mapping_of(call, "rawInput")
    said = [words_of(raw, "command") or words_of(raw, "cmd"), text_of(call, "title") or text_of(call, "kind", most=60)]
    said += [text_of(raw, name) for name in _TELLING]
    said += [text_of(place, "path") for place in mappings_of(call, "locations", most=_PLACES)]
    for part in mappings_of(call, "content", most=_PLACES):
        said += [text_of(part, "path"), text_of(part, "content", "text")]
    shown = ""
    for text in (preview(one, _LONGEST_PART) for one in said):
        if text and text not in shown:
            shown += f" · {text}" if shown else text
    return preview(shown or "a tool", _LONGEST_QUESTION)


def _text(method: str, params: Message) -> str:
    match method:
        case "session/request_permission":
            return f"The agent asks for permission: {asked_for(mapping_of(params, 'toolCall'))}"
        case "fs/read_text_file":
            return f"The agent asks to read {preview(text_of(params, 'path'))}"
        case "fs/write_text_file":
            return f"The agent asks to write {preview(text_of(params, 'path'))}"
        case "elicitation/create":
            return f"The agent asks: {preview(text_of(params, 'message'))}"
    return f"The agent asks for {preview(method, 80)}"
