"""Which calls are open, according to a transcript: the only source for a session without hooks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

from unhang.sessions.claude.transcript import Transcript, open_calls


def calls(*ids: str, **more: Any) -> dict[str, Any]:
    blocks = [{"type": "tool_use", "id": each, "name": "Bash", "input": {"command": "ls"}} for each in ids]
    entry = {"type": "assistant", "timestamp": "2026-11-16T14:17:26.344Z", "message": {"content": blocks}}
    return {"isSidechain": False} | entry | more


def result(call: str) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call, "content": "x"}
    return {"type": "user", "message": {"content": [block]}, "toolUseResult": {"stdout": "x"}}


PROMPT: dict[str, Any] = {"type": "user", "message": {"role": "user", "content": "do it"}, "promptSource": "typed"}
INTERRUPTED: dict[str, Any] = {
    "type": "user",
    "message": {"content": [{"type": "text", "text": "[Request interrupted"}]},
}
OTHER: dict[str, Any] = {"type": "system", "content": '"tool_use"'}


def found(*entries: dict[str, Any]) -> list[str]:
    lines = b"".join(json.dumps(entry, separators=(",", ":")).encode() + b"\n" for entry in entries)
    return [call.id for call in open_calls(lines)]


def test_a_call_is_open_until_its_result_the_next_prompt_or_an_interruption() -> None:
    assert found(PROMPT, calls("a"), calls("b"), OTHER) == ["a", "b"]
    assert found(PROMPT, calls("a"), calls("b"), result("a")) == ["b"]
    assert found(PROMPT, calls("a"), result("a")) == []
    assert found(PROMPT, calls("a"), INTERRUPTED) == []
    assert found(PROMPT, calls("a"), PROMPT) == []
    assert found(calls("a", isSidechain=True)) == []
    assert found(calls("a"), {"type": "user", "isMeta": True, "message": {"content": "a note"}}) == ["a"]


def test_it_says_which_tool_and_since_when_and_reads_only_what_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(calls("a"), separators=(",", ":")) + "\n")
    transcript = Transcript()
    transcript.follow(str(path))
    (call,) = transcript.open_calls()
    assert (call.tool_name, call.tool_input, call.wall) == ("Bash", {"command": "ls"}, 1794838646.344)
    assert transcript.open_calls() is transcript.open_calls()
    with path.open("a") as file:
        file.write(json.dumps(result("a"), separators=(",", ":")) + "\n")
    assert transcript.open_calls() == []


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["tool_use", "user", "assistant"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "message", "content", "id", "name", "timestamp"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(values | st.binary(max_size=20), max_size=6))
def test_any_lines_can_be_read(lines: list[Any]) -> None:
    data = b"\n".join(
        line if isinstance(line, bytes) else json.dumps(line, separators=(",", ":")).encode() for line in lines
    )
    assert isinstance(open_calls(data), list)
