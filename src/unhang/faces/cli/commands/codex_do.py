"""What the verbs of `unhang codex` do: words → a plan → a job, in the background or in the foreground."""

from __future__ import annotations

import argparse
import os

from unhang.agents.base.job import CLOUD, JobOptions, policy_for
from unhang.agents.base.task_input import read_task
from unhang.agents.codex import job as codex_job
from unhang.agents.codex import plan as codex_plan
from unhang.agents.codex.plan import CodexPlan
from unhang.core.limit_request import LimitRequest, read_positive
from unhang.core.spec import INHERIT
from unhang.errors import UsageError
from unhang.faces.cli import output
from unhang.faces.cli.agent_monitor import Foreground
from unhang.faces.cli.agent_start import begin, launch, options_of
from unhang.faces.cli.options import asked_of
from unhang.jobs.handle import attach
from unhang.jobs.home import state_home
from unhang.jobs.launcher import ForkingLauncher, Streams
from unhang.jobs.request import prepare

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


def _plan(args: argparse.Namespace, verb: str, **more: Any) -> CodexPlan:
    task = read_task(args.task)
    via = codex_plan.EXEC if getattr(args, "via", "") == "exec" else verb
    if via == codex_plan.EXEC and args.approvals == codex_plan.ASK:
        raise UsageError("--via exec cannot ask for approvals: codex exec never asks")
    return CodexPlan(
        verb=via,
        task=task,
        codex=codex_job.PROGRAM.find(args.codex),
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
        thread = codex_job.thread_of(attach(state_home(), args.resume))
    return _start(args, _plan(args, codex_plan.RUN, thread=thread))


def _recover(args: argparse.Namespace) -> int:
    """The writer's lock on a thread is free when its process has gone: cancel first, and wait for it."""
    job = output.job_of(args)
    thread = codex_job.thread_of(job)
    if not job.ended():
        job.cancel(by="unhang codex recover")
        thread = codex_job.thread_of(job)
    args.cd = args.cd or job.spec.get("cwd")
    args.label = [*args.label, f"recovers={job.id}"]
    return _start(args, _plan(args, codex_plan.RUN, thread=thread, compact_first=True))


def _start(args: argparse.Namespace, plan: CodexPlan) -> int:
    prepared = codex_job.prepare(plan, asked_of(args), options_of(args, args.cd))
    return begin(args, prepared, codex_job.with_agent_report)


def _compact(args: argparse.Namespace) -> int:
    """Always waits: a compaction that was only accepted is not done."""
    plan = CodexPlan(
        verb=codex_plan.COMPACT,
        codex=codex_job.PROGRAM.find(args.codex),
        thread=args.thread,
        record=None if args.record is None else os.path.abspath(args.record),
        config=tuple(args.config),
    )
    options = JobOptions(cwd=args.cd, policy=args.policy, foreground=True, retry=args.retry)
    prepared = codex_job.prepare(plan, asked_of(args), options)
    watched = Foreground(quiet=False, shown=codex_job.with_agent_report)
    return watched.finish(launch(prepared, relay=not args.json), as_json=args.json)


def _cloud(args: argparse.Namespace) -> int:
    """It has its own limits, and its own screen: everything is passed on as it is."""
    words = [codex_job.PROGRAM.find(), "cloud", *args.words]
    rules = policy_for(CLOUD, os.getcwd(), bounded=False)
    asked = LimitRequest(category=CLOUD, liveness="output")
    prepared = prepare(words, stdin=INHERIT, policy=rules, asked=asked, labels={"agent": "codex"})
    watched = Foreground(quiet=True, shown=codex_job.with_agent_report)
    connection = ForkingLauncher().launch(state_home(), prepared, Streams(0, 1, 2))
    return watched.finish(connection, as_json=False)
