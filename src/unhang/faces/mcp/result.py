"""A job → the result that the tools return: as `jobs` has it, with advice and next steps in the words of these tools.

Several clients show a model this object and not the text beside it, so nothing in here may be long.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from unhang.agents import registry
from unhang.agents.codex.protocol import hints
from unhang.core import editors, plain_text, unanswered, values
from unhang.core.advice import after_error
from unhang.core.diagnosis import causes
from unhang.core.diagnosis.causes import COMMAND_LINE, may_be_slow
from unhang.core.diagnosis.suggest import suggestions, suggestions_for_agent
from unhang.core.diagnosis.verdict import HUNG
from unhang.core.diagnosis.waits import STDIN, TERMINAL
from unhang.core.durations import human
from unhang.core.result import suggested_by_agent
from unhang.core.spec import AGENT, PIPE
from unhang.core.view import View
from unhang.faces.mcp.settings import Settings
from unhang.faces.mcp.text import MORE_SEC, in_tool_words
from unhang.jobs.end_time import hard_left, idle_left
from unhang.jobs.handle import Job
from unhang.jobs.progress import TimeLeft, time_left
from unhang.jobs.question import InputQuestion
from unhang.jobs.short_result import ShortResult, short_result_of
from unhang.jobs.tree_look import look_at

# What a list and the events of an agent's job say of it; the result says the rest.
_BRIEF = ("name", "threadId", "sessionId", "turnStatus", "stopReason", "usage", "compacted", "budget", "hints", "error")


# What stands for an exit code that there is not (it was ended, or it still runs) where it must be a number.
NO_EXIT_CODE = -1
# Two limits that end a job within so many ms of each other are one to its caller.
_SAME_MS = 1000


class Seen(NamedTuple):
    """What the call itself has seen of a job, beside what is on record."""

    background: bool = False  # it was started to stay, or never ends
    never_ending: bool = False  # the policy knows it as such
    serves: bool = False  # it turned out to be a server
    editors: tuple[str, ...] = ()  # it opened these without a terminal, and was ended for it
    diagnosis: dict[str, Any] | None = None  # of this moment


class _Running(NamedTuple):
    """What is known of a job that runs."""

    left: TimeLeft | None
    listening: tuple[str, ...]
    typed: bool  # what is sent reaches it


def result_of(
    job: Job,
    settings: Settings,
    seen: Seen = Seen(),  # noqa: B008 - it cannot be changed
    view: View | None = None,
) -> dict[str, Any]:
    """Return what is known of a job now, as the tools return it. `view`: of all its events, where they are at hand."""
    found = short_result_of(job, settings.output_bytes, view)
    running = None
    found = found.replace(question=found.question or _question_seen(job, found, seen))
    job.note_seen(found.view)
    shown = found.to_json()
    if shown["partial"] is not None:
        shown["partial"]["lastEvents"] = [in_tool_words(event, job.id) for event in shown["partial"]["lastEvents"]]
    if found.result.leaked:
        shown["leftovers"] = list(found.result.outcome.get("leftovers") or [])
        shown["background"] = _started(job)
    if found.result.status == "running":
        running = _Running(time_left(job, found.view), look_at(job).listening, takes_input(job))
        shown |= _of_running(found, running, seen)
    recovery = None if found.result.recovery is None else _recovery(job, found, seen, shown["diagnosis"])
    shown |= {"recovery": recovery, "next": next_steps(found, running, seen)}
    if settings.compat and shown["exitCode"] is None:
        shown["exitCode"] = NO_EXIT_CODE
    shown = registry.with_agent_report(job, shown)
    return _with_hints(shown) if "codex" in shown else shown


def _of_running(found: ShortResult, running: _Running, seen: Seen) -> dict[str, Any]:
    """Return the fields that only a running job has. A diagnosis of an earlier moment is not shown as one of now."""
    known = found.to_json()["diagnosis"] if found.view.in_doubt else None
    shown: dict[str, Any] = {
        "background": seen.background or seen.serves,
        "diagnosis": seen.diagnosis or known,
        "listening": list(running.listening),
        "timeLeft": shown_time_left(running.left, found.view),
    }
    if found.question is not None and found.view.needs_input is None:
        shown["needsInput"] = {"prompt": found.question.prompt}
    return shown


def shown_time_left(left: TimeLeft | None, view: View) -> dict[str, Any] | None:
    """Return which limit ends a job next and when; `hardMs`: when the hard one does, where the idle one is nearer."""
    if left is None:
        return None
    ms, hard = round(left.seconds * 1000), hard_left(view)
    if left.tier == "hard" or hard is None:
        return {"ms": ms, "limit": left.tier}
    hard_ms = round(hard * 1000)
    if hard_ms <= ms + _SAME_MS:  # no sign of life moves the end
        return {"ms": hard_ms, "limit": "hard"}
    return {"ms": ms, "limit": left.tier, "hardMs": hard_ms}


def takes_input(job: Job) -> bool:
    """Return whether what is sent to a job reaches it."""
    return bool(job.spec.get("pty")) or job.spec.get("stdin") == PIPE


def _question_seen(job: Job, found: ShortResult, seen: Seen) -> InputQuestion | None:
    """The question that only the diagnosis of this moment shows: a job without limits is not looked at otherwise, and
    a full screen (an editor) ends in no prompt."""
    known = seen.diagnosis or {}
    if found.result.status != "running" or found.question is not None or known.get("state") != HUNG:
        return None
    if not (_wants_input(known) and takes_input(job)):
        return None
    return InputQuestion(f"input-{found.view.seq}", values.text_of(known, "evidence", "prompt"), True)


def _wants_input(diagnosis: dict[str, Any]) -> bool:
    """Whether a diagnosis says that the job waits for what can be sent to it, be it certain or not."""
    channel = values.text_of(diagnosis, "evidence", "channel")
    return causes.cause_of(diagnosis) is causes.INPUT and channel in (TERMINAL, STDIN)


def agent_part(job: Job) -> dict[str, Any]:
    """Return what the agent of a job did, in brief, under the agent's name; empty for any other job."""
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


def _recovery(job: Job, found: ShortResult, seen: Seen, diagnosis: dict[str, Any] | None) -> dict[str, Any]:
    """The suggestions in the words of these tools; what the diagnosis says comes first."""
    result = found.result
    assert result.recovery is not None
    last = result.outcome
    words = _words_for(job)
    agent = job.spec.get("kind") == AGENT
    said = list(last.get("suggestions") or [])
    if said and found.view.diagnosis is not None:  # the keeper's, in the words of the command line
        said = suggestions(found.view.diagnosis, result.timeout_reason, words)
    retryable = bool(result.recovery.get("retryable"))
    unsaid = agent or not said or may_be_slow(found.view.diagnosis, result.timeout_reason)
    if result.status == "timeout" and retryable and unsaid:
        hard, other = ("hardTimeoutMs", "") if agent else ("timeout_sec", ", or use `start` and `wait`")
        limit = "idleTimeoutMs" if result.timeout_reason == "no_output_timeout" else hard
        said.append(f"if it was only slow: run it again with a larger {limit}{other}")
    elif result.status == "error":
        said += [*suggested_by_agent(found.view), *after_error(last, words)]
        if editors.refused_editor(result.stderr):
            said.append(f"it opened an editor, and there is none here: {editors.way_without(_command(job))}")
        else:
            said += _unanswered(job, found)
    elif result.status == "running" and found.question is None and (diagnosis or {}).get("state") == "hung":
        found_out = diagnosis or {}
        said += suggestions_for_agent(found_out, words) if agent else suggestions(found_out, None, words)
    if result.leaked:
        kept = "in the foreground (no `&`, no daemon option)" if _started(job) else "with `start`"
        said.append(f"start what is to stay {kept}; in a script, `wait` for what it puts in the background")
    if seen.editors:
        opened = ", ".join(seen.editors)
        said = [f"it opened an editor ({opened}), which needs a terminal: {editors.way_without(_command(job))}"]
        retryable = False
    return {"suggestions": said, "retryable": retryable}


def _unanswered(job: Job, found: ShortResult) -> list[str]:
    """What to do about a failure that shows that the command asked, and nothing could answer."""
    asked = unanswered.would_have_helped(found.result.stdout, found.result.stderr)
    if asked is None or job.spec.get("pty"):
        return []
    needed, question = asked
    asks = f"it asked {plain_text.quoted(question, 80)}" if question else "it asked"
    if needed == unanswered.TERMINAL:
        without = "or use the option that makes it not ask"
        return [f"{asks}, and wants a terminal: pass pty=true and answer with `send`, {without}"]

    if job.spec.get("stdin") == PIPE:
        return []
    return [f"{asks} and had no input: pass the answers as `stdin`, or interactive=true and answer with `send`"]


def _command(job: Job) -> str:
    spec = job.spec
    return values.text_of(spec, "shell") or " ".join(str(word) for word in spec.get("argv") or ())


# What these tools call the things that advice speaks of; what they have not is called as on the command line.
_WORDS = COMMAND_LINE | {
    "idle": "idleTimeoutMs",
    "hard": "timeout_sec",
    "stdin": "`stdin`",
    "shell": "`command` instead of `argv`",
    "start": "`start`",
    "send": "`send`",
    "keep": "`start`",
    "look": "`diagnose` of its job, or `unhang diagnose --pid`,",
    "deep": "`diagnose` while it runs",
    "beat": "systemd-notify WATCHDOG=1",
}
_STARTED = {"start": "`start` with a larger limit"}


def _words_for(job: Job) -> dict[str, str]:
    """The words for a job: one that was started with `start` is not told to use it."""
    return _WORDS | (_STARTED if _started(job) else {})


def _started(job: Job) -> bool:
    """Whether it was begun by `start`, to stay."""
    return (job.spec.get("labels") or {}).get("tool") == "start"


def next_steps(found: ShortResult, running: _Running | None, seen: Seen) -> list[str]:
    """Return what to call next, ready to be called; the first is the one that is most often right."""
    steps = [] if running is None else _while_running(found, running, seen)
    job = f'job_id="{found.result.job_id}"'
    for name, excerpt in found.excerpts.items():
        if excerpt.left_out is not None:
            steps.append(f'output({job}, stream="{name}", offset={excerpt.left_out[0]}) reads what is left out')
    return steps


def _to_move(left: TimeLeft, view: View) -> list[str]:
    """Which limits have to be moved for so much more time: the one that is due, and the other if it is due before."""
    idle_first = left.tier == "idle"
    other = hard_left(view) if idle_first else idle_left(view) if view.silent else None
    both = ["idle", "hard"] if idle_first else ["hard", "idle"]
    return both if other is not None and other < left.seconds + MORE_SEC else both[:1]


def _while_running(found: ShortResult, running: _Running, seen: Seen) -> list[str]:
    job = f'job_id="{found.result.job_id}"'
    wait = f"wait({job}) waits for its end, or for the next thing to decide"
    cancel = f"cancel({job}) ends it"
    events = f"events({job}, afterSeq={found.view.seq}, wait_sec=45) waits for the next thing that happens"
    question = found.question
    if question is not None and question.answerable:
        return [f'send({job}, text="…") answers it; text="" sends Enter', f"{cancel}, to run it with what it needs"]
    if question is not None:
        return [f"{cancel}; then run it with stdin=…, or with interactive=true to answer by send"]
    if seen.serves:
        keep = f"{cancel}; start(…) with the same command keeps it without limits"
        return [f"output({job}, tail=2000) reads what it prints", events, keep]
    if running.listening or seen.never_ending:
        more = f'send({job}, text="…") types into it' if running.typed else events
        return [f"output({job}, tail=2000) reads what it prints", more, cancel]
    if running.left is not None and found.view.phase == "warning":
        more = ", ".join(f"{tier}_sec={MORE_SEC}" for tier in _to_move(running.left, found.view))
        return [f"extend({job}, {more}) gives it {human(MORE_SEC)} more", wait, cancel]
    known = seen.diagnosis or (found.view.diagnosis if found.view.in_doubt else None) or {}
    if known.get("state") == "hung":
        return [f"{cancel}; then change what it waits for", wait]
    if running.typed and _wants_input(known):  # an editor that has a timer, too, is no certain case
        return [f'send({job}, text="…") types into it', wait, cancel]
    return [wait, events, cancel]
