"""The messages of JSON-RPC, as unhang sends them. Every driver and the ACP proxy builds them here."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.values import Message

METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32601, -32602, -32603
# ACP's own: the file or folder that was asked for does not exist.
RESOURCE_NOT_FOUND = -32002
# What stands at the beginning of every message; Codex leaves it out.
VERSION = {"jsonrpc": "2.0"}


def result(id: Any, value: Any) -> Message:
    """Return the answer to a request."""
    return {"id": id, "result": value}


def error(id: Any, code: int, text: str) -> Message:
    """Return the refusal of a request."""
    return {"id": id, "error": {"code": code, "message": text}}


def notification(method: str, params: Message) -> Message:
    """Return a message that needs no answer."""
    return {"method": method, "params": params}


def encode(message: Message) -> bytes:
    """Return one line, with the version."""
    return json.dumps(VERSION | message, separators=(",", ":")).encode() + b"\n"
