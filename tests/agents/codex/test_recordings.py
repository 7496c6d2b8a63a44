"""Every scenario that was recorded with the real Codex, replayed through the adapter alone."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.agents.codex import recordings
from unhang.agents.base.update import AgentUpdate
from unhang.agents.codex.protocol.exec_events import CodexExec
from unhang.agents.codex.protocol.requests import request_of
from unhang.agents.codex.protocol.thread import CodexThread
from unhang.core.values import dig

# How the last turn of each ended: status, codexErrorInfo. None: it was ended before it said so.
ENDINGS: dict[str, tuple[str, str] | None] = {
    "approval-accepted": ("completed", ""),
    "approval-denied": ("completed", ""),
    "compaction": ("completed", ""),
    "compaction-failed": ("failed", "internalServerError"),
    "compaction-hung": ("interrupted", ""),
    "compaction-refused": None,
    "daemon": ("completed", ""),
    "error-401": ("failed", "httpConnectionFailed"),
    "error-429": ("failed", "responseTooManyFailedAttempts"),
    "error-500": ("failed", "internalServerError"),
    "error-drop-mid": ("failed", "other"),
    "error-passing": ("completed", ""),
    "hang": ("interrupted", ""),
    "hang-headers": ("interrupted", ""),
    "hang-mid": ("interrupted", ""),
    "nearly-full": ("completed", ""),
    "overflow": ("failed", "contextWindowExceeded"),
    "reconnect": ("interrupted", ""),
    "recover": ("completed", ""),
    "resume": ("completed", ""),
    "resume-after-kill": ("completed", ""),
    "review": ("completed", ""),
    "slow": ("completed", ""),
    "success": ("completed", ""),
    "tool": ("completed", ""),
    "tool-hang": ("interrupted", ""),
    "trickle": ("interrupted", ""),
    "trickle-ev": ("interrupted", ""),
}
EXEC_ENDINGS = {"exec-429": "failed", "exec-hang": "", "exec-overflow": "failed", "exec-tool": "completed"}


def shown(at: float, said: AgentUpdate) -> str:
    marks = ("*" if said.alive else " ") + (f" window={said.window}" if said.windowed else "")
    return f"{at:8.3f} {said.phase or '-':<14}{marks} {said.message}".rstrip()


def replay(name: str, codex: CodexThread) -> list[AgentUpdate]:
    """As the driver does it: answers open the thread, requests are answered, the rest is heard."""
    heard: list[AgentUpdate] = []
    lines: list[str] = []
    for entry in recordings.load(name):
        line: dict[str, Any] = entry["line"]
        if entry["from"] != "agent" or request_of(line) is not None:
            continue
        if thread := dig(line, "result", "thread", "id"):
            codex.adopt(str(thread), entry["t"])
        for said in codex.hear(line, entry["t"]):
            heard.append(said)
            lines.append(shown(entry["t"], said))
    check(name, lines)
    return heard


def check(name: str, lines: list[str]) -> None:
    golden = recordings.FOLDER / f"{name}.txt"
    if os.environ.get("UPDATE_RECORDINGS"):
        golden.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert golden.read_text(encoding="utf-8").splitlines() == lines, "UPDATE_RECORDINGS=1 writes it anew"


def test_every_recording_is_replayed() -> None:
    assert set(recordings.names()) == set(ENDINGS) | set(EXEC_ENDINGS)


@pytest.mark.parametrize("name", sorted(ENDINGS))
def test_a_recorded_conversation_is_understood_to_its_end(name: str) -> None:
    codex = CodexThread()
    heard = replay(name, codex)
    assert "unknown" not in [said.phase for said in heard]
    expected = ENDINGS[name]
    if expected is None:
        assert codex.ended is None
        return
    assert codex.ended is not None
    assert (codex.ended.status, (codex.ended.error or {}).get("info", "")) == expected
    assert codex.turn == ""
    assert codex.tools.window is None
    assert (codex.compacted > 0) == (name in ("compaction", "recover"))


@pytest.mark.parametrize("name", sorted(EXEC_ENDINGS))
def test_a_recorded_exec_is_understood_to_its_end(name: str) -> None:
    codex = CodexExec()
    heard = [(e["t"], said) for e in recordings.load(name) for said in codex.hear(e["line"], e["t"])]
    check(name, [shown(at, said) for at, said in heard])
    assert "unknown" not in [said.phase for _, said in heard]
    assert codex.status == EXEC_ENDINGS[name]


@pytest.mark.parametrize("name", ["hang", "hang-headers", "trickle", "trickle-ev", "reconnect"])
def test_nothing_that_a_hang_says_is_a_sign_of_life(name: str) -> None:
    """From the moment on that the task was handed over, until unhang itself interrupts the turn."""
    codex = CodexThread()
    begun = False
    for entry in recordings.load(name):
        line = entry["line"]
        if line.get("method") == "turn/interrupt":
            assert begun
            return
        if entry["from"] == "agent":
            said = codex.hear(line, entry["t"])
            assert not (begun and any(one.alive for one in said)), said
            begun = begun or dig(line, "params", "item", "type") == "userMessage"
    raise AssertionError("the turn was never interrupted")
