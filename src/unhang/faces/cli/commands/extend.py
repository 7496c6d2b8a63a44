"""`unhang extend`: more time for a job."""

from __future__ import annotations

import argparse

from unhang.core.limit_request import read_duration
from unhang.errors import UsageError
from unhang.faces.cli import output

SUMMARY = "give a job more time: adds to its idle or hard limit"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang extend`."""
    output.add_job(parser)
    output.add_fleet(parser)
    parser.add_argument("--idle", metavar="D", help="extend the idle limit by D")
    parser.add_argument("--hard", metavar="D", help="extend the hard limit by D")


def main(args: argparse.Namespace) -> int:
    """Extend limits of a running job; print nothing and return 0."""
    if args.idle is None and args.hard is None:
        raise UsageError("give --idle D, --hard D or both")
    given = {name: read_duration(f"--{name}", getattr(args, name), off=False) for name in ("idle", "hard")}
    output.job_of(args).extend(**given)
    return 0
