"""`unhang logs`: what jobs printed, in the order written, now or as it comes."""

from __future__ import annotations

import argparse
import sys
import time

from unhang.core import plain_text
from unhang.core.spec import name_of
from unhang.errors import UsageError
from unhang.faces.cli import output, times
from unhang.jobs.follow import Follower
from unhang.jobs.output_cursor import OutputCursor
from unhang.jobs.output_lines import STREAMS, Line, LineReader, OutputTimes, last_lines, streams_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from re import Pattern

    from unhang.core.events import Event
    from unhang.jobs.handle import Job

SUMMARY = "what jobs printed, in the order written; -f until they end"
# how long a follower waits at most before it looks again; and where the system wakes it for nothing
_CHECK_MS, _NAP_MS = 1000, 50


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang logs`."""
    output.add_job(parser, many=True)
    output.add_fleet(parser)
    parser.add_argument("--follow", "-f", action="store_true", help="wait for further output until the jobs end")
    parser.add_argument(
        "--stream", choices=STREAMS, help="print only this stream (default: both, in the order written)"
    )
    parser.add_argument("--tail", "-n", type=int, metavar="N", help="print only the last N lines")
    parser.add_argument("--timestamps", "-t", action="store_true", help="print the time of each line before it")
    parser.add_argument(
        "--since", metavar="WHEN", help="print only lines from then on: 10m (ago), or an RFC 3339 time; to the second"
    )
    parser.add_argument("--grep", metavar="REGEX", help="print only lines that this regular expression matches")
    parser.add_argument("--raw", action="store_true", help="print control characters unchanged, even on a terminal")
    times.add_utc(parser)


def main(args: argparse.Namespace) -> int:
    """Print the recorded output of jobs, with `--follow` until they end; return 0."""
    if (args.tail or 0) < 0:
        raise UsageError("--tail must be 0 or greater")
    jobs = output.jobs_of(args)
    raw = args.raw or not sys.stdout.isatty()
    plain = not (args.timestamps or args.since or args.grep) and len(jobs) == 1
    names = _prefixes(jobs) if len(jobs) > 1 else [""]
    log = _PlainLog if plain else _Log
    logs = [log(job, args, _Filter(args), name, raw=raw) for job, name in zip(jobs, names, strict=True)]
    if args.follow:
        output.leave_with_reader()
        _follow(logs, streams_of(args.stream))
    else:
        for one in logs:
            one.begin()
            one.finish()
    for job in jobs:
        job.note_seen()
    return 0


def _prefixes(jobs: list[Job]) -> list[str]:
    names = [name_of(job.spec.get("labels")) or job.id for job in jobs]
    width = max(map(len, names))
    return [f"{name.ljust(width)} | " for name in names]


def _follow(logs: list[_Log], streams: tuple[str, ...]) -> None:
    """Print what comes, of all of them, until the last has ended."""
    import select

    followers = [Follower(log.job.place, output=streams) for log in logs]
    poll = select.poll()
    for follower in followers:
        if follower.fd >= 0:
            poll.register(follower.fd, select.POLLIN)
    blind = any(follower.fd < 0 for follower in followers)
    running = list(zip(logs, followers, strict=True))
    for log in logs:
        log.begin()
    try:
        while running:
            for log, follower in list(running):
                follower.clear()
                log.learn(follower.new())
                ended = follower.ended
                log.more()
                if ended:
                    log.finish()
                    running.remove((log, follower))
                    if follower.fd >= 0:
                        poll.unregister(follower.fd)
            if running:
                poll.poll(_NAP_MS if blind else _CHECK_MS)
    finally:
        for follower in followers:
            follower.close()


class _Filter:
    """Which lines are wanted."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.since = None if args.since is None else times.read_since(args.since, time.time())
        self._pattern = None if args.grep is None else _compiled(args.grep)

    @property
    def everything(self) -> bool:
        return self.since is None and self._pattern is None

    def wants(self, line: Line, at: float) -> bool:
        if self.since is not None and at < self.since:
            return False
        return self._pattern is None or self._pattern.search(line.text) is not None


def _compiled(text: str) -> Pattern[str]:
    import re

    try:
        return re.compile(text)
    except re.error as error:
        raise UsageError(f"--grep: not a regular expression: {error}") from None


class _Log:
    """The output of one job, on its way to stdout."""

    def __init__(self, job: Job, args: argparse.Namespace, wanted: _Filter, prefix: str, *, raw: bool) -> None:
        self.job = job
        self._streams = streams_of(args.stream)
        self._tail: int | None = args.tail
        self._times = OutputTimes(job) if args.timestamps or wanted.since is not None else None
        self._stamps: bool = args.timestamps
        self._utc: bool = args.utc
        self._wanted = wanted
        self._prefix = prefix
        self._raw = raw
        self._texts: dict[str, plain_text.TerminalText] = {}
        self._learned = 0

    def begin(self) -> None:
        """Print what is there, or the end of it."""
        self.learn(self.job.events() if self._times is not None else [])
        if self._tail is None:
            self._reader = LineReader(OutputCursor(self.job, self._streams), self._streams)
            self.more()
            return
        if self._wanted.everything:
            lines, self._reader = last_lines(self.job, self._streams, self._tail)
        else:  # the last of those that are wanted, wherever they are
            self._reader = LineReader(OutputCursor(self.job, self._streams), self._streams)
            lines = [line for line in [*self._reader.new(), *self._reader.rest()] if self._wants(line)]
            lines = lines[-self._tail :] if self._tail else []
        self._print(lines)

    def learn(self, events: list[Event]) -> None:
        """Hear of new events: they say when something was printed."""
        if self._times is not None:
            self._times.add([event for event in events if event["seq"] > self._learned])
            self._learned = max([self._learned, *(event["seq"] for event in events)])

    def more(self) -> None:
        """Print what is new, line by line."""
        self._print(self._reader.new())

    def finish(self) -> None:
        """Print what still waits for the end of its line or of its sequence."""
        self._print(self._reader.rest())
        for text in self._texts.values():
            sys.stdout.write(text.finish())
        sys.stdout.flush()

    def _print(self, lines: Iterable[Line]) -> None:
        for line in filter(self._wants, lines):
            stamp = f"{times.format_time(self._time(line), utc=self._utc)} " if self._stamps else ""
            head = stamp + self._prefix
            end = b"\n" if head and not line.data.endswith(b"\n") else b""
            self._write(line.stream, head, line.data + end)
        sys.stdout.flush()

    def _wants(self, line: Line) -> bool:
        return self._wanted.everything or self._wanted.wants(line, self._time(line))

    def _time(self, line: Line) -> float:
        """When it was printed; what is not recorded yet was printed just now."""
        at = None if self._times is None else self._times.at(line)
        return time.time() if at is None else at

    def _write(self, stream: str, head: str, data: bytes) -> None:
        if self._raw:
            sys.stdout.flush()
            sys.stdout.buffer.write(head.encode() + data)
        else:
            sys.stdout.write(head + self._texts.setdefault(stream, plain_text.TerminalText()).feed(data))


class _PlainLog(_Log):
    """As it was printed: also the half of a line as soon as it is there."""

    def more(self) -> None:
        for piece in self._reader.cursor.new():
            self._write(piece.stream, "", piece.data)
        sys.stdout.flush()
