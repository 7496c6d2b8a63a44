"""Did the model or a tool write to the transcript since the last look? Has a call got its result?

Not every line is a sign of life: queued messages and retries are written there, too. The file is read only when a limit
is near.
"""

from __future__ import annotations

import os

from unhang.core.record import Record
from unhang.core.values import id_of, items_of, mapping_of, parse_message, text_of
from unhang.procs import clock
from unhang.sessions.claude.status_file import open_own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SIGNS = (b'"type":"assistant"', b'"toolUseResult"')
# What came since the last look is searched to this depth from its end; more than that is life in any case.
_DEPTH = 1 << 20
# A call may have been answered long ago, in a turn that went on to other things.
_LONG_AGO = 8 << 20


# The calls of the last reply are looked for to this depth from the end.
_LAST_REPLY = 2 << 20


class OpenCall(Record):
    """A tool call that has no result in the transcript."""

    id: str
    tool_name: str
    tool_input: dict[str, Any]
    wall: float  # when it was written, in seconds of the wall clock; 0: not known


class Transcript:
    """The transcript of one session."""

    def __init__(self) -> None:
        self.path = ""
        self._size = -1  # not looked at yet
        self._open: tuple[int, list[OpenCall]] = (-1, [])  # at which size, and what was found then

    def follow(self, path: str) -> None:
        """Read this file from now on; an empty path changes nothing."""
        if path and path != self.path:
            self.path, self._size = path, -1

    def grew(self) -> tuple[bool, float]:
        """Return whether a sign of life was added, and when it last changed; the first call only takes its size."""
        fd = open_own(self.path) if self.path else None
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
        """Return which of these calls have their result there. No hook tells of the end of a call that was refused."""
        fd = open_own(self.path) if self.path and calls else None
        if fd is None:
            return []
        try:
            data = os.pread(fd, _LONG_AGO, max(0, os.fstat(fd).st_size - _LONG_AGO))
        except OSError:
            return []
        finally:
            os.close(fd)
        return [call for call in calls if f'"tool_use_id":"{call}"'.encode("utf-8", "replace") in data]

    def open_calls(self) -> list[OpenCall]:
        """Return the calls of the main loop without a result. A session without hooks shows them only here."""
        fd = open_own(self.path) if self.path else None
        if fd is None:
            return []
        try:
            size = os.fstat(fd).st_size
            if size != self._open[0]:
                start = max(0, size - _LAST_REPLY)
                self._open = size, open_calls(os.pread(fd, size - start, start))
        except OSError:
            return []
        finally:
            os.close(fd)
        return self._open[1]


def open_calls(data: bytes) -> list[OpenCall]:
    """Return the calls without a result in the last lines of a transcript.

    A line of the user that is no result begins a turn, or says that the last one was interrupted: no earlier call runs.
    """
    found: dict[str, OpenCall] = {}
    for line in data.splitlines():
        if b'"tool_use"' not in line and b'"type":"user"' not in line:
            continue
        entry = parse_message(line)
        if not isinstance(entry, dict) or entry.get("isSidechain") or entry.get("isMeta"):
            continue
        blocks = items_of(mapping_of(entry, "message"), "content")
        if entry.get("type") == "assistant":
            for block in blocks:
                if text_of(block, "type") == "tool_use" and id_of(block, "id"):
                    name, given = text_of(block, "name", most=300), mapping_of(block, "input")
                    found[id_of(block, "id")] = OpenCall(id_of(block, "id"), name, given, _written(entry))
        elif entry.get("type") == "user":
            results = [id_of(block, "tool_use_id") for block in blocks if text_of(block, "type") == "tool_result"]
            if not results:
                found.clear()
            for each in results:
                found.pop(each, None)
    return list(found.values())


def _written(entry: dict[str, Any]) -> float:
    try:
        return clock.parse(text_of(entry, "timestamp", most=40))
    except (ValueError, OverflowError, OSError):
        return 0.0


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
