"""`unhang cancel`: ends jobs (SIGTERM, the grace, SIGKILL), and says what was left of them."""

from __future__ import annotations

import argparse

from unhang.core.plural import several
from unhang.errors import EXIT_FAILED, UnhangError, UsageError
from unhang.faces.cli import output
from unhang.faces.cli.stderr import StderrReporter, what_is_left
from unhang.jobs.handle import Job
from unhang.jobs.home import state_home
from unhang.jobs.listing import list_jobs
from unhang.jobs.request import split_pairs
from unhang.jobs.restart import own_jobs

_BY = "unhang cancel"
SUMMARY = "end jobs: SIGTERM, then SIGKILL after the grace; report what was left"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang cancel`."""
    parser.add_argument("job", metavar="JOB…", nargs="*", help=output.JOB_HELP)
    output.add_fleet(parser)
    parser.add_argument(
        "--all", "-a", action="store_true", help="end every running job (but not one that this runs in)"
    )
    parser.add_argument(
        "--label", metavar="K=V", action="append", default=[], help="end every running job with this label"
    )
    parser.add_argument("--force", action="store_true", help="SIGKILL at once")
    parser.add_argument("--no-wait", action="store_true", help="do not wait for the end")
    output.add_json(parser, "print the results as JSON, one a line")


def main(args: argparse.Namespace) -> int:
    """End each of the jobs and report its ending on stderr; return 0, or 125 if one of several could not be asked."""
    reporter = StderrReporter()
    jobs = _jobs(args)
    if not args.job:
        if not jobs:
            reporter.line("no job runs" if args.all else "no job runs with this label")
        for job in jobs:  # all at once: the grace of one is not waited for before the next is asked
            _ask(job, args)
    ended, failed = 0, 0
    for job in jobs:
        try:
            already = job.ended() and bool(args.job)
            result = job.result() if job.ended() else job.cancel(force=args.force, wait=not args.no_wait, by=_BY)
        except UnhangError as error:
            if args.job:
                raise
            failed += 1
            reporter.line(str(error), "31")
            continue
        ended += result.status != "running"
        who, how = output.name_of_job(job), result.outcome.get("message", result.status)
        if already:
            reporter.line(f"{who} has already ended: {how}")
        elif not args.no_wait:
            reporter.line(f"{who}: {how}; {what_is_left(result.error)}")
        if args.json:
            output.print_result(job, result)
    if not args.job and jobs and not args.no_wait:
        reporter.line(f"{ended} of {several(len(jobs), 'job')} ended")
    return EXIT_FAILED if failed else 0


def _jobs(args: argparse.Namespace) -> list[Job]:
    """Return the jobs that are meant; raise UsageError unless they are named in one way."""
    if bool(args.job) + bool(args.all) + bool(args.label) != 1:
        raise UsageError("give jobs, --all or --label K=V (see: unhang cancel --help)")
    if args.job:
        return output.jobs_of(args)
    own = own_jobs()
    rows = list_jobs(state_home(), running_only=True, labels=split_pairs("--label", args.label))
    return [output.job_named(row.id) for row in rows if row.id not in own]


def _ask(job: Job, args: argparse.Namespace) -> None:
    try:
        job.cancel(force=args.force, wait=False, by=_BY)
    except UnhangError:
        pass  # it has ended meanwhile, or says why not when its turn comes
