"""`unhang start`: a job in the background. Prints its id, and nothing else, on stdout."""

from __future__ import annotations

import argparse

from unhang.errors import UsageError
from unhang.faces.cli import options
from unhang.faces.cli.output import print_json
from unhang.jobs import cleanup
from unhang.jobs.handle import Job
from unhang.jobs.home import state_home
from unhang.jobs.launcher import CallerStreams
from unhang.jobs.start import check_started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.jobs.launcher import Launcher

SUMMARY = "start a command in the background and print its job id"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang start`."""
    parser.add_argument(
        "--json",
        action="store_true",
        help="print the job's status (with --wait: its result) as one JSON object instead",
    )
    parser.add_argument(
        "--stdin", default="null", metavar="SOURCE", help="null (default), pipe (for unhang send) or @FILE"
    )
    parser.add_argument(
        "--wait", action="store_true", help="wait until it has ended, as unhang wait does, and exit with its code"
    )
    fleet = parser.add_argument_group("in a queue", "For whichever machine has room (see docs/fleet.md).")
    fleet.add_argument(
        "--fleet", metavar="QUEUE", help="put it into this queue of the fleet instead of starting it here"
    )
    fleet.add_argument("--priority", type=int, metavar="N", help="jobs of a higher priority go first (default 0)")
    fleet.add_argument("--need", metavar="LABEL", action="append", default=[], help="only a worker with this label")
    fleet.add_argument("--memory", metavar="SIZE", help="the memory that it needs, as 8G: only where so much is left")
    fleet.add_argument(
        "--on-lost",
        choices=("fail", "retry"),
        help="when its worker is lost: fail (default), or run it again elsewhere",
    )
    fleet.add_argument(
        "--hold", metavar="D", help="how long its worker may be silent before it is lost (default 10m; to retry: 1m)"
    )
    options.add_limits(parser)
    options.add_job(parser)


def main(args: argparse.Namespace, launcher: Launcher) -> int:
    """Start the command in the background, print the job's id or its status, and return 0."""
    if args.fleet is not None:
        from unhang.faces.cli.queued_job import submit_command

        return submit_command(args)
    for option in ("priority", "need", "memory", "on_lost", "hold"):
        if getattr(args, option):
            raise UsageError(f"--{option.replace('_', '-')} is for a job of a queue: give --fleet QUEUE, too")
    if args.stdin == "inherit":
        args.stdin = "null"  # a background job must not take keys from the person who types next
    stdin, descriptor = options.open_stdin(args.stdin, pty=bool(args.pty))
    prepared = options.prepare_job(args, stdin=stdin, foreground=False, size=(24, 80) if args.pty else None)
    home = state_home()
    connection = launcher.launch(home, prepared, CallerStreams(descriptor))
    connection.wait_until_started()
    cleanup.in_a_child(home)
    check_started(connection)
    job = Job(connection.place)
    if args.json and not args.wait:
        print_json(job.status())
    elif not args.json:
        print(job.id, flush=True)
    return _wait(job, as_json=args.json) if args.wait else 0


def _wait(job: Job, *, as_json: bool) -> int:
    """Wait for the end of the job; it goes on if this process is ended."""
    from unhang.faces.cli.live import LiveLines
    from unhang.jobs.follow import wait_for_all

    with LiveLines([job]):
        wait_for_all([job.place])
    result = job.result()
    if as_json:
        print_json(result.to_json())
    return result.shell_code
