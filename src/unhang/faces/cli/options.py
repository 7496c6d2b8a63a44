"""The options shared by the commands that start a job, and the checks of their combinations."""

from __future__ import annotations

import os

from unhang.core.limit_request import LIMIT_NAMES, LimitRequest, read_limits
from unhang.core.limits import LIVENESS, ON_HUNG
from unhang.core.spec import NOTIFY, quote
from unhang.errors import UsageError
from unhang.faces.cli.plain_line import REST_OF_LINE
from unhang.jobs.request import STDIN_WORDS, Prepared, prepare, split_pairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

DURATIONS = "a duration: 90, 90s, 5m, 1h30m, 500ms, 0.5; a bare number is seconds"


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the options of the limits of a job."""
    group = parser.add_argument_group("limits", f"Each is {DURATIONS}. 0 or 'off' switches a limit off.")
    group.add_argument("--idle", metavar="D", help="end it after this long without a sign of life")
    group.add_argument("--hard", metavar="D", help="end it after this long, whatever it does")
    group.add_argument(
        "--timeout-sec",
        metavar="D",
        help="the whole time as one number, as agents send it; under a policy file that stands by itself also the idle "
        "limit, as a quarter of it",
    )
    group.add_argument(
        "--stall", metavar="D", help="report a stall after this long without a sign of life; ends nothing"
    )
    group.add_argument("--warn", metavar="D", help="how long before a limit its warning comes; 0: no warning")
    group.add_argument("--grace", metavar="D", help="how long after SIGTERM before SIGKILL")
    group.add_argument(
        "--liveness",
        choices=LIVENESS,
        help="what counts as a sign of life: progress (output, heartbeats, CPU and I/O of the tree; the default), "
        "output (output alone), heartbeat (output and heartbeats), agent (what an agent's driver hears of it)",
    )
    group.add_argument(
        "--on-hung",
        choices=ON_HUNG,
        help="what a diagnosis of hung does: wait for the limits (default), or end it after its warning",
    )
    group.add_argument("--retry", type=int, metavar="N", help="try again after a timeout, with longer limits")
    group.add_argument("--policy", metavar="FILE", help="take the limits from this policy file ('built-in': none)")
    group.add_argument("--category", metavar="NAME", help="take the limits of this policy category")


def add_agent_job(parser: argparse.ArgumentParser) -> None:
    """Add the options of a job that gives a task to an agent."""
    from unhang.faces.cli import output  # not at the top: `unhang run` does without it

    parser.add_argument("--wait", action="store_true", help="stay in the foreground: print the reply, exit as the job")
    output.add_json(parser, "print the job's status (with --wait: its result) as one JSON object")
    parser.add_argument("--quiet", action="store_true", help="with --wait: print no notices on stderr")
    _add_labels(parser)


_OF_QUEUE = ("priority", "need", "memory", "on_lost", "hold", "checkout")


def add_queue(parser: argparse.ArgumentParser) -> None:
    """Add the options of a job that is put into a queue of the fleet."""
    fleet = parser.add_argument_group("in a queue", "For whichever machine has room (see docs/fleet.md).")
    fleet.add_argument(
        "--fleet", metavar="QUEUE", help="put it into this queue of the fleet instead of starting it here"
    )
    fleet.add_argument("--priority", type=int, metavar="N", help="jobs of a higher priority go first (default 0)")
    fleet.add_argument("--need", metavar="LABEL", action="append", default=[], help="only a worker with this label")
    fleet.add_argument(
        "--memory",
        metavar="SIZE",
        help="memory that the job needs, such as 8G; only a worker with that much left takes it",
    )
    fleet.add_argument(
        "--on-lost",
        choices=("fail", "retry"),
        help="when its worker is lost: fail (default), or run it again elsewhere",
    )
    fleet.add_argument(
        "--hold", metavar="D", help="how long its worker may be silent before it is lost (default 10m; to retry: 1m)"
    )
    fleet.add_argument(
        "--checkout",
        metavar="REPO@REV",
        help="run it in a fresh checkout of this Git revision; unhang queue patch JOB prints what it has changed",
    )


def check_no_queue(args: argparse.Namespace) -> None:
    """Raise UsageError if an option of a queue was given without one."""
    for option in _OF_QUEUE:
        if getattr(args, option, None):
            raise UsageError(f"--{option.replace('_', '-')} is for a job of a queue: give --fleet QUEUE, too")


def add_record(parser: argparse.ArgumentParser) -> None:
    """Add the option to record the conversation with an agent."""
    parser.add_argument("--record", metavar="FILE", help="write every line of the protocol to this file")


def recording(args: argparse.Namespace) -> str | None:
    """Return the path of `--record`; raise UsageError now, and not when the driver starts, if it is not writable."""
    path: str | None = args.record
    if path is None:
        return None
    try:
        with open(path, "a", encoding="utf-8"):
            return os.path.abspath(path)
    except OSError as error:
        raise UsageError(f"--record: cannot write {path!r}: {error.strerror}") from None


def _add_labels(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", metavar="NAME", help="a name, usable wherever an id is; one running job may have it")
    parser.add_argument("--label", metavar="K=V", action="append", default=[], help="a label, for listing")
    parser.add_argument(
        "--notify", metavar="TARGET", action="append", default=[], help="tell this target of alerts.toml, or desktop"
    )


def add_job(parser: argparse.ArgumentParser) -> None:
    """Add the options of a job that runs a command, and the command itself."""
    parser.add_argument("--shell", metavar="LINE", help="run this shell line instead of a command")
    parser.add_argument("--cwd", metavar="DIR", help="the directory to run in")
    parser.add_argument("--env", metavar="NAME=VALUE", action="append", default=[], help="add to the environment")
    parser.add_argument("--pty", action="store_true", default=None, help="run it on a terminal of its own")
    parser.add_argument(
        "--keep", action="store_true", help="processes that it leaves running still belong to the job: do not end them"
    )
    _add_labels(parser)
    parser.add_argument("command", nargs=REST_OF_LINE, metavar="-- COMMAND …", help="the command and its words")


def labels_of(args: argparse.Namespace) -> dict[str, str]:
    """Return the labels of the job to be started, with its name among them; raise UsageError if that is taken."""
    labels = split_pairs("--label", args.label)
    if args.notify:
        from unhang.alerts.settings_file import load

        known = load(os.environ)[0].targets
        for name in args.notify:
            if name not in known:
                raise UsageError(f"--notify: no such target: {name!r}; there are: {', '.join(known)}")
        labels[NOTIFY] = ",".join(dict.fromkeys(args.notify))
    if args.name is None:
        return labels
    from unhang.jobs.home import state_home
    from unhang.jobs.names import with_name

    return with_name(state_home(), labels, args.name)


def requested_limits(args: argparse.Namespace, names: tuple[str, ...] = LIMIT_NAMES) -> LimitRequest:
    """Return the limits that the options of these names (by default those of `add_limits`) ask for."""
    return read_limits({f"--{name.replace('_', '-')}": getattr(args, name) for name in names})


def check_command(args: argparse.Namespace) -> None:
    """Raise UsageError unless there is one command, in one form."""
    words: list[str] = args.command
    if args.shell is not None and words:
        raise UsageError("give either --shell LINE or a command, not both")
    if args.shell is None and not words:
        raise UsageError("no command given (unhang run -- COMMAND …)")
    if args.shell is None and words[0].startswith("-"):
        raise UsageError(f"unknown option: {words[0]} (put -- before a command that starts with a dash)")


def prepare_job(
    args: argparse.Namespace,
    *,
    stdin: str,
    foreground: bool,
    size: tuple[int, int] | None,
    attended: bool = False,
    in_front: bool = True,
) -> Prepared:
    """Return the job that the options describe; raise UsageError where they contradict each other."""
    check_command(args)
    words: list[str] = args.command
    return prepare(
        words if args.shell is None else args.shell,
        shell=args.shell is not None,
        cwd=args.cwd,
        env=split_pairs("--env", args.env),
        stdin=stdin,
        pty=bool(args.pty),
        size=size,
        attended=attended,
        in_front=in_front,
        keep=args.keep,
        labels=labels_of(args),
        policy=args.policy,
        retry=args.retry,
        asked=requested_limits(args),
        foreground=foreground,
    )


def open_stdin(given: str, *, pty: bool) -> tuple[str, int | None]:
    """Return the word for the job's stdin and the descriptor it gets, from `--stdin` (a word, or @FILE)."""
    if given.startswith("@"):
        if pty:
            raise UsageError("--stdin @FILE cannot be combined with --pty")
        return "null", _open_file(given[1:])
    if given not in STDIN_WORDS:
        raise UsageError(f"--stdin must be {', '.join(STDIN_WORDS)} or @FILE, not {given!r}")
    return given, 0 if given == "inherit" and not pty else None


def _open_file(path: str) -> int:
    """Open a regular file or /dev/null; raise UsageError for anything else.

    Opening never waits, as it would for a pipe without a writer.
    """
    import stat

    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise UsageError(f"--stdin: cannot read {path!r}: {getattr(error, 'strerror', error)}") from None
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode) and not os.path.samestat(found, os.stat(os.devnull)):
        os.close(fd)
        if stat.S_ISDIR(found.st_mode):
            raise UsageError(f"--stdin: {path!r} is a directory")
        raise UsageError(f"--stdin: {path!r} is not a regular file (try: cat {quote(path)} | unhang run …)")
    os.set_blocking(fd, True)
    return fd
