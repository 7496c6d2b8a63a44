"""Replies of JSON-RPC to a request of an agent. Pure: messages in, messages out."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.fields import Message

METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32601, -32602, -32603


def result_reply(identity: Any, value: Any) -> Message:
    """The answer to a request that was served. `identity`: the request's id, as it came."""
    return {"id": identity, "result": value}


def error_reply(identity: Any, code: int, text: str) -> Message:
    """The answer to a request that was refused or failed."""
    return {"id": identity, "error": {"code": code, "message": text}}
