"""`unhang agent`: a task for any agent that speaks the Agent Client Protocol, watched and with an end."""

from __future__ import annotations

import argparse

from unhang.agents.acp.plan import FS, FS_NONE
from unhang.agents.acp.protocol.requests import DENY, POLICIES
from unhang.faces.cli import options, output
from unhang.faces.cli.parser import add_verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.agents.acp.plan import AcpPlan

SUMMARY = "give a task to any ACP agent: Claude, Codex, Gemini, Qwen, OpenCode, Kimi, Goose, Vibe"
VERBS = ("run", "list")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verbs of `unhang agent` and their options."""
    verbs = parser.add_subparsers(dest="agent_verb", required=True, metavar="|".join(VERBS))
    run = add_verb(verbs, "run", "Give an agent a task in the background and print the job id.")
    run.add_argument("agent", metavar="AGENT", help="its name in `unhang agent list`; with --command: any name")
    run.add_argument("task", metavar="TASK", help="the task; - reads it from stdin")
    run.add_argument(
        "--then", metavar="TASK", action="append", default=[], help="a further task afterwards, in the same session"
    )
    run.add_argument("--command", metavar="LINE", help="how the agent is started, where no recipe knows it")
    run.add_argument("--session", metavar="ID", help="go on with this session, where the agent can")
    run.add_argument("--cwd", metavar="DIR", help="the directory that it works in")
    run.add_argument("--model", metavar="NAME", help="the model, where the agent offers a choice")
    run.add_argument("--mode", metavar="NAME", help="the mode, where the agent offers a choice: plan, default, yolo, …")
    run.add_argument(
        "--permissions",
        choices=POLICIES,
        default=DENY,
        help="the answer when it asks: deny (default), allow, allow-once (never for longer), or ask "
        "(answer with unhang send JOB yes, or no)",
    )
    run.add_argument("--permission-wait", metavar="D", default="5m", help="with ask: deny if no answer comes within D")
    run.add_argument(
        "--fs", choices=FS, default=FS_NONE, help="let it read (and write) files of its directory through unhang"
    )
    run.add_argument(
        "--mcp", metavar="NAME=COMMAND", action="append", default=[], help="an MCP server for it: a command, or a URL"
    )
    options.add_agent_job(run)
    options.add_queue(run)
    options.add_record(run)
    budgets = run.add_argument_group(
        "budgets", "In addition to --idle (silence between two updates) and --hard (the whole job)."
    )
    budgets.add_argument("--startup", metavar="D", help="how long it may take to open a session; default: 90s")
    budgets.add_argument(
        "--first", metavar="D", help="how long a task may go without a first response; default: as --idle"
    )
    budgets.add_argument("--tool", metavar="D", help="how long a tool call may be silent; default: by policy")
    options.add_limits(run)
    shown = add_verb(verbs, "list", "Show the agents with a recipe, and which are installed.")
    output.add_json(shown, "print one JSON array")


def main(args: argparse.Namespace) -> int:
    """Give an agent a task, or list the agents; return the exit code."""
    return {"run": _run, "list": _list}[args.agent_verb](args)


def _list(args: argparse.Namespace) -> int:
    from unhang.agents.acp import job

    found = job.recipes()
    if args.json:
        output.print_json(found)
        return 0
    rows = [["AGENT", "STARTED AS", "PROGRAM"]]
    rows += [[one["agent"], one["command"], one["program"] or f"missing: {one['install']}"] for one in found]
    output.print_table(rows)
    return 0


def _plan(args: argparse.Namespace) -> AcpPlan:
    from unhang.agents.acp import job
    from unhang.agents.acp.plan import AcpPlan
    from unhang.agents.base.task_input import read_task
    from unhang.core.limit_request import read_positive

    task = read_task(args.task)
    return AcpPlan(
        # the program of a job of a queue is that of the machine which takes it
        argv=(job.find_agent if args.fleet is None else job.words_of)(args.agent, args.command),
        tasks=(task, *args.then),
        agent=args.agent,
        session=args.session,
        model=args.model,
        session_mode=args.mode,
        permissions=args.permissions,
        permission_wait=read_positive("--permission-wait", args.permission_wait) or 300.0,
        fs=args.fs,
        mcp=tuple(job.check_mcp(entry) for entry in args.mcp),
        startup=read_positive("--startup", args.startup) or job.STARTUP,
        first=read_positive("--first", args.first),
        tool=read_positive("--tool", args.tool),
        record=options.recording(args),
    )


def _run(args: argparse.Namespace) -> int:
    from unhang.agents.acp import job
    from unhang.faces.cli.agent_job import give_task

    return give_task(args, job, args.agent, _plan(args), options.requested_limits(args), args.cwd)
