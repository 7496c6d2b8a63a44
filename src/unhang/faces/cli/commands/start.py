"""`unhang start`: a job in the background. Prints its id, and nothing else, on stdout."""

from __future__ import annotations

from unhang.faces.cli import options
from unhang.faces.cli.output import print_json
from unhang.jobs import cleanup
from unhang.jobs.handle import Job
from unhang.jobs.home import state_home
from unhang.jobs.launcher import CallerStreams
from unhang.jobs.start import check_started

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

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
    options.add_queue(parser)
    options.add_limits(parser)
    options.add_job(parser)


def main(args: argparse.Namespace, launcher: Launcher) -> int:
    """Start the command in the background, print the job's id or its status, and return 0."""
    if args.fleet is not None:
        from unhang.faces.cli.queued_job import submit_command

        return submit_command(args)
    options.check_no_queue(args)
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
