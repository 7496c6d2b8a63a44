"""Which events of a job the agent that started it has been told of: `told` in the job's directory, one number.

A face that shows an agent a result notes it, so that its monitor or hook (session_news.py) does not tell it again. Only
what runs inside the session that started the job notes anything: a person who looks elsewhere tells the agent nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from unhang.core.spec import claude_session, codex_thread
from unhang.errors import StateError
from unhang.store import files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unhang.jobs.handle import Job


def is_of(job: Job, environ: Mapping[str, str]) -> bool:
    """Return whether this process runs in the session of Claude Code, or the thread of Codex, that started the job."""
    own, theirs = claude_session(environ), job.spec.get("claude") or {}
    if own is not None and any(own[name] and own[name] == theirs.get(name) for name in own):
        return True
    thread = codex_thread(environ)
    return thread is not None and thread == job.spec.get("codex_thread")


def note(job: Job, seq: int, environ: Mapping[str, str]) -> None:
    """Note that the agent has been told all up to this event. With a full disk the agent hears it twice."""
    if not is_of(job, environ) or seq <= read(job):
        return
    if seq >= job.last_seq():
        job.note_seen()
    try:
        fd = files.open_plain(job.place.told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    except (OSError, StateError):
        return
    try:
        os.write(fd, b"%d" % seq)
    except OSError:
        pass
    finally:
        os.close(fd)


def read(job: Job) -> int:
    """Return the number of the last event that the agent has been told of; 0: none."""
    try:
        fd = files.open_plain(job.place.told, os.O_RDONLY)
    except (OSError, StateError):
        return 0
    try:
        text = os.read(fd, 32)
    finally:
        os.close(fd)
    return int(text) if text.isdigit() else 0
