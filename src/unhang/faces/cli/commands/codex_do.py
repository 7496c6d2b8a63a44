"""What the verbs of `unhang codex` do: words → a plan → a job, in the background or in the foreground."""

from __future__ import annotations

import argparse
import os

from unhang.agents.base import job as agent_terms
from unhang.agents.base.job import Wanted
from unhang.agents.base.task_input import taken
from unhang.agents.codex import job as codexing
from unhang.agents.codex import plan as codex_plan
from unhang.agents.codex.plan import Plan
from unhang.core.limit_request import LimitRequest, read_positive
from unhang.core.spec import INHERIT
from unhang.errors import UsageError
from unhang.faces.cli import output
from unhang.faces.cli.agent_monitor import Foreground
from unhang.faces.cli.agent_start import begin, launch, wanted_of
from unhang.faces.cli.options import asked_of
from unhang.jobs.handle import attach, here
from unhang.jobs.launcher import ForkingLauncher, Streams
from unhang.jobs.request import prepare
from unhang.store import home as homes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main(args: argparse.Namespace) -> int:
    verb = {
        "run": _run,
        "resume": _run,
        "review": _run,
        "cloud": _cloud,
        "compact": _compact,
        "recover": _recover,
    }[args.codex_verb]
    return verb(args)


def _plan(args: argparse.Namespace, verb: str, **more: Any) -> Plan:
    task = taken(args.task)
    via = codex_plan.EXEC if getattr(args, "via", "") == "exec" else verb
    if via == codex_plan.EXEC and args.approvals == codex_plan.ASK:
        raise UsageError("--via exec cannot ask for approvals: codex exec never asks")
    return Plan(
        verb=via,
        task=task,
        codex=codexing.find_codex(args.codex),
        model=args.model,
        effort=args.effort,
        sandbox=args.sandbox,
        ask_for_approval=args.ask_for_approval,
        approvals=args.approvals,
        approval_wait=read_positive("--approval-wait", args.approval_wait) or 300.0,
        tool_limit=read_positive("--tool-limit", args.tool_limit),
        record=None if args.record is None else os.path.abspath(args.record),
        config=tuple(args.config),
        **more,
    )


def _run(args: argparse.Namespace) -> int:
    if args.codex_verb == "review":
        target = "uncommitted"
        if args.base or args.commit:
            target = f"base:{args.base}" if args.base else f"commit:{args.commit}"
            if args.task:
                raise UsageError("give either instructions or one of --base, --commit, not both")
        elif args.task and not args.uncommitted:
            target = "custom"
        return _start(args, _plan(args, codex_plan.REVIEW, target=target))
    thread = args.thread
    if getattr(args, "resume", None):
        if thread:
            raise UsageError("give either --thread or --resume, not both")
        thread = codexing.thread_of(attach(here(), args.resume))
    return _start(args, _plan(args, codex_plan.RUN, thread=thread))


def _recover(args: argparse.Namespace) -> int:
    """The writer's lock on a thread is free when its process has gone: cancel first, and wait for it."""
    job = output.job_of(args)
    thread = codexing.thread_of(job)
    if not job.ended():
        job.cancel(by="unhang codex recover")
        thread = codexing.thread_of(job)
    args.cd = args.cd or job.spec.get("cwd")
    args.label = [*args.label, f"recovers={job.id}"]
    return _start(args, _plan(args, codex_plan.RUN, thread=thread, compact_first=True))


def _start(args: argparse.Namespace, plan: Plan) -> int:
    prepared, data = codexing.prepared(plan, asked_of(args), wanted_of(args, args.cd))
    return begin(args, prepared, data, codexing.shown)


def _compact(args: argparse.Namespace) -> int:
    """Always waits: a compaction that was only accepted is not done."""
    plan = Plan(
        verb=codex_plan.COMPACT,
        codex=codexing.find_codex(args.codex),
        thread=args.thread,
        record=None if args.record is None else os.path.abspath(args.record),
        config=tuple(args.config),
    )
    wanted = Wanted(cwd=args.cd, policy=args.policy, foreground=True, retry=args.retry)
    prepared, _ = codexing.prepared(plan, asked_of(args), wanted)
    watched = Foreground(quiet=False, shown=codexing.shown)
    return watched.finish(launch(prepared, None, relay=not args.json), as_json=args.json)


def _cloud(args: argparse.Namespace) -> int:
    """It has its own limits, and its own screen: everything is passed on as it is."""
    words = [codexing.find_codex(), "cloud", *args.words]
    rules = agent_terms.policy_for(agent_terms.CLOUD, os.getcwd(), bounded=False)
    asked = LimitRequest(category=agent_terms.CLOUD, liveness="output")
    prepared = prepare(words, stdin=INHERIT, policy=rules, asked=asked, labels={"agent": "codex"})
    watched = Foreground(quiet=True, shown=codexing.shown)
    connection = ForkingLauncher().launch(homes.locate(os.environ), prepared, Streams(0, 1, 2))
    return watched.finish(connection, as_json=False)
