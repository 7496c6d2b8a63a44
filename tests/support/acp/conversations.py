"""Conversations of an editor with the real agents, recorded by `python -m tests.support.acp.conversations`.

A recording is one JSON object a line: {"from": "editor" or "agent", "line": the bytes as text, with its newline}.
Paths and ports of the machine that recorded it are written as others, and lists of hundreds of KB are cut.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.support.acp.editor import Editor, Said
from tests.support.acp_agents import programs
from tests.support.engine import wait_until
from tests.support.fakes.acp_models import FakeModels
from tests.support.places import TESTS
from tests.support.programs import MODULES

_LONG = 20_000
FOLDER = TESTS / "acp" / "recordings"


def talk(editor: Editor, fake: FakeModels) -> None:
    """What is said to each: hello, a question, a command (with its permission), and a turn that is cancelled."""
    editor.begin()
    assert editor.turn("[[text:Grüße, 世界]]") == "end_turn"
    assert "世界" in "".join(editor.texts())
    assert editor.turn("[[shell:echo from-the-shell]]") == "end_turn"
    hung = editor.prompt("[[hang]]")
    wait_until(lambda: "hang" in fake.asked, "the model is asked")  # an agent does not say when it asks
    editor.cancel()
    assert editor.answer(hung)["result"]["stopReason"] == "cancelled"


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.ndjson"))


def recorded(name: str) -> list[Said]:
    lines = (FOLDER / f"{name}.ndjson").read_text(encoding="utf-8").splitlines()
    return [Said(entry["from"], entry["line"].encode("utf-8", "surrogateescape")) for entry in map(json.loads, lines)]


def record(name: str) -> None:
    with FakeModels() as fake, tempfile.TemporaryDirectory() as folder:
        started = programs.start(name, Path(folder), fake)
        workspace = Path(folder) / "workspace"
        workspace.mkdir()
        editor = Editor(started.argv, started.env, workspace)
        try:
            talk(editor, fake)
            editor.close(10)
        finally:
            editor.process.kill()
            editor.process.wait()
        entries = []
        for said in editor.transcript:
            line = said.line.decode("utf-8", "surrogateescape")
            for place, other in ((folder, "/tmp/recorded"), (str(MODULES), "/opt/node_modules")):
                line = line.replace(place, other)
            line = _cut(line.replace(f"127.0.0.1:{fake.port}", "127.0.0.1:11434"))
            entries.append(json.dumps({"from": said.who, "line": line}, ensure_ascii=True))
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.ndjson").write_text("\n".join(entries) + "\n", encoding="utf-8")
    print(f"{name}: {len(entries)} lines", file=sys.stderr)


def _cut(line: str) -> str:
    if len(line) < _LONG:
        return line
    return json.dumps(_shortened(json.loads(line)), ensure_ascii=False, separators=(",", ":")) + "\n"


def _shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _shortened(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_shortened(one) for one in value[:6]]
    return value[:200] if isinstance(value, str) else value


if __name__ == "__main__":
    for wanted in sys.argv[1:] or programs.NAMES:
        record(wanted)
