"""`unhang events`: what happened to a job, from a cursor, now or as it comes."""

from __future__ import annotations

import argparse
import sys
import time

from unhang.core import mask
from unhang.errors import UsageError
from unhang.faces.cli import output, times
from unhang.jobs.handle import log_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from unhang.core.events import Event

SUMMARY = "the events of a job, from a cursor (--after-seq); --follow until it ends"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang events`."""
    output.add_job(parser)
    output.add_fleet(parser)
    parser.add_argument("--after-seq", type=int, metavar="N", help="only events after this number; wins over --since")
    parser.add_argument("--since", metavar="TS", help="only events later than this RFC 3339 time")
    parser.add_argument("--limit", type=int, metavar="N", help="print at most N events")
    parser.add_argument("--follow", "-f", action="store_true", help="wait for further events until the last one")
    times.add_utc(parser)
    output.add_json(parser, "print one JSON object a line, as recorded")
    parser.add_argument(
        "--envelope",
        action="store_true",
        help="with --json: one object with jobId, eventsFile, count and events (not with --follow)",
    )


def main(args: argparse.Namespace) -> int:
    """Print the events of a job, with `--follow` until the last one; return 0."""
    check(args)
    job = output.job_of(args)
    wanted = WantedEvents(args)
    if not args.follow:
        show_all(job.events(args.after_seq, wanted.since, args.limit), args, job.id, job.place.events)
        return 0
    output.leave_with_reader()
    for event in () if wanted.left == 0 else job.follow(args.after_seq or 0):
        if wanted.show(event):
            break
    return 0


class WantedEvents:
    """Prints the events that the options ask for, as they come. `left`: how many more; None: all of them."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.since = log_time(args.since) if args.since is not None and args.after_seq is None else None
        self.left: int | None = args.limit
        self._as_json, self._utc = args.json, args.utc

    def includes(self, event: Event) -> bool:
        """Return whether an event is later than the time that was asked for."""
        return self.since is None or str(event.get("ts", "")) > self.since

    def show(self, event: Event) -> bool:
        """Print an event if it is wanted; return whether it was the last of them."""
        if self.includes(event):
            show(event, as_json=self._as_json, utc=self._utc)
            sys.stdout.flush()
            self.left = None if self.left is None else self.left - 1
        return self.left == 0


def check(args: argparse.Namespace) -> None:
    """Raise UsageError for numbers that make no sense."""
    if (args.after_seq or 0) < 0 or (args.limit is not None and args.limit < 0):
        raise UsageError("--after-seq and --limit must be 0 or greater")
    if args.envelope and (args.follow or not args.json):
        raise UsageError("--envelope needs --json, and cannot be combined with --follow")


def show_all(events: Iterable[Event], args: argparse.Namespace, job_id: str, file: str | None) -> None:
    """Print these events as the options say. `file`: where they are recorded, if that is on this machine."""
    if args.envelope:
        found = list(events)
        output.print_json({"jobId": job_id, "eventsFile": file, "count": len(found), "events": found})
        return
    for event in events:
        show(event, as_json=args.json, utc=args.utc)


def show(event: Event, *, as_json: bool, utc: bool) -> None:
    """Print one event."""
    if as_json:
        output.print_json(event)
        return
    kind = f"{event.get('type')}/{event.get('phase')}" if event.get("type") != "output" else "output"
    at = times.of_event(event["ts"], utc=utc, now=time.time())
    output.print_wrapped(mask.line(event["message"]), f"{event['seq']:>5}  {at:<12}  {kind:<22} ")
