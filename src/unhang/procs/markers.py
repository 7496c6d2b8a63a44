"""Marks that every descendant of a job inherits, so that orphans can be found when nobody owns them any more.

Two, because each has a hole: the environment (`UNHANG_JOB`) is lost by `env -i` and hidden by setuid programs; the
RLIMIT_LOCKS limit (ignored by the kernel since 2.4.25, inherited by everything, readable across users) can be reset
by root. They are used only when a keeper *and* its guard are gone; while they live, ancestry is better.

A limit can only be lowered without privileges, and a job may start another job: so tags fall with time.
"""

from __future__ import annotations

import os
import resource

from unhang.core.record import Record
from unhang.procs import stat
from unhang.procs.base import Process

JOB = "UNHANG_JOB"
# the jobs that the job was started in, outermost first, separated by colons
PARENTS = "UNHANG_PARENT_JOBS"

RLIMIT_LOCKS = 10  # not in the resource module; the same number on every Linux architecture
_HIGHEST = (1 << 63) - 1
_LINE = b"Max file locks"


def new_tag(wall: float) -> int:
    """Smaller than every tag made before, so that it can be set inside a tagged job too."""
    tag = _HIGHEST - int(wall * 1e9)
    inherited = resource.getrlimit(RLIMIT_LOCKS)[1]
    if inherited != resource.RLIM_INFINITY and 0 < inherited <= tag:  # the wall clock was set back
        tag = inherited - 1 - int.from_bytes(os.urandom(2), "big")
    return max(tag, 1)


def nested(inherited: dict[str, str]) -> bool:
    """Are we inside a job? Either mark says so: one of them can be dropped, but hardly both."""
    return bool(inherited.get(JOB)) or resource.getrlimit(RLIMIT_LOCKS)[1] != resource.RLIM_INFINITY


def set_tag(tag: int) -> bool:
    try:
        resource.setrlimit(RLIMIT_LOCKS, (tag, tag))
    except (OSError, ValueError):
        return False  # the environment marker is left
    return True


def environment(job_id: str, inherited: dict[str, str]) -> dict[str, str]:
    parents = [p for p in (inherited.get(PARENTS, ""), inherited.get(JOB, "")) if p]
    marks = {JOB: job_id}
    if parents:
        marks[PARENTS] = ":".join(parents)
    return marks


class Marks(Record):
    """How the processes of a job can be known when its keeper and its guard are both gone."""

    job_id: str
    tag: int | None
    leader: int | None  # the job's first process, which began a session of its own


def _has_tag(pid: int, tag: bytes) -> bool:
    limits = stat.read_file(f"/proc/{pid}/limits") or b""
    at = limits.find(_LINE)
    return at >= 0 and limits[at + len(_LINE) : limits.find(b"\n", at)].split()[:1] == [tag]


def _has_mark(pid: int, job_id: bytes) -> bool:
    for entry in (stat.read_file(f"/proc/{pid}/environ", 1 << 16) or b"").split(b"\0"):
        if entry.startswith(b"UNHANG_"):
            name, _, value = entry.partition(b"=")
            if (name == b"UNHANG_JOB" and value == job_id) or (
                name == b"UNHANG_PARENT_JOBS" and job_id in value.split(b":")
            ):
                return True
    return False


def find(marks: Marks) -> list[Process]:
    """Every living process that is proved to descend from this job, except the one that asks; parents first.

    An environment is copied and sourced (`env > .env`, a desktop's activation environment), so the mark in it proves
    nothing. What only fork(2) hands on does: the tag (a limit that nothing else sets), the session of the job's leader
    together with the mark (a session's number may be used again when all of it are gone), and a proved parent.
    """
    me = os.getpid()
    there: dict[int, Process] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != me:
            entry = stat.of(int(name))
            if entry is not None and entry[0].state not in "ZX":
                there[entry[0].pid] = entry[0]
    number, mark = str(marks.tag).encode(), marks.job_id.encode()
    proved: dict[int, Process] = {}
    for pid, process in there.items():
        tagged = marks.tag is not None and _has_tag(pid, number)
        if tagged or (marks.leader is not None and _session(pid) == marks.leader and _has_mark(pid, mark)):
            proved[pid] = process
    return _with_descendants(proved, there, me)


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _with_descendants(proved: dict[int, Process], there: dict[int, Process], me: int) -> list[Process]:
    children: dict[int, list[Process]] = {}
    for process in there.values():
        children.setdefault(process.ppid, []).append(process)
    found = dict(proved)
    level = list(proved.values())
    while level:
        level = [c for p in level for c in children.get(p.pid, ()) if c.pid not in found and c.pid != me]
        found.update({process.pid: process for process in level})
    return list(found.values())
