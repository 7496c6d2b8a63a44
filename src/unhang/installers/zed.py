"""The proxy in an editor's settings: Zed's `agent_servers`. Text in, text out; comments and layout stay as they are."""

from __future__ import annotations

import json
import re

from unhang.core import jsonc
from unhang.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TABLE = "agent_servers"


def entry_of(command: list[str]) -> dict[str, Any]:
    return {"type": "custom", "command": command[0], "args": command[1:], "env": {}}


def is_ours(entry: Any) -> bool:
    args = entry.get("args") if isinstance(entry, dict) else None
    words = [entry.get("command"), *(args if isinstance(args, list) else [])] if isinstance(entry, dict) else []
    # after `unhang`, or after `python -I -c …`
    return any(words[at : at + 2] == ["acp", "proxy"] for at in range(1, min(5, len(words))))


def snippet(name: str, command: list[str]) -> str:
    return json.dumps({TABLE: {name: entry_of(command)}}, indent=2, ensure_ascii=False) + "\n"


def _table(text: str) -> dict[str, Any]:
    try:
        whole = jsonc.parse(text) if text.strip() else {}
    except ValueError as error:
        raise UsageError(f"cannot be read as JSON: {error}") from None
    table = whole.get(TABLE, {}) if isinstance(whole, dict) else None
    if not isinstance(table, dict):
        raise UsageError(f"holds something else than a table where {TABLE} belongs")
    return table


def installed(text: str, name: str, command: list[str]) -> str:
    """The text with our entry in it; the same text if it is there already, just so."""
    entry = entry_of(command)
    there = _table(text).get(name)
    if there == entry:
        return text
    if there is not None:
        if not is_ours(there):
            raise UsageError(f"has an agent {name!r} that is not of ours: choose another name with --name")
        text = jsonc.remove(text, (TABLE, name))
    wanted = _whole(text)
    wanted[TABLE] = {**wanted.get(TABLE, {}), name: entry}
    done = jsonc.insert(text, (TABLE,), name, entry)
    return _checked(done, wanted, f"add this by hand:\n{snippet(name, command)}")


def uninstalled(text: str, name: str | None) -> str:
    """Without our entries (`name`: that one); what others have put there is not touched."""
    ours = [one for one, entry in _table(text).items() if is_ours(entry) and name in (None, one)]
    if name is not None and not ours and name in _table(text):
        raise UsageError(f"has an agent {name!r} that is not of ours: it stays")
    for one in ours:
        wanted = _whole(text)
        wanted[TABLE] = {key: entry for key, entry in wanted[TABLE].items() if key != one}
        text = _checked(jsonc.remove(text, (TABLE, one)), wanted, f"remove {one!r} by hand")
    if ours and re.search(rf'"{TABLE}"\s*:\s*{{\s*}}', text):  # nothing in it, not even a comment
        wanted = {key: value for key, value in _whole(text).items() if key != TABLE}
        text = _checked(jsonc.remove(text, (TABLE,)), wanted, f"remove {TABLE!r} by hand")
    return text


def _whole(text: str) -> dict[str, Any]:
    whole = jsonc.parse(text) if text.strip() else {}
    assert isinstance(whole, dict)
    return whole


def _checked(text: str, wanted: dict[str, Any], instead: str) -> str:
    try:
        if jsonc.same(jsonc.parse(text), wanted):
            return text
    except ValueError:
        pass
    raise UsageError(f"cannot be edited safely; {instead}")
