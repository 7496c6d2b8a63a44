"""What the verbs of `unhang codex` do: words → a plan → a job, in the background or in the foreground."""

from __future__ import annotations

import argparse
import os
import sys

from unhang.core import outcome
from unhang.core.policy.model import Asked
from unhang.core.spec import INHERIT
from unhang.drivers import codex_plan
from unhang.drivers.codex_plan import Plan
from unhang.errors import SpawnError, UsageError
from unhang.faces.cli import common
from unhang.faces.cli.codex_watch import Foreground
from unhang.jobs import codexing, maintenance
from unhang.jobs.background import wait_until_started
from unhang.jobs.handle import Job, attach, here
from unhang.jobs.launching import ForkingLauncher, Streams
from unhang.jobs.request import lead_or_grace, prepare, seconds, split_pairs
from unhang.store import home as homes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.jobs.launching import Launched
    from unhang.jobs.request import Prepared


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


def asked_of(args: argparse.Namespace) -> Asked:
    return Asked(
        idle=seconds("--idle", args.idle),
        hard=seconds("--hard", args.hard),
        stall=seconds("--stall", args.stall),
        warn=lead_or_grace("--warn", args.warn),
        grace=lead_or_grace("--grace", args.grace),
        liveness=args.liveness,
        on_hung=args.on_hung,
        category=args.category,
    )


def _plain(name: str, given: str | None) -> float | None:
    """One that may not be off."""
    found = seconds(name, given)
    if found is None:
        return None
    if isinstance(found, str) or found <= 0:
        raise UsageError(f"{name}: must be a duration")
    return found


def _plan(args: argparse.Namespace, verb: str, **more: Any) -> Plan:
    task = sys.stdin.read() if args.task == codex_plan.FROM_STDIN else args.task
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
        approval_wait=_plain("--approval-wait", args.approval_wait) or 300.0,
        tool_limit=_plain("--tool-limit", args.tool_limit),
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
    job = common.job_of(args)
    thread = codexing.thread_of(job)
    if not job.ended():
        job.cancel(by="unhang codex recover")
        thread = codexing.thread_of(job)
    args.cd = args.cd or job.spec.get("cwd")
    args.label = [*args.label, f"recovers={job.id}"]
    return _start(args, _plan(args, codex_plan.RUN, thread=thread, compact_first=True))


def _start(args: argparse.Namespace, plan: Plan) -> int:
    prepared, data = codexing.prepared(
        plan,
        asked_of(args),
        cwd=args.cd,
        policy=args.policy,
        foreground=args.wait,
        retry=args.retry,
        labels=split_pairs("--label", args.label),
    )
    if args.wait:
        watched = Foreground(quiet=args.quiet)
        return watched.finish(_launch(prepared, data, relay=not args.json), as_json=args.json)
    launched = _launch(prepared, data, relay=False)
    wait_until_started(launched)
    maintenance.in_a_child(launched.place.home)
    job = Job(launched.place)
    _raise_if_not_started(launched, job)
    if args.json:
        common.print_json(codexing.shown(job, job.status()))
    else:
        print(job.id)
    return 0


def _launch(prepared: Prepared, data: bytes | None, *, relay: bool) -> Launched:
    from unhang.jobs.foreground import input_descriptor

    stdin = input_descriptor(prepared, data)
    streams = Streams(stdin, 1, 2) if relay else Streams(stdin)
    return ForkingLauncher().launch(homes.locate(os.environ), prepared, streams)


def _raise_if_not_started(launched: Launched, job: Job) -> None:
    if launched.owner.ended:
        last = job.view().outcome or {}
        error = last.get("error") or {}
        if error.get("code") == "ESPAWN":
            raise SpawnError(str(error.get("message")), outcome.exit_code(last))


def _compact(args: argparse.Namespace) -> int:
    """Always waits: a compaction that was only accepted is not done."""
    plan = Plan(
        verb=codex_plan.COMPACT,
        codex=codexing.find_codex(args.codex),
        thread=args.thread,
        record=None if args.record is None else os.path.abspath(args.record),
        config=tuple(args.config),
    )
    prepared, _ = codexing.prepared(
        plan, asked_of(args), cwd=args.cd, policy=args.policy, foreground=True, retry=args.retry
    )
    watched = Foreground(quiet=False)
    return watched.finish(_launch(prepared, None, relay=not args.json), as_json=args.json)


def _cloud(args: argparse.Namespace) -> int:
    """It has its own limits, and its own screen: everything is passed on as it is."""
    words = [codexing.find_codex(), "cloud", *args.words]
    rules = codexing.policy_for(codexing.CLOUD, os.getcwd(), bounded=False)
    asked = Asked(category=codexing.CLOUD, liveness="output")
    prepared = prepare(words, stdin=INHERIT, policy=rules, asked=asked, labels={"agent": "codex"})
    watched = Foreground(quiet=True)
    launched = ForkingLauncher().launch(homes.locate(os.environ), prepared, Streams(0, 1, 2))
    return watched.finish(launched, as_json=False)
