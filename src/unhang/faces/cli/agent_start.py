"""What the commands that give an agent a task share: their limits in words, starting the job, the first answer."""

from __future__ import annotations

import argparse

from unhang.agents.base.job import JobOptions
from unhang.faces.cli import output
from unhang.faces.cli.agent_monitor import Foreground
from unhang.jobs import cleanup
from unhang.jobs.handle import Job
from unhang.jobs.home import state_home
from unhang.jobs.launcher import ForkingLauncher, Streams
from unhang.jobs.request import split_pairs
from unhang.jobs.start import check_started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.faces.cli.agent_monitor import Shown
    from unhang.jobs.connection import Connection
    from unhang.jobs.request import Prepared


def options_of(args: argparse.Namespace, cwd: str | None) -> JobOptions:
    return JobOptions(
        cwd=cwd,
        policy=args.policy,
        foreground=args.wait,
        retry=args.retry,
        labels=split_pairs("--label", args.label),
    )


def launch(prepared: Prepared, *, relay: bool) -> Connection:
    streams = Streams(None, 1, 2) if relay else Streams(None)
    return ForkingLauncher().launch(state_home(), prepared, streams)


def begin(args: argparse.Namespace, prepared: Prepared, shown: Shown) -> int:
    """With `--wait` to its end, else in the background."""
    if not args.wait:
        return in_the_background(prepared, as_json=args.json, shown=shown)
    watched = Foreground(quiet=args.quiet, shown=shown)
    return watched.finish(launch(prepared, relay=not args.json), as_json=args.json)


def in_the_background(
    prepared: Prepared,
    *,
    as_json: bool,
    shown: Shown,
) -> int:
    """Prints the job id (or its status) as soon as it runs."""
    connection = launch(prepared, relay=False)
    connection.wait_until_started()
    cleanup.in_a_child(connection.place.home)
    check_started(connection)
    job = Job(connection.place)
    if as_json:
        output.print_json(shown(job, job.status()))
    else:
        print(job.id)
    return 0
