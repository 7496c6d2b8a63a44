"""What the commands that give an agent a task share: their limits in words, starting the job, the first answer."""

from __future__ import annotations

import argparse
import os

from unhang.agents.base.job import JobOptions
from unhang.core import outcome
from unhang.errors import SpawnError, UsageError
from unhang.faces.cli import output
from unhang.faces.cli.agent_monitor import Foreground
from unhang.jobs import cleanup
from unhang.jobs.handle import Job
from unhang.jobs.launcher import ForkingLauncher, Streams
from unhang.jobs.request import seconds, split_pairs
from unhang.store import home as homes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.faces.cli.agent_monitor import Shown
    from unhang.jobs.launcher import Launched
    from unhang.jobs.request import Prepared


def plain(name: str, given: str | None) -> float | None:
    """A duration that may not be off."""
    found = seconds(name, given)
    if found is None:
        return None
    if isinstance(found, str) or found <= 0:
        raise UsageError(f"{name}: must be a duration")
    return found


def options_of(args: argparse.Namespace, cwd: str | None) -> JobOptions:
    return JobOptions(
        cwd=cwd,
        policy=args.policy,
        foreground=args.wait,
        retry=args.retry,
        labels=split_pairs("--label", args.label),
    )


def launch(prepared: Prepared, *, relay: bool) -> Launched:
    streams = Streams(None, 1, 2) if relay else Streams(None)
    return ForkingLauncher().launch(homes.locate(os.environ), prepared, streams)


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
    launched = launch(prepared, relay=False)
    launched.owner.wait_until_started()
    cleanup.in_a_child(launched.place.home)
    job = Job(launched.place)
    _raise_if_not_started(launched, job)
    if as_json:
        output.print_json(shown(job, job.status()))
    else:
        print(job.id)
    return 0


def _raise_if_not_started(launched: Launched, job: Job) -> None:
    if launched.owner.ended:
        last = job.view().outcome or {}
        error = last.get("error") or {}
        if error.get("code") == "ESPAWN":
            raise SpawnError(str(error.get("message")), outcome.exit_code(last))
