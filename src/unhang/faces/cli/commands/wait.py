"""`unhang wait`: waits until jobs have ended."""

from __future__ import annotations

import argparse
import os

from unhang.core.limit_request import read_duration
from unhang.errors import EXIT_TIMEOUT, UsageError
from unhang.faces.cli import output
from unhang.faces.cli.live import TIME_OVER, LiveLines, say_what_goes_on
from unhang.faces.cli.stderr import StderrReporter
from unhang.jobs import news_cursor
from unhang.jobs.follow import wait_for_all, wait_for_any
from unhang.jobs.handle import Job
from unhang.jobs.home import state_home
from unhang.jobs.listing import list_jobs
from unhang.jobs.request import split_pairs
from unhang.jobs.restart import own_jobs

SUMMARY = "wait until jobs have ended; exits with the code of the first that failed, 124 if the time is over"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang wait`."""
    parser.add_argument("job", metavar="JOB…", nargs="*", help=output.JOB_HELP)
    parser.add_argument(
        "--label",
        metavar="K=V",
        action="append",
        default=[],
        help="wait for every job with this label; those that have ended count, too",
    )
    output.add_fleet(parser)
    parser.add_argument("--any", action="store_true", help="wait until one of them has ended, and print which")
    parser.add_argument("--timeout", metavar="D", help="wait no longer than this (the jobs go on)")
    output.add_json(parser, "print the results as JSON, one a line")


def main(args: argparse.Namespace) -> int:
    """Wait for the jobs; return 0 if all succeeded, else the code of the first that did not; 124: the time is over."""
    jobs = _jobs(args)
    timeout = read_duration("--timeout", args.timeout, off=False)
    places = [job.place for job in jobs]
    with LiveLines(jobs) as lines:
        done = wait_for_any(places, timeout) if args.any else wait_for_all(places, timeout)
    ended = [Job(place) for place in done]
    for job in ended:
        news_cursor.note(job, job.last_seq(), os.environ)
        if args.json:
            output.print_result(job, job.result())
        elif args.any:
            print(job.id)
    if not ended or (not args.any and len(ended) < len({job.id for job in jobs})):
        say_what_goes_on({job.id: job for job in jobs}.values(), TIME_OVER)
        return EXIT_TIMEOUT
    return _exit_code(ended, say=len(set(jobs)) > 1 and not lines.shown)


def _jobs(args: argparse.Namespace) -> list[Job]:
    """Return the jobs that are meant; raise UsageError unless they are named in one way."""
    if bool(args.job) == bool(args.label):
        how = "; a job is meant by its name, its id or @last, and unhang ps --all lists them"
        raise UsageError(f"give jobs or --label K=V{'' if args.job else how} (see: unhang wait --help)")
    if args.job:
        return output.jobs_of(args)
    own = own_jobs()  # a job that waits for itself would never end
    rows = list_jobs(state_home(), labels=split_pairs("--label", args.label))
    found = [output.job_named(row.id) for row in reversed(rows) if row.id not in own]
    if not found:
        raise UsageError("no job has this label")
    return found


def _exit_code(ended: list[Job], *, say: bool) -> int:
    """Return the code of the first job, as they were named, that did not succeed; with `say`, say which did not."""
    failed = [(job, job.result()) for job in ended if not job.result().ok]
    if say:
        reporter = StderrReporter()
        for job, result in failed:
            reporter.line(f"{output.name_of_job(job)}: {result.outcome.get('message', result.status)}")
    return failed[0][1].shell_code if failed else 0
