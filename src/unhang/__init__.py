"""Run commands so that nothing hangs unnoticed.

    import unhang

    result = unhang.run(["npm", "test"], idle="2m", hard="10m")    # to its end: a Result, whatever happened
    result.check()                                                 # raises TimedOut, Failed or Cancelled
    result = await unhang.arun(["npm", "test"])                    # the same for asyncio

    job = unhang.start(["npm", "run", "dev"], name="web")          # in the background: a Job
    for line in job.lines(): ...                                   # what it prints, as it comes; alines() for asyncio
    for event in job.follow(): ...                                 # what happens to it
    job.status(), job.send("yes\\n"), job.extend(hard="10m"), job.cancel(), job.wait()

    unhang.job("web"), unhang.list_jobs(), unhang.wait_any([job])  # jobs that are there already

Durations are seconds, text ("90s", "5m", "1h30m"), a timedelta, or "off". `on_event=`, `on_warning=` and `on_timeout=`
are called while a job runs. Every error is an UnhangError; those of `check()` are JobErrors with `.result`.

Everything public is named here and imported when it is first used: start-up time is a feature.
"""

# No `from __future__`: `python -m unhang` would look for that module in the current directory.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.result import Result
    from unhang.errors import (
        AmbiguousJob,
        Cancelled,
        ControlError,
        Failed,
        JobError,
        NoSuchJob,
        SpawnError,
        StateError,
        TimedOut,
        UnhangError,
        UsageError,
    )
    from unhang.jobs.api import arun, astart, job, list_jobs, run, start, wait_any
    from unhang.jobs.handle import Job

__version__ = "0.1.0"

__all__ = [
    "AmbiguousJob",
    "Cancelled",
    "ControlError",
    "Failed",
    "Job",
    "JobError",
    "NoSuchJob",
    "Result",
    "SpawnError",
    "StateError",
    "TimedOut",
    "UnhangError",
    "UsageError",
    "__version__",
    "arun",
    "astart",
    "job",
    "list_jobs",
    "run",
    "start",
    "wait_any",
]


_API = ("run", "arun", "start", "astart", "job", "list_jobs", "wait_any")


def __getattr__(name: str) -> object:
    if name in _API:
        from unhang.jobs import api

        return getattr(api, name)
    if name == "Result":
        from unhang.core.result import Result

        return Result
    if name == "Job":
        from unhang.jobs.handle import Job

        return Job
    if name in __all__:
        from unhang import errors

        return getattr(errors, name)
    raise AttributeError(f"module 'unhang' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
