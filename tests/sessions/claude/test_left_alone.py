"""What is no hang, or is not certain to be one, is left alone: the real Claude Code, the real watcher.

That nothing happens is no event. So in every test another session hangs, later and with the same limits, and is helped:
by then whatever would have happened to the first has happened.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.claude_sessions import scenarios
from tests.support.claude_sessions.harness import HOOKS, LIMIT, Desk, Session, Watcher
from tests.support.claude_sessions.person import Person
from tests.support.engine import wait_until
from unhang.testing.liveness import Process


def helped(control: Session, watcher: Watcher) -> None:
    """The other session hangs, for longer than anybody's limit, and is helped."""
    before = [event for event in watcher.said("recovered") if event["sessionId"] == control.session_id]
    control.ask(scenarios.WEB_FETCH.prompt(control.desk))

    def again() -> bool:
        now = [event for event in watcher.said("recovered") if event["sessionId"] == control.session_id]
        return len(now) > len(before)

    try:
        wait_until(again, "the other session is helped", 60)
    except TimeoutError as error:
        raise TimeoutError(f"{error}; so far:\n{watcher.story()}\n{control.status()}\n{control.screen()}") from None
    control.wait_status("idle")


def untouched(session: Session, watcher: Watcher) -> None:
    steps = [event for event in watcher.said() if event["phase"] == "step" and event["sessionId"] == session.session_id]
    assert steps == [], watcher.story()


def test_a_session_that_waits_for_a_person_or_works_is_left_alone(desk: Desk) -> None:
    """A permission dialog; an idle prompt with a draft; a command that talks; an agent in the background that hangs."""
    watcher = desk.watch("--warn", "1.5")  # between two looks, a busy machine gets to print something
    asks, idles, talks, agents = (desk.claude() for _ in range(4))
    asks.ask("fake: tool Write " + json.dumps({"file_path": str(desk.work / "new.txt"), "content": "text"}))
    idles.draft("half a thought")
    talks.ask("fake: bash while :; do echo tick; sleep 0.1; done")
    # what hangs is the agent's model, which no step could reach without touching the session
    agents.ask(scenarios.subagent("fake: hang"))
    asks.wait_status("waiting")
    talks.wait_screen(" lines)")
    agents.wait_hook("SubagentStart")
    agents.wait_hook("Stop")
    control = desk.claude()
    helped(control, watcher)
    helped(control, watcher)

    for session in (asks, idles, talks, agents):
        untouched(session, watcher)
    assert (asks.status() or {})["waitingFor"] == "permission prompt"
    asks.wait_screen("❯ 1. Yes")
    assert idles.box() == "half a thought"
    assert (idles.status() or {})["status"] == "idle"
    assert "Rewind" not in idles.screen()
    assert (talks.status() or {})["status"] == "busy"
    assert [e["phase"] for e in watcher.said("extended") if e["sessionId"] == talks.session_id]
    assert (agents.status() or {})["status"] == "busy"
    agents.wait_screen("background agent")


def test_a_command_that_claude_code_has_moved_to_the_background_is_said_to_run_on_there(desk: Desk) -> None:
    desk.agent_env["BASH_DEFAULT_TIMEOUT_MS"] = "2000"
    watcher = desk.watch()
    session = desk.claude()
    session.ask("fake: bash tail -f /dev/null")
    noted = watcher.wait("extended")
    assert (noted["sessionId"], noted["title"]) == (session.session_id, "Bash tail -f /dev/null")
    assert "background" in noted["reason"]
    control = desk.claude()
    helped(control, watcher)
    untouched(session, watcher)
    (moved,) = [event for event in session.events("hook") if "movedAfterMs" in event]
    assert moved["movedAfterMs"] == 2000


def test_an_answer_that_comes_word_by_word_is_left_alone(desk: Desk) -> None:
    """No hook, no status, no transcript tells of it: only the pane's own counter."""
    watcher = desk.watch("--api", "6", "--warn", "3")  # between two looks, a busy machine gets to draw
    session, control = desk.claude(), desk.claude()
    session.ask("fake: drip 1000 0.1")
    for _ in range(3):
        helped(control, watcher)
    assert [e for e in watcher.said("extended") if e["sessionId"] == session.session_id], watcher.story()
    untouched(session, watcher)
    assert (session.status() or {})["status"] == "busy"


@pytest.mark.parametrize("ours", [HOOKS, tuple(set(HOOKS) - {"PostToolBatch"})], ids=["batch", "no-batch"])
@pytest.mark.parametrize("by", ["rule", "hook"])
def test_a_call_that_was_refused_is_over(by: str, ours: tuple[str, ...], desk: Desk) -> None:
    """It has a PreToolUse, and no hook of its own ever tells of its end. The turn goes on, past the call's limit."""
    refuse = {"PreToolUse": ["grep -q 'url.*http' && exit 2; exit 0"]}
    if by == "rule":
        desk.configure(ours=ours, deny=("WebFetch(domain:refused.example)",))
    else:
        desk.configure(ours=ours, hooks=refuse)
    watcher = desk.watch("--limit", "WebFetch=3", "--limit", "Bash=600", "--api", "600")
    session = desk.claude()
    fetch = ["WebFetch", {"url": "https://refused.example/", "prompt": "x"}]
    bash = ["Bash", {"command": "for i in 1 2 3 4 5 6; do echo $i; sleep 1; done"}]
    steps: list[dict[str, Any]] = [{"tools": [fetch]}, {"tools": [bash]}, {"text": "the end"}]
    session.ask(f"fake: seq {json.dumps(steps)}")
    session.wait_hook("PreToolUse", toolName="WebFetch")
    session.wait_screen("● the end")
    session.wait_status("idle")
    untouched(session, watcher)


def test_nothing_is_done_while_a_person_types_and_their_text_stays(desk: Desk) -> None:
    session = desk.claude()
    # on a machine that stands still for a while a second Escape would be right: wait for the effect of the first
    watcher = desk.watch("--hands-off", "3", "--verify", "30")
    with Person(desk) as person:
        session.ask("fake: hang-mid")
        scenarios.API_MID.ready(session)
        person.type_on()
        held = watcher.wait("held")
        assert "typing" in held["reason"]
        assert watcher.steps() == []
        person.rest()
        watcher.wait("recovered")
        session.wait_status("idle")
        assert set(session.box()) == {"x"}
        assert watcher.steps() == ["escape"]


def test_the_same_pane_of_another_tmux_server_is_another_pane(desk: Desk) -> None:
    bystander = desk.claude()
    session = desk.claude(socket=desk.folder / "other")
    assert bystander.pane == session.pane
    bystander.draft("half a thought")
    watcher = desk.watch()
    helped(session, watcher)
    untouched(bystander, watcher)
    assert bystander.box() == "half a thought"
    assert "Rewind" not in bystander.screen()


def test_a_pane_that_shows_something_else_gets_no_key(desk: Desk) -> None:
    """Claude is stopped in the middle of a hang, and its shell runs another program, which shows every key."""
    watcher = desk.watch()
    session = desk.claude(shell=True)
    session.ask("fake: hang-mid")
    scenarios.API_MID.ready(session)
    session.process().send(signal.SIGSTOP)
    session.wait_screen("Stopped")
    session.keys("C-l", "cat -v", "Enter")
    wait_until(lambda: session.shown("#{pane_current_command}") == "cat", "cat runs in the pane")
    session.keys("here", "Enter")
    control = desk.claude()
    helped(control, watcher)
    untouched(session, watcher)
    assert "^[" not in session.screen()
    session.process().send(signal.SIGKILL)
    session.process().send(signal.SIGCONT)


def test_a_status_file_that_sigkill_has_left_behind_is_not_believed(desk: Desk) -> None:
    watcher = desk.watch()
    session = desk.claude(shell=True)
    session.ask("fake: hang-mid")
    scenarios.API_MID.ready(session)
    stale = desk.config / "sessions" / f"{session.pid}.json"
    name = session.session_id
    process = session.process()
    process.send(signal.SIGKILL)
    assert process.wait_gone()
    process.close()
    assert json.loads(stale.read_text())["status"] == "busy"
    wait_until(lambda: session.shown("#{pane_current_command}") == "bash", "the shell is back")
    session.keys("cat -v", "Enter")
    control = desk.claude()
    helped(control, watcher)
    watcher.process.terminate()
    assert watcher.process.wait(30) == 0
    later = desk.watch()  # one that has never seen it alive
    helped(control, later)
    for each in (watcher, later):
        assert [event for event in each.said("step") if event["sessionId"] == name] == []
    assert [event for event in later.said() if event["sessionId"] == name] == []
    assert "^[" not in session.screen()


def test_a_tmux_that_cannot_be_reached_is_waited_for(desk: Desk) -> None:
    """Its socket is gone: nothing can be sent. When the server makes it anew, the hang is ended."""
    session = desk.claude()
    watcher = desk.watch()
    server = Process(int(session.shown("#{pid}")), "tmux")
    session.ask("fake: hang-mid")
    scenarios.API_MID.ready(session)
    desk.socket.unlink()
    watcher.wait("held")
    assert watcher.steps() == []
    server.send(signal.SIGUSR1)  # tmux makes its socket again
    wait_until(desk.socket.exists, "the socket is there again")
    watcher.wait("recovered")
    session.wait_status("idle")
    server.close()


def test_a_tmux_that_dies_takes_only_its_own_sessions_along(desk: Desk) -> None:
    doomed = desk.claude()
    session = desk.claude(socket=desk.folder / "other")
    watcher = desk.watch()
    doomed.ask("fake: hang-mid")
    scenarios.API_MID.ready(doomed)
    claude, server = doomed.process(), Process(int(doomed.shown("#{pid}")), "tmux")
    name = doomed.session_id
    server.send(signal.SIGKILL)
    assert server.wait_gone()
    assert claude.wait_gone()  # its terminal is gone
    helped(session, watcher)
    assert watcher.process.poll() is None
    assert [event for event in watcher.said("step") if event["sessionId"] == name] == []
    assert [event for event in watcher.said("gone") if event["sessionId"] == name]


SHIFTED = """
import sys, time
real, offset = time.time, sys.argv[1]
def shifted():
    with open(offset) as file:
        return real() + float(file.read())
time.time = shifted
sys.argv = ["unhang", *sys.argv[2:]]
from unhang.__main__ import main
main()
"""


def test_a_jump_of_the_wall_clock_does_not_count_as_silence(desk: Desk, tmp_path: Path) -> None:
    """An hour ahead, two hours back: a call within its limit is not touched, a hang is ended at its own."""
    offset = tmp_path / "offset"

    def jump(hours: float) -> None:
        later = tmp_path / "offset.new"
        later.write_text(str(hours * 3600))
        later.rename(offset)

    jump(0)
    desk.command = lambda *words: [sys.executable, "-c", SHIFTED, str(offset), *map(str, words)]  # type: ignore[method-assign]
    patient = desk.claude()
    watcher = desk.watch("--limit", "Bash=600")
    patient.ask(scenarios.BASH.prompt(desk))
    scenarios.BASH.ready(patient)
    control = desk.claude()
    for hours in (1, -2):
        jump(hours)
        helped(control, watcher)
    untouched(patient, watcher)
    assert [event for event in watcher.said("warning") if event["sessionId"] == patient.session_id] == []
    hung = [event["ageMs"] for event in watcher.said("hung")]
    assert all(LIMIT * 1000 <= age < 100_000 for age in hung), hung
