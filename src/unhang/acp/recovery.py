"""Ending terminals whose client has died.

A terminal ends with its client by itself: the keeper sees the line close. What is found here has slipped through,
because a fork of the client holds the line open, say. A client is a pid *and* its start time *and* a boot: a live one
is never meant.
"""

from __future__ import annotations

import os

from unhang.errors import UnhangError
from unhang.jobs import listing
from unhang.jobs.handle import Job
from unhang.procs import identity
from unhang.store.layout import JobDir

LABEL, TERMINAL, CLIENT, SESSION = "acp", "terminal", "acp-client", "acp-session"
BY = "the death of its client"


def client_label() -> str:
    """Return what names this process in the labels of its terminals."""
    return f"{os.getpid()}:{identity.start_time(os.getpid())}:{identity.boot_id()}"


def lives(client: str) -> bool:
    """Return whether the client with this label still runs."""
    pid, _, rest = client.partition(":")
    start, _, boot = rest.partition(":")
    return pid.isdigit() and boot == identity.boot_id() and identity.is_alive(int(pid), start)


def end_orphans(home: str) -> list[str]:
    """End every running terminal whose client is dead; return their ids."""
    found: list[Job] = []
    for row in listing.list_jobs(home, running_only=True, labels={LABEL: TERMINAL}):
        if not lives(row.labels.get(CLIENT, "")):
            job = Job(JobDir(home, row.id))
            try:
                job.cancel(wait=False, by=BY)
            except (UnhangError, OSError):
                continue  # it has ended meanwhile
            found.append(job)
    return [job.id for job in found if job.wait().status != "running"]
