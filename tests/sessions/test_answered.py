"""A result in the transcript closes its call, whether a hook has told of it or not."""

from __future__ import annotations

import json
from pathlib import Path

from unhang.sessions.claude.transcript import Transcript


def line(kind: str, **block: object) -> str:
    return json.dumps({"type": kind, "message": {"content": [block]}}, separators=(",", ":")) + "\n"


def test_only_a_call_that_has_its_result_is_answered(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    path.write_text(
        line("assistant", type="tool_use", id="toolu_1")
        + line("assistant", type="tool_use", id="toolu_2")
        + line("user", type="tool_result", tool_use_id="toolu_1", is_error=True)
    )
    transcript = Transcript()
    assert transcript.answered(["toolu_1"]) == []  # it is not known yet where it is
    transcript.follow(str(path))
    assert transcript.answered(["toolu_1", "toolu_2", "toolu_"]) == ["toolu_1"]
    assert transcript.answered([]) == []


def test_a_result_of_long_ago_is_found_and_a_missing_file_is_none(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    path.write_text(line("user", type="tool_result", tool_use_id="toolu_1") + line("user", text="x" * 1000) * 4000)
    transcript = Transcript()
    transcript.follow(str(path))
    assert transcript.answered(["toolu_1"]) == ["toolu_1"]
    path.unlink()
    assert transcript.answered(["toolu_1"]) == []
