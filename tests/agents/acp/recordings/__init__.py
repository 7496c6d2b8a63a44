"""Conversations with the real agents, line by line as on the wire, without anything of the machine they were made on.

Made anew by `UPDATE_RECORDINGS=1 pytest tests/agents/acp`; NAME.txt beside each is what the adapter makes of it.
`raw` is a whole line of the protocol, `from` is "agent" or "unhang": a recording can be played to either side.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_OPENCODE = re.compile(r"\b(ses|msg|prt)_[0-9A-Za-z]{20,}")
_LONG = 80


def keep(name: str, source: Path, folder: Path, modules: Path) -> None:
    text = source.read_text(encoding="utf-8")
    text = text.replace(str(folder), "/test").replace(str(modules), "/modules")
    text = _UUID.sub(_numbered(lambda n, _: f"00000000-0000-4000-8000-{n:012d}"), text)
    text = _OPENCODE.sub(_numbered(lambda n, match: f"{match.group(1)}_{n:026d}"), text)
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8080", text)
    text = re.sub(r"(PGID: |\\\"pid\\\":|command_)\d+", r"\g<1>1", text)
    text = re.sub(r"(\\\"(?:durationMs|createdAt|updatedAt|timestamp)\\\":)\d+", r"\g<1>1", text)
    lines = [json.dumps(_shortened(json.loads(line)), ensure_ascii=False) for line in text.splitlines()]

    (FOLDER / f"{name}.ndjson").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _numbered(make: Callable[[int, re.Match[str]], str]) -> Callable[[re.Match[str]], str]:
    seen: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        return seen.setdefault(match.group(), make(len(seen) + 1, match))

    return number


def _shortened(entry: dict[str, Any]) -> dict[str, Any]:
    """Lists of every command and model that an agent knows are of no interest beyond their shape."""
    if len(entry["raw"]) > 2000:
        value = _cut(json.loads(entry["raw"]))
        entry["raw"] = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return entry


def _cut(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: one[:_LONG] if name in ("description", "hint") and isinstance(one, str) else _cut(one)
            for name, one in value.items()
        }
    if isinstance(value, list):
        return [_cut(one) for one in value[:6]]
    return value


def load(name: str) -> list[dict[str, Any]]:
    """`t`, `from`, `raw`; and `line`, where it is an object."""
    found: list[dict[str, Any]] = []
    for line in (FOLDER / f"{name}.ndjson").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        try:
            entry["line"] = json.loads(entry["raw"])
        except ValueError:
            entry["line"] = None
        found.append(entry)
    return found


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.ndjson"))
