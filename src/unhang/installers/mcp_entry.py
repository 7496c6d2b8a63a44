"""Putting ourselves into a client's own configuration: backed up, idempotent, never clobbering.

Files of people hold comments and an order of their own. So the text is edited, not rewritten: an entry is put in at one
place, and the outcome is parsed again before anything is written. Where that cannot be done safely we say what to add.
"""

from __future__ import annotations

import json
from typing import Any

from unhang.core import bounded
from unhang.core.jsonc import insert, parse, remove, same
from unhang.errors import UsageError
from unhang.installers.mcp_clients import ALIASES, NAME, Client, known


def client_of(name: str, environ: dict[str, str]) -> Client:
    found = known(environ)
    wanted = ALIASES.get(name.lower(), name.lower())
    if wanted not in found:
        raise UsageError(f"no such client: {name!r}; there are: {', '.join(found)}")
    return found[wanted]


def snippet(client: Client, command: list[str]) -> str:
    """What the file needs, for people to paste."""
    if client.form == "toml":
        return _toml(client, command)
    value: dict[str, Any] = {NAME: client.entry(command)}
    for key in reversed(client.keys):
        value = {key: value}
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _toml(client: Client, command: list[str]) -> str:
    entry = client.entry(command)
    head = ".".join((*client.keys, NAME))
    # a JSON string is a TOML basic string
    return f"[{head}]\ncommand = {json.dumps(entry['command'])}\nargs = {json.dumps(entry['args'])}\n"


def planned(client: Client, text: str, command: list[str]) -> str | None:
    """The file's text with our entry in it; None: it is there already, just so."""
    if client.form == "toml":
        return _planned_toml(client, text, command)
    entry = client.entry(command)
    try:
        there = _at(parse(text) if text.strip() else {}, (*client.keys, NAME))
    except ValueError as error:
        raise UsageError(f"cannot be read as JSON: {error}") from None
    if there == entry:
        return None
    if there is not None:
        raise UsageError(
            f"has another entry {NAME!r} already; remove it first, or change it by hand to:\n{snippet(client, command)}"
        )
    done = insert(text, client.keys, NAME, entry)
    wanted = _with(parse(text) if text.strip() else {}, (*client.keys, NAME), entry)
    if not same(parse(done), wanted):
        raise UsageError(f"cannot be edited safely; add this by hand:\n{snippet(client, command)}")
    return done


def without(client: Client, text: str | None) -> str | None:
    """The text without our entry, and without a table that is left empty by that."""
    if client.form == "toml":
        raise UsageError("is TOML: take the entry out by hand")
    if text is None or not text.strip():
        return text
    try:
        found = parse(text)
    except ValueError as error:
        raise UsageError(f"cannot be read as JSON: {error}") from None
    there = _at(found, (*client.keys, NAME))
    if not isinstance(there, dict):
        return text
    args = there.get("args")
    if "mcp" not in [*(args if isinstance(args, list) else []), *str(there.get("command")).split()]:
        return text
    path = (*client.keys, NAME) if len(_at(found, client.keys)) > 1 else client.keys
    return remove(text, path)


def _planned_toml(client: Client, text: str, command: list[str]) -> str | None:
    entry = client.entry(command)
    try:
        before = bounded.toml(text)
    except ValueError as error:
        raise UsageError(f"cannot be read as TOML: {error}") from None
    there = _at(before, (*client.keys, NAME))
    if there == entry:
        return None
    if there is not None:
        raise UsageError(
            f"has another entry {NAME!r} already; remove it first, or change it by hand to:\n{snippet(client, command)}"
        )
    # a table at the end of the file can be added whatever stands before it
    gap = "" if not text else ("\n" if text.endswith("\n") else "\n\n")
    done = text + gap + snippet(client, command)
    try:
        if same(bounded.toml(done), _with(before, (*client.keys, NAME), entry)):
            return done
    except ValueError:
        pass
    raise UsageError(f"cannot be edited safely; add this by hand:\n{snippet(client, command)}")


def _at(value: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        if not isinstance(value, dict):
            raise UsageError(f"holds something else than a table where {'.'.join(keys)} belongs")
        value = value.get(key)
        if value is None:
            return None
    return value


def _with(value: Any, keys: tuple[str, ...], entry: Any) -> Any:
    if not keys:
        return entry
    return {**value, keys[0]: _with(value.get(keys[0]) or {}, keys[1:], entry)}
