"""`unhang logs`: what a job printed, now or as it comes."""

from __future__ import annotations

import argparse
import sys

from unhang.core import plain_text
from unhang.errors import UsageError
from unhang.faces.cli import output
from unhang.jobs.follow import Follower
from unhang.store.output import gap_line, ring_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.jobs.handle import Job

SUMMARY = "what a job printed; -f until it ends"
_STREAMS = ("stdout", "stderr")
_MOST_TAIL = 1 << 20


def configure(parser: argparse.ArgumentParser) -> None:
    output.add_job(parser)
    parser.add_argument("--follow", "-f", action="store_true", help="go on until it ends")
    parser.add_argument("--stream", choices=_STREAMS, help="one stream only (both: stdout first, then stderr)")
    parser.add_argument("--tail", type=int, metavar="N", help="only the last N lines")
    parser.add_argument("--raw", action="store_true", help="control characters as they are, even on a terminal")


def main(args: argparse.Namespace) -> int:
    if (args.tail or 0) < 0:
        raise UsageError("--tail takes a number from 0 on")
    job = output.job_of(args)
    show = _Shown(raw=args.raw or not sys.stdout.isatty())
    streams = (args.stream,) if args.stream else _STREAMS
    places = dict.fromkeys(streams, 0)
    if args.tail is not None:
        for stream in streams:
            places[stream] = _show_tail(job, stream, args.tail, show)
    if not args.follow:
        if args.tail is None:
            _show_new(job, places, show)
        show.finish()
        return 0
    output.leave_with_reader()
    also = [path for stream in streams for path in (job.place.stream(stream), ring_path(job.place.stream(stream)))]
    with Follower(job.place, also=tuple(also)) as follower:
        while True:
            follower.new()
            _show_new(job, places, show)
            if follower.ended:
                show.finish()
                return 0
            follower.wait()


class _Shown:
    """As it is, or harmless for a terminal; each stream may stop in the middle of a sequence."""

    def __init__(self, *, raw: bool) -> None:
        self._raw = raw
        self._texts: dict[str, plain_text.TerminalText] = {}

    def write(self, stream: str, data: bytes) -> None:
        if self._raw:
            sys.stdout.buffer.write(data)
        else:
            sys.stdout.write(self._texts.setdefault(stream, plain_text.TerminalText()).feed(data))

    def finish(self) -> None:
        for text in self._texts.values():
            sys.stdout.write(text.finish())
        sys.stdout.flush()


def _show_new(job: Job, places: dict[str, int], show: _Shown) -> None:
    for stream, offset in places.items():
        while True:
            piece = job.output(stream, offset)
            if not piece.data:
                break
            if piece.offset > offset:
                show.write(stream, gap_line(piece.offset - offset))
            show.write(stream, piece.data)
            offset = places[stream] = piece.next
    sys.stdout.flush()


def _show_tail(job: Job, stream: str, lines: int, show: _Shown) -> int:
    """Where to read on."""
    end = job.printed(stream)
    at, data = max(0, end - _MOST_TAIL), b""
    while at < end:
        piece = job.output(stream, at, end - at)
        if not piece.data:
            break
        data, at = data + piece.data, piece.next
    last = data.splitlines(keepends=True)[-lines:] if lines > 0 else []
    show.write(stream, b"".join(last))
    return at
