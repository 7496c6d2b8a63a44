"""`unhang claude`: tasks for headless Claude Code, watched; and the hooks for the Claude Code that people sit at."""

from __future__ import annotations

import argparse
import os

from unhang.errors import UsageError
from unhang.faces.cli import options, output
from unhang.faces.cli.parser import add_verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.agents.claude.plan import ClaudePlan

SUMMARY = "give Claude Code a task and watch it; put unhang's hooks into its settings"
VERBS = ("run", "resume", "status", "monitor", "install", "uninstall")
_PASSED_ON = "Words after -- are passed on to claude as they are."


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verbs of `unhang claude` and their options."""
    verbs = parser.add_subparsers(dest="claude_verb", required=True, metavar="|".join(VERBS))
    run = add_verb(verbs, "run", f"Give Claude Code a task in the background and print the job id. {_PASSED_ON}")
    run.add_argument("task", metavar="TASK", help="the task; - reads it from stdin")
    run.add_argument("--resume", metavar="SESSION", help="go on with this session: its id, or a job that worked on it")
    _add_turn(run)
    options.add_queue(run)
    resume = add_verb(verbs, "resume", f"Go on with a session. {_PASSED_ON}")
    resume.add_argument("resume", metavar="SESSION", help="the session's id, or a job that worked on it")
    resume.add_argument("task", metavar="TASK", help="the next task; - reads it from stdin")
    _add_turn(resume)
    status = add_verb(
        verbs, "status", "Show the installed Claude Code, what works with it, and whether unhang's hooks are installed."
    )
    _add_program(status)
    output.add_json(status)
    add_verb(
        verbs,
        "monitor",
        "Print what happens to the background jobs of this Claude Code session, a line each. Started by the plugin.",
    )
    install = add_verb(
        verbs, "install", "Put unhang's hooks into Claude Code's settings (the plugin does it by itself)."
    )
    _add_settings(install)
    install.add_argument("--mcp", action="store_true", help="add the MCP server to Claude Code's list of servers, too")
    uninstall = add_verb(verbs, "uninstall", "Take unhang's hooks out of Claude Code's settings again.")
    _add_settings(uninstall)
    uninstall.add_argument("--mcp", action="store_true", help="remove the MCP server, too")


def _add_program(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--claude", metavar="FILE", help="the program; default: $UNHANG_CLAUDE, or claude on the PATH")


def _add_turn(parser: argparse.ArgumentParser) -> None:
    options.add_agent_job(parser)
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
        help="tools that need no permission, as in 'Bash(git *),Edit'; no person can be asked, so others may be denied",
    )
    parser.add_argument(
        "--mcp-config", metavar="FILE", action="append", default=[], help="MCP servers: a JSON file, or JSON"
    )
    parser.add_argument("--tool-limit", metavar="D", help="how long a tool may run; default: what is usual for it")
    parser.add_argument(
        "--linger",
        metavar="D",
        default="10s",
        help="how long to wait for commands that Claude left in the background (default 10s)",
    )
    parser.add_argument("--cwd", "--cd", dest="cd", metavar="DIR", help="the directory that Claude works in")
    options.add_record(parser)
    _add_program(parser)
    options.add_limits(parser)


def _add_settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", action="store_true", help="change .claude/settings.json of this directory")
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="show what would change, change nothing")


# The driver sets these options itself; with other values it could not read or interrupt Claude.
_OURS = frozenset({"-p", "--print", "--output-format", "--input-format", "--resume", "-r", "--continue", "-c", "--bg"})


def main(args: argparse.Namespace) -> int:
    """Give Claude Code a task, show its state, or change its settings; return the exit code."""
    from unhang.agents.claude import job
    from unhang.faces.cli.agent_job import give_task

    if args.claude_verb == "status":
        from unhang.faces.cli.commands import claude_status

        return claude_status.main(args)
    if args.claude_verb == "monitor":
        from unhang.faces.cli.commands import claude_monitor

        return claude_monitor.main()
    if args.claude_verb in ("install", "uninstall"):
        from unhang.faces.cli.commands import claude_install

        return claude_install.main(args)
    return give_task(args, job, "claude", _plan(args), options.requested_limits(args), args.cd)


def _plan(args: argparse.Namespace) -> ClaudePlan:
    from unhang.agents.base.task_input import read_task
    from unhang.agents.claude import job
    from unhang.agents.claude.plan import ClaudePlan
    from unhang.core.limit_request import read_positive

    more = tuple(getattr(args, "command", None) or ())
    refused = [name for word in more if (name := word.partition("=")[0]) in _OURS]
    if refused:
        raise UsageError(f"{refused[0]} cannot be passed on to claude: unhang sets it itself")
    return ClaudePlan(
        task=read_task(args.task),
        # the program of a job of a queue is that of the machine which takes it
        claude=job.PROGRAM.find(args.claude)
        if getattr(args, "fleet", None) is None
        else args.claude or job.PROGRAM.name,
        session=job.session_of(args.resume) if args.resume else None,
        model=args.model,
        effort=args.effort,
        permission_mode=args.permission_mode,
        allowed_tools=tuple(args.allowed_tools),
        mcp_config=tuple(_absolute(entry) for entry in args.mcp_config),
        tool_limit=read_positive("--tool-limit", args.tool_limit),
        linger=read_positive("--linger", args.linger) or 10.0,
        record=options.recording(args),
        more=more,
    )


def _absolute(config: str) -> str:
    """A file as seen from here; JSON stays as it is."""
    return config if config.lstrip().startswith("{") else os.path.abspath(os.path.expanduser(config))
