"""Conversations with the real Codex, line by line, without anything of the machine that they were made on.

Made anew by `UPDATE_RECORDINGS=1 pytest tests/agents/codex`; NAME.txt beside each is what the adapter makes of it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_LONG = 4000


def keep(name: str, source: Path, folder: Path) -> None:
    text = source.read_text(encoding="utf-8").replace(str(folder), "/test")
    numbers: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        return numbers.setdefault(match.group(), f"00000000-0000-4000-8000-{len(numbers) + 1:012d}")

    text = _UUID.sub(number, text)
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8080", text)
    text = re.sub(r"(unhang/[\d.]+) [^\"]*", r"\1 (Linux)", text)
    text = re.sub(r'("serverName": ?)"[^"]*"', r'\1"host"', text)
    text = re.sub(r'("(?:\w+At|\w*[aA]tMs|durationMs)": ?)\d+', r"\g<1>1", text)
    lines = [line for line in text.splitlines() if len(line) <= _LONG or '"method"' in line or '"result"' in line]
    kept = [json.dumps(_shortened(json.loads(line)), ensure_ascii=False) for line in lines]
    (FOLDER / f"{name}.ndjson").write_text("\n".join(kept) + "\n", encoding="utf-8")


def _shortened(entry: dict[str, Any]) -> dict[str, Any]:
    """Of a long answer only the thread is of interest: the rest is Codex's whole configuration."""
    line = entry["line"]
    result = line.get("result")
    if isinstance(result, dict) and isinstance(result.get("thread"), dict):
        entry["line"] = {"id": line["id"], "result": {"thread": {"id": result["thread"]["id"]}}}
    return entry


def load(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / f"{name}.ndjson").read_text(encoding="utf-8").splitlines()]


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.ndjson"))
