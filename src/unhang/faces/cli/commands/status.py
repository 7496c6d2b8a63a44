"""`unhang status`: the state of one job, or of several."""

from __future__ import annotations

import argparse
import time

from unhang.agents import registry
from unhang.core import mask, plain_text, wording
from unhang.core.attention import to_paste
from unhang.core.durations import human, human_ms
from unhang.core.spec import NAME
from unhang.faces.cli import output, times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SUMMARY = "the state of jobs: phase, limits, last line of output, what it waits for"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang status`."""
    output.add_job(parser, many=True)
    output.add_fleet(parser)
    times.add_utc(parser)
    output.add_json(parser, "print JSON objects, one a line")


def main(args: argparse.Namespace) -> int:
    """Print the state of each job, one property a line, with an empty line between two jobs; return 0."""
    for at, job in enumerate(output.jobs_of(args)):
        status = job.status()
        job.note_seen()
        if args.json:
            output.print_json(registry.with_agent_report(job, status))
            continue
        if at:
            print()
        print_status(status, utc=args.utc)
    return 0


def print_status(status: dict[str, Any], *, utc: bool) -> None:
    """Print what is known of a job, one property a line."""
    for name, text in _lines(status, utc=utc):
        output.print_wrapped(text[:1000], head=f"{name:<10} ")


def _lines(status: dict[str, Any], *, utc: bool) -> list[tuple[str, str]]:
    """Return what is known of a job: the name of each property, and its value."""
    now = time.time()
    labels = {name: value for name, value in status["labels"].items() if name != NAME}
    shown = [
        ("job", f"{status['name']} ({status['jobId']})" if status["name"] else status["jobId"]),
        ("command", plain_text.one_line(status["command"], 300)),
        ("directory", status["cwd"] or ""),
        ("labels", ", ".join(f"{name}={value}" for name, value in labels.items())),
        ("status", _standing(status)),
        ("pid", str(status["pid"]) if status["pid"] is not None and status["status"] == "running" else ""),
        ("started", times.with_age(status["startedAt"], utc=utc, now=now)),
        ("ended", times.with_age(status["endedAt"], utc=utc, now=now)),
        ("how", _how(status)),
        ("has run" if status["status"] == "running" else "took", human_ms(status["durationMs"])),
        ("attempts", _attempts(status)),
        ("limits", _limits(status["limits"])),
        ("ends in", "" if status["endsInMs"] is None else human_ms(status["endsInMs"])),
        ("listens", ", ".join(status["ports"])),
        ("where", status.get("where") or ""),
    ]
    if status["needs"]:
        shown.append(("needs you", status["needs"]["why"]))
        lines = to_paste(status["needs"]["command"], status["needs"]["answers"])
        shown += [("answer it" if at == 0 else "", line) for at, line in enumerate(lines)]
    if status["diagnosis"] and status["status"] != "success":
        shown.append(("why", mask.line(str(status["diagnosis"].get("reason")))))
    if status["heartbeat"]:
        shown.append(("says", mask.line(str(status["heartbeat"]))))
    if status["error"]:
        shown.append(("error", mask.line(str(status["error"].get("message")))))
    words = (status["stdout"] + status["stderr"]).strip().splitlines()
    if words:
        shown.append(("last line", mask.one_line(words[-1], 100)))
    return [(name, text) for name, text in shown if text]


def _standing(status: dict[str, Any]) -> str:
    """Return where the job stands, or how it ended, in the words of every list."""
    needs = None if status["needs"] is None else status["needs"]["kind"]
    return wording.state(
        status["status"],
        status["phase"],
        needs=needs,
        exit_code=status["exitCode"],
        signal=status["signal"],
        cause=(status["diagnosis"] or {}).get("cause"),
    )


def _how(status: dict[str, Any]) -> str:
    """Return how a job ended that did not end well: what its signal means, what it left running."""
    known = str(status.get("ending") or "")
    if wording.is_plain_exit(known, status["exitCode"]):
        return ""
    said_below = status["error"] is not None and str(status["error"].get("message")) in known
    return "" if status["status"] in ("success", "running", "unknown") or said_below else mask.line(known)


def _attempts(status: dict[str, Any]) -> str:
    ends = status.get("attemptEnds") or []
    if not ends:
        return str(status["attempt"]) if status["attempt"] > 1 else ""
    told = "; ".join(f"{end.get('attempt')}: {mask.line(str(end.get('message')))}" for end in ends)
    return f"{len(ends)}, {human_ms(status['totalMs'])} in all; {told}"


def _limits(limits: dict[str, Any]) -> str:
    if not limits:  # not known: of another machine, which is offline
        return ""
    shown = []
    for name, label in (("idleMs", "idle"), ("hardMs", "hard")):
        entry = limits.get(name) or {}
        value = entry.get("value")
        shown.append(f"{label} {'off' if value is None else human(value / 1000)} ({entry.get('source', '?')})")
    return ", ".join(shown)
