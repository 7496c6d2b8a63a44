"""Every scenario that was recorded with the real Claude Code, replayed through the adapter alone."""

from __future__ import annotations

import os

import pytest

from tests.agents.claude import recordings
from unhang.agents.base.update import AgentUpdate
from unhang.agents.claude.protocol.stream import ClaudeStream
from unhang.agents.claude.report import report
from unhang.core.values import dig

# How the last turn of each ended: is_error, terminal_reason.
ENDINGS = {
    "background-agent": (False, "completed"),
    "background-command": (False, "completed"),
    "compact": (False, "success"),
    "denied": (False, "completed"),
    "error-400": (True, "api_error"),
    "error-529": (True, "api_error"),
    "hang": (True, "aborted_streaming"),
    "hang-headers": (True, "aborted_streaming"),
    "hang-mid": (True, "aborted_streaming"),
    "hang-tool": (True, "aborted_streaming"),
    "hook-hang": (True, "aborted_streaming"),
    "mcp-hang": (True, "aborted_tools"),
    "ping-forever": (True, "aborted_streaming"),
    "resume": (False, "completed"),
    "resume-after-kill": (False, "completed"),
    "retries": (True, "aborted_streaming"),
    "slow": (False, "completed"),
    "success": (False, "completed"),
    "tool": (False, "completed"),
    "tool-failed": (False, "completed"),
    "tool-hang": (True, "aborted_tools"),
}


def shown(at: float, said: AgentUpdate) -> str:
    marks = ("*" if said.alive else " ") + (f" window={said.window}" if said.windowed else "")
    return f"{at:8.3f} {said.phase or '-':<14}{marks} {said.message}".rstrip()


def replay(name: str, claude: ClaudeStream) -> list[AgentUpdate]:
    heard: list[AgentUpdate] = []
    lines: list[str] = []
    for entry in recordings.load(name):
        if entry["from"] == "agent":
            for said in claude.hear(entry["line"], entry["t"]):
                heard.append(said)
                lines.append(shown(entry["t"], said))
        elif entry["line"].get("type") == "user":
            claude.begin(entry["t"])
    golden = recordings.FOLDER / f"{name}.txt"
    if os.environ.get("UPDATE_RECORDINGS"):
        golden.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert golden.read_text(encoding="utf-8").splitlines() == lines, "UPDATE_RECORDINGS=1 writes it anew"
    return heard


def test_every_recording_is_replayed() -> None:
    assert set(recordings.names()) == set(ENDINGS)


@pytest.mark.parametrize("name", sorted(ENDINGS))
def test_a_recorded_conversation_is_understood_to_its_end(name: str) -> None:
    claude = ClaudeStream()
    heard = replay(name, claude)
    assert "unknown" not in [said.phase for said in heard]
    assert claude.ended is not None
    assert (claude.ended.is_error, claude.ended.reason) == ENDINGS[name]
    assert not claude.turn
    assert not claude.agents
    assert claude.tools.window is None
    assert claude.results == (2 if name == "background-agent" else 1)
    found = report({"type": "agent"} | said.to_json() for said in heard)
    assert (found["isError"], found["terminalReason"]) == ENDINGS[name]
    assert found["sessionId"] == claude.session


@pytest.mark.parametrize("name", ["hang", "hang-headers", "retries"])
def test_nothing_that_a_hang_says_is_a_sign_of_life(name: str) -> None:
    """From its first request on, until unhang itself interrupts it."""
    claude = ClaudeStream()
    asked = False
    for entry in recordings.load(name):
        line = entry["line"]
        if line.get("type") == "control_request":
            assert asked
            return
        if entry["from"] == "agent":
            said = claude.hear(line, entry["t"])
            assert not (asked and any(one.alive for one in said)), said
            asked = asked or dig(line, "status") == "requesting"
    raise AssertionError("the turn was never interrupted")
