"""`unhang gc`: removes the records of ended jobs, the logs of ended sessions, and old runs from the history."""

from __future__ import annotations

import argparse

from unhang.core import durations, plain_text
from unhang.core.limit_request import read_duration
from unhang.core.plural import several
from unhang.core.retention import DEFAULT_AGE, DEFAULT_BYTES, DEFAULT_COUNT, DEFAULT_HISTORY, Keep
from unhang.core.sizes import human_size, read_size
from unhang.core.spec import command_line
from unhang.errors import UsageError
from unhang.faces.cli import output
from unhang.jobs import history
from unhang.jobs.disk_use import disk_use
from unhang.jobs.home import state_home
from unhang.jobs.remove_old import remove_named_jobs, remove_old_jobs, remove_old_sessions
from unhang.jobs.request import split_pairs

SUMMARY = "delete the records of ended jobs by age, number and size, or by name; never a running one's"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang gc`."""
    parser.add_argument(
        "job", metavar="JOB…", nargs="*", help=f"{output.JOB_HELP}; only these, however young; each must have ended"
    )
    parser.add_argument("--age", metavar="D", help=f"remove older ones (default {durations.human(DEFAULT_AGE)})")
    parser.add_argument("--count", type=int, metavar="N", help=f"keep at most N (default {DEFAULT_COUNT})")
    parser.add_argument(
        "--history",
        metavar="D",
        help=f"forget runs in the history that are older (default {durations.human(DEFAULT_HISTORY)}; 0: all of them)",
    )
    parser.add_argument("--bytes", metavar="SIZE", help=f"keep at most this much (default {DEFAULT_BYTES >> 30}G)")
    parser.add_argument("--dry-run", action="store_true", help="remove nothing; say what would be removed")
    parser.add_argument(
        "--label", metavar="K=V", action="append", default=[], help="only jobs with this label; no sessions, no history"
    )
    output.add_json(parser, "print the ids as a JSON object")


def main(args: argparse.Namespace) -> int:
    """Delete old records, or those of the jobs that are named, and print how many; return 0."""
    keep = _keep(args)
    home = state_home()
    labels = split_pairs("--label", args.label)
    only_jobs = bool(labels or args.job)
    if args.job:
        places = [job.place for job in output.jobs_of(args)]
        jobs = remove_named_jobs(home, places, dry_run=args.dry_run)
    else:
        jobs = remove_old_jobs(home, keep, labels=labels, dry_run=args.dry_run)
    streams = [] if only_jobs else remove_old_sessions(home, keep, dry_run=args.dry_run)
    runs = 0 if only_jobs or args.dry_run else history.forget(home, keep)
    use = disk_use(home)
    if args.json:
        more = ({"sessions": streams} if streams else {}) | ({"historyRuns": runs} if runs else {})
        more |= {"dryRun": True} if args.dry_run else {}
        sizes = {"freedBytes": sum(jobs.values()), "jobs": use.jobs, "bytes": use.total}
        output.print_json({"removed": list(jobs)} | more | sizes)
        return 0
    if args.dry_run:
        for job, size in jobs.items():
            command = plain_text.one_line(command_line(output.job_named(job).spec), 80)
            output.print_line(f"{job}  {human_size(size):>10}  {command}")
    more_text = f", {several(len(streams), 'session')}" if streams else ""
    more_text += f", {several(runs, 'run')} in the history" if runs else ""
    what = "would be removed" if args.dry_run else "removed"
    output.print_wrapped(
        f"{several(len(jobs), 'job')} {what} ({human_size(sum(jobs.values()))}){more_text}; {use.text}"
    )
    return 0


def _keep(args: argparse.Namespace) -> Keep:
    """Return how much the options would keep; raise UsageError for jobs together with an option that chooses jobs."""
    chosen = [name for name in ("age", "count", "bytes", "history", "label") if getattr(args, name) not in (None, [])]
    if args.job and chosen:
        raise UsageError(f"give jobs or --{chosen[0]}, not both (see: unhang gc --help)")
    keep = Keep()
    for name in ("age", "history"):
        if getattr(args, name) is not None:
            keep = keep.replace(**{name: read_duration(f"--{name}", getattr(args, name), off=False)})
    if args.count is not None:
        if args.count < 0:
            raise UsageError("--count must be 0 or greater")
        keep = keep.replace(count=args.count)
    if args.bytes is not None:
        keep = keep.replace(bytes=read_size("--bytes", args.bytes))
    return keep
