"""`unhang run`: one command in the foreground; its output and exit code are passed on, notices go to stderr."""

from __future__ import annotations

import os
import sys

from unhang import plain_signal as signal
from unhang.core import events as ev
from unhang.core import outcome
from unhang.core.spec import name_of, quote, short_name
from unhang.errors import UnhangError
from unhang.faces.cli import options, stderr
from unhang.faces.cli.job_monitor import CaughtSignals, JobMonitor
from unhang.faces.cli.terminal import UserTerminal, is_in_front, is_person_in_front
from unhang.jobs import cleanup
from unhang.jobs.home import state_home
from unhang.jobs.launcher import CallerStreams

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from unhang.jobs.connection import JobConnection
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
    parser.add_argument(
        "--no-pty",
        dest="pty",
        action="store_false",
        default=None,
        help="run it on pipes also where all three streams are your terminal, and it would get one of its own",
    )
    options.add_limits(parser)
    options.add_job(parser)


def main(args: argparse.Namespace, launcher: Launcher) -> int:
    """Run the command to its end and relay its output; return its exit code."""
    if args.pty is None:
        args.pty = not args.json and args.stdin == "inherit" and is_person_in_front()
    terminal = UserTerminal() if args.pty else None
    stdin, descriptor = options.open_stdin(args.stdin, pty=args.pty)
    size = terminal.size() if terminal is not None else None
    attended = stdin == "inherit" and os.isatty(0) and os.isatty(2) and not args.json
    prepared = options.prepare_job(
        args, stdin=stdin, foreground=True, size=size, attended=attended, in_front=is_in_front()
    )
    signals = CaughtSignals(resizes=terminal is not None, passes_on=True)
    relays = (None, None) if args.json else (1, 2)
    streams = CallerStreams(descriptor, *relays)
    home = state_home()
    connection = launcher.launch(home, prepared, streams)
    cleanup.in_a_child(home)
    spec = prepared.spec
    reporter = stderr.StderrReporter(quiet=args.quiet, name=short_name(spec), named=bool(name_of(spec.labels)))
    forwards = terminal is not None and stdin == "inherit"
    monitor = JobMonitor(connection, reporter, signals, terminal if forwards else None, attended=attended)
    last = monitor.wait_for_end()
    connection.wait_for_guard()
    code = _finish(connection, last, reporter, as_json=args.json)
    if last is not None and last.get("exitCode") and not args.separated and any(map(_is_option, args.command[1:])):
        _name_option_behind(args.command, connection, reporter)
    if attended and last is not None:
        _die_of_key(last)
    return code


def _is_option(word: str) -> bool:
    return word.startswith("--")


def _name_option_behind(command: list[str], connection: JobConnection, reporter: stderr.StderrReporter) -> None:
    """Say so if the program did not know an option that is one of `unhang run`, and stands behind the command."""
    from unhang.faces.cli.plain_line import options_of
    from unhang.faces.cli.suggest import option_behind
    from unhang.jobs.results import result_of

    result = result_of(connection.place)
    option = option_behind(command, options_of(configure), result.stdout + result.stderr)
    if option:
        instead = f"unhang run {option} … -- {quote(command[0])} …"
        reporter.line(f"try: {instead} (options of unhang go before the command; {option} went to it)")


def _die_of_key(last: ev.Event) -> None:
    """Die of Ctrl-C or Ctrl-\\ if the command did: after an exit code a shell would go on with its loop."""
    if last.get("cancelledBy") == "SIGINT":
        number = signal.SIGINT
    elif last.get("signal") == "SIGQUIT":
        import resource

        number = signal.SIGQUIT
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the command's own core is enough
    else:
        return
    signal.set_wakeup_fd(-1)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _finish(connection: JobConnection, last: ev.Event | None, reporter: stderr.StderrReporter, *, as_json: bool) -> int:
    if last is None:
        last = connection.outcome()
    if last is not None and _was_ended(last) and connection.shown.get("restore"):
        _restore_screen(str(connection.shown["restore"]))
    if as_json:
        from unhang.core.values import dump
        from unhang.jobs.results import result_of

        result = result_of(connection.place)
        sys.stdout.write(dump(result.to_json()) + "\n")
        sys.stdout.flush()
    if last is None:
        raise UnhangError("the job was not started, or its record is gone")
    reporter.ending(connection.place.id, last)
    if os.environ.get("GITHUB_STEP_SUMMARY") and _is_news(last):
        _add_to_step_summary(connection.place.id, os.environ["GITHUB_STEP_SUMMARY"])
    return outcome.exit_code(last)


def _was_ended(last: ev.Event) -> bool:
    """Whether the program did not end by itself. One that did may leave the terminal as it likes (`tput civis`)."""
    return last.get("exitCode") is None or last.get("status") in ("timeout", "cancelled")


def _is_news(last: ev.Event) -> bool:
    """Whether a person who looks at the summary of a CI run must know of this end. An exit code is in the log."""
    return last.get("status") == "timeout" or bool(last.get("leaked")) or ev.error_code(last) == ev.ELOST


def _add_to_step_summary(job_id: str, path: str) -> None:
    """Add a short table to the summary of this step."""
    from unhang.core import ci
    from unhang.jobs.handle import attach
    from unhang.jobs.report import report_of, write_report

    text = ci.step_summary(report_of(attach(state_home(), job_id)))
    try:
        write_report(path, text, append=True)
    except UnhangError as error:
        sys.stderr.write(f"unhang: the step summary: {error}\n")


def _restore_screen(sequences: str) -> None:
    """The program was ended before it could give the terminal back: leave its screen, show the cursor."""
    try:
        os.write(1, sequences.encode())
    except OSError:
        pass
