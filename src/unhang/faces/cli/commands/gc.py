"""`unhang gc`: removes the records of ended jobs, the logs of ended sessions, and old runs from the history."""

from __future__ import annotations

import argparse

from unhang.core import durations
from unhang.core.limit_request import read_duration
from unhang.core.retention import DEFAULT_AGE, DEFAULT_BYTES, DEFAULT_COUNT, DEFAULT_HISTORY, Keep
from unhang.errors import UsageError
from unhang.faces.cli import output
from unhang.jobs import history
from unhang.jobs.home import state_home
from unhang.jobs.remove_old import remove_old_jobs, remove_old_sessions

SUMMARY = "delete the records of ended jobs by age, number and size; never a running one's"
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang gc`."""
    parser.add_argument("--age", metavar="D", help=f"remove older ones (default {durations.human(DEFAULT_AGE)})")
    parser.add_argument("--count", type=int, metavar="N", help=f"keep at most N (default {DEFAULT_COUNT})")
    parser.add_argument(
        "--history",
        metavar="D",
        help=f"forget runs in the history that are older (default {durations.human(DEFAULT_HISTORY)}; 0: all of them)",
    )
    parser.add_argument("--bytes", metavar="SIZE", help=f"keep at most this much (default {DEFAULT_BYTES >> 30}G)")
    output.add_json(parser, "print the ids as a JSON object")


def main(args: argparse.Namespace) -> int:
    """Delete old records and print how many; return 0."""
    keep = Keep()
    for name in ("age", "history"):
        if getattr(args, name) is not None:
            keep = keep.replace(**{name: read_duration(f"--{name}", getattr(args, name), off=False)})
    if args.count is not None:
        if args.count < 0:
            raise UsageError("--count must be 0 or greater")
        keep = keep.replace(count=args.count)
    if args.bytes is not None:
        keep = keep.replace(bytes=_size(args.bytes))
    home = state_home()
    removed = remove_old_jobs(home, keep)
    streams = remove_old_sessions(home, keep)
    runs = history.forget(home, keep)
    if args.json:
        more = ({"sessions": streams} if streams else {}) | ({"historyRuns": runs} if runs else {})
        output.print_json({"removed": removed} | more)
    else:
        more_text = (f", {len(streams)} sessions" if streams else "") + (
            f", {runs} runs in the history" if runs else ""
        )
        print(f"{len(removed)} jobs removed{more_text}")
    return 0


def _size(text: str) -> int:
    number, unit = text.strip().lower().removesuffix("b"), ""
    if number and number[-1] in _UNITS:
        number, unit = number[:-1], number[-1]
    if not number.isdecimal():
        raise UsageError(f"--bytes: not a size: {text!r} (try 500M or 2G)")
    return int(number) * _UNITS[unit]
