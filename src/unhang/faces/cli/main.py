"""The command line: finds the command, builds the parser of that one only, turns errors into one line.

One command a file, each with `SUMMARY`, `configure(parser)` and `main(args) → exit code`. `run` and `start` are given
the launcher of their job, too, which is made before their modules are loaded.
"""

from __future__ import annotations

import os
import sys

from unhang.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_USAGE, UnhangError, UsageError, os_error_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.jobs.launcher import ForkingLauncher

# name → module below unhang.faces.cli.commands, in the order of the help text
COMMANDS = {
    "run": "run",
    "start": "start",
    "ps": "ps",
    "needs": "needs",
    "status": "status",
    "result": "result",
    "report": "report",
    "events": "events",
    "logs": "logs",
    "wait": "wait",
    "send": "send",
    "extend": "extend",
    "cancel": "cancel",
    "restart": "restart",
    "beat": "beat",
    "diagnose": "diagnose",
    "policy": "policy",
    "history": "history",
    "agent": "agent",
    "codex": "codex",
    "watch": "watch",
    "web": "web",
    "top": "top",
    "tmux-status": "tmux_status",
    "statusline": "statusline",
    "alerts": "alerts",
    "fleet": "fleet",
    "worker": "worker",
    "queue": "queue",
    "metrics": "metrics",
    "otel": "otel",
    "claude": "claude",
    "hook": "hook",
    "mcp": "mcp",
    "acp": "acp",
    "gc": "gc",
    "doctor": "doctor",
    "completion": "completion",
}
_TAKES_A_COMMAND = frozenset({"run", "start"})
# their start is waited for: a plain line of theirs is read without argparse
_IS_WAITED_FOR = _TAKES_A_COMMAND | {"mcp"}
# what stands behind -- is for the agent
_PASSES_ON = frozenset({"acp", "claude"})

# those that may be about jobs of other machines
_MAY_BE_ELSEWHERE = frozenset({"status", "result", "events", "logs", "wait", "send", "extend", "cancel", "diagnose"})

_LONGEST_COMPLAINT = 2000

EPILOG = (
    "exit codes: the command's own; 124 timed out; 125 unhang failed; 126 not executable; 127 not found; "
    "128+N ended by signal N; 130 cancelled by Ctrl-C; 2 wrong usage"
)


def run(argv: list[str]) -> int:
    """Run one command line; return its exit code. Errors become one line on stderr."""
    try:
        return _dispatch(argv)
    except UnhangError as error:
        _complain(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        if os.isatty(0):
            _die_of_ctrl_c()
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        from unhang.faces.cli.output import EXIT_BROKEN_PIPE

        return EXIT_BROKEN_PIPE
    except OSError as error:
        _complain(os_error_text(error))
        return EXIT_FAILED


def _complain(text: str) -> None:
    """Write one line, broken by words at a terminal.

    It may quote a file of a downloaded project, whose control characters must not act on the terminal.
    """
    from unhang.core.plain_text import one_line

    line = f"unhang: {one_line(text, _LONGEST_COMPLAINT)}"
    try:
        if os.isatty(2):
            from unhang.core.wrap import wrapped

            line = "\n".join(wrapped(line, os.get_terminal_size(2).columns or 80))
        print(line, file=sys.stderr)
    except OSError:
        pass


def _die_of_ctrl_c() -> None:
    """Die of SIGINT, as the programs of a person do: after an exit code a shell would go on with its loop."""
    import signal

    sys.stdout.flush()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)


def _silence_stdout() -> None:
    """The reader is gone: what is still buffered must not fail a second time at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _dispatch(argv: list[str]) -> int:
    if argv[:1] in (["--version"], ["-V"]):
        from unhang import __version__

        print(f"unhang {__version__}")
        return 0
    if argv[:1] == ["help"] and len(argv) > 1:
        argv = [*argv[1:], "--help"]
    if not argv or argv[0] in ("-h", "--help", "help"):
        from unhang.faces.cli.parser import columns

        print(overview(columns()))
        return 0 if argv else EXIT_USAGE
    name = argv[0]
    if name not in COMMANDS:
        from unhang.faces.cli.suggest import instead_of_command

        raise UsageError(f"no such command: {name!r}; {instead_of_command(argv, list(COMMANDS))}")
    words, command = argv[1:], None
    launcher = None
    if name in _TAKES_A_COMMAND | _PASSES_ON and "--" in words:
        at = words.index("--")
        words, command = words[:at], words[at + 1 :]
    if name in _TAKES_A_COMMAND and not {"-h", "--help"} & set(words):
        # before anything else is loaded: the keeper gets ready in the meantime, on another core, and takes longest
        from unhang.jobs.first_spare import check_descriptors, fork_spare

        check_descriptors()
        first = fork_spare()
        from unhang.jobs.launcher import ForkingLauncher

        launcher = ForkingLauncher(first)
    try:
        return _run(name, words, command, launcher)
    finally:
        if launcher is not None:
            launcher.close()


def _run(name: str, words: list[str], command: list[str] | None, launcher: ForkingLauncher | None) -> int:
    from unhang.faces.cli.command_module import load, load_launching

    module = load(COMMANDS[name])
    args, parser = None, None
    if name in _IS_WAITED_FOR:
        from unhang.faces.cli import plain_line

        args = plain_line.read(module, words)
    if args is None:
        from unhang.faces.cli.parser import parser_of

        parser = parser_of(name, module, EPILOG)
        try:
            args = parser.parse(words)
        except SystemExit as stop:  # --help
            return int(stop.code or 0)
    before: list[str] = getattr(args, "command", [])
    args.separated = command is not None and not before
    if command is not None:  # `run git checkout -- file`: behind a command, `--` is a word of its own
        args.command = [*before, "--", *command] if before and launcher is not None else [*before, *command]
    if launcher is not None:
        return load_launching(COMMANDS[name]).main(args, launcher)
    if (
        parser is not None
        and name in _MAY_BE_ELSEWHERE
        and ("--fleet" in words or any("@" in word[1:] for word in words))
    ):
        from unhang.faces.cli import fleet

        if fleet.is_meant(args):
            return fleet.main(name, parser, args)
    return module.main(args)


def overview(width: int = 1000) -> str:
    """Return the text of `unhang --help`: every command with its summary, in lines of at most so many characters."""
    from unhang.core.wrap import wrapped
    from unhang.faces.cli.command_module import load

    lines = ["usage: unhang COMMAND …", ""]
    lines += [*wrapped("Runs commands and agents so that nothing hangs unnoticed.", width, ""), ""]

    longest = max(map(len, COMMANDS))
    margin = " " * (longest + 3)
    for name, module_name in COMMANDS.items():
        first, *more = wrapped(load(module_name).SUMMARY, width - len(margin), "")
        lines += [f"  {name:<{longest}} {first}", *(margin + line for line in more)]
    lines += ["", "unhang COMMAND --help says more.", ""]
    lines += wrapped(EPILOG, width)
    return "\n".join(lines)
