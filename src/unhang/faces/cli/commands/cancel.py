"""`unhang cancel`: ends jobs (SIGTERM, the grace, SIGKILL)."""

from __future__ import annotations

import argparse

from unhang.faces.cli import output
from unhang.faces.cli.stderr import StderrReporter

SUMMARY = "end jobs: SIGTERM, then SIGKILL after the grace; report what was left"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang cancel`."""
    output.add_job(parser, many=True)
    parser.add_argument("--force", action="store_true", help="SIGKILL at once")
    parser.add_argument("--no-wait", action="store_true", help="do not wait for the end")
    output.add_json(parser, "print the results as JSON, one a line")


def main(args: argparse.Namespace) -> int:
    """End each of the jobs and report its ending on stderr; return 0."""
    reporter = StderrReporter()
    for job in output.jobs_of(args):
        if job.ended():
            result = job.result()
            reporter.line(f"job {job.id} has already ended: {result.outcome.get('message', result.status)}")
        else:
            result = job.cancel(force=args.force, wait=not args.no_wait, by="unhang cancel")
            if not args.no_wait:
                reporter.line(f"job {job.id}: {result.outcome.get('message', result.status)}")
        if args.json:
            output.print_result(job, result)
    return 0
