"""`unhang codex`: tasks for Codex, watched; its threads resumed, reviewed with, compacted, recovered."""

from __future__ import annotations

import argparse
import os

from unhang.agents.codex.plan import APPROVALS, DENY, SANDBOXES
from unhang.errors import UsageError
from unhang.faces.cli import options, output
from unhang.faces.cli.parser import add_verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.agents.codex.plan import CodexPlan

SUMMARY = "give Codex a task, watch it, compact and recover its threads"
VERBS = ("run", "resume", "review", "cloud", "compact", "recover", "news")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verbs of `unhang codex` and their options."""
    verbs = parser.add_subparsers(dest="codex_verb", required=True, metavar="|".join(VERBS))
    run = add_verb(verbs, "run", "Give Codex a task in the background and print the job id.")
    run.add_argument("task", metavar="TASK", help="the task; - reads it from stdin")
    run.add_argument("--thread", metavar="ID", help="go on with this thread")
    run.add_argument("--resume", metavar="JOB", help="go on with the thread of this job")
    _add_turn(run)
    options.add_queue(run)
    resume = add_verb(verbs, "resume", "Go on with a thread.")
    resume.add_argument("thread", metavar="THREAD", help="the thread's id (unhang codex run --json shows it)")
    resume.add_argument("task", metavar="TASK", help="the next task; - reads it from stdin")
    _add_turn(resume)
    review = add_verb(verbs, "review", "Let Codex review changes.")
    review.add_argument("task", nargs="?", default="", metavar="TEXT", help="instructions instead of a choice below")
    which = review.add_mutually_exclusive_group()
    which.add_argument("--uncommitted", action="store_true", help="the working tree (the default)")
    which.add_argument("--base", metavar="BRANCH", help="the changes against this branch")
    which.add_argument("--commit", metavar="SHA", help="the changes of this commit")
    _add_turn(review, app_server_only=True)
    cloud = add_verb(verbs, "cloud", "Pass a command on to `codex cloud`, without a local limit.")
    cloud.add_argument("words", nargs=argparse.REMAINDER, metavar="WORDS", help="as for codex cloud")
    compact = add_verb(
        verbs, "compact", "Compact a thread and wait until it is done; exits with an error if it was not compacted."
    )
    compact.add_argument("thread", metavar="THREAD", help="the thread's id")
    _add_program(compact)
    output.add_json(compact, "print the outcome as one JSON object")
    options.add_limits(compact)
    recover = add_verb(verbs, "recover", "Cancel a job, compact its thread and go on with another prompt.")
    output.add_job(recover)
    recover.add_argument("--prompt", dest="task", required=True, metavar="TEXT", help="the next task")
    _add_turn(recover, app_server_only=True)
    add_verb(
        verbs,
        "news",
        "The command behind Codex's hooks: tells Codex what has happened to the jobs it started (JSON on stdin).",
    )


def _add_program(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--codex", metavar="FILE", help="the program; default: $UNHANG_CODEX, or codex on the PATH")
    parser.add_argument("--cd", metavar="DIR", help="the directory that Codex works in")
    parser.add_argument(
        "--config", "-c", metavar="KEY=VALUE", action="append", default=[], help="a Codex setting, as for codex -c"
    )
    options.add_record(parser)


def _add_turn(parser: argparse.ArgumentParser, *, app_server_only: bool = False) -> None:
    options.add_agent_job(parser)
    parser.add_argument("--model", metavar="NAME", help="the model")
    parser.add_argument("--effort", metavar="LEVEL", help="the reasoning effort: low, medium, high, …")
    parser.add_argument("--sandbox", choices=SANDBOXES, help="what Codex may do; default: as it is configured")
    parser.add_argument(
        "--approvals",
        choices=APPROVALS,
        default=DENY,
        help="the answer when Codex asks: deny (default), accept, or ask (answer with unhang send JOB yes, or no)",
    )
    parser.add_argument("--approval-wait", metavar="D", default="5m", help="with ask: deny if no answer comes within D")
    parser.add_argument(
        "--ask-for-approval",
        choices=("untrusted", "on-request", "never"),
        help="when Codex asks; default: as it is configured",
    )
    parser.add_argument(
        "--tool-limit", metavar="D", help="how long a command that Codex runs may be silent; default: by policy"
    )
    if not app_server_only:
        parser.add_argument(
            "--via",
            choices=("app-server", "exec"),
            default="app-server",
            help="how to talk to Codex: app-server (default: sees everything) or exec",
        )
    _add_program(parser)
    options.add_limits(parser)


def main(args: argparse.Namespace) -> int:
    """Run one verb of `unhang codex`; return the exit code."""
    verb = {
        "run": _run,
        "resume": _run,
        "review": _run,
        "cloud": _cloud,
        "compact": _compact,
        "recover": _recover,
        "news": _news,
    }[args.codex_verb]
    return verb(args)


def _news(_args: argparse.Namespace) -> int:
    from unhang.faces.cli.commands import codex_news

    return codex_news.main()


def _plan(args: argparse.Namespace, verb: str, **more: Any) -> CodexPlan:
    from unhang.agents.base.task_input import read_task
    from unhang.agents.codex import job as codex_job
    from unhang.agents.codex import plan as codex_plan
    from unhang.agents.codex.plan import CodexPlan
    from unhang.core.limit_request import read_positive

    task = read_task(args.task)
    via = codex_plan.EXEC if getattr(args, "via", "") == "exec" else verb
    if via == codex_plan.EXEC and args.approvals == codex_plan.ASK:
        raise UsageError("--via exec cannot ask for approvals: codex exec never asks")
    return CodexPlan(
        verb=via,
        task=task,
        # the program of a job of a queue is that of the machine which takes it
        codex=codex_job.PROGRAM.find(args.codex)
        if getattr(args, "fleet", None) is None
        else args.codex or codex_job.PROGRAM.name,
        model=args.model,
        effort=args.effort,
        sandbox=args.sandbox,
        ask_for_approval=args.ask_for_approval,
        approvals=args.approvals,
        approval_wait=read_positive("--approval-wait", args.approval_wait) or 300.0,
        tool_limit=read_positive("--tool-limit", args.tool_limit),
        record=options.recording(args),
        config=tuple(args.config),
        **more,
    )


def _run(args: argparse.Namespace) -> int:
    from unhang.agents.codex import job as codex_job
    from unhang.agents.codex import plan as codex_plan
    from unhang.jobs.handle import attach
    from unhang.jobs.home import state_home

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
    """Cancel the job and wait for its end, which frees its lock on the thread; then compact and go on."""
    from unhang.agents.codex import job as codex_job
    from unhang.agents.codex import plan as codex_plan

    job = output.job_of(args)
    thread = codex_job.thread_of(job)
    if not job.ended():
        job.cancel(by="unhang codex recover")
        thread = codex_job.thread_of(job)
    args.cd = args.cd or job.spec.get("cwd")
    args.label = [*args.label, f"recovers={job.id}"]
    return _start(args, _plan(args, codex_plan.RUN, thread=thread, compact_first=True))


def _start(args: argparse.Namespace, plan: CodexPlan) -> int:
    from unhang.agents.codex import job as codex_job
    from unhang.faces.cli.agent_job import give_task

    return give_task(args, codex_job, "codex", plan, options.requested_limits(args), args.cd)


def _compact(args: argparse.Namespace) -> int:
    """Compact in the foreground: Codex accepts a compaction long before it is done."""
    from unhang.agents.base.job import JobOptions
    from unhang.agents.codex import job as codex_job
    from unhang.agents.codex import plan as codex_plan
    from unhang.agents.codex.plan import CodexPlan
    from unhang.faces.cli.agent_job import AgentMonitor, launch

    plan = CodexPlan(
        verb=codex_plan.COMPACT,
        codex=codex_job.PROGRAM.find(args.codex),
        thread=args.thread,
        record=options.recording(args),
        config=tuple(args.config),
    )
    job_options = JobOptions(cwd=args.cd, policy=args.policy, foreground=True, retry=args.retry)
    prepared = codex_job.prepare(plan, options.requested_limits(args), job_options)
    monitor = AgentMonitor(quiet=False, add_report=codex_job.with_agent_report)
    return monitor.wait_for_end(launch(prepared, relay=not args.json), as_json=args.json)


def _cloud(args: argparse.Namespace) -> int:
    """Run `codex cloud`, which has its own limits and its own screen: input and output are passed on unchanged."""
    from unhang.agents.codex import job as codex_job
    from unhang.core.spec import INHERIT
    from unhang.faces.cli.agent_job import AgentMonitor
    from unhang.jobs.home import state_home
    from unhang.jobs.launcher import CallerStreams, ForkingLauncher

    prepared = codex_job.prepare_cloud(
        codex_job.PROGRAM.find(), args.words, os.getcwd(), {}, stdin=INHERIT, foreground=True
    )
    monitor = AgentMonitor(quiet=True, add_report=codex_job.with_agent_report)
    connection = ForkingLauncher().launch(state_home(), prepared, CallerStreams(0, 1, 2))
    return monitor.wait_for_end(connection, as_json=False)
