"""Starts the job of an agent's task, in the background or (`--wait`) followed to its end."""

from __future__ import annotations

import argparse

from unhang.agents.base.job import JobOptions
from unhang.core import outcome
from unhang.errors import EXIT_FAILED
from unhang.faces.cli.job_monitor import CaughtSignals, JobMonitor
from unhang.faces.cli.options import check_no_queue, labels_of
from unhang.faces.cli.output import print_json
from unhang.faces.cli.stderr import StderrReporter
from unhang.jobs import cleanup
from unhang.jobs.handle import Job
from unhang.jobs.home import state_home
from unhang.jobs.launcher import CallerStreams, ForkingLauncher
from unhang.jobs.start import check_started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from unhang.agents.base.plan import AgentPlan
    from unhang.agents.registry import AgentJob
    from unhang.core.limit_request import LimitRequest
    from unhang.jobs.connection import JobConnection
    from unhang.jobs.request import Prepared

    # Adds what is known of the agent to a result or a status.
    AddReport = Callable[[Job, dict[str, Any]], dict[str, Any]]


def options_of(args: argparse.Namespace, cwd: str | None) -> JobOptions:
    """Return the job options that every agent has."""
    return JobOptions(
        cwd=cwd,
        policy=args.policy,
        foreground=args.wait,
        retry=args.retry,
        labels=labels_of(args),
    )


def launch(prepared: Prepared, *, relay: bool) -> JobConnection:
    """Start the job; with `relay` its output is passed on to stdout and stderr."""
    streams = CallerStreams(None, 1, 2) if relay else CallerStreams(None)
    return ForkingLauncher().launch(state_home(), prepared, streams)


def give_task(
    args: argparse.Namespace, agent: AgentJob, name: str, plan: AgentPlan, asked: LimitRequest, cwd: str | None
) -> int:
    """Start the job that carries out a plan, or put it into the queue that `--fleet` names; return the exit code."""
    if getattr(args, "fleet", None) is not None:
        from unhang.faces.cli.queued_job import submit_agent

        return submit_agent(args, agent.PROTOCOL, name, plan, cwd)
    check_no_queue(args)
    return run_agent_job(args, agent.prepare(plan, asked, options_of(args, cwd)), agent.with_agent_report)


def run_agent_job(args: argparse.Namespace, prepared: Prepared, add_report: AddReport) -> int:
    """Run the job to its end with `--wait`, else start it in the background; return the exit code of the command."""
    if not args.wait:
        return start_in_background(prepared, as_json=args.json, add_report=add_report)
    monitor = AgentMonitor(quiet=args.quiet, add_report=add_report)
    return monitor.wait_for_end(launch(prepared, relay=not args.json), as_json=args.json)


def start_in_background(prepared: Prepared, *, as_json: bool, add_report: AddReport) -> int:
    """Start the job, and print its id (or its status) as soon as it runs."""
    connection = launch(prepared, relay=False)
    connection.wait_until_started()
    cleanup.in_a_child(connection.place.home)
    check_started(connection)
    job = Job(connection.place)
    if as_json:
        print_json(add_report(job, job.status()))
    else:
        print(job.id)
    return 0


class AgentReporter(StderrReporter):
    """Reports what the agent does: its commands, edits and errors, each once."""

    def event(self, event: dict[str, Any], job_id: str) -> None:
        """Report an event, unless another one has said the same."""
        if event.get("method") != "thread/status/changed":  # repeats another event
            super().event(event, job_id)


class AgentMonitor:
    """Follows an agent's job in the foreground: what the agent does goes to stderr, its reply to stdout.

    Make it before the job is started, so that no signal is lost in between.
    """

    def __init__(self, *, quiet: bool, add_report: AddReport) -> None:
        self._add_report = add_report
        self._reporter = AgentReporter(quiet=quiet)
        self._signals = CaughtSignals(resizes=False)

    def wait_for_end(self, connection: JobConnection, *, as_json: bool) -> int:
        """Follow the job to its end, print its result with `as_json`, and return its exit code."""
        last = JobMonitor(connection, self._reporter, self._signals, None).wait_for_end()
        cleanup.in_a_child(connection.place.home)
        connection.wait_for_guard()
        if last is None:
            last = connection.outcome()
        job = Job(connection.place)
        if as_json:
            print_json(self._add_report(job, job.result().to_json()))
        if last is None:
            return EXIT_FAILED
        self._reporter.ending(job.id, last | {"suggestions": job.result().suggestions})
        return outcome.exit_code(last)
