"""Claude Code's settings with unhang's hooks in them, and without them again. Pure: the file's text goes in and out.

Only our own entries are put in or cut out; what else stands in the file stays as it is, comments and order included.
"""

from __future__ import annotations

import re

from unhang.core import jsonc
from unhang.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Whether Claude waits for it. Where order matters it must: a call that is told to end before it began would look open
# for ever. Those it does not wait for may come a moment late.
EVENTS = {
    "SessionStart": True,
    "UserPromptSubmit": True,
    "PreToolUse": True,
    "PostToolUse": True,
    "PostToolUseFailure": True,
    "PostToolBatch": True,  # the only one that tells of the end of a call that was refused
    "PermissionRequest": False,
    "Notification": False,
    "SubagentStart": True,
    "SubagentStop": True,
    "Stop": True,
    "StopFailure": True,
    "SessionEnd": True,
}
# It takes some 30 ms; a machine that cannot do it in this time must not hold a session up for longer.
TIMEOUT = 5
# `/opt/bin/unhang hook`, `python -P -m unhang hook`, with or without quotes; or as `jobs/executable.py` has it
_OURS = re.compile(r"""((^|[\s/"'])unhang|unhang\.__main__ import main; main\(\))["']?\s+hook\s*$""")


def entry(command: str, *, waits: bool) -> dict[str, Any]:
    """One group of hooks, as settings.json and a plugin's hooks.json have it."""
    hook: dict[str, Any] = {"type": "command", "command": command, "timeout": TIMEOUT}
    return {"hooks": [hook if waits else hook | {"async": True}]}


def hooks(command: str) -> dict[str, list[dict[str, Any]]]:
    return {event: [entry(command, waits=waits)] for event, waits in EVENTS.items()}


def is_ours(group: Any) -> bool:
    """A group of hooks in which every command is ours."""
    listed = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(listed, list) or not listed:
        return False
    return all(isinstance(hook, dict) and _OURS.search(str(hook.get("command"))) is not None for hook in listed)


def state(text: str | None, command: str) -> str:
    """In words: installed, partly installed, another one, not installed."""
    found = _parsed(text)
    groups = {event: [group for group in _groups(found, event) if is_ours(group)] for event in _events(found)}
    ours = {event: listed for event, listed in groups.items() if listed}
    if not ours:
        return "not installed"
    if ours == hooks(command):
        return "installed"
    return "installed, but not as this unhang would do it"


def with_hooks(text: str | None, command: str) -> str:
    """The text with exactly our hooks in it. Raises UsageError where that cannot be done safely."""
    found = _parsed(text)
    wanted = hooks(command)
    ours = {event: [group for group in _groups(found, event) if is_ours(group)] for event in _events(found)}
    if {event: listed for event, listed in ours.items() if listed} == wanted:
        return text or ""
    done = without_hooks(text) or ""
    # from the last to the first, because each is put before the others
    for event in reversed(wanted):
        group = wanted[event][0]
        if event in _events(_parsed(done)):
            done = jsonc.insert_first(done, ("hooks", event), group)
        else:
            done = jsonc.insert(done, ("hooks",), event, [group])
    expected = _parsed(without_hooks(text))
    expected = expected | {"hooks": dict(expected.get("hooks") or {})}
    for event, groups in wanted.items():
        expected["hooks"][event] = [*groups, *(expected["hooks"].get(event) or [])]
    _check(done, expected)
    return done


def without_hooks(text: str | None) -> str | None:
    """The text without our hooks, and without what is left empty by that."""
    if text is None or not text.strip():
        return text
    found = _parsed(text)
    done = text
    expected = _parsed(text)
    for event in _events(found):
        groups = _groups(found, event)
        numbers = [number for number, group in enumerate(groups) if is_ours(group)]
        if not numbers:
            continue
        if len(numbers) == len(groups):
            done = jsonc.remove(done, ("hooks", event))
            del expected["hooks"][event]
            continue
        for number in reversed(numbers):
            done = jsonc.remove(done, ("hooks", event, number))
            del expected["hooks"][event][number]
    if found.get("hooks") and not expected["hooks"]:
        done = jsonc.remove(done, ("hooks",))
        del expected["hooks"]
    _check(done, expected)
    return done


def uses_plugin(text: str | None) -> bool:
    """The plugin brings the same hooks: both together would tell everything twice."""
    enabled = _parsed(text).get("enabledPlugins")
    names = enabled if isinstance(enabled, dict) else {}
    return any(str(name).partition("@")[0] == "unhang" and value is True for name, value in names.items())


def _parsed(text: str | None) -> dict[str, Any]:
    if text is None or not text.strip():
        return {}
    try:
        found = jsonc.parse(text)
    except ValueError as error:
        raise UsageError(f"cannot be read as JSON: {error}") from None
    if not isinstance(found, dict):
        raise UsageError("holds something else than an object")
    return found


def _events(found: dict[str, Any]) -> list[str]:
    hooks_there = found.get("hooks")
    if hooks_there is None:
        return []
    if not isinstance(hooks_there, dict):
        raise UsageError('holds something else than an object where "hooks" belongs')
    return list(hooks_there)


def _groups(found: dict[str, Any], event: str) -> list[Any]:
    groups = found["hooks"][event]
    if not isinstance(groups, list):
        raise UsageError(f'holds something else than a list where the hooks of "{event}" belong')
    return groups


def _check(text: str, expected: dict[str, Any]) -> None:
    try:
        right = jsonc.same(_parsed(text), expected)
    except UsageError:
        right = False
    if not right:
        raise UsageError("cannot be edited safely; see `unhang claude install --dry-run` and do it by hand")
