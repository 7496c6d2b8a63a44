"""How much of the disk unhang's own records take."""

from __future__ import annotations

import os

from unhang.core.plural import several
from unhang.core.record import Record
from unhang.core.sizes import human_size
from unhang.jobs.listing import folder_size
from unhang.store import find
from unhang.store.layout import JobDir


class DiskUse(Record):
    """Bytes of the jobs, of everything in the state directory, and free on its file system; `jobs`: how many."""

    jobs: int
    job_bytes: int
    total: int
    free: int | None

    @property
    def text(self) -> str:
        """Return one line for people."""
        free = "" if self.free is None else f"; {human_size(self.free)} free"
        size = f"{human_size(self.job_bytes)} of {human_size(self.total)} in all"
        return f"{several(self.jobs, 'job')} take{'s' if self.jobs == 1 else ''} {size}{free}"


def disk_use(home: str) -> DiskUse:
    """Count what the state directory holds; what vanishes meanwhile is not counted."""
    ids = find.all_ids(home)
    in_jobs = sum(folder_size(JobDir(home, job).path) for job in ids)
    others = folder_size(home)
    for name in ("sessions", "profiles", "watch"):
        for folder, _, _ in os.walk(os.path.join(home, name)):
            others += folder_size(folder)
    try:
        found = os.statvfs(home)
        free: int | None = found.f_bavail * found.f_frsize
    except OSError:
        free = None
    return DiskUse(len(ids), in_jobs, in_jobs + others, free)
