"""Claude Code's errors in words: what went wrong, and what a person can do about it."""

from __future__ import annotations

from unhang.agents.base.update import preview, raw_of
from unhang.core.spec import quote
from unhang.core.values import count_of, items_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.values import Message

# the HTTP status of the service → what to do
_ADVICE = {
    400: "the request was refused: Claude's own words say why",
    401: "log in again: claude /login, or check ANTHROPIC_API_KEY",
    403: "this account may not do that: check the login (claude /status)",
    404: "there is no such model for this account: choose another with --model",
    413: "the request is too large: compact the session, or start a new one",
    429: "too many requests, or the usage limit is reached: wait a little, then resume the session",
    500: "the service failed: wait a little, then resume the session",
    529: "the service is overloaded: wait a little, then resume the session",
}
_RETRYABLE = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
_TOO_LONG = ("prompt is too long", "context window", "context limit", "conversation too long")
# Claude Code writes a session to its file a moment after it has told of it, and looks in the folder of its directory.
_NO_SESSION = "no conversation found"
_ANEW = (
    "Claude Code has no such session in this directory: resume it where it began; one that was killed at its start"
    " was not saved, so run its task again"
)
_NETWORK = "check the network and the address of the service (ANTHROPIC_BASE_URL)"


def error_text(result: Message) -> str:
    """Return the text of a `result` with is_error, or the errors that it lists."""
    text = text_of(result, "result")
    if not text:
        errors = [text_of(error) or raw_of(error) for error in items_of(result, "errors", most=20)]
        # "[ede_diagnostic] …" is Claude talking to its own makers
        text = "; ".join(error for error in errors if "ede_diagnostic" not in error)
    reason = text_of(result, "terminal_reason") or text_of(result, "subtype")
    return preview(text or reason.replace("_", " ") or "no reason given", 500)


def error_json(result: Message) -> Message:
    """Return the error of a `result` as events have it."""
    found: Message = {
        "message": error_text(result),
        "info": text_of(result, "api_error_type", most=80) or text_of(result, "terminal_reason", most=80) or None,
        "httpStatus": count_of(result, "api_error_status"),
    }
    return {name: value for name, value in found.items() if value is not None}


def suggestions(error: Message | None, session: str) -> list[str]:
    """Return what to do about an error, given as `error_json` has it."""
    if not error:
        return []
    message, status = str(error.get("message", "")).lower(), error.get("httpStatus")
    if any(words in message for words in _TOO_LONG):
        return [f"the context is full: unhang claude resume {quote(session or 'SESSION')} /compact makes room"]
    if _NO_SESSION in message:
        return [_ANEW]
    found = [_ADVICE[status]] if status in _ADVICE else []
    if error.get("info") == "api_error" and status is None:
        found.append(_NETWORK)
    if session and (status in _RETRYABLE or (status is None and found)):
        found.append(how_to_resume(session))
    return found


def how_to_resume(session: str) -> str:
    """Return how to go on with a session."""
    return f"go on with the same session: unhang claude resume {quote(session)} 'TEXT'"


def network() -> str:
    """Return what to look at when the service cannot be reached."""
    return _NETWORK
