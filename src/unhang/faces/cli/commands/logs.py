"""`unhang logs`: what a job printed, now or as it comes."""

from __future__ import annotations

import argparse
import sys

from unhang.core import plain_text
from unhang.errors import UsageError
from unhang.faces.cli import output
from unhang.jobs.follow import Follower
from unhang.jobs.output_cursor import OutputCursor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

SUMMARY = "what a job printed; -f until it ends"
_STREAMS = ("stdout", "stderr")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang logs`."""
    output.add_job(parser)
    parser.add_argument("--follow", "-f", action="store_true", help="wait for further output until the job ends")
    parser.add_argument("--stream", choices=_STREAMS, help="print only this stream (default: stdout, then stderr)")
    parser.add_argument("--tail", type=int, metavar="N", help="print only the last N lines")
    parser.add_argument("--raw", action="store_true", help="print control characters unchanged, even on a terminal")


def main(args: argparse.Namespace) -> int:
    """Print the recorded output of a job, with `--follow` until it ends; return 0."""
    if (args.tail or 0) < 0:
        raise UsageError("--tail must be 0 or greater")
    job = output.job_of(args)
    streams = (args.stream,) if args.stream else _STREAMS
    cursor = OutputCursor(job, streams)
    printer = _OutputPrinter(raw=args.raw or not sys.stdout.isatty())
    if args.tail is not None:
        printer.write(cursor.tail(args.tail))
    if not args.follow:
        if args.tail is None:
            printer.write(cursor.new())
        printer.finish()
        return 0
    output.leave_with_reader()
    with Follower(job.place, output=streams) as follower:
        while True:
            follower.new()
            printer.write(cursor.new())
            if follower.ended:
                printer.finish()
                return 0
            follower.wait()


class _OutputPrinter:
    """Prints output as it is, or harmless for a terminal; each stream may stop in the middle of a sequence."""

    def __init__(self, *, raw: bool) -> None:
        self._raw = raw
        self._texts: dict[str, plain_text.TerminalText] = {}

    def write(self, printed: Iterable[tuple[str, bytes]]) -> None:
        for stream, data in printed:
            if self._raw:
                sys.stdout.buffer.write(data)
            else:
                sys.stdout.write(self._texts.setdefault(stream, plain_text.TerminalText()).feed(data))
        sys.stdout.flush()

    def finish(self) -> None:
        for text in self._texts.values():
            sys.stdout.write(text.finish())
        sys.stdout.flush()
