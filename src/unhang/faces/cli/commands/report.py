"""`unhang report`: JUnit XML and a Markdown summary of jobs, for CI."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime

from unhang.core import ci
from unhang.errors import UsageError
from unhang.faces.cli import output
from unhang.jobs.handle import attach
from unhang.jobs.home import state_home
from unhang.jobs.report import report_of, select, write_report
from unhang.jobs.request import split_pairs

SUMMARY = "write JUnit XML and a Markdown summary of jobs, for CI"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang report`."""
    parser.add_argument(
        "job", metavar="JOB…", nargs="*", help=f"{output.JOB_HELP}; default: all jobs that are recorded"
    )
    output.add_label_filter(parser)
    parser.add_argument("--junit", metavar="FILE", help="write JUnit XML to this file (-: to stdout)")
    parser.add_argument(
        "--markdown", metavar="FILE", help="append Markdown to this file (-: to stdout, which is the default)"
    )


def main(args: argparse.Namespace) -> int:
    """Write the reports that were asked for, and return 0."""
    if args.job and args.label:
        raise UsageError("give either jobs or --label, not both")
    home = state_home()
    jobs = [attach(home, name) for name in args.job] or select(home, split_pairs("--label", args.label))
    reports = [report_of(job) for job in jobs]
    if args.junit is not None:
        now = datetime.now(UTC).isoformat(timespec="seconds").removesuffix("+00:00")
        _write(args.junit, ci.junit(reports, now), append=False)
    if args.markdown is not None or args.junit is None:
        _write(args.markdown or "-", ci.markdown(reports), append=True)
    return 0


def _write(path: str, text: str, *, append: bool) -> None:
    """Write to a file, or to stdout; a summary is added to what other steps have written before."""
    if path == "-":
        sys.stdout.write(text)
    else:
        write_report(path, text, append=append)
