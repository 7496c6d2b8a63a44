"""`unhang extend`: more time for a job."""

from __future__ import annotations

import argparse

from unhang.core import durations
from unhang.errors import UsageError
from unhang.faces.cli import output

SUMMARY = "give a job more time: adds to its idle or hard limit"


def configure(parser: argparse.ArgumentParser) -> None:
    output.add_job(parser)
    parser.add_argument("--idle", metavar="D", help="so much more silence")
    parser.add_argument("--hard", metavar="D", help="so much more time in all")


def main(args: argparse.Namespace) -> int:
    if args.idle is None and args.hard is None:
        raise UsageError("say by how much: --idle D, --hard D or both")
    given = {name: _duration(name, getattr(args, name)) for name in ("idle", "hard")}
    output.job_of(args).extend(**given)
    return 0


def _duration(name: str, text: str | None) -> float | None:
    try:
        return None if text is None else durations.parse(text)
    except ValueError as error:
        raise UsageError(f"--{name}: {error}") from None
