"""What to do next, from how a job ended. What the diagnosis suggests comes first; the general advice only after it."""

from __future__ import annotations

from unhang.core.plain_text import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# causes that the same command with more time cannot get past
_NO_USE = frozenset({"input", "deadlock", "pipe_cycle", "stopped", "listening"})


def advise(status: str, last: dict[str, Any], diagnosis: dict[str, Any] | None, job_id: str) -> dict[str, Any] | None:
    if status == "success" and not last.get("leaked"):
        return None
    suggestions: list[str] = list(last.get("suggestions") or [])
    cause = (diagnosis or {}).get("cause")
    retryable = status == "timeout" and bool(last.get("retryable", cause not in _NO_USE))
    if status == "timeout":
        suggestions += _after_timeout(last, bool(suggestions), retryable)
    elif status == "error":
        suggestions += _after_error(last)
        retryable = (last.get("error") or {}).get("code") == "ELOST"
    elif status == "running":
        suggestions += [
            f"wait for it: unhang wait {job_id}",
            f"see why it is quiet: unhang diagnose {job_id}",
        ]
    if last.get("leaked"):
        names = ", ".join(quoted(str(p.get("command", "?")), 100) for p in (last.get("leftovers") or [])[:3])
        what = f" ({names})" if names else ""
        suggestions.append(
            f"it left processes running{what}: start a server with `unhang start`, or pass --keep to keep them"
        )
    return {"suggestions": suggestions, "retryable": retryable}


def _after_timeout(last: dict[str, Any], explained: bool, retryable: bool) -> list[str]:
    idle = last.get("timeoutReason") == "no_output_timeout"
    more: list[str] = []
    if retryable:
        flag = "--idle" if idle else "--hard"
        more.append(f"if it was only slow, give it more time: {flag} with a larger value, or `unhang start`")
    if not explained and idle:
        more.append("if it is known to be silent for long, let it send heartbeats: unhang beat")
    return more


def _after_error(last: dict[str, Any]) -> list[str]:
    error = last.get("error") or {}
    if error.get("code") == "ELOST":
        return ["its keeper was killed; nothing of the job is left running, so it can be started again"]
    if error.get("code") == "ESPAWN" and last.get("exitCode") == 127:
        return ["check the spelling and PATH; a shell line needs --shell"]
    if error.get("code") == "ESPAWN" and last.get("exitCode") == 126:
        return ["make it executable (chmod +x), or name its interpreter"]
    return []
