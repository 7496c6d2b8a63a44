"""`unhang agent`: a task for any agent that speaks the Agent Client Protocol, watched and with an end."""

from __future__ import annotations

import argparse

from unhang.agents.acp.plan import FS, FS_NONE
from unhang.agents.acp.protocol.requests import DENY, POLICIES
from unhang.faces.cli import options, output

SUMMARY = "give a task to any ACP agent: Claude, Codex, Gemini, Qwen, OpenCode, Kimi, Goose, Vibe"
VERBS = ("run", "list")


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="agent_verb", required=True, metavar="|".join(VERBS))
    run = _verb(verbs, "run", "Give an agent a task in the background and print the job id.")
    run.add_argument("agent", metavar="AGENT", help="its name in `unhang agent list`; with --command: any name")
    run.add_argument("task", metavar="TASK", help="what it shall do; - reads it from stdin")
    run.add_argument("--then", metavar="TASK", action="append", default=[], help="and afterwards, in the same session")
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
    from unhang.faces.cli.commands import agent_do

    return agent_do.main(args)
