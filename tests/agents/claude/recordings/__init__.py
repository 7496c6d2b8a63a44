"""Conversations with the real Claude Code, line by line, without anything of the machine that they were made on.

Made anew by `UPDATE_RECORDINGS=1 pytest tests/agents/claude`; NAME.txt beside each is what the adapter makes of it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z")
# a whole list of everything that this Claude can do: of no interest here
_LISTS = (
    "slash_commands", "terminal_slash_commands", "agents", "skills", "capabilities", "memory_paths", "tools",
    "plugins", "messaging_socket_path", "modelUsage", "model_usage_since_last_result", "subagent_stats",
)  # fmt: skip


def keep(name: str, source: Path, folder: Path) -> None:
    text = source.read_text(encoding="utf-8").replace(str(folder), "/test")
    # Claude makes names of paths, and the fake model cuts them short
    text = re.sub(r"-tmp-pytest-of-[\w-]*", "-test", text)
    text = re.sub(r"/tmp/pytest-of-[^\s\"'\\]*", "/test", text)
    numbers: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        return numbers.setdefault(match.group(), f"00000000-0000-4000-8000-{len(numbers) + 1:012d}")

    text = _UUID.sub(number, text)
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8080", text)
    text = _TIME.sub("2026-01-01T00:00:00.000Z", text)
    text = re.sub(r'("\w*(?:_ms|Ms|_time)": ?)[\d.]+', r"\g<1>1", text)
    kept = [json.dumps(_shortened(json.loads(line)), ensure_ascii=False) for line in text.splitlines()]
    (FOLDER / f"{name}.ndjson").write_text("\n".join(kept) + "\n", encoding="utf-8")


def _shortened(entry: dict[str, Any]) -> dict[str, Any]:
    line = entry["line"]
    models = line.get("modelUsage") or {}
    kept = {model: {"contextWindow": usage["contextWindow"]} for model, usage in models.items()}
    for key in _LISTS:
        line.pop(key, None)
    if kept:
        line["modelUsage"] = kept
    return entry


def load(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / f"{name}.ndjson").read_text(encoding="utf-8").splitlines()]


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.ndjson"))
