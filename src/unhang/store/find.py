"""From what people type to a job: an id, a unique prefix, or @last."""

from __future__ import annotations

import os

from unhang.errors import AmbiguousJob, NoSuchJob
from unhang.store import home as homes
from unhang.store import layout
from unhang.store.layout import JobDir

LAST = "@last"
_MOST_CANDIDATES = 10


def all_ids(home: str) -> list[str]:
    """Return every job directory that is one (links and strays are passed over)."""
    try:
        homes.trust(home)
        homes.trust(os.path.join(home, homes.JOBS))
    except FileNotFoundError:
        return []
    with os.scandir(os.path.join(home, homes.JOBS)) as entries:
        return [e.name for e in entries if layout.is_id(e.name) and e.is_dir(follow_symlinks=False)]


def is_listed(home: str, name: str) -> bool:
    """Return whether `all_ids` would name this entry of the folder of jobs; that costs nothing for the others there."""
    if not layout.is_id(name):
        return False
    homes.trust(home)
    homes.trust(os.path.join(home, homes.JOBS))
    path = JobDir(home, name).path
    return os.path.isdir(path) and not os.path.islink(path)


def job(home: str, name: str) -> JobDir:
    """Return the directory of the job that a person named. Raises NoSuchJob or AmbiguousJob."""
    if name == LAST:
        return _newest(home)
    if not layout.is_id(name):
        raise NoSuchJob(f"not a job id: {name!r} (an id, a unique prefix of one, a name, or @last)")
    homes_there = all_ids(home) if len(name) < layout.ID_LENGTH else [name]
    matches = sorted(found for found in homes_there if found.startswith(name))
    if len(matches) > 1:
        shown = ", ".join(matches[:_MOST_CANDIDATES]) + (" …" if len(matches) > _MOST_CANDIDATES else "")
        raise AmbiguousJob(f"{name!r} could be any of {len(matches)} jobs: {shown}", matches)
    if not matches:
        raise NoSuchJob(f"no such job: {name}")
    return layout.existing(home, matches[0])


def _newest(home: str) -> JobDir:
    newest, at = None, -1
    for found in all_ids(home):
        try:
            created = os.stat(JobDir(home, found).path).st_ctime_ns
            created = os.stat(JobDir(home, found).job).st_ctime_ns  # the folder changes with every event
        except OSError:
            continue
        if created > at:
            newest, at = found, created
    if newest is None:
        raise NoSuchJob("there is no job yet")
    return layout.existing(home, newest)
