"""Notes for the model of a session: left by the watcher after a step, told by the session's next hook.

A file for each agent of the session (`context.json`: the main loop) lies beside its events. A hook takes it whole, so
that every note is told once. It is on the path of every hook, so it imports nothing dear.
"""

from __future__ import annotations

import json
import os

from unhang.core.values import parse_message
from unhang.errors import StateError
from unhang.store import files

_MOST = 5
_LARGEST = 1 << 16
# The hooks whose additional context Claude Code passes on to the model before it goes on.
METHODS = frozenset(
    {"PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "UserPromptSubmit", "SessionStart"}
)


def leave(folder: str, key: str, text: str, agent: str) -> None:
    """Leave a note under this key, in the place of an earlier one; an empty text takes that back."""
    path = _path(folder, agent)
    notes = _read(path)
    notes.pop(key, None)
    if text:
        notes[key] = text
    try:
        if notes:
            files.write_json(path, dict(list(notes.items())[-_MOST:]))
        else:
            os.unlink(path)
    except OSError:
        pass  # a full disk, or a hook has taken it: a step must not depend on it


def take(folder: str, agent: str) -> str:
    """Return the notes that were left for the main loop (or an agent of it), and remove them; empty: there are none."""
    path = _path(folder, agent)
    mine = f"{path}.{os.getpid()}"
    try:
        os.rename(path, mine)  # of two hooks at once only one gets it
    except OSError:
        return ""
    notes = _read(mine)
    os.unlink(mine)
    return "\n".join(notes.values())


def answer(method: str, text: str) -> str:
    """Return what a hook prints to have the model told."""
    return json.dumps({"hookSpecificOutput": {"hookEventName": method, "additionalContext": text}})


def _path(folder: str, agent: str) -> str:
    name = "".join(c for c in agent if c.isascii() and c.isalnum())[:64]
    return f"{folder}/context{'-' + name if name else ''}.json"


def _read(path: str) -> dict[str, str]:
    try:
        fd = files.open_plain(path, os.O_RDONLY)
    except (OSError, StateError):
        return {}
    try:
        found = parse_message(os.read(fd, _LARGEST))
    finally:
        os.close(fd)
    if not isinstance(found, dict):
        return {}
    return {key: text for key, text in found.items() if isinstance(text, str)}
