"""`unhang watch`: interactive agents in tmux, watched; what hangs is ended by the gentlest step that works."""

from __future__ import annotations

import argparse

from unhang.faces.cli import output

SUMMARY = "watch Claude Code in tmux; end hung tool calls by the gentlest step that works"
VERBS = ("status", "events", "install", "uninstall")


def configure(parser: argparse.ArgumentParser) -> None:
    _add_which(parser)
    _add_limits(parser)
    parser.add_argument("--once", action="store_true", help="print what there is, do nothing and leave")
    output.add_json(parser, "one JSON object a line: with --once the sessions, else every event of the watcher")
    parser.add_argument("--dry-run", action="store_true", default=None, help="say what would be done, and do nothing")
    parser.add_argument(
        "--background", action="store_true", help="go to the background; leaves when there are no sessions any more"
    )
    parser.add_argument("--take-over", action="store_true", help="if a watcher runs already, wait until it has ended")
    parser.add_argument("--linger", metavar="D", help="leave when there was no session for so long")
    verbs = parser.add_subparsers(dest="watch_verb", metavar="|".join(VERBS))
    status = _verb(verbs, "status", "Whether a watcher runs, and the sessions as it sees them.")
    output.add_json(status)
    status.add_argument("--config-dir", metavar="DIR", action="append", default=[], help="another one of Claude Code")
    events = _verb(verbs, "events", "What happened in a session: its hooks, and what the watcher saw and did.")
    events.add_argument("session", nargs="?", metavar="SESSION", help="its id or a unique prefix; default: the newest")
    events.add_argument("--after-seq", type=int, default=0, metavar="N", help="only events after this number")
    events.add_argument("--follow", "-f", action="store_true", help="go on")
    events.add_argument("--all", action="store_true", help="hooks, too, not only the watcher's own")
    output.add_json(events, "print one JSON object a line, as recorded")
    for name, text in (
        ("install", "Let a watcher run for good: a systemd user unit where there is one, else a background job."),
        ("uninstall", "Undo what install did."),
    ):
        below = _verb(verbs, name, text)
        below.add_argument("--yes", "-y", action="store_true", help="do not ask")
        below.add_argument("--dry-run", dest="show_only", action="store_true", help="show what would be changed")
        if name == "install":
            below.add_argument("--job", action="store_true", help="a plain background job, even where systemd is")
            _add_limits(below)


def _verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser], name: str, description: str
) -> argparse.ArgumentParser:
    return verbs.add_parser(name, help=description, description=description, allow_abbrev=False)


def _add_which(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pane", metavar="%N", action="append", default=[], help="only in this tmux pane")
    parser.add_argument("--session", metavar="ID", action="append", default=[], help="only this session (or prefix)")
    parser.add_argument(
        "--config-dir",
        metavar="DIR",
        action="append",
        default=[],
        help="where Claude Code keeps its state, besides ~/.claude, $CLAUDE_CONFIG_DIR and what its hooks name",
    )


def _add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE", help="settings; default: ~/.config/unhang/watch.toml")
    parser.add_argument(
        "--limit",
        metavar="PATTERN=D",
        action="append",
        default=[],
        help="how long a tool may take, as 'mcp__slow__*=5m' (defaults: WebFetch 3m, WebSearch 10m, mcp__* 30m, "
        "Bash its own timeout + 1m)",
    )
    parser.add_argument("--turn", metavar="D", help="how long a turn may be busy without a finished step (30m)")
    parser.add_argument("--total", metavar="D", help="how long a turn may be busy at all (off)")
    parser.add_argument("--api", metavar="D", help="how long the API may be silent (10m)")
    parser.add_argument("--warn", metavar="D", help="how long before a limit to warn (a fifth of it)")
    parser.add_argument("--hands-off", metavar="D", help="after a key of a person nothing is done for so long (30s)")
    parser.add_argument("--cooldown", metavar="D", help="between two steps, and before another try (15s)")
    parser.add_argument("--verify", metavar="D", help="how long a step may take to show its effect (6s)")
    parser.add_argument("--budget", metavar="N", type=int, help="steps an hour for one session (8)")
    parser.add_argument("--machine-budget", metavar="N", type=int, help="steps an hour for the machine (40)")
    parser.add_argument(
        "--allow-clear", action="store_true", default=None, help="/clear after repeated hangs; the state is saved first"
    )
    parser.add_argument("--clear-after", metavar="N", type=int, help="/clear after so many hangs in a row (2)")
    parser.add_argument(
        "--allow-restart", action="store_true", default=None, help="restart with --resume where Escape has no effect"
    )
    parser.add_argument("--notify", metavar="CMD", help="a shell line to run for warnings (event on stdin)")


def main(args: argparse.Namespace) -> int:
    if args.watch_verb in ("install", "uninstall"):
        from unhang.faces.cli.commands import watch_install

        return watch_install.main(args)
    from unhang.faces.cli.commands import watch_do

    return watch_do.main(args)
