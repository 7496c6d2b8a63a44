"""Did the model or a tool write to the transcript since the last look? Has a call got its result?

Not every line is a sign of life: queued messages and retries are written there, too. The file is read only when a limit
is near.
"""

from __future__ import annotations

import os

from unhang.sessions.claude.status_file import opened

_SIGNS = (b'"type":"assistant"', b'"toolUseResult"')
# What came since the last look is searched to this depth from its end; more than that is life in any case.
_DEPTH = 1 << 20
# A call may have been answered long ago, in a turn that went on to other things.
_LONG_AGO = 8 << 20


class Transcript:
    """The transcript of one session."""

    def __init__(self) -> None:
        self.path = ""
        self._size = -1  # not looked at yet

    def follow(self, path: str) -> None:
        """Read this file from now on; an empty path changes nothing."""
        if path and path != self.path:
            self.path, self._size = path, -1

    def grew(self) -> tuple[bool, float]:
        """Return whether a sign of life was added, and when it last changed; the first call only takes its size."""
        fd = opened(self.path) if self.path else None
        if fd is None:
            return False, 0.0
        try:
            found = os.fstat(fd)
            before, self._size = self._size, found.st_size
            if before < 0 or found.st_size <= before:
                return False, found.st_mtime
            if found.st_size - before > _DEPTH:
                return True, found.st_mtime
            data = os.pread(fd, found.st_size - before, before)
            return any(sign in data for sign in _SIGNS), found.st_mtime
        except OSError:
            return False, 0.0
        finally:
            os.close(fd)

    def answered(self, calls: list[str]) -> list[str]:
        """Which of these calls have their result there. No hook tells of the end of a call that was refused."""
        fd = opened(self.path) if self.path and calls else None
        if fd is None:
            return []
        try:
            data = os.pread(fd, _LONG_AGO, max(0, os.fstat(fd).st_size - _LONG_AGO))
        except OSError:
            return []
        finally:
            os.close(fd)
        return [call for call in calls if f'"tool_use_id":"{call}"'.encode("utf-8", "replace") in data]


def locate(config: str, session_id: str) -> str:
    """Return where Claude Code keeps the transcript of a session; empty: not found."""
    projects = os.path.join(config, "projects")
    try:
        with os.scandir(projects) as entries:
            for entry in entries:
                path = os.path.join(entry.path, f"{session_id}.jsonl")
                if os.path.isfile(path):
                    return path
    except OSError:
        pass
    return ""
