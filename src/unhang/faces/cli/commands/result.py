"""`unhang result`: how a job ended, and what it printed. Can be asked again and again."""

from __future__ import annotations

import argparse
import os

from unhang.faces.cli import output
from unhang.faces.cli.stderr import StderrReporter
from unhang.jobs import news_cursor

SUMMARY = "the result of a job: its output, and how it ended; exits as the job did"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang result`."""
    output.add_job(parser)
    output.add_fleet(parser)
    parser.add_argument("--raw", action="store_true", help="print control characters unchanged, even on a terminal")
    output.add_json(parser)


def main(args: argparse.Namespace) -> int:
    """Print the output of a job and, on stderr, its ending; return its exit code (0 while it runs)."""
    job = output.job_of(args)
    result = job.result()
    news_cursor.note(job, job.last_seq(), os.environ)
    if args.json:
        output.print_result(job, result)
    else:
        for stream in ("stdout", "stderr"):
            output.print_output(job.kept(stream), error=stream == "stderr", raw=args.raw)
        reporter = StderrReporter()
        reporter.ending(job.id, result.outcome)
        if result.status == "running":
            reporter.line(f"job {job.id} is still running")
    return 0 if result.status == "running" else result.shell_code
