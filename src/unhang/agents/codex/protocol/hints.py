"""What can be done after a turn of Codex that failed or hung. Pure.

A hint is recorded by its name; each face fills the sentence with its own words for the step.
"""

from __future__ import annotations

from unhang.core.spec import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from unhang.core.values import Message

OVERFLOW = "contextWindowExceeded"
RESUME, NETWORK, TOOL_LIMIT = "resume", "network", "toolLimit"
# name (of an error: its codexErrorInfo) → the sentence; {resume}, {recover}, … are words of a face
_SENTENCES = {
    RESUME: "go on with the same thread: {resume}",
    NETWORK: "check the network and the address of the model's service",
    TOOL_LIMIT: "give its commands more time: {tool_limit}",
    OVERFLOW: "the context is full; compact the thread and go on: {recover}",
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
    "modelNotFound": "this account cannot use that model: choose another with {model}",
    "badRequest": "the request was refused: Codex's own words say why",
    "sandboxError": "the sandbox failed: try another {sandbox}, or `codex sandbox` to see why",
}
# errors after which the same turn, later, may well succeed
RETRYABLE = frozenset(
    {"rateLimitExceeded", "responseTooManyFailedAttempts", "serverOverloaded", "internalServerError",
     "responseStreamConnectionFailed", "responseStreamDisconnected", "httpConnectionFailed"}
)  # fmt: skip


def after_error(info: str, thread: str) -> list[str]:
    """Return the names of the hints after an error with this `codexErrorInfo`."""
    found = [info] if info in _SENTENCES else []
    return [*found, RESUME] if thread and info in RETRYABLE else found


def command_line(job: str, thread: str) -> dict[str, str]:
    """Return the words of the command line, for this job and thread."""
    return {
        "recover": f"unhang codex recover {job or 'JOB'} --prompt 'TEXT'",
        "resume": f"unhang codex resume {quote(thread)} 'TEXT'",
        "model": "--model",
        "sandbox": "--sandbox",
        "tool_limit": "--tool-limit",
    }


def sentences(names: Iterable[object], words: Mapping[str, str]) -> list[str]:
    """Return the hints of these names in the words of a face; a name that is unknown here has none."""
    return [_SENTENCES[name].format_map(words) for name in names if isinstance(name, str) and name in _SENTENCES]


def fields(names: list[str], job: str, thread: str) -> Message:
    """Return the fields of an event: the names of its hints, and the same in the words of the command line."""
    return {"hints": names or None, "suggestions": sentences(names, command_line(job, thread)) or None}
