"""`unhang agent`: a task for any agent that speaks the Agent Client Protocol, watched and with an end."""

from __future__ import annotations

import argparse
import os

from unhang.agents.acp.plan import FS, FS_NONE
from unhang.agents.acp.protocol.requests import DENY, POLICIES
from unhang.errors import UsageError
from unhang.faces.cli import options, output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.agents.acp.plan import AcpPlan

SUMMARY = "give a task to any ACP agent: Claude, Codex, Gemini, Qwen, OpenCode, Kimi, Goose, Vibe"
VERBS = ("run", "list")


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="agent_verb", required=True, metavar="|".join(VERBS))
    run = _verb(verbs, "run", "Give an agent a task in the background and print the job id.")
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
        "(answer with unhang send JOB yes|no)",
    )
    run.add_argument("--permission-wait", metavar="D", default="5m", help="with ask: silence is a no after this long")
    run.add_argument(
        "--fs", choices=FS, default=FS_NONE, help="let it read (and write) files of its directory through unhang"
    )
    run.add_argument(
        "--mcp", metavar="NAME=COMMAND", action="append", default=[], help="an MCP server for it: a command, or a URL"
    )
    run.add_argument("--wait", action="store_true", help="stay in the foreground: print its text, exit with its code")
    output.add_json(run, "print the job's status (with --wait: its result) as one JSON object")
    run.add_argument("--quiet", action="store_true", help="with --wait: no talk on stderr")
    run.add_argument("--label", metavar="K=V", action="append", default=[], help="a label, for listing")
    run.add_argument("--record", metavar="FILE", help="write every line of the protocol to this file")
    budgets = run.add_argument_group("budgets", "Beside --idle (silence between its updates) and --hard (the whole).")
    budgets.add_argument("--startup", metavar="D", help="from its start to an open session; default: 90s")
    budgets.add_argument("--first", metavar="D", help="from a task to the first response; default: as --idle")
    budgets.add_argument("--tool", metavar="D", help="how long a tool of it may be silent; default: by policy")
    options.add_limits(run)
    shown = _verb(verbs, "list", "Show the agents with a recipe, and which are installed.")
    output.add_json(shown, "print one JSON array")


def _verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser], name: str, description: str
) -> argparse.ArgumentParser:
    return verbs.add_parser(name, help=description, description=description, allow_abbrev=False)


def main(args: argparse.Namespace) -> int:
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


def _writable(given: str | None) -> str | None:
    """Check now that the recording can be written, and not when the driver starts."""
    if given is None:
        return None
    try:
        with open(given, "w", encoding="utf-8"):
            return os.path.abspath(given)
    except OSError as error:
        raise UsageError(f"--record: cannot write {given!r}: {error.strerror}") from None


def _plan(args: argparse.Namespace) -> AcpPlan:
    from unhang.agents.acp import job
    from unhang.agents.acp.plan import AcpPlan
    from unhang.agents.base.task_input import read_task
    from unhang.core.limit_request import read_positive

    task = read_task(args.task)
    return AcpPlan(
        argv=job.find_agent(args.agent, args.command),
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
        record=_writable(args.record),
    )


def _run(args: argparse.Namespace) -> int:
    from unhang.agents.acp import job
    from unhang.faces.cli.agent_job import options_of, run_agent_job
    from unhang.faces.cli.options import asked_of

    prepared = job.prepare(_plan(args), asked_of(args), options_of(args, args.cwd))
    return run_agent_job(args, prepared, job.with_agent_report)
