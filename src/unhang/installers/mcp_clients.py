"""The MCP server in each client's configuration: where its file is, how an entry looks, adding it and removing it.

An entry of this name that unhang did not write is never overwritten. Where a text cannot be edited safely, the error
says what to add by hand.
"""

from __future__ import annotations

import json
import os
from typing import Any

from unhang.core import jsonc, settings_text
from unhang.errors import UsageError
from unhang.installers import flow
from unhang.installers.known_mcp_clients import Client
from unhang.installers.settings_edit import parse_object, prove
from unhang.procs import executable
from unhang.store import user_file

NAME = "unhang"


def server_command() -> list[str]:
    """Return how a client starts the server."""
    return [*executable.command(), "mcp"]


# How the client of a colleague starts it: a path of this machine would be of no use there.
_ANYWHERE = ["unhang", "mcp"]


def is_on_path() -> bool:
    """Return whether the command that is written into a project's file works here."""
    import shutil

    return shutil.which(_ANYWHERE[0]) is not None


def plan(client: Client, *, project: bool, installs: bool) -> flow.FileChange:
    """Return the change that adds the server to the client's configuration, or removes it.

    `project`: to or from that of the current directory.
    """
    path, command = client.path, server_command()
    if project:
        if client.project is None:
            raise UsageError(f"{client.title} has no configuration file for a project")
        path, command = user_file.in_project(os.getcwd(), client.project), _ANYWHERE
    return flow.plan_file(
        path,
        add=lambda text: add(client, text, command),
        remove=lambda text: remove(client, text),
        installs=installs,
    )


def snippet(client: Client, command: list[str]) -> str:
    """Return what the file needs, for a person to paste."""
    entry = client.entry(command)
    if client.form == "toml":
        head = ".".join((*client.keys, NAME))
        # a JSON string is a TOML basic string
        return f"[{head}]\ncommand = {json.dumps(entry['command'])}\nargs = {json.dumps(entry['args'])}\n"
    value: dict[str, Any] = {NAME: entry}
    for key in reversed(client.keys):
        value = {key: value}
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def add(client: Client, text: str, command: list[str]) -> str:
    """Return the text with unhang's entry in it; the same text if that entry is there.

    An entry of unhang's own that starts another program (it was moved, or is of another environment) is updated: what
    a person has added to it stays.
    """
    entry = client.entry(command)
    before = _parse(client, text)
    there = _at(before, (*client.keys, NAME))
    if there is not None and is_ours(there):
        return _updated(client, text, before, there, command)
    if there is not None:
        raise UsageError(
            f"has another entry {NAME!r}; remove it first, or change it by hand to:\n{snippet(client, command)}"
        )
    wanted = _with(before, (*client.keys, NAME), entry)
    instead = f"add this by hand:\n{snippet(client, command)}"
    if client.form != "toml":
        return prove(jsonc.insert(text, client.keys, NAME, entry), wanted, instead)
    # a table at the end of the file can be added whatever stands before it
    gap = "" if not text else ("\n" if text.endswith("\n") else "\n\n")
    return _proved_toml(text + gap + snippet(client, command), wanted, instead)


def is_ours(entry: Any) -> bool:
    """Return whether an entry starts the MCP server of unhang, whichever way and from wherever."""
    words = _words(entry)
    starts = bool(words) and (
        os.path.basename(words[0]) == "unhang" or any("unhang.__main__" in word for word in words)
    )
    return starts and "mcp" in words


def _words(entry: Any) -> list[str]:
    """The command line of an entry, in whichever form its client has it."""
    if not isinstance(entry, dict):
        return []
    command, args = entry.get("command"), entry.get("args")
    words = [*(command if isinstance(command, list) else [command]), *(args if isinstance(args, list) else [])]
    return [word for word in words if isinstance(word, str)]


def _updated(client: Client, text: str, before: dict[str, Any], there: dict[str, Any], command: list[str]) -> str:
    """The text with the entry starting `command`; the options behind `mcp` and all other settings of it stay."""
    words = _words(there)
    entry = there | client.entry([*command, *words[words.index("mcp") + 1 :]])
    entry |= {name: there[name] for name in ("env", "enabled") if name in there}
    if entry == there:
        return text
    path = (*client.keys, NAME)
    wanted = _with(before, path, entry)
    instead = f"change its entry {NAME!r} by hand to:\n{snippet(client, command)}"
    if client.form == "toml":
        shown = f"command = {json.dumps(entry['command'])}\nargs = {json.dumps(entry['args'])}\n"
        return _proved_toml(_toml_entry(client, text, shown), wanted, instead)
    without = jsonc.remove(text, path)
    return prove(jsonc.insert(without, client.keys, NAME, entry), wanted, instead)


def _toml_entry(client: Client, text: str, shown: str | None) -> str:
    """The text with the command and the arguments of unhang's table replaced; None: without the table.

    Only the form that `snippet` writes is edited, which the caller proves by reading the result.
    """
    head = f"[{'.'.join((*client.keys, NAME))}]"
    made: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            inside = line.strip().startswith(head) or (shown is None and line.strip().startswith(f"{head[:-1]}."))
            if inside and shown is not None:
                line += shown
            elif inside:
                continue
        elif inside and (shown is None or line.partition("=")[0].strip() in ("command", "args")):
            continue
        made.append(line)
    return "".join(made)


def _proved_toml(text: str, wanted: dict[str, Any], instead: str) -> str:
    try:
        if jsonc.same(settings_text.toml(text), wanted):
            return text
    except ValueError:
        pass
    raise UsageError(f"cannot be edited safely; {instead}")


def remove(client: Client, text: str) -> str:
    """Return the text without unhang's entry, and without the table if that is empty then."""
    found = _parse(client, text)
    there = _at(found, (*client.keys, NAME))
    if not is_ours(there):
        return text
    if client.form == "toml":
        wanted = _without(found, (*client.keys, NAME))
        return _proved_toml(_toml_entry(client, text, None), wanted, f"remove its entry {NAME!r} by hand")
    path = (*client.keys, NAME) if len(_at(found, client.keys)) > 1 else client.keys
    return jsonc.remove(text, path)


def _parse(client: Client, text: str) -> dict[str, Any]:
    if client.form != "toml":
        return parse_object(text)
    try:
        return settings_text.toml(text)
    except ValueError as error:
        raise UsageError(f"cannot be read as TOML: {error}") from None


def _at(value: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        if not isinstance(value, dict):
            raise UsageError(f"{'.'.join(keys)} must be an object")
        value = value.get(key)
        if value is None:
            return None
    return value


def _without(value: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """The value without the entry at `keys`, and without tables that are empty then."""
    inner = _without(value[keys[0]], keys[1:]) if len(keys) > 1 else None
    return {name: one for name, one in value.items() if name != keys[0]} | ({keys[0]: inner} if inner else {})


def _with(value: Any, keys: tuple[str, ...], entry: Any) -> Any:
    if not keys:
        return entry
    return {**value, keys[0]: _with(value.get(keys[0]) or {}, keys[1:], entry)}
