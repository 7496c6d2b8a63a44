"""Marks that every descendant of a job inherits, so that orphans can be found when no keeper owns them any more.

Two, because each has a hole: the environment (`UNHANG_JOB`) is lost by `env -i` and hidden by setuid programs; the
RLIMIT_LOCKS limit (ignored by the kernel since 2.4.25, inherited by everything, readable across users) can be reset
by root. They are used only when a keeper *and* its guard are gone; while they live, ancestry is better.

A limit can only be lowered without privileges, and a job may start another job: so tags fall with time.
"""

from __future__ import annotations

import os
import resource

from unhang.core.record import Record
from unhang.procs import identity
from unhang.procs.base import ProcessInfo

JOB = "UNHANG_JOB"
# the jobs that the job was started in, outermost first, separated by colons
PARENTS = "UNHANG_PARENT_JOBS"

RLIMIT_LOCKS = 10  # not in the resource module; the same number on every Linux architecture
_HIGHEST = (1 << 63) - 1


def new_tag(wall: float) -> int:
    """Return a tag that is smaller than every tag made before, so that it can be set inside a tagged job too."""
    tag = _HIGHEST - int(wall * 1e9)
    inherited = resource.getrlimit(RLIMIT_LOCKS)[1]
    if inherited != resource.RLIM_INFINITY and 0 < inherited <= tag:  # the wall clock was set back
        tag = inherited - 1 - int.from_bytes(os.urandom(2), "big")
    return max(tag, 1)


def nested(inherited: dict[str, str]) -> bool:
    """Return whether we are inside a job. Either mark says so: one of them can be dropped, but hardly both."""
    return bool(inherited.get(JOB)) or resource.getrlimit(RLIMIT_LOCKS)[1] != resource.RLIM_INFINITY


def set_tag(tag: int) -> bool:
    """Tag this process and what it will start. False: it cannot be; the mark in the environment is left."""
    try:
        resource.setrlimit(RLIMIT_LOCKS, (tag, tag))
    except (OSError, ValueError):
        return False
    return True


def environment(job_id: str, inherited: dict[str, str]) -> dict[str, str]:
    """Return the variables that mark a job, inside of another one too."""
    parents = [p for p in (inherited.get(PARENTS, ""), inherited.get(JOB, "")) if p]
    marks = {JOB: job_id}
    if parents:
        marks[PARENTS] = ":".join(parents)
    return marks


class Marks(Record):
    """How the processes of a job can be known when its keeper and its guard are both gone."""

    job_id: str
    tag: int | None
    sessions: frozenset[int] = frozenset()  # of the job's first process, or of its keeper where it has a terminal


def _has_mark(pid: int, job_id: str) -> bool:
    marks = identity.environment(pid)
    return marks.get(JOB) == job_id or job_id in marks.get(PARENTS, "").split(":")


def find(marks: Marks) -> list[ProcessInfo]:
    """Return every living process that is proved to descend from this job, except the one that asks; parents first.

    An environment is copied and sourced (`env > .env`, a desktop's activation environment), so the mark in it proves
    nothing. What only fork(2) hands on does: the tag (a limit that nothing else sets), the session of the job
    together with the mark (a session's number may be used again when all of it are gone), and a proved parent.
    """
    me = os.getpid()
    there = {process.pid: process for process in identity.every() if not process.is_dead and process.pid != me}
    proved: dict[int, ProcessInfo] = {}
    for pid, process in there.items():
        tagged = marks.tag is not None and identity.lock_limit(pid) == marks.tag
        if tagged or (_session(pid) in marks.sessions and _has_mark(pid, marks.job_id)):
            proved[pid] = process
    return _with_descendants(proved, there, me)


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _with_descendants(proved: dict[int, ProcessInfo], there: dict[int, ProcessInfo], me: int) -> list[ProcessInfo]:
    children: dict[int, list[ProcessInfo]] = {}
    for process in there.values():
        children.setdefault(process.ppid, []).append(process)
    found = dict(proved)
    level = list(proved.values())
    while level:
        level = [c for p in level for c in children.get(p.pid, ()) if c.pid not in found and c.pid != me]
        found.update({process.pid: process for process in level})
    return list(found.values())
