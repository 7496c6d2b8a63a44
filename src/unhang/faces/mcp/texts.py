"""What a model reads: what happened, why, the last lines, what to do. Short, because it is paid for by the word."""

from __future__ import annotations

from typing import Any

from unhang.core import framing
from unhang.core.durations import human

# of the output, in the text of a job that did not succeed: its end explains it
_END = 1500


def of_result(shown: dict[str, Any]) -> str:
    status = shown["status"]
    if status == "success":
        return _finished(shown)
    head = {"error": "FAILED", "timeout": "TIMED OUT", "cancelled": "CANCELLED", "running": "STILL RUNNING"}[status]
    lines = [f"{head}: {shown['message']} (job {shown['jobId']})"]
    if status == "running" and shown.get("background"):
        lines[0] = f"RUNNING IN THE BACKGROUND: {shown['message']} (job {shown['jobId']})"
    diagnosis = shown.get("diagnosis") or {}
    if diagnosis.get("reason") and status in ("timeout", "running"):
        lines.append(f"Why: {diagnosis['reason']}")
    lines += _printed(shown, _END)
    suggestions = (shown.get("recovery") or {}).get("suggestions") or []
    if suggestions:
        lines.append("What to do:")
        lines += [f"- {suggestion}" for suggestion in suggestions[:4]]
    lines += [f"Next: {step}" for step in shown.get("next") or []]
    return "\n".join(lines)


def _finished(shown: dict[str, Any]) -> str:
    took = human((shown["durationMs"] or 0) / 1000)
    lines = [f"exit 0 after {took} (job {shown['jobId']})", *_printed(shown, None)]
    lines += [f"Next: {step}" for step in shown.get("next") or []]
    return "\n".join(lines)


def _printed(shown: dict[str, Any], most: int | None) -> list[str]:
    lines: list[str] = []
    for name in ("stdout", "stderr"):
        text = framing.harmless(str(shown[name])).rstrip("\n")
        if not text:
            continue
        if most is not None and len(text) > most:
            text = "…" + text[-most:]
        lines.append(f"[{name}]\n{text}" if name == "stderr" or most is not None else text)
    if not lines and shown["status"] != "running":
        lines.append("(no output)")
    return lines


def of_event(event: dict[str, Any]) -> str:
    """One line of an event list."""
    phase = event.get("phase")
    message = framing.harmless(str(event.get("message", ""))).replace("\n", " ")
    return f"{event.get('seq')} {event.get('ts')} {event.get('type')}{f'/{phase}' if phase else ''}: {message[:300]}"
