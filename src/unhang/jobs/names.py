"""Names of jobs: `--name web` at the start, and `web` wherever an id is taken.

A name is the label `name`, so every list shows it. One live job may have it; of ended jobs the newest is meant.
"""

from __future__ import annotations

import os

from unhang.core.spec import JOB_NAME_RULE, NAME, is_name
from unhang.errors import AmbiguousJob, NoSuchJob, UsageError
from unhang.store import find, layout
from unhang.store.layout import JobDir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from unhang.store.index import Row


def with_name(home: str, labels: Mapping[str, str] | None, name: str | None) -> dict[str, str]:
    """Return the labels with the name of a job that is to be started; raise UsageError if it is none, or is taken."""
    given = dict(labels or {})
    if name is None:
        return given
    if not is_name(name):
        raise UsageError(f"not a name for a job: {name!r} ({JOB_NAME_RULE})")
    taken = [row for row in _named(home, name) if not row.final]
    if taken:
        raise UsageError(f"job {taken[0].id} runs under the name {name!r}: unhang restart {name}, or another name")
    return given | {NAME: name}


def find_job(home: str, name: str) -> JobDir:
    """Return the job that a person means: by id, name, unique prefix of an id, or @last. Raises NoSuchJob or
    AmbiguousJob.

    A name that a job has goes before the prefix of another job's id.
    """
    if is_name(name) and not (len(name) == layout.ID_LENGTH and os.path.isdir(JobDir(home, name).path)):
        named = _named(home, name)
        live = [row.id for row in named if not row.final]
        if len(live) > 1:
            raise AmbiguousJob(f"{len(live)} jobs run under the name {name!r}: {', '.join(live[:10])}", live)
        if named:
            return layout.existing(home, live[0] if live else named[0].id)
        if not layout.is_id(name):
            raise NoSuchJob(f"no job has the name {name!r}{_meant(home, name)}; unhang ps --all lists them")
    try:
        return find.job(home, name)
    except NoSuchJob as error:
        raise NoSuchJob(f"{error}{_meant(home, name)}") from None


def _meant(home: str, name: str) -> str:
    """Return "; did you mean web?" if a job has nearly that name, or nearly that id; else nothing."""
    from difflib import get_close_matches

    from unhang.jobs.listing import list_jobs

    rows = list_jobs(home)
    live_first = sorted(rows, key=lambda row: row.final)
    names = list(dict.fromkeys(row.name for row in live_first if row.name))
    close = get_close_matches(name, names, 1, 0.6) or get_close_matches(name, [row.id for row in live_first], 1, 0.8)
    return f"; did you mean {close[0]}?" if close else ""


def _named(home: str, name: str) -> list[Row]:
    from unhang.jobs.listing import list_jobs  # SQLite: only where a name is given

    return list_jobs(home, labels={NAME: name})
