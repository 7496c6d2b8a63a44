"""What Codex asks of its client: approvals, mostly. Every kind has a no, and none may stay unanswered."""

from __future__ import annotations

from unhang.agents.base import jsonrpc_message
from unhang.agents.base.update import preview, raw_of
from unhang.core.record import Record
from unhang.core.values import items_of, mapping_of, text_of, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.values import Message

METHODS = (
    "item/commandExecution/requestApproval",
    "item/fileChange/requestApproval",
    "item/permissions/requestApproval",
    "item/tool/requestUserInput",
    "mcpServer/elicitation/request",
    "item/tool/call",
    "account/chatgptAuthTokens/refresh",
    "attestation/generate",
    "currentTime/read",
    "applyPatchApproval",
    "execCommandApproval",
)


class CodexRequest(Record):
    """A request of Codex. `approval`: a person could say yes; every other kind can only be refused here."""

    id: int | str
    method: str
    text: str
    approval: bool
    fields: dict[str, Any]

    def answer(self, accept: bool) -> Message:
        """Return the whole reply, ready to be sent."""
        result = self._result(accept and self.approval)
        if result is None:
            message = f"unhang does not serve {preview(self.method, 80)}"
            return jsonrpc_message.error(self.id, jsonrpc_message.METHOD_NOT_FOUND, message)
        return jsonrpc_message.result(self.id, result)

    def _result(self, accept: bool) -> Message | None:
        match self.method:
            case "item/commandExecution/requestApproval" | "item/fileChange/requestApproval":
                return {"decision": "accept" if accept else "decline"}
            case "applyPatchApproval" | "execCommandApproval":
                return {"decision": "approved" if accept else "denied"}
            case "item/permissions/requestApproval":
                return {"permissions": self.fields.get("permissions") if accept else {}, "scope": "turn"}
            case "item/tool/requestUserInput":
                return {"answers": {}}
            case "mcpServer/elicitation/request":
                return {"action": "decline", "content": None}
            case "item/tool/call":
                return {"contentItems": [{"type": "inputText", "text": "not available here"}], "success": False}
        return None


def request_of(message: Message) -> CodexRequest | None:
    """Return the request that a message holds; None: it holds none."""
    identity, method = message.get("id"), message.get("method")
    if not isinstance(method, str) or not isinstance(identity, int | str) or isinstance(identity, bool):
        return None
    params = mapping_of(message, "params")
    return CodexRequest(identity, method, _text(method, params), method.lower().endswith("approval"), _fields(params))


def _text(method: str, params: Message) -> str:
    reason = preview(text_of(params, "reason"))
    because = f" ({reason})" if reason else ""
    match method:
        case "item/commandExecution/requestApproval" | "execCommandApproval":
            return f"Codex asks to run: {preview(words_of(params, 'command'))}{because}"
        case "item/fileChange/requestApproval" | "applyPatchApproval":
            files = ", ".join(list(mapping_of(params, "fileChanges"))[:5])
            return f"Codex asks to change files{because}{': ' + preview(files) if files else ''}"
        case "item/permissions/requestApproval":
            wanted = raw_of(mapping_of(params, "permissions")) if params.get("permissions") else ""
            return f"Codex asks for more permissions{because}{': ' + preview(wanted) if wanted else ''}"
        case "item/tool/requestUserInput":
            asked = [text_of(question, "question") for question in items_of(params, "questions", most=20)]
            return f"Codex asks: {preview(' '.join(asked))}"
        case "mcpServer/elicitation/request":
            server = preview(text_of(params, "serverName"), 80)
            return f"The MCP server {server} asks: {preview(text_of(params, 'message'))}"
        case "item/tool/call":
            return f"Codex calls a tool that does not exist: {preview(text_of(params, 'tool'), 80)}"
    return f"Codex asks for {preview(method, 80)}"


def _fields(params: Message) -> dict[str, Any]:
    kept = ("itemId", "threadId", "turnId", "command", "cwd", "reason", "kind", "permissions", "grantRoot")
    return {name: params[name] for name in kept if params.get(name) is not None}
