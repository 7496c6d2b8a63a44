"""Codex's errors in words: what went wrong, whether Codex tries again, what a person can do about it."""

from __future__ import annotations

from unhang.agents.base.update import one_line
from unhang.core.spec import quote
from unhang.core.values import dig, integer_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.values import Message

OVERFLOW = "contextWindowExceeded"
# codexErrorInfo → what to do
_ADVICE = {
    OVERFLOW: "the context is full: unhang codex recover {job} --prompt 'TEXT' compacts the thread and goes on",
    "sessionBudgetExceeded": "the session's budget is used up: start a new thread",
    "usageLimitExceeded": "the account's usage limit is reached: wait until it resets, or use another account",
    "rateLimitExceeded": "too many requests: wait a little, then resume the thread",
    "responseTooManyFailedAttempts": "the service refuses requests: wait a little, then resume the thread",
    "serverOverloaded": "the service is overloaded: wait a little, then resume the thread",
    "internalServerError": "the service failed: wait a little, then resume the thread",
    "unauthorized": "log in again: codex login",
    "httpConnectionFailed": "the service cannot be used like this: check the network and `codex login status`",
    "responseStreamConnectionFailed": "the service cannot be reached: check the network",
    "responseStreamDisconnected": "the answer broke off: check the network, then resume the thread",
    "modelNotFound": "this account cannot use that model: choose another with --model",
    "badRequest": "the request was refused: Codex's own words say why",
    "sandboxError": "the sandbox failed: try another --sandbox, or `codex sandbox` to see why",
}
# those after which the same turn, later, may well succeed
RETRYABLE = frozenset(
    {"rateLimitExceeded", "responseTooManyFailedAttempts", "serverOverloaded", "internalServerError",
     "responseStreamConnectionFailed", "responseStreamDisconnected", "httpConnectionFailed"}
)  # fmt: skip


def info_of(error: Any) -> str:
    """`codexErrorInfo` is a word, or an object with one key."""
    info = dig(error, "codexErrorInfo")
    if isinstance(info, dict):
        info = next(iter(info), "")
    return text_of(info, most=80)


def status_of(error: Any) -> int | None:
    """The HTTP status of an error."""
    return integer_of(error, "codexErrorInfo", info_of(error), "httpStatusCode")


def info_from_text(text: str) -> str:
    """The code of an error of `exec`, which gives only words. The one code that helps a person is known by them."""
    return OVERFLOW if "ran out of room in the model's context window" in text else ""


def error_text(error: Any) -> str:
    """The message, and the details where they say more."""
    message, details = text_of(error, "message"), text_of(error, "additionalDetails")
    if details and details not in message:
        return one_line(f"{message} ({details})" if message else details, 500)
    return one_line(message or "no reason given", 500)


def error_json(error: Any) -> Message | None:
    """An error as events have it; None: it is none."""
    if not isinstance(error, dict):
        return None
    found: Message = {"message": error_text(error), "info": info_of(error) or None, "httpStatus": status_of(error)}
    return {name: value for name, value in found.items() if value is not None}


def suggestions(error: Any, job: str, thread: str) -> list[str]:
    """What a person can do about an error of the app server."""
    return _advice(info_of(error), job, thread)


def suggestions_for(error: Message | None, job: str, thread: str) -> list[str]:
    """The same, for an error as `error_json` has it."""
    return _advice(str((error or {}).get("info", "")), job, thread)


def _advice(info: str, job: str, thread: str) -> list[str]:
    advice = _ADVICE.get(info)
    found = [advice.format(job=job or "JOB")] if advice else []
    if thread and info in RETRYABLE:
        found.append(f"go on with the same thread: unhang codex resume {quote(thread)} 'TEXT'")
    return found
