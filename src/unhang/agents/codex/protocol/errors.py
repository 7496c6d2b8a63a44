"""The errors of Codex: their code, their HTTP status, and their text. Pure."""

from __future__ import annotations

from unhang.agents.base.update import preview
from unhang.agents.codex.protocol.hints import OVERFLOW
from unhang.core.values import dig, integer_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.values import Message


def info_of(error: Any) -> str:
    """Return `codexErrorInfo`, which is a word, or an object with one key."""
    info = dig(error, "codexErrorInfo")
    if isinstance(info, dict):
        info = next(iter(info), "")
    return text_of(info, most=80)


def status_of(error: Any) -> int | None:
    """Return the HTTP status of an error."""
    return integer_of(error, "codexErrorInfo", info_of(error), "httpStatusCode")


def info_from_text(text: str) -> str:
    """Return the code of an error of `exec`, which gives only words.

    The one code that helps a person is known by them.
    """
    return OVERFLOW if "ran out of room in the model's context window" in text else ""


def error_text(error: Any) -> str:
    """Return the message, and the details where they say more."""
    message, details = text_of(error, "message"), text_of(error, "additionalDetails")
    if details and details not in message:
        return preview(f"{message} ({details})" if message else details, 500)
    return preview(message or "no reason given", 500)


def error_json(error: Any) -> Message | None:
    """Return an error as events have it; None: it is none."""
    if not isinstance(error, dict):
        return None
    found: Message = {"message": error_text(error), "info": info_of(error) or None, "httpStatus": status_of(error)}
    return {name: value for name, value in found.items() if value is not None}
