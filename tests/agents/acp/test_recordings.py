"""Every conversation that was recorded with a real agent, replayed through the adapter alone."""

from __future__ import annotations

import os
import re

import pytest

from tests.agents.acp import recordings
from tests.support.acp_agents import programs
from tests.support.places import ROOT
from unhang.agents.acp.protocol.requests import request_of
from unhang.agents.acp.protocol.turn import AcpSession
from unhang.agents.base.update import AgentUpdate
from unhang.core.values import dig

# How the last turn of each ended. None: it was ended before it said so.
SCENARIOS: dict[str, str | None] = {
    "success": "end_turn",
    "refused": "end_turn",
    "hang": "cancelled",
    "tool-hang": "cancelled",
    "resume": "end_turn",
}
OTHERS: dict[str, str | None] = {"gemini-files": "end_turn", "codex-refused": "cancelled"}  # a no ends Codex's turn
EXPECTED = {f"{name}-{what}": end for name in programs.NAMES for what, end in SCENARIOS.items()} | OTHERS
del EXPECTED["gemini-resume"], EXPECTED["opencode-resume"]  # the one cannot, the other takes its time

# Not in the protocol and not marked as an extension of it: shown as something new, and no sign of life.
OF_VENDORS = {"qwen/notify/session/prompt-suggestion"}


def shown(at: float, said: AgentUpdate) -> str:
    marks = ("*" if said.alive else " ") + (f" window={said.window}" if said.windowed else "")
    return f"{at:8.3f} {said.phase or '-':<14}{marks} {said.message}".rstrip()


def replay(name: str) -> tuple[AcpSession, list[AgentUpdate]]:
    """As the driver does it: answers open the session and end its turns, requests are answered, the rest is heard."""
    session = AcpSession()
    heard: list[AgentUpdate] = session.begin(0.0)
    lines: list[str] = []
    asked: dict[int, str] = {}
    open_requests: dict[object, object] = {}
    for entry in recordings.load(name):
        at, line, found = entry["t"], entry["line"], list[AgentUpdate]()
        if entry["from"] == "unhang":
            if "method" in line and "id" in line:
                asked[line["id"]] = line["method"]
                if line["method"] in ("session/resume", "session/load"):
                    session.adopt(line["params"]["sessionId"], at)
                elif line["method"] == "session/prompt":
                    found = session.prompt(at)
            elif line.get("id") in open_requests:
                tool = open_requests.pop(line["id"])
                chosen = str(dig(line, "result", "outcome", "optionId"))
                found = session.permitted(tool, not re.search("reject|cancel|no", chosen), at)
        elif request_of(line) is not None:
            open_requests[line["id"]] = dig(line, "params", "toolCall")
        elif "method" in line:
            found = session.hear(line, at)
        elif asked.get(line["id"]) == "session/new":
            session.adopt(line["result"]["sessionId"], at)
        elif asked.get(line["id"]) == "session/prompt":
            found = session.answered(line["result"], at)
        heard += found
        lines += [shown(at, said) for said in found]
    golden = recordings.FOLDER / f"{name}.txt"
    if os.environ.get("UPDATE_RECORDINGS"):
        golden.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert golden.read_text(encoding="utf-8").splitlines() == lines, "UPDATE_RECORDINGS=1 writes it anew"
    return session, heard


def test_every_recording_is_replayed() -> None:
    assert set(recordings.names()) == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_recorded_conversation_is_understood_to_its_end(name: str) -> None:
    session, heard = replay(name)
    assert {said.method for said in heard if said.phase == "unknown"} <= OF_VENDORS
    assert session.ended is not None
    assert session.ended.reason == EXPECTED[name]
    assert not session.in_turn
    assert session.window is None


@pytest.mark.parametrize("name", [f"{agent}-hang" for agent in programs.NAMES])
def test_nothing_that_a_hang_says_is_a_sign_of_life(name: str) -> None:
    """From the moment on that the task was handed over, until unhang itself cancels the turn."""
    session, begun = AcpSession(), False
    for entry in recordings.load(name):
        line = entry["line"]
        if line.get("method") == "session/cancel":
            assert begun
            return
        if line.get("method") == "session/prompt":
            session.adopt(line["params"]["sessionId"], entry["t"])
            session.prompt(entry["t"])
            begun = True
        elif entry["from"] == "agent" and begun:
            assert not any(said.alive for said in session.hear(line, entry["t"])), line
    raise AssertionError("the turn was never cancelled")


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_recording_holds_nothing_of_a_machine(name: str) -> None:
    text = (recordings.FOLDER / f"{name}.ndjson").read_text(encoding="utf-8")
    assert not re.search(r"/tmp/|/root\b|/home/(?!user)", text)
    assert str(ROOT) not in text
