"""What a model reads: what happened, why, the last lines, what to do. It is short, because a model pays by the word.

Only unhang speaks outside of the fences. What a job printed stands between two lines with the same number, which is
made for this answer and does not occur in the output, so no output can close its fence. Shorter words of a job's (a
prompt, a process name, a heartbeat) and sentences that may hold some stand in quotation marks, on one line, cut.
"""

from __future__ import annotations

import secrets
from typing import Any

from unhang.core import mask, plain_text
from unhang.core.durations import human_ms

# of the output, in the text of a job that did not succeed: its end explains it
_END = 1500
_SENTENCE = 300


def text_of_result(shown: dict[str, Any]) -> str:
    """Return the text of a result: how the job ended or where it stands, why, its output, and what to do next."""
    status = shown["status"]
    if status == "success":
        return _finished(shown)
    head = {"error": "FAILED", "timeout": "TIMED OUT", "cancelled": "CANCELLED", "running": "STILL RUNNING"}[status]
    if status == "running" and shown.get("background"):
        head = "RUNNING IN THE BACKGROUND"
    lines = [f"{head}: {sentence(shown['message'])} (job {shown['jobId']})"]
    diagnosis = shown.get("diagnosis") or {}
    if diagnosis.get("reason") and status in ("timeout", "running"):
        lines.append(f"Why: {quoted(diagnosis['reason'])}")
    lines += _printed(shown, _END)
    suggestions = (shown.get("recovery") or {}).get("suggestions") or []
    if suggestions:
        lines.append("What to do:")
        lines += [f"- {sentence(suggestion)}" for suggestion in suggestions[:4]]
    lines += [f"Next: {step}" for step in shown.get("next") or []]
    return "\n".join(lines)


def _finished(shown: dict[str, Any]) -> str:
    took = human_ms(shown["durationMs"])
    lines = [f"exit 0 after {took} (job {shown['jobId']})"]
    if shown.get("leaked"):
        lines.append(sentence(shown["message"]))
    lines += _printed(shown, None)
    lines += [f"Next: {step}" for step in shown.get("next") or []]
    return "\n".join(lines)


def _printed(shown: dict[str, Any], most: int | None) -> list[str]:
    lines: list[str] = []
    for name in ("stdout", "stderr"):
        text = plain_text.harmless(str(shown[name])).rstrip("\n")
        if not text:
            continue
        if most is not None and len(text) > most:
            text = "…" + text[-most:]
        lines.append(fenced(name, text))
    if not lines and shown["status"] != "running":
        lines.append("(no output)")
    return lines


def fenced(name: str, text: str) -> str:
    """Return what a job printed, between two lines that the output cannot imitate."""
    number = secrets.token_hex(3)
    while number in text:  # a job that prints all numbers of this length gets a longer one
        number += secrets.token_hex(1)
    return f"--- {name} {number}\n{text}\n--- end {number}"


def quoted(text: str) -> str:
    """Return words of a job, or a sentence that may hold some, in quotation marks, on one line, cut."""
    return plain_text.quoted(mask.line(text), _SENTENCE)


def sentence(text: str) -> str:
    """Return a sentence of unhang's, which quotes the words of a job already, on one line, cut."""
    return plain_text.one_line(mask.line(text), _SENTENCE)


def text_of_event(event: dict[str, Any]) -> str:
    """Return one line of an event list. The message is quoted: it may hold words of the job or of an agent."""
    phase = plain_text.one_line(event["phase"], 40)
    kind = plain_text.one_line(event["type"], 40)
    at = plain_text.one_line(event["ts"], 30)
    return f"{event['seq']} {at} {kind}{f'/{phase}' if phase else ''}: {quoted(event['message'])}"
