"""A job → the result that the tools return: as `jobs` has it, with advice and next steps in the words of these tools.

Several clients show a model this object and not the text beside it, so nothing in here may be long.
"""

from __future__ import annotations

from typing import Any

from unhang.faces.mcp.settings import Settings
from unhang.jobs.handle import Job
from unhang.jobs.short_result import ShortResult, short_result_of


def result_of(job: Job, settings: Settings) -> dict[str, Any]:
    """What is known of a job now, as the tools return it."""
    found = short_result_of(job, settings.output_bytes)
    recovery = None if found.result.recovery is None else _recovery(found)
    return found.to_json() | {"recovery": recovery, "next": next_steps(found)}


def _recovery(found: ShortResult) -> dict[str, Any]:
    """The suggestions in the words of these tools; what the diagnosis says comes first."""
    result = found.result
    assert result.recovery is not None
    last = result.outcome
    said = [_in_our_words(suggestion) for suggestion in last.get("suggestions") or []]
    retryable = bool(result.recovery.get("retryable"))
    if result.status == "timeout" and retryable:
        limit = "idleTimeoutMs" if result.timeout_reason == "no_output_timeout" else "hardTimeoutMs"
        said.append(f"if it was only slow: run it again with a larger {limit}, or use `start` and `wait`")
    elif result.status == "error":
        said += [_in_our_words(suggestion) for suggestion in result.recovery.get("suggestions") or []]
    if found.question is not None and result.status == "running":
        said.append("answer it with `send`, or end it with `cancel` and pass what it needs (stdin, flags)")
    if result.leaked:
        said.append("it left processes running, which were ended: start servers with `start`")
    return {"suggestions": said, "retryable": retryable}


# what the command line calls something, and what it is here
_WORDS = (
    ("--stdin pipe", "interactive=true"),
    ("--stdin", "stdin"),
    ("--idle", "idleTimeoutMs"),
    ("--hard", "hardTimeoutMs"),
    ("--pty", "pty=true"),
    ("--shell", "command instead of argv"),
    ("`unhang start`", "`start`"),
)


def _in_our_words(text: str) -> str:
    for theirs, ours in _WORDS:
        text = text.replace(theirs, ours)
    return text


def next_steps(found: ShortResult) -> list[str]:
    """What to call next, ready to be called."""
    job = f'job_id="{found.result.job_id}"'
    steps: list[str] = []
    if found.result.status == "running":
        if found.question is not None:
            steps.append(f'send({job}, text="…") answers it')
        steps.append(f"wait({job}) waits on; its limits go on, nothing is lost")
        steps.append(f"diagnose({job}) says why it is quiet; cancel({job}) ends it; extend({job}, …) gives more time")
    for name, excerpt in found.excerpts.items():
        if excerpt.left_out is not None:
            steps.append(f'output({job}, stream="{name}", offset={excerpt.left_out[0]}) reads what is left out')
    return steps
