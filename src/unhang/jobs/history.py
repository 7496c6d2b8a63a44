"""Finished runs → history → what is known of a command before it starts.

Readers bring the history up to date (as they do the index), so that no keeper ever waits for a database. Each run is
counted once, by its job id. Only runs that may teach do: core/policy/learn.py says what that takes, docs/policy.md why
an agent cannot teach its own limits.
"""

from __future__ import annotations

from unhang.core import values, wording
from unhang.core.events import ELOST, ESPAWN, EXITED, error_code
from unhang.core.policy import learn
from unhang.core.policy.command_key import command_key
from unhang.core.policy.retry import BREAKER, breaker
from unhang.core.spec import command_line, history_name
from unhang.errors import StateError
from unhang.jobs import listing
from unhang.procs import clock
from unhang.store import find, layout, profiles, records
from unhang.store.history import History, Run, Summary
from unhang.store.index import listed
from unhang.store.layout import JobDir
from unhang.store.reader import last_event

__all__ = [
    "Summary",
    "catch_up",
    "forget",
    "open_breaker",
    "profile_of",
    "remember",
    "run_of",
    "runs_of",
    "summaries",
    "usual_duration",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from unhang.core.policy.learn import Profile
    from unhang.core.policy.model import Policy
    from unhang.core.retention import Keep
    from unhang.store.index import Row


# So many runs make a habit that a person may be told of.
_FEWEST = 3


def catch_up(home: str) -> None:
    """Add to the history what has ended since the last time."""
    ids = find.all_ids(home)
    if not ids:
        return
    _, ended = listed(listing.index_path(home), ids, lambda job: listing.row_of(JobDir(home, job)), running_only=True)
    remember(home, ended)


def remember(home: str, ended: list[Row]) -> None:
    """Add these ended jobs to the history, and update the profiles of their commands."""
    runs = [run for run in (run_of(JobDir(home, row.id)) for row in ended) if run is not None]
    if not runs:
        return
    history = History(listing.index_path(home))
    history.add_many(sorted(runs, key=lambda run: run.started_at))
    for command, directory in {(run.command, run.directory) for run in runs if run.teaches}:
        profile = history.profile(command, directory)
        if profile is not None:
            profiles.write(home, command, directory, profile)


def summaries(home: str, text: str | None, directory: str | None, limit: int) -> list[Summary]:
    """Return what the history says of each command in each directory, the latest first. Filters: a text, a directory.

    The runs of an agent are one history, whatever their tasks; the newest task is named for as long as its job is kept.
    """
    catch_up(home)
    found = History(listing.index_path(home)).summary(text, directory, limit)
    return [each._replace(task=_task_of(home, each.job)) for each in found]


def _task_of(home: str, job_id: str | None) -> str | None:
    job = _record_of(home, job_id)
    return command_line(job) if job.get("agent") else None


def _record_of(home: str, job_id: str | None) -> dict[str, Any]:
    """The record of the job of a run; empty: it is not known, or was removed."""
    return {} if job_id is None or not layout.is_id(job_id) else records.job(JobDir(home, job_id)) or {}


def runs_of(home: str, command: str, directory: str, count: int = 200) -> dict[str, Any]:
    """Return the newest runs of a command in a directory as JSON, the limits that they teach (null: too few), and those
    of the newest run (null: off, or its job was removed).
    """
    catch_up(home)
    history = History(listing.index_path(home))
    profile = history.profile(command, directory)
    runs = history.runs(command, directory, count)
    learnt = {what: None if profile is None else learn.limit(profile, what) for what in ("duration", "silence")}
    return {
        "command": command,
        "cwd": directory,
        "runs": [
            {
                "jobId": run.job,
                "startedAtMs": round(run.started_at * 1000),
                "durationMs": round(run.duration * 1000),
                "silenceMs": round(run.silence * 1000),
                "status": run.status,
                "state": wording.end_of(run.status),
                "timeoutReason": run.timeout_reason,
                "teaches": run.teaches,
            }
            for run in runs
        ],
        "limits": _limits_of(home, runs[-1].job if runs else None),
        "learnt": {
            name: None if found is None else {"ms": round(found[0] * 1000), "source": found[1]}
            for name, found in (("hard", learnt["duration"]), ("idle", learnt["silence"]))
        },
    }


def _limits_of(home: str, job_id: str | None) -> dict[str, Any]:
    sources = values.mapping(_record_of(home, job_id).get("sources")) or {}
    found: dict[str, Any] = {}
    for name in ("hard", "idle"):
        limit = values.mapping(sources.get(f"{name}Ms")) or {}
        length = values.number(limit.get("value"))
        found[name] = None if length is None else {"ms": length, "source": values.text(limit.get("source"))}
    return found


def forget(home: str, keep: Keep, now: float | None = None) -> int:
    """Remove old runs from the history; how many. `now`: see remove_old.remove_old_jobs."""
    if keep.history is None:
        return 0
    before = (clock.wall() if now is None else now) - keep.history
    profiles.forget(home, before)
    return History(listing.index_path(home)).forget(before)


def run_of(place: JobDir) -> Run | None:
    """Return the run of an ended job; None: it never ran, or nothing is known of how it went."""
    job, last = records.job(place), last_event(place.events)
    if job is None or last is None or last["type"] != EXITED or last.get("durationMs") is None:
        return None
    command, created = history_name(job), values.moment(job.get("createdAt"))
    if command is None or created is None:
        return None
    if error_code(last) in (ESPAWN, ELOST):
        return None
    status = last.get("status") or "error"
    keeper = job.get("keeper") or {}
    why_not = learn.teaches(
        status,
        stalled=bool(last.get("stalled")),
        nested=bool(keeper.get("nested")),
        argued=bool(job.get("argued")),
    )
    return Run(
        command=command_key(command),
        directory=job.get("cwd") or "",
        started_at=created,
        duration=last["durationMs"] / 1000,
        silence=(last.get("longestSilenceMs") or 0) / 1000,
        status=status,
        timeout_reason=last.get("timeoutReason"),
        teaches=why_not is None,
        job=place.id,
    )


def profile_of(home: str, command: Sequence[str] | str, cwd: str, policy: Policy) -> Profile | None:
    """Return what past runs of this command in this directory say of its durations; None: too little."""
    catch_up(home)
    quantile = (policy.learn or learn.Learn()).quantile
    return History(listing.index_path(home)).profile(command_key(command), cwd, quantile)


def usual_duration(home: str, record: dict[str, Any]) -> float | None:
    """Return how many seconds runs of this job's command (job.json) usually take in its directory; None: too few are
    known.
    """
    command = history_name(record)
    if command is None:
        return None
    try:
        catch_up(home)
        profile = History(listing.index_path(home)).profile(command_key(command), record.get("cwd") or "")
    except (StateError, OSError):
        return None  # a history that cannot be read must not keep a person from waiting
    return None if profile is None or profile.runs < _FEWEST else profile.median


def open_breaker(home: str, command: Sequence[str] | str, cwd: str) -> str | None:
    """Return a sentence, if this command has timed out too often in a row to be retried; else None."""
    catch_up(home)
    return breaker(History(listing.index_path(home)).last_statuses(command_key(command), cwd, BREAKER))
