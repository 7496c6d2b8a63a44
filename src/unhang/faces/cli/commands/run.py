"""`unhang run`: one command in the foreground; its output and exit code are passed on, notices go to stderr."""

from __future__ import annotations

import argparse
import sys

from unhang.core import outcome
from unhang.errors import UnhangError
from unhang.faces.cli import options, stderr
from unhang.faces.cli.job_monitor import CaughtSignals, JobMonitor
from unhang.faces.cli.terminal import UserTerminal
from unhang.jobs import cleanup
from unhang.jobs.home import state_home
from unhang.jobs.launcher import CallerStreams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core import events as ev
    from unhang.jobs.connection import Connection
    from unhang.jobs.launcher import Launcher

SUMMARY = "run a command in the foreground: watched, bounded, ended whole"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang run`."""
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object, and nothing else")
    parser.add_argument("--quiet", action="store_true", help="print no notices on stderr")
    parser.add_argument(
        "--stdin",
        default="inherit",
        metavar="SOURCE",
        help="inherit (default), null, pipe (for unhang send) or @FILE",
    )
    options.add_limits(parser)
    options.add_job(parser)


def main(args: argparse.Namespace, launcher: Launcher) -> int:
    """Run the command to its end and relay its output; return its exit code."""
    terminal = UserTerminal() if args.pty else None
    stdin, descriptor = options.open_stdin(args.stdin, pty=args.pty)
    size = terminal.size() if terminal is not None else None
    prepared = options.prepare_job(args, stdin=stdin, foreground=True, size=size)
    signals = CaughtSignals(resizes=terminal is not None)
    relays = (None, None) if args.json else (1, 2)
    streams = CallerStreams(descriptor, *relays)
    home = state_home()
    connection = launcher.launch(home, prepared, streams)
    cleanup.in_a_child(home)
    reporter = stderr.StderrReporter(quiet=args.quiet, raw=terminal is not None and terminal.is_tty)
    forwards = terminal is not None and stdin == "inherit"
    monitor = JobMonitor(connection, reporter, signals, terminal if forwards else None)
    last = monitor.wait_for_end()
    connection.wait_for_guard()
    return _finish(connection, last, reporter, as_json=args.json)


def _finish(connection: Connection, last: ev.Event | None, reporter: stderr.StderrReporter, *, as_json: bool) -> int:
    if last is None:
        last = connection.outcome()
    if as_json:
        from unhang.core.values import dump
        from unhang.jobs.results import result_of

        result = result_of(connection.place)
        sys.stdout.write(dump(result.to_json()) + "\n")
        sys.stdout.flush()
    if last is None:
        raise UnhangError("the job was not started, or its record is gone")
    reporter.ending(connection.place.id, last)
    return outcome.exit_code(last)
