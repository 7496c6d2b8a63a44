"""The Python face's functions: keyword arguments in, results out. Durations: seconds, text or timedelta."""

from __future__ import annotations

import os

from unhang.core.policy.model import Asked
from unhang.jobs import background, foreground
from unhang.jobs.handle import Job, attach, here
from unhang.jobs.request import Prepared, lead_or_grace, prepare, seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from unhang.core.result import Result
    from unhang.jobs.request import Duration


def _prepared(
    command: str | Sequence[str],
    *,
    shell: bool,
    cwd: str | os.PathLike[str] | None,
    env: Mapping[str, str] | None,
    stdin: str,
    pty: bool,
    keep: bool,
    labels: Mapping[str, str] | None,
    idle: Duration,
    hard: Duration,
    stall: Duration,
    warn: Duration,
    grace: Duration,
    liveness: str | None,
    on_hung: str | None,
    category: str | None,
    policy: str | None,
    retry: int | None,
    foreground: bool,
) -> Prepared:
    asked = Asked(
        idle=seconds("idle", idle),
        hard=seconds("hard", hard),
        stall=seconds("stall", stall),
        warn=lead_or_grace("warn", warn),
        grace=lead_or_grace("grace", grace),
        liveness=liveness,
        on_hung=on_hung,
        category=category,
    )
    return prepare(
        command,
        shell=shell,
        cwd=cwd,
        env=env,
        stdin=stdin,
        pty=pty,
        keep=keep,
        labels=labels,
        policy=policy,
        retry=retry,
        asked=asked,
        foreground=foreground,
    )


def run(
    command: str | Sequence[str],
    *,
    shell: bool = False,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str = "inherit",
    input: str | bytes | None = None,
    pty: bool = False,
    keep: bool = False,
    labels: Mapping[str, str] | None = None,
    idle: Duration = None,
    hard: Duration = None,
    stall: Duration = None,
    warn: Duration = None,
    grace: Duration = None,
    liveness: str | None = None,
    on_hung: str | None = None,
    category: str | None = None,
    policy: str | None = None,
    retry: int | None = None,
) -> Result:
    """Run one command, watched and bounded; its result, whatever happened. Nothing of it is left running.

    `idle`, `hard`, `stall`, `warn`, `grace`: seconds, "5m", a timedelta, or "off"; by default the policy's.
    `input` is given to its stdin. `env` adds to the environment. Use `.check()` to raise on anything but success.
    """
    data = input.encode() if isinstance(input, str) else input
    prepared = _prepared(
        command, shell=shell, cwd=cwd, env=env, stdin=stdin, pty=pty, keep=keep, labels=labels, idle=idle, hard=hard,
        stall=stall, warn=warn, grace=grace, liveness=liveness,
        on_hung=on_hung, category=category, policy=policy, retry=retry, foreground=True,
    )  # fmt: skip
    return foreground.run(prepared, data)


async def arun(
    command: str | Sequence[str],
    *,
    shell: bool = False,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str = "inherit",
    input: str | bytes | None = None,
    pty: bool = False,
    keep: bool = False,
    labels: Mapping[str, str] | None = None,
    idle: Duration = None,
    hard: Duration = None,
    stall: Duration = None,
    warn: Duration = None,
    grace: Duration = None,
    liveness: str | None = None,
    on_hung: str | None = None,
    category: str | None = None,
    policy: str | None = None,
    retry: int | None = None,
) -> Result:
    """As `run`, without blocking the event loop. Cancelling the task ends the job."""
    data = input.encode() if isinstance(input, str) else input
    prepared = _prepared(
        command, shell=shell, cwd=cwd, env=env, stdin=stdin, pty=pty, keep=keep, labels=labels, idle=idle, hard=hard,
        stall=stall, warn=warn, grace=grace, liveness=liveness,
        on_hung=on_hung, category=category, policy=policy, retry=retry, foreground=True,
    )  # fmt: skip
    return await foreground.arun(prepared, data)


def start(
    command: str | Sequence[str],
    *,
    shell: bool = False,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str = "null",
    input: str | bytes | None = None,
    pty: bool = False,
    keep: bool = False,
    labels: Mapping[str, str] | None = None,
    idle: Duration = None,
    hard: Duration = None,
    stall: Duration = None,
    warn: Duration = None,
    grace: Duration = None,
    liveness: str | None = None,
    on_hung: str | None = None,
    category: str | None = None,
    policy: str | None = None,
    retry: int | None = None,
) -> Job:
    """Start a job that outlives this process; returns when it has been started. See `run` for the arguments.

    `stdin="pipe"` lets `job.send()` write to it.
    """
    data = input.encode() if isinstance(input, str) else input
    prepared = _prepared(
        command, shell=shell, cwd=cwd, env=env, stdin=stdin, pty=pty, keep=keep, labels=labels, idle=idle, hard=hard,
        stall=stall, warn=warn, grace=grace, liveness=liveness,
        on_hung=on_hung, category=category, policy=policy, retry=retry, foreground=False,
    )  # fmt: skip
    return background.start(prepared, data)


async def astart(command: str | Sequence[str], **options: Any) -> Job:
    """As `start` (same arguments), without blocking the event loop."""
    import asyncio
    import functools

    return await asyncio.to_thread(functools.partial(start, command, **options))


def job(name: str) -> Job:
    """A job that is there already: by id, unique prefix, or "@last"."""
    return attach(here(), name)


def list_jobs(*, all: bool = False, labels: Mapping[str, str] | None = None) -> list[Job]:
    """The jobs that run (all: those that have ended, too), newest first."""
    from unhang.jobs import listing
    from unhang.store.layout import JobDir

    home = here()
    return [
        Job(JobDir(home, row.id)) for row in listing.list_jobs(home, running_only=not all, labels=dict(labels or {}))
    ]


def wait_any(jobs: Sequence[Job], timeout: Duration = None) -> list[Job]:
    """Those that have ended, as soon as one has; empty when the time is over."""
    from unhang.jobs.following import wait_for_any

    limit = seconds("timeout", timeout)
    places = wait_for_any([job.place for job in jobs], None if isinstance(limit, str) else limit)
    return [Job(place) for place in places]
