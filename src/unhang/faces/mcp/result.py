"""A job → the result that the tools return: as `jobs` has it, with advice and next steps in the words of these tools.

Several clients show a model this object and not the text beside it, so nothing in here may be long.
"""

from __future__ import annotations

import json
from typing import Any

from unhang.agents import registry
from unhang.agents.codex.protocol import hints
from unhang.core.advice import after_error
from unhang.core.diagnosis.causes import COMMAND_LINE
from unhang.core.diagnosis.suggest import suggestions
from unhang.core.result import suggested_by_agent
from unhang.faces.mcp.settings import Settings
from unhang.jobs.handle import Job
from unhang.jobs.short_result import ShortResult, short_result_of

# What a list and the events of an agent's job say of it; the result says the rest.
_BRIEF = ("name", "threadId", "sessionId", "turnStatus", "stopReason", "usage", "compacted", "budget", "hints", "error")


def result_of(job: Job, settings: Settings) -> dict[str, Any]:
    """What is known of a job now, as the tools return it."""
    found = short_result_of(job, settings.output_bytes)
    recovery = None if found.result.recovery is None else _recovery(found)
    shown = registry.with_agent_report(job, found.to_json() | {"recovery": recovery, "next": next_steps(found)})
    return _with_hints(shown) if "codex" in shown else shown


def agent_part(job: Job) -> dict[str, Any]:
    """What the agent of a job did, in brief, under the agent's name; empty for any other job."""
    found = registry.with_agent_report(job, {})
    return {
        name: {key: about[key] for key in _BRIEF if about.get(key) is not None}
        for name, about in found.items()
        if isinstance(about, dict)
    }


def _with_hints(shown: dict[str, Any]) -> dict[str, Any]:
    """Put the hints of Codex's driver before the general advice, in the words of these tools."""
    codex, recovery = shown["codex"], shown["recovery"]
    if recovery is None:
        return shown
    recorded = codex.get("suggestions") or []  # in the words of the command line
    rest = [hint for hint in recovery["suggestions"] if hint not in recorded]
    found = hints.sentences(codex.get("hints") or [], _codex_words(codex.get("threadId")))
    return shown | {"recovery": recovery | {"suggestions": [*(found or recorded), *rest]}}


def _codex_words(thread: Any) -> dict[str, str]:
    """The words of these tools for the steps that a hint names."""
    name = json.dumps(thread or "…", ensure_ascii=False)
    return {
        "recover": f"codex_compact(threadId={name}), then codex_resume with an amended task",
        "resume": f'codex_resume(threadId={name}, task="…")',
        "model": "`model`",
        "sandbox": "`mode`",
        "tool_limit": "in the policy of this server",
    }


def _recovery(found: ShortResult) -> dict[str, Any]:
    """The suggestions in the words of these tools; what the diagnosis says comes first."""
    result = found.result
    assert result.recovery is not None
    last = result.outcome
    said = list(last.get("suggestions") or [])
    if said and found.view.diagnosis is not None:  # the keeper's, in the words of the command line
        said = suggestions(found.view.diagnosis, result.timeout_reason, _WORDS)
    retryable = bool(result.recovery.get("retryable"))
    if result.status == "timeout" and retryable:
        limit = "idleTimeoutMs" if result.timeout_reason == "no_output_timeout" else "hardTimeoutMs"
        said.append(f"if it was only slow: run it again with a larger {limit}, or use `start` and `wait`")
    elif result.status == "error":
        said += [*suggested_by_agent(found.view), *after_error(last, _WORDS)]
    if found.question is not None and result.status == "running":
        said.append("answer it with `send`, or end it with `cancel` and pass what it needs (stdin, flags)")
    if result.leaked:
        said.append("it left processes running, which were ended: start servers with `start`")
    return {"suggestions": said, "retryable": retryable}


# What these tools call the things that advice speaks of; what they have not is called as on the command line.
_WORDS = COMMAND_LINE | {
    "idle": "idleTimeoutMs",
    "hard": "hardTimeoutMs",
    "stdin": "`stdin`",
    "shell": "`command` instead of `argv`",
    "start": "`start`",
    "send": "`send`",
}


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
