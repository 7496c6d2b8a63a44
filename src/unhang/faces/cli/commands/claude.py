"""`unhang claude`: tasks for headless Claude Code, watched; and the hooks for the Claude Code that people sit at."""

from __future__ import annotations

import argparse

from unhang.faces.cli import options, output

SUMMARY = "give Claude Code a task and watch it; put unhang's hooks into its settings"
VERBS = ("run", "resume", "status", "install", "uninstall")
_PASSED_ON = "Words after -- are passed on to claude as they are."


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="claude_verb", required=True, metavar="|".join(VERBS))
    run = _verb(verbs, "run", f"Give Claude Code a task in the background and print the job id. {_PASSED_ON}")
    run.add_argument("task", metavar="TASK", help="what Claude shall do; - reads it from stdin")
    run.add_argument("--resume", metavar="SESSION", help="go on with this session: its id, or a job that worked on it")
    _add_turn(run)
    resume = _verb(verbs, "resume", f"Go on with a session. {_PASSED_ON}")
    resume.add_argument("resume", metavar="SESSION", help="the session's id, or a job that worked on it")
    resume.add_argument("task", metavar="TASK", help="what Claude shall do now; - reads it from stdin")
    _add_turn(resume)
    status = _verb(verbs, "status", "Which Claude Code is there, what works with it, and whether the hooks are in.")
    _add_program(status)
    output.add_json(status)
    install = _verb(verbs, "install", "Put unhang's hooks into Claude Code's settings (the plugin does it by itself).")
    _add_settings(install)
    install.add_argument("--mcp", action="store_true", help="the MCP server too, into Claude Code's list of servers")
    uninstall = _verb(verbs, "uninstall", "Take unhang's hooks out of Claude Code's settings again.")
    _add_settings(uninstall)
    uninstall.add_argument("--mcp", action="store_true", help="the MCP server too")


def _verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser], name: str, description: str
) -> argparse.ArgumentParser:
    text = description.partition(". ")[0].removesuffix(".") + "."
    return verbs.add_parser(name, help=text, description=description, allow_abbrev=False)


def _add_program(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--claude", metavar="FILE", help="the program; default: $UNHANG_CLAUDE, or claude on the PATH")


def _add_turn(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--wait", action="store_true", help="stay in the foreground: print the result, exit with its code"
    )
    output.add_json(parser, "print the job's status (with --wait: its result) as one JSON object")
    parser.add_argument("--quiet", action="store_true", help="with --wait: no talk on stderr")
    parser.add_argument("--model", metavar="NAME", help="the model")
    parser.add_argument("--effort", metavar="LEVEL", help="the effort: low, medium, high, …")
    parser.add_argument(
        "--permission-mode",
        metavar="MODE",
        help="what Claude may do unasked: plan (only read), manual, acceptEdits, dontAsk, auto, bypassPermissions",
    )
    parser.add_argument(
        "--allowed-tools",
        metavar="TOOLS",
        action="append",
        default=[],
        help="tools that need no permission, as in 'Bash(git *),Edit'; nobody can be asked, so others may be denied",
    )
    parser.add_argument(
        "--mcp-config", metavar="FILE", action="append", default=[], help="MCP servers: a JSON file, or JSON"
    )
    parser.add_argument("--tool-limit", metavar="D", help="how long a tool may run; default: what is usual for it")
    parser.add_argument(
        "--linger", metavar="D", default="10s", help="for commands that Claude left in the background (default 10s)"
    )
    parser.add_argument("--label", metavar="K=V", action="append", default=[], help="a label, for listing")
    parser.add_argument("--cwd", "--cd", dest="cd", metavar="DIR", help="the directory that Claude works in")
    parser.add_argument("--record", metavar="FILE", help="write every line of the protocol to this file")
    _add_program(parser)
    options.add_limits(parser)


def _add_settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", action="store_true", help="in .claude/settings.json of this directory")
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="show what would change, change nothing")


def main(args: argparse.Namespace) -> int:
    if args.claude_verb in ("run", "resume", "status"):
        from unhang.faces.cli.commands import claude_do

        return claude_do.main(args)
    from unhang.faces.cli.commands import claude_install

    return claude_install.main(args)
