"""An agent behind the ACP proxy, in Zed's settings: an entry of `agent_servers`."""

from __future__ import annotations

import json
import os
import re

from unhang.core import jsonc
from unhang.errors import SpawnError, UsageError
from unhang.installers import flow
from unhang.installers.settings_edit import parse_object, prove
from unhang.procs import executable
from unhang.procs.spawn import find_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

TABLE = "agent_servers"


def settings_file(environ: Mapping[str, str]) -> str:
    """Return where Zed keeps the person's settings."""
    config = environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.join(config, "zed", "settings.json")


def plan_install(path: str, name: str | None, options: list[str], agent: list[str], path_list: str) -> flow.FileChange:
    """Return the agent, started by `unhang acp proxy` with `options`. It is named by its absolute path: the editor's
    PATH is not the shell's.
    """
    program, *words = agent
    try:
        found = os.path.abspath(find_program(program, path_list))
    except SpawnError as error:
        raise SpawnError(f"{error}; install the agent, or give its path", error.exit_code) from None
    command = [*executable.command(), "acp", "proxy", *options, "--", found, *words]
    entry_name = name or f"{os.path.basename(program)} (unhang)"
    return flow.plan_file(
        path, add=lambda text: add(text, entry_name, command), remove=lambda text: remove(text, name), installs=True
    )


def plan_uninstall(path: str, name: str | None) -> flow.FileChange:
    """Return the change that removes the entry `name`, or all entries that unhang added."""
    entries: dict[str, list[str]] = {}

    def without(text: str) -> str:
        for one, entry in _table(text).items():
            if _is_named(one, entry, name):
                entries[one] = [entry["command"], *entry["args"]]
        return remove(text, name)

    def put_back(text: str) -> str:
        for one, command in entries.items():
            text = add(text, one, command)
        return text

    return flow.plan_file(path, add=put_back, remove=without, installs=False)


def entry_of(command: list[str]) -> dict[str, Any]:
    """Return an agent, as Zed's settings describe it."""
    return {"type": "custom", "command": command[0], "args": command[1:], "env": {}}


def is_ours(entry: Any) -> bool:
    """Return whether `unhang acp install` wrote this entry."""
    args = entry.get("args") if isinstance(entry, dict) else None
    words = [entry.get("command"), *(args if isinstance(args, list) else [])] if isinstance(entry, dict) else []
    # after `unhang`, or after `python -I -c …`
    return any(words[at : at + 2] == ["acp", "proxy"] for at in range(1, min(5, len(words))))


def snippet(name: str, command: list[str]) -> str:
    """Return what the settings need, for a person to paste."""
    return json.dumps({TABLE: {name: entry_of(command)}}, indent=2, ensure_ascii=False) + "\n"


def add(text: str, name: str, command: list[str]) -> str:
    """Return the text with unhang's entry in it; the same text if that entry is there."""
    entry = entry_of(command)
    there = _table(text).get(name)
    if there == entry:
        return text
    if there is not None:
        if not is_ours(there):
            raise UsageError(f"agent {name!r} was not added by unhang; choose another name with --name")
        text = jsonc.remove(text, (TABLE, name))
    wanted = parse_object(text)
    wanted[TABLE] = {**wanted.get(TABLE, {}), name: entry}
    done = jsonc.insert(text, (TABLE,), name, entry)
    return prove(done, wanted, f"add this by hand:\n{snippet(name, command)}")


def remove(text: str, name: str | None) -> str:
    """Return the text without unhang's entries (`name`: without that one). Entries of others are left unchanged."""
    table = _table(text)
    ours = [one for one, entry in table.items() if _is_named(one, entry, name)]
    if name is not None and not ours and name in table:
        raise UsageError(f"agent {name!r} was not added by unhang; left unchanged")
    for one in ours:
        wanted = parse_object(text)
        wanted[TABLE] = {key: entry for key, entry in wanted[TABLE].items() if key != one}
        text = prove(jsonc.remove(text, (TABLE, one)), wanted, f"remove {one!r} by hand")
    if ours and re.search(rf'"{TABLE}"\s*:\s*{{\s*}}', text):  # nothing in it, not even a comment
        wanted = {key: value for key, value in parse_object(text).items() if key != TABLE}
        text = prove(jsonc.remove(text, (TABLE,)), wanted, f"remove {TABLE!r} by hand")
    return text


def _is_named(one: str, entry: Any, name: str | None) -> bool:
    return is_ours(entry) and name in (None, one)


def _table(text: str) -> dict[str, Any]:
    table = parse_object(text).get(TABLE, {})
    if not isinstance(table, dict):
        raise UsageError(f"{TABLE} must be an object")
    return table
