"""The `recovery` section of a result: what to do next, from how a job ended.

What the diagnosis suggests comes first, the general advice after it. Whether another run may help is not decided here:
`core.policy.retry` says so, from the table of causes.
"""

from __future__ import annotations

from unhang.core.diagnosis.causes import COMMAND_LINE, may_be_slow
from unhang.core.events import ELOST, ESPAWN, error_code
from unhang.core.plain_text import quoted
from unhang.core.policy.retry import may_help
from unhang.core.values import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def advise(
    status: str,
    last: dict[str, Any],
    diagnosis: dict[str, Any] | None,
    job_id: str,
    needs_input: bool = False,
    *,
    agent: bool = False,
) -> dict[str, Any] | None:
    """Return `suggestions` and `retryable` for a job of this status; None for a success that left nothing running.

    `last` is the last event of an ended job, with the suggestions of an agent's driver in front of its own. `agent`:
    it was the job of an agent, which is no command that could be started in another way.
    """
    if status == "success" and not last.get("leaked"):
        return None
    suggestions: list[str] = list(last.get("suggestions") or [])
    retryable = is_retryable(status, last, diagnosis, needs_input)
    if status == "timeout":
        unsaid = agent or not suggestions or may_be_slow(diagnosis, last.get("timeoutReason"))
        suggestions += _after_timeout(last, bool(suggestions), retryable and unsaid, agent)
    elif status == "error":
        suggestions += after_error(last)
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


def is_retryable(
    status: str, last: dict[str, Any], diagnosis: dict[str, Any] | None, needs_input: bool = False
) -> bool:
    """Return whether the same command, run again unchanged, may end well.

    The keeper records its answer with the end. A guard, which ends a job in its keeper's place, does not: then the same
    question is asked here.
    """
    if status == "timeout":
        recorded = last.get("retryable")
        return may_help(last.get("timeoutReason"), diagnosis, needs_input).again if recorded is None else bool(recorded)
    return status == "error" and error_code(last) == ELOST


def _after_timeout(last: dict[str, Any], explained: bool, slow: bool, agent: bool) -> list[str]:
    idle = last.get("timeoutReason") == "no_output_timeout"
    budget = text_of(last, "budget", "name")
    more: list[str] = []
    if slow and not (explained and budget == "startup"):  # its driver has named the option
        flag = "--hard" if not idle else "--first" if budget == "first" else "--idle"
        other = "" if agent else ", or `unhang start`"
        more.append(f"if it was only slow, give it more time: {flag} with a larger value{other}")
    if not explained and idle and not agent:
        more.append("if it is known to be silent for long, let it send heartbeats: unhang beat")
    return more


def after_error(last: dict[str, Any], words: Mapping[str, str] = COMMAND_LINE) -> list[str]:
    """Return what to do about an end with the status `error`, in the words of a face."""
    code = error_code(last)
    if code == ELOST:
        return ["its keeper was killed; nothing of the job is left running, so it can be started again"]
    if code == ESPAWN and last.get("exitCode") == 127:
        return [f"check the spelling and PATH; a shell line needs {words['shell']}"]
    if code == ESPAWN and last.get("exitCode") == 126:
        return ["make it executable (chmod +x), or name its interpreter"]
    return []
