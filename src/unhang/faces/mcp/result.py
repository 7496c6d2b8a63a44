"""A job → the result a program reads: section by section as `unhang result --json` has it, cut to what fits a model.

Several clients show a model this object and not the text beside it, so nothing in here may be long: of each stream the
beginning and the end with the offset to read on, of the events the few that explain the end.
"""

from __future__ import annotations

from typing import Any

from unhang.core import plain_text, values
from unhang.core.advice import after_error
from unhang.core.diagnosis.causes import COMMAND_LINE
from unhang.core.diagnosis.suggest import suggestions
from unhang.core.durations import human
from unhang.core.notices import audience
from unhang.core.result import Printed, Result, build, suggested_by_agent
from unhang.core.view import View
from unhang.faces.mcp.settings import Settings
from unhang.jobs.handle import Job
from unhang.jobs.results import Excerpt, excerpt, view_of
from unhang.procs import clock

_LAST_EVENTS = 5
_PARTIAL_TAIL = 2000
_SAMPLES = 8


def result_of(job: Job, settings: Settings) -> dict[str, Any]:
    """What is known of a job now, as the tools return it."""
    view = view_of(job.place)
    if not view.limits:
        view.limits = job.spec.get("sources") or {}
    printed = {
        name: excerpt(job, view, name, most=settings.output_bytes, tail=_PARTIAL_TAIL) for name in ("stdout", "stderr")
    }
    elapsed = None
    started = values.moment(view.started_at)
    if not view.ended and started is not None:
        elapsed = max(0.0, clock.wall() - started)
    built = build(job.id, view, _printed(printed["stdout"]), _printed(printed["stderr"]), elapsed)
    shown = built.to_json()
    shown["partial"] = _partial(shown["partial"])
    shown["diagnosis"] = _diagnosis(shown["diagnosis"])
    shown["recovery"] = None if built.recovery is None else _recovery(built, view)
    shown |= {
        "message": message(built, view),
        "phase": view.phase,
        "seq": view.seq,
        "needsInput": view.needs_input,
        "heartbeat": view.heartbeat,
        "output": {name: _position(found) for name, found in printed.items()},
        "next": next_steps(built, view, printed),
    }
    return shown


def _printed(found: Excerpt) -> Printed:
    return Printed(found.text, found.tail, found.left_out is not None)


def _position(found: Excerpt) -> dict[str, Any]:
    position: dict[str, Any] = {"bytes": found.total}
    if found.left_out is not None:
        position |= {"leftOutFrom": found.left_out[0], "leftOutTo": found.left_out[1]}
    return position


def _partial(partial: dict[str, Any] | None) -> dict[str, Any] | None:
    if partial is None:
        return None
    told = [event for event in partial["lastEvents"] if audience(event).model]
    short = [{k: v for k, v in event.items() if k not in ("diagnosis", "pids")} for event in told[-_LAST_EVENTS:]]
    return partial | {"lastEvents": short}


def _diagnosis(diagnosis: dict[str, Any] | None) -> dict[str, Any] | None:
    if diagnosis is None:
        return None
    return diagnosis | {"processes": list(diagnosis.get("processes") or [])[:_SAMPLES]}


def message(result: Result, view: View) -> str:
    """One line: how it ended, or where it stands."""
    if result.status != "running":
        return str(result.outcome.get("message") or (result.error or {}).get("message") or result.status)
    took = human(result.duration or 0.0)
    if view.needs_input is not None:
        return f"running for {took}; it waits for input: {_prompt(view)}"
    if view.diagnosis is not None and view.in_doubt:
        return f"running for {took}; {plain_text.quoted(view.diagnosis.get('reason') or 'no sign of life')}"
    return f"running for {took}"


def _prompt(view: View) -> str:
    prompt = str((view.needs_input or {}).get("prompt") or "")
    return plain_text.quoted(prompt, 80) if prompt else "(no prompt)"


def _recovery(result: Result, view: View) -> dict[str, Any]:
    """The suggestions in the words of these tools; what the diagnosis says comes first."""
    assert result.recovery is not None
    last = result.outcome
    said = list(last.get("suggestions") or [])
    if said and view.diagnosis is not None:  # the keeper's, in the words of the command line
        said = suggestions(view.diagnosis, result.timeout_reason, _WORDS)
    retryable = bool(result.recovery.get("retryable"))
    if result.status == "timeout" and retryable:
        limit = "idleTimeoutMs" if result.timeout_reason == "no_output_timeout" else "hardTimeoutMs"
        said.append(f"if it was only slow: run it again with a larger {limit}, or use `start` and `wait`")
    elif result.status == "error":
        said += [*suggested_by_agent(view), *after_error(last, _WORDS)]
    if view.needs_input is not None and result.status == "running":
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


def next_steps(result: Result, view: View, printed: dict[str, Excerpt]) -> list[str]:
    """What to call next, ready to be called."""
    job = f'job_id="{result.job_id}"'
    steps: list[str] = []
    if result.status == "running":
        if view.needs_input is not None:
            steps.append(f'send({job}, text="…") answers it')
        steps.append(f"wait({job}) waits on; its limits go on, nothing is lost")
        steps.append(f"diagnose({job}) says why it is quiet; cancel({job}) ends it; extend({job}, …) gives more time")
    for name, found in printed.items():
        if found.left_out is not None:
            steps.append(f'output({job}, stream="{name}", offset={found.left_out[0]}) reads what is left out')
    return steps
