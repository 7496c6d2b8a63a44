"""What the verbs of `unhang agent` do: words → a plan → a job, in the background or in the foreground."""

from __future__ import annotations

import argparse
import os

from unhang.agents.acp import job
from unhang.agents.acp.plan import AcpPlan
from unhang.agents.base.task_input import read_task
from unhang.core.limit_request import read_positive
from unhang.errors import UsageError
from unhang.faces.cli import output
from unhang.faces.cli.agent_start import begin, options_of
from unhang.faces.cli.options import asked_of


def main(args: argparse.Namespace) -> int:
    return {"run": _run, "list": _list}[args.agent_verb](args)


def _list(args: argparse.Namespace) -> int:
    found = job.recipes()
    if args.json:
        output.print_json(found)
        return 0
    rows = [["AGENT", "STARTED AS", "PROGRAM"]]
    rows += [[one["agent"], one["command"], one["program"] or f"missing: {one['install']}"] for one in found]
    output.print_table(rows)
    return 0


def _writable(given: str | None) -> str | None:
    """Somebody who asks for a recording is told here that there will be none, and not by the driver's end."""
    if given is None:
        return None
    try:
        with open(given, "w", encoding="utf-8"):
            return os.path.abspath(given)
    except OSError as error:
        raise UsageError(f"--record: cannot write {given!r}: {error.strerror}") from None


def _plan(args: argparse.Namespace) -> AcpPlan:
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
    prepared = job.prepare(_plan(args), asked_of(args), options_of(args, args.cwd))
    return begin(args, prepared, job.with_agent_report)
