"""The Python face's functions: keyword arguments in, results out. Durations: seconds, text or timedelta."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

from unhang.core.limit_request import LIMIT_NAMES, read_duration, read_limits
from unhang.jobs import run as foreground
from unhang.jobs import start as background
from unhang.jobs.callbacks import Callbacks
from unhang.jobs.handle import Job, attach
from unhang.jobs.home import state_home
from unhang.jobs.names import with_name
from unhang.jobs.request import Prepared, prepare

if TYPE_CHECKING:
    import os
    from typing import Unpack

    from unhang.core.limit_request import Duration
    from unhang.core.result import Result
    from unhang.jobs.callbacks import Callback
    from unhang.jobs.request import Command


class Options(TypedDict, total=False):
    """What `run`, `arun`, `start` and `astart` take besides the command."""

    shell: bool  # the command is a shell line
    cwd: str | os.PathLike[str] | None
    env: Mapping[str, str] | None  # added to the environment
    stdin: str  # "inherit" (run's default), "null" (start's default) or "pipe" (for Job.send)
    input: str | bytes | None  # given to its stdin
    pty: bool
    keep: bool  # what it leaves running is still the job
    labels: Mapping[str, str] | None
    name: str | None  # for `unhang.job(name)`, while no other job runs under it
    idle: Duration
    hard: Duration
    stall: Duration
    warn: Duration
    grace: Duration
    liveness: str | None
    on_hung: str | None
    category: str | None
    timeout_sec: Duration  # one number for both: hard is this, idle a quarter of it (at most a minute)
    policy: str | None  # a policy file
    retry: int | None
    on_event: Callback | None  # called with every event of the job, as it comes
    on_warning: Callback | None  # called with the warning before a limit
    on_timeout: Callback | None  # called when a limit has fired


def _prepared(command: Command, options: Options, *, foreground: bool) -> Prepared:
    unknown = set(options) - set(Options.__annotations__)
    if unknown:
        from difflib import get_close_matches  # rarely needed

        close = [meant for name in sorted(unknown) for meant in get_close_matches(name, Options.__annotations__, 1)]
        meant = f"; did you mean {', '.join(close)}?" if close else ""
        raise TypeError(f"unknown option: {', '.join(sorted(unknown))}{meant}")
    request = read_limits({name: options[name] for name in LIMIT_NAMES if name in options})
    return prepare(
        command,
        shell=options.get("shell", False),
        cwd=options.get("cwd"),
        env=options.get("env"),
        stdin=options.get("stdin", "inherit" if foreground else "null"),
        pty=options.get("pty", False),
        keep=options.get("keep", False),
        labels=with_name(state_home(), options.get("labels"), options.get("name")),
        policy=options.get("policy"),
        retry=options.get("retry"),
        asked=request,
        foreground=foreground,
    )


def _callbacks(options: Options) -> Callbacks | None:
    callbacks = Callbacks(options.get("on_event"), options.get("on_warning"), options.get("on_timeout"))
    return callbacks if callbacks.wanted else None


def _begin(prepared: Prepared, options: Options) -> Job:
    job = background.start(prepared, _input(options))
    callbacks = _callbacks(options)
    if callbacks is not None:
        callbacks.follow(job)
    return job


def _input(options: Options) -> bytes | None:
    given = options.get("input")
    return given.encode() if isinstance(given, str) else given


def run(command: Command, **options: Unpack[Options]) -> Result:
    """Run one command, watched and bounded; its result, whatever happened. Nothing of it is left running.

    `idle`, `hard`, `stall`, `warn`, `grace`: seconds, "5m", a timedelta, or "off"; by default the policy's. `env` adds
    to the environment, `input` is given to its stdin. Use `.check()` to raise on anything but success. `on_event`,
    `on_warning` and `on_timeout` are called with events while it runs; what they raise ends the job and goes on.
    """
    return foreground.run(_prepared(command, options, foreground=True), _input(options), _callbacks(options))


async def arun(command: Command, **options: Unpack[Options]) -> Result:
    """Do what `run` does, without blocking the event loop. Cancelling the task ends the job."""
    return await foreground.arun(_prepared(command, options, foreground=True), _input(options), _callbacks(options))


def start(command: Command, **options: Unpack[Options]) -> Job:
    """Start a job that outlives this process; returns when it has been started. Options as for `run`.

    `stdin="pipe"` or `pty=True` lets `job.send()` write to it. `on_event`, `on_warning` and `on_timeout` are called
    from a thread, as long as this process lives.
    """
    return _begin(_prepared(command, options, foreground=False), options)


async def astart(command: Command, **options: Unpack[Options]) -> Job:
    """Do what `start` does, without blocking the event loop."""
    import asyncio

    prepared = _prepared(command, options, foreground=False)
    return await asyncio.to_thread(_begin, prepared, options)


def job(name: str) -> Job:
    """Return a job that is there already: by id, name, unique prefix of an id, or "@last"."""
    return attach(state_home(), name)


def list_jobs(*, all: bool = False, labels: Mapping[str, str] | None = None) -> list[Job]:
    """Return the jobs that run (all: those that have ended, too), newest first."""
    from unhang.jobs import listing
    from unhang.store.layout import JobDir

    home = state_home()
    rows = listing.list_jobs(home, running_only=not all, labels=dict(labels or {}))
    return [Job(JobDir(home, row.id)) for row in rows]


def wait_any(jobs: Sequence[Job], timeout: Duration = None) -> list[Job]:
    """Return those that have ended, as soon as one has; empty when the time is over."""
    from unhang.jobs.follow import wait_for_any

    places = wait_for_any([job.place for job in jobs], read_duration("timeout", timeout))
    return [Job(place) for place in places]
