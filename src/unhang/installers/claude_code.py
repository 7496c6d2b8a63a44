"""unhang's hooks in Claude Code's settings.

Only unhang's own entries are added or removed; everything else in the file stays as it is, comments and order included.
"""

from __future__ import annotations

import os
import re
import shlex

from unhang.core import jsonc
from unhang.errors import UsageError
from unhang.installers import flow
from unhang.installers.settings_edit import parse_object, prove
from unhang.procs import executable
from unhang.store import user_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# Each event, and whether Claude waits for its hook. It must wait where order matters: a call that ended before it was
# known to have begun would look open for ever. The other hooks may run a moment late.
EVENTS = {
    "SessionStart": True,
    "UserPromptSubmit": True,
    "PreToolUse": True,
    "PostToolUse": True,
    "PostToolUseFailure": True,
    "PostToolBatch": True,  # the only event after a call that was refused
    "PermissionRequest": False,
    "Notification": False,
    "SubagentStart": True,
    "SubagentStop": True,
    "Stop": True,
    "StopFailure": True,
    "SessionEnd": True,
}
# Seconds. A hook takes some 30 ms; a machine that is slower than this must not hold the session up any longer.
TIMEOUT = 5
_BY_HAND = "edit it by hand (`unhang claude install --project --dry-run` in an empty folder shows the hooks)"
# `/opt/bin/unhang hook`, `python -P -m unhang hook`, with or without quotes; or as `procs/executable.py` has it
_OURS = re.compile(r"""((^|[\s/"'])unhang|unhang\.__main__ import main; main\(\))["']?\s+hook\s*$""")


def settings_file(environ: Mapping[str, str], *, project: bool) -> str:
    """Return the person's settings, or those of the project in the current directory."""
    if project:
        return user_file.in_project(os.getcwd(), ".claude/settings.json")
    folder = environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")
    return os.path.join(os.path.abspath(folder), "settings.json")


def plan(environ: Mapping[str, str], *, project: bool, installs: bool) -> flow.FileChange:
    """Return the hooks, added to the settings or removed from them."""
    command = hook_command()
    return flow.plan_file(
        settings_file(environ, project=project),
        add=lambda text: with_hooks(text, command),
        remove=without_hooks,
        installs=installs,
        with_folder=project,
    )


def states(environ: Mapping[str, str]) -> dict[str, str]:
    """Return for each settings file whether the hooks are in it; for `unhang claude status`."""
    found: dict[str, str] = {}
    for project in (False, True):
        path = ".claude/settings.json"
        try:
            path = settings_file(environ, project=project)
            text = user_file.read(path)
            found[path] = state(text or "", hook_command()) if text is not None or not project else ""
        except UsageError as error:
            found[path] = str(error)
    return {path: state for path, state in found.items() if state}


def plugin_states(environ: Mapping[str, str]) -> dict[str, bool]:
    """Return for each settings file whether it enables the plugin; for `unhang claude status`."""
    found: dict[str, bool] = {}
    for project in (False, True):
        try:
            path = settings_file(environ, project=project)
            found[path] = uses_plugin(user_file.read(path) or "{}")
        except UsageError:
            continue  # `states` says why
    return found


def hook_command() -> str:
    """Return what Claude Code runs: by an absolute path, because its PATH need not be the shell's."""
    return shlex.join([*executable.command(), "hook"])


def entry(command: str, *, waits: bool) -> dict[str, Any]:
    """Return one group of hooks, as settings.json and a plugin's hooks.json have it."""
    hook: dict[str, Any] = {"type": "command", "command": command, "timeout": TIMEOUT}
    return {"hooks": [hook if waits else hook | {"async": True}]}


def hooks(command: str) -> dict[str, list[dict[str, Any]]]:
    """Return every hook of unhang's, as settings.json has it."""
    return {event: [entry(command, waits=waits)] for event, waits in EVENTS.items()}


def is_ours(group: Any) -> bool:
    """Return whether every command of this group of hooks is unhang's."""
    listed = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(listed, list) or not listed:
        return False
    return all(isinstance(hook, dict) and _OURS.search(str(hook.get("command"))) is not None for hook in listed)


def state(text: str, command: str) -> str:
    """Return whether the hooks are in the text, in words."""
    ours = _ours(parse_object(text))
    if not ours:
        return "not installed"
    if ours == hooks(command):
        return "installed"
    return "installed, but not as this unhang would do it"


def with_hooks(text: str, command: str) -> str:
    """Return the text with exactly unhang's hooks in it. Raises UsageError where that cannot be done safely."""
    wanted = hooks(command)
    if _ours(parse_object(text)) == wanted:
        return text
    done = without = without_hooks(text)
    # from the last to the first, because each is put before the others
    for event in reversed(wanted):
        group = wanted[event][0]
        if event in _events(parse_object(done)):
            done = jsonc.insert_first(done, ("hooks", event), group)
        else:
            done = jsonc.insert(done, ("hooks",), event, [group])
    expected = parse_object(without)
    expected = expected | {"hooks": dict(expected.get("hooks") or {})}
    for event, groups in wanted.items():
        expected["hooks"][event] = [*groups, *(expected["hooks"].get(event) or [])]
    return prove(done, expected, _BY_HAND)


def without_hooks(text: str) -> str:
    """Return the text without unhang's hooks, and without the tables that are empty then."""
    if not text.strip():
        return text
    found = parse_object(text)
    done = text
    expected = parse_object(text)
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
    return prove(done, expected, _BY_HAND)


def uses_plugin(text: str) -> bool:
    """Return whether the plugin is enabled: it brings the same hooks, and with both every event is recorded twice."""
    enabled = parse_object(text).get("enabledPlugins")
    names = enabled if isinstance(enabled, dict) else {}
    return any(str(name).partition("@")[0] == "unhang" and value is True for name, value in names.items())


def _ours(found: dict[str, Any]) -> dict[str, list[Any]]:
    groups = {event: [group for group in _groups(found, event) if is_ours(group)] for event in _events(found)}
    return {event: listed for event, listed in groups.items() if listed}


def _events(found: dict[str, Any]) -> list[str]:
    hooks_there = found.get("hooks")
    if hooks_there is None:
        return []
    if not isinstance(hooks_there, dict):
        raise UsageError('"hooks" must be an object')
    return list(hooks_there)


def _groups(found: dict[str, Any], event: str) -> list[Any]:
    groups = found["hooks"][event]
    if not isinstance(groups, list):
        raise UsageError(f'the hooks of "{event}" must be a list')
    return groups
