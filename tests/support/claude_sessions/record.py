"""Plays every scenario by hand with the real Claude Code and writes it down, to be replayed without Claude.

    python -m tests.support.claude_sessions.record [NAME …]

What a watcher should do is done by hand here, at the moment a recording says `did`: the replay holds the rest of it
back until the machine has decided the same.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.support.claude_sessions import scenarios
from tests.support.claude_sessions.harness import Desk, Session
from tests.support.claude_sessions.recorder import Recorder, passing
from tests.support.claude_sessions.scenarios import HANGS, Scenario
from tests.support.engine import wait_until
from tests.support.fakes.anthropic_messages import FakeAnthropic
from unhang.procs import command_line, tree
from unhang.sessions.state import actions
from unhang.testing.liveness import Process

QUEUED = ("fake: say answer-one", "fake: say answer-two")
_LASTS = 1.5


def end_child(session: Session, name: str = "tail") -> None:
    """The hanging command itself, and nothing else."""

    def child() -> Process | None:
        for process in tree.descendants(session.pid):
            if command_line.of(process.pid).split(" ")[0] == name:
                return Process(process.pid)
        return None

    found = wait_until(child, name)
    found.send(15)
    found.close()


def hang(scenario: Scenario, *queued: str) -> Callable[[Session, Recorder], None]:
    """It hangs, messages queue up; the gentlest step; they are answered."""

    def play(session: Session, recorder: Recorder) -> None:
        session.ask(scenario.prompt(session.desk))
        scenario.ready(session)
        session.queue(*queued)
        passing(_LASTS)
        if "Bash" in {e.get("toolName") for e in session.events("hook")} and scenario is not scenarios.HOOK:
            recorder.did(actions.END_TREE)
            end_child(session)
            session.wait_hook("PostToolUseFailure", toolName="Bash")
            passing(0.5)
        if scenario is not scenarios.BASH:
            recorder.did(actions.ESCAPE)
            session.keys("Escape")
        session.wait_screen(f"● {queued[-1].rpartition(' ')[2]}")
        session.wait_status("idle")

    return play


def restored(session: Session, recorder: Recorder) -> None:
    """Nothing was queued: the prompt goes back into the box."""
    session.ask("fake: hang")
    scenarios.API_FIRST.ready(session)
    passing(_LASTS)
    recorder.did(actions.ESCAPE)
    session.keys("Escape")
    session.wait_status("idle")
    wait_until(lambda: session.box() == "fake: hang", "the prompt is back")


def drafted(session: Session, recorder: Recorder) -> None:
    """Somebody has half a message in the box."""
    session.ask("fake: hang-mid")
    scenarios.API_MID.ready(session)
    session.draft("half a thought")
    session.wait_screen("half a thought")
    passing(_LASTS)
    recorder.did(actions.ESCAPE)
    session.keys("Escape")
    session.wait_status("idle")
    assert session.box() == "half a thought"


def vim(session: Session, recorder: Recorder) -> None:
    session.ask("fake: hang-mid")
    scenarios.API_MID.ready(session)
    session.draft("half a thought")
    session.wait_screen("half a thought", "-- INSERT --")
    passing(_LASTS)
    recorder.did(actions.ESCAPE)
    session.keys("Escape")
    wait_until(lambda: "-- INSERT --" not in session.screen(), "NORMAL mode")
    assert (session.status() or {})["status"] == "busy"
    passing(0.5)
    recorder.did(actions.ESCAPE)
    session.keys("Escape")
    session.wait_status("idle")


def copy_mode(session: Session, recorder: Recorder) -> None:
    session.ask("fake: hang-mid")
    scenarios.API_MID.ready(session)
    session.desk.tmux("copy-mode", "-t", session.pane)
    passing(_LASTS)
    recorder.did(actions.LEAVE_MODE)
    session.desk.tmux("send-keys", "-t", session.pane, "-X", "cancel")
    passing(0.5)
    recorder.did(actions.ESCAPE)
    session.keys("Escape")
    session.wait_status("idle")


def idle(session: Session, _: Recorder) -> None:
    session.ask("hello")
    session.wait_screen("● pong")
    session.wait_status("idle")
    session.draft("half a thought")
    session.wait_screen("half a thought")


def permission(session: Session, _: Recorder) -> None:
    given = {"file_path": str(session.desk.work / "new.txt"), "content": "text"}
    session.ask(f"fake: tool Write {json.dumps(given)}")
    session.wait_status("waiting")
    session.wait_hook("PermissionRequest")
    passing(8)  # its notification comes after six seconds


def talking_bash(session: Session, _: Recorder) -> None:
    session.ask("fake: bash while :; do echo tick; sleep 0.2; done")
    session.wait_hook("PreToolUse")
    session.wait_screen(" lines)")
    passing(1)


def refused(session: Session, _: Recorder) -> None:
    """Somebody's own hook has refused a call; the turn goes on."""
    fetch = ["WebFetch", {"url": "https://refused.example/", "prompt": "x"}]
    bash = ["Bash", {"command": "while :; do echo tick; sleep 0.2; done"}]
    session.ask(f"fake: seq {json.dumps([{'tools': [fetch]}, {'tools': [bash]}])}")
    session.wait_hook("PreToolUse", toolName="WebFetch")
    session.wait_screen(" lines)")
    passing(1)


def background(session: Session, recorder: Recorder) -> None:
    """A subagent's command hangs, while the prompt is free."""
    session.ask(scenarios.subagent(f"fake: bash {HANGS}"))
    session.wait_hook("SubagentStart")
    session.wait_hook("Stop")
    session.wait_hook("PreToolUse", toolName="Bash")
    passing(_LASTS)
    recorder.did(actions.END_TREE)
    end_child(session)
    session.wait_hook("SubagentStop")
    session.wait_status("idle")


def drip(session: Session, _: Recorder) -> None:
    """A long answer that comes word by word."""
    session.ask("fake: drip 1000 0.1")
    passing(3)


Play = Callable[[Session, Recorder], None]
PLAYS: dict[str, tuple[dict[str, object], Play]] = {
    **{scenario.name: (scenario.setup, hang(scenario, *QUEUED)) for scenario in scenarios.HANGING},
    "restored-prompt": ({}, restored),
    "draft": ({}, drafted),
    "vim": ({"vim": True}, vim),
    "copy-mode": ({}, copy_mode),
    "idle": ({}, idle),
    "permission": ({}, permission),
    "talking-bash": ({}, talking_bash),
    "refused-call": ({"hooks": {"PreToolUse": ["grep -q refused.example && exit 2; exit 0"]}}, refused),
    "background-agents": ({}, background),
    "long-answer": ({}, drip),
}


def record(name: str) -> None:
    setup, play = PLAYS[name]
    with tempfile.TemporaryDirectory(prefix="unhang-") as folder, FakeAnthropic() as fake:
        desk = Desk(Path(folder), fake)
        desk.configure(**setup)  # type: ignore[arg-type]
        try:
            session = desk.claude()
            with Recorder(session) as recorder:
                play(session, recorder)
                passing(1)
            recorder.keep(name)
        finally:
            desk.end()
            desk.close()
            left = desk.left_over()
        assert not left, left
    print(name)


if __name__ == "__main__":
    for wanted in sys.argv[1:] or PLAYS:
        record(wanted)
