"""`unhang status`: the state of a job."""

from __future__ import annotations

import argparse

from unhang.agents import registry
from unhang.core import plain_text
from unhang.core.durations import human, human_ms
from unhang.core.spec import command_line
from unhang.faces.cli import output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SUMMARY = "the state of a job: phase, limits, last line of output, what it waits for"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang status`."""
    output.add_job(parser)
    output.add_json(parser)


def main(args: argparse.Namespace) -> int:
    """Print the state of a job, one property a line; return 0."""
    job = output.job_of(args)
    status = job.status()
    if args.json:
        output.print_json(registry.with_agent_report(job, status))
        return 0
    spec = job.spec
    lines = [
        ("job", job.id),
        ("command", plain_text.one_line(command_line(spec), 100)),
        ("directory", spec.get("cwd") or ""),
        ("status", f"{status['status']} ({status['phase']})"),
        ("took", human_ms(status["durationMs"])),
        ("limits", _limits(status["limits"])),
    ]
    if status.get("where"):
        lines.append(("where", status["where"]))
    if status["needsInput"]:
        asked = status["needsInput"]
        lines.append(("waits for", f"input: {plain_text.quoted(asked['prompt'], 900)}"))
        words = asked.get("answers") or "TEXT"
        lines.append(("answer it", f"unhang send {job.id} {plain_text.one_line(words, 300)}"))
    if status["diagnosis"] and status["status"] != "success":
        lines.append(("why", str(status["diagnosis"].get("reason"))))
    if status["heartbeat"]:
        lines.append(("says", str(status["heartbeat"])))
    if status["error"]:
        lines.append(("error", str(status["error"].get("message"))))
    words = (status["stdout"] + status["stderr"]).strip().splitlines()
    if words:
        lines.append(("last line", plain_text.one_line(words[-1], 100)))
    for name, text in lines:
        output.print_line(f"{name:<10} {text[:1000]}")
    return 0


def _limits(limits: dict[str, Any]) -> str:
    shown = []
    for name, label in (("idleMs", "idle"), ("hardMs", "hard")):
        entry = limits.get(name) or {}
        value = entry.get("value")
        shown.append(f"{label} {'off' if value is None else human(value / 1000)} ({entry.get('source', '?')})")
    return ", ".join(shown)
