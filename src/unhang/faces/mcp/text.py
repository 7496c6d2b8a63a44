"""What a model reads: what happened, why, the last lines, what to do. It is short, because a model pays by the word.

Only unhang speaks outside of the fences. What a job printed stands between two lines with the same number, which is
made for this answer and does not occur in the output, so no output can close its fence. Shorter words of a job's (a
prompt, a process name, a heartbeat) and sentences that may hold some stand in quotation marks, on one line, cut.
"""

from __future__ import annotations

import re
import secrets
from typing import Any

from unhang.core import events as ev
from unhang.core import mask, plain_text, values
from unhang.core.durations import human_ms
from unhang.core.watchdog import messages

# of the output, in the text of a job that did not succeed: its end explains it
_END = 1500
_END_LINES = 40
_SENTENCE = 300
# What a text has at most beside the output, and of advice in it.
MOST_LINES = 12
_ADVICE = 4
_FENCE = "--- "
_CARRIAGE_RETURNS = re.compile(r"\r+\n|\r+(?!\Z)")
_JUMP = re.compile(r"\x1b\[[0-9;]*[Hf]")
# A screen is wider than what stands on it. Begun only where a run of blanks begins: a long one is read once.
_BLANKS = re.compile(r"(?<![ \n])[ \n]*\n")
# What an extension that is offered gives.
MORE_SEC = 600


def text_of_result(shown: dict[str, Any]) -> str:
    """Return the text of a result: how the job ended or where it stands, why, its output, and what to do next."""
    status = shown["status"]
    if status == "success":
        lines = [f"exit 0 after {human_ms(shown['durationMs'])}{_leftovers(shown)} (job {shown['jobId']})"]
        lines += _printed(shown, None)
        return "\n".join(lines + _next(shown))
    lines = [_first_line(shown)]
    diagnosis = shown.get("diagnosis") or {}
    if diagnosis.get("reason") and status in ("timeout", "running") and not shown.get("needsInput"):
        lines.append(f"Why: {quoted(diagnosis['reason'])}")
    lines += _printed(shown, _END)
    if status == "running":
        lines.append(text_of_time_left(shown["jobId"], shown.get("timeLeft"), shown["limits"]))
    own = sum(not line.startswith(_FENCE) for line in lines)
    return "\n".join(lines + advice_of(shown, MOST_LINES - own))


def advice_of(shown: dict[str, Any], most: int = MOST_LINES) -> list[str]:
    """Return what to do about a job, and what to call next, the first of each, in at most `most` lines."""
    suggestions = (shown.get("recovery") or {}).get("suggestions") or []
    steps = _next(shown)
    room = max(1, most - len(steps) - 1)
    lines = [f"- {sentence(suggestion)}" for suggestion in suggestions[: min(_ADVICE, room)]]
    advice = ["What to do:", *lines] if lines else []
    return advice + steps[: max(1, most - len(advice))]


def text_of_several(shown: list[dict[str, Any]]) -> str:
    """Return the text of several results: whole of those that have ended or need a decision, a line of the others.

    One step waits for all of these.
    """
    parts = [text_of_result(each) for each in shown if not _goes_on(each)]
    going = [each for each in shown if _goes_on(each)]
    lines = [_first_line(each) for each in going]
    if going:
        names = ", ".join(f'"{each["jobId"]}"' for each in going)
        lines.append(f"Next: wait(job_id=[{names}]) waits for {'the next of these' if going[1:] else 'its end'}")
    return "\n\n".join([*parts, "\n".join(lines)] if lines else parts)


def _first_line(shown: dict[str, Any]) -> str:
    return f"{_head(shown)}: {sentence(_message(shown))}{_leftovers(shown)} (job {shown['jobId']})"


def _goes_on(shown: dict[str, Any]) -> bool:
    """Whether a job runs, and nothing about it is to be decided."""
    return shown["status"] == "running" and _head(shown) in ("STILL RUNNING", "RUNNING IN THE BACKGROUND")


_ENDED = {"error": "FAILED", "timeout": "TIMED OUT", "cancelled": "CANCELLED"}
_WAITING = {"needs_input": "NEEDS INPUT", "warning": "WARNED"}


def _head(shown: dict[str, Any]) -> str:
    if shown["status"] != "running":
        return _ENDED[shown["status"]]
    phase = "needs_input" if shown.get("needsInput") else shown["phase"]
    if phase in _WAITING:
        return _WAITING[phase]
    if (shown.get("diagnosis") or {}).get("state") == "hung":
        return "STUCK"
    return "RUNNING IN THE BACKGROUND" if shown.get("background") else "STILL RUNNING"


def _message(shown: dict[str, Any]) -> str:
    if shown.get("leaked"):  # what was left is said by itself
        how = f"ended by {shown['signal']}" if shown["signal"] else f"exited with {shown['exitCode']}"
        return f"{how} after {human_ms(shown['durationMs'])}"
    listening = shown.get("listening") or []
    if shown["status"] == "running" and listening:
        return f"{shown['message']}; it listens on {', '.join(listening[:4])}"
    return str(shown["message"])


def _leftovers(shown: dict[str, Any]) -> str:
    """What a finished job left running, and what became of it; "" if it left nothing."""
    if not shown.get("leaked"):
        return ""
    left = [quoted(values.text_of(each, "command")) for each in shown.get("leftovers") or []]
    if not left:
        return "; a process that is not of the job holds its output open"
    names = ", ".join(left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
    survived = shown.get("survivors") or []
    ended = "was" if len(left) == 1 else "were"
    became = f"of which {len(survived)} outlived SIGKILL" if survived else f"which {ended} ended"
    # a job of `start` lasts as long as its first process, and what that one leaves is left over there, too
    keep = "to keep it, start it without `&` or a daemon option" if shown.get("background") else "use start to keep it"
    return f"; it left {names} running, {became}; {keep}"


def text_of_time_left(job_id: str, left: dict[str, Any] | None, limits: dict[str, Any]) -> str:
    """Return when limits end a running job, in one line, and how to move the one that does so next."""
    job = f'job_id="{job_id}"'
    if left is None:
        return f"No limit ends it: it runs until cancel({job})."
    tier = left["limit"]
    unless = "unless it shows a sign of life" if tier == "idle" else "whatever it does"
    ends = f"Ends in {human_ms(left['ms'])} {unless} ({tier} limit {_limit(limits, tier)})"
    if "hardMs" in left:
        ends += f", in {human_ms(left['hardMs'])} whatever it does (hard limit {_limit(limits, 'hard')})"
    return f"{ends}; extend({job}, {tier}_sec={MORE_SEC}) gives more."


def _limit(limits: dict[str, Any], tier: str) -> str:
    return human_ms((limits.get(f"{tier}Ms") or {}).get("value") or 0)


def _next(shown: dict[str, Any]) -> list[str]:
    return [f"Next: {step}" for step in shown.get("next") or []]


def _printed(shown: dict[str, Any], most: int | None) -> list[str]:
    lines: list[str] = []
    for name in ("stdout", "stderr"):
        text = readable(str(shown[name])).rstrip("\n")
        if not text:
            continue
        end = text if most is None else "\n".join(text[-most:].split("\n")[-_END_LINES:])
        if end != text:
            lines.append(
                f'The end of {name}; output(job_id="{shown["jobId"]}", stream="{name}") reads it from its start.'
            )
        lines.append(fenced(name, end))
    if not lines and shown["status"] != "running":
        lines.append("(no output)")
    return lines


def readable(text: str) -> str:
    """Return what a job printed for a reader who sees no screen.

    What a carriage return (a progress bar) or a jump of the cursor (a program that fills the screen) begins stands on a
    line of its own, and letters that are struck over are letters. Nothing that moves a cursor is left.
    """
    text = _CARRIAGE_RETURNS.sub("\n", plain_text.without_overstrikes(text))
    if _JUMP.search(text):
        text = _BLANKS.sub("\n", _JUMP.sub("\n", text))
    return plain_text.harmless(text)


def fenced(name: str, text: str) -> str:
    """Return what a job printed, between two lines that the output cannot imitate."""
    number = secrets.token_hex(3)
    while number in text:  # a job that prints all numbers of this length gets a longer one
        number += secrets.token_hex(1)
    return f"{_FENCE}{name} {number}\n{text}\n--- end {number}"


def quoted(text: str) -> str:
    """Return words of a job, or a sentence that may hold some, in quotation marks, on one line, cut."""
    return plain_text.quoted(mask.line(text), _SENTENCE)


def sentence(text: str) -> str:
    """Return a sentence of unhang's, which quotes the words of a job already, on one line, cut."""
    return mask.one_line(text, _SENTENCE)


def in_tool_words(event: dict[str, Any], job_id: str) -> dict[str, Any]:
    """Return an event whose message names these tools where the keeper's names commands of the command line."""
    if event.get("type") != ev.WATCHDOG:
        return event
    if event.get("phase") == "needs_input":
        prompt = values.text_of(event, "prompt")
        asks = f"Waits for input: {quoted(prompt)}" if prompt else "Waits for input"
        return event | {"message": f'{asks}. send(job_id="{job_id}", text="…") answers it.'}
    if event.get("phase") == "warning" and isinstance(event.get("willAbortInMs"), int):
        tier = "hard" if event.get("reason") == "exec_timeout" else "idle"
        more_time = f'extend(job_id="{job_id}", {tier}_sec={MORE_SEC})'
        return event | {"message": messages.message_of(event, job_id, more_time=more_time)}
    return event


def text_of_event(event: dict[str, Any]) -> str:
    """Return one line of an event list. The message is quoted: it may hold words of the job or of an agent."""
    phase = plain_text.one_line(event["phase"], 40)
    kind = plain_text.one_line(event["type"], 40)
    at = plain_text.one_line(event["ts"], 30)
    return f"{event['seq']} {at} {kind}{f'/{phase}' if phase else ''}: {quoted(event['message'])}"
