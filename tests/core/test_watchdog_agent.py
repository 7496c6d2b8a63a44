"""Under liveness "agent" the driver says what moves: an agent's own files and timers neither help nor hurt it."""

from __future__ import annotations

import time
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from unhang.core import events as ev
from unhang.core.diagnosis import agents
from unhang.core.diagnosis.counters import CheapProcess, CheapSample
from unhang.core.diagnosis.progress import begun_since, progressed
from unhang.core.diagnosis.samples import FullSample
from unhang.core.diagnosis.verdict import Diagnosis, ProcessLine
from unhang.core.limit_request import LimitRequest
from unhang.core.limits import Limits
from unhang.core.policy import builtin
from unhang.core.policy.resolve import resolve
from unhang.core.view import View
from unhang.core.watchdog import actions as act
from unhang.core.watchdog import facts as fact
from unhang.core.watchdog.actions import Action
from unhang.core.watchdog.clocks import DRIVER_LATE
from unhang.core.watchdog.facts import Fact
from unhang.core.watchdog.machine import RUNNING, Watchdog
from unhang.core.watchdog.messages import event_of
from unhang.keeper.observer import Observer

AGENT = Limits(stall=60, idle=300, hard=1200, warn=30, liveness="agent")
MOVED, STUCK, TOOL = fact.AgentMoved(), fact.AgentStuck(), fact.Window(500.0, fact.TOOL)
PERSON, FIRST, OVER = fact.Window(400.0, fact.PERSON), fact.Window(200.0, fact.FIRST), fact.Window(None)
STARTUP = fact.Window(90.0, fact.STARTUP)
facts = st.sampled_from([MOVED, STUCK, TOOL, PERSON, FIRST, STARTUP, OVER, fact.Output()])


def play(dog: Watchdog, until: float, *told: tuple[float, Fact], busy: bool = True) -> list[tuple[float, Action]]:
    """Every notice and when it came; every look sees movement if `busy`."""
    waiting, now = list(told), 0.0
    said: list[tuple[float, Action]] = []
    while dog.phase == RUNNING:
        due = min([at for at in (dog.deadline(), *(at for at, _ in waiting[:1])) if at is not None], default=until)
        now = max(now, due)
        if now >= until:
            break
        while waiting and waiting[0][0] <= now:
            dog.tell(waiting.pop(0)[1], now)
        looking = True
        while looking and dog.phase == RUNNING:
            looking = False
            for action in dog.wake(now):
                if isinstance(action, act.Look):
                    dog.tell(fact.Looked(busy, "moves 146 kB/s"), now)
                    looking = True
                else:
                    said.append((now, action))
    return said


def of_kind(said: list[tuple[float, Action]], kind: type[Action]) -> list[float]:
    return [at for at, action in said if isinstance(action, kind)]


def test_the_stories_of_this_file_have_the_limits_of_an_agent_for_which_no_option_is_given() -> None:
    asked = LimitRequest(category="agent-write", liveness="agent")
    found = resolve(["an agent"], builtin.policy(), asked).limits
    assert found == AGENT.replace(grace=found.grace)


def test_files_that_move_make_no_agent_quiet_and_hold_no_notice_back() -> None:
    said = play(Watchdog(AGENT, 0.0), 200.0)
    assert of_kind(said, act.Quiet) == []
    assert of_kind(said, act.Stuck) == [60.0 + DRIVER_LATE]


def test_the_silence_of_a_tool_or_a_person_is_not_the_agents() -> None:
    dog = Watchdog(AGENT, 0.0)
    play(dog, 130.0, (20.0, MOVED), (20.0, TOOL), (90.0, MOVED), (90.0, OVER), (120.0, MOVED), (120.0, PERSON))
    assert dog.clocks.longest_silence_at(300.0) == 30.0


@pytest.mark.parametrize(
    ("windows", "budget", "length"),
    [
        ([], "", None),
        ([STARTUP], "startup", 90.0),
        ([STARTUP, FIRST], "first", 200.0),
        ([STARTUP, TOOL], "tool", 500.0),
        ([STARTUP, PERSON], "person", 400.0),
        ([STARTUP, OVER], "", None),
    ],
)
def test_what_stands_in_the_place_of_the_idle_limit_is_named_where_it_warns_and_where_it_ends(
    windows: list[Fact], budget: str, length: float | None
) -> None:
    said = play(Watchdog(AGENT, 0.0), 2000.0, *((0.0, window) for window in windows))
    (warned,) = [action for _, action in said if isinstance(action, act.Warned)]
    (reached,) = [action for _, action in said if isinstance(action, act.LimitReached)]
    assert (warned.tier, warned.budget, warned.limit) == (act.IDLE, budget, length)
    assert (reached.tier, reached.budget, reached.limit) == (act.IDLE, budget, length)
    event = event_of(reached, since="", diagnosis=None, job_id="x1")
    assert event.get("budget") == ({"name": budget, "limitMs": (length or 0) * 1000} if budget else None)
    assert ("idle limit" in event["message"]) is not bool(budget)


def test_a_stall_that_the_driver_has_announced_is_not_announced_again() -> None:
    said = play(Watchdog(AGENT, 0.0), 260.0, (61.0, STUCK))
    assert of_kind(said, act.Stuck) == of_kind(said, act.Quiet) == []


def test_the_next_stall_is_announced_again() -> None:
    said = play(Watchdog(AGENT, 0.0), 260.0, (61.0, STUCK), (100.0, MOVED))
    assert of_kind(said, act.Resumed) == [100.0]
    assert of_kind(said, act.Stuck) == [160.0 + DRIVER_LATE]


def test_a_tool_that_works_is_quiet_and_one_that_does_not_is_stuck() -> None:
    working = play(Watchdog(AGENT, 0.0), 200.0, (1.0, MOVED), (1.0, TOOL))
    (quiet,) = of_kind(working, act.Quiet)  # at the first look after the stall time
    assert 61.0 <= quiet <= 90.0
    assert of_kind(working, act.Stuck) == []
    asleep = play(Watchdog(AGENT, 0.0), 200.0, (1.0, MOVED), (1.0, TOOL), busy=False)
    assert (of_kind(asleep, act.Quiet), of_kind(asleep, act.Stuck)) == ([], [61.0])


def test_a_person_who_is_asked_is_not_stuck() -> None:
    said = play(Watchdog(AGENT, 0.0), 300.0, (1.0, MOVED), (1.0, PERSON))
    assert of_kind(said, act.Stuck) == of_kind(said, act.Quiet) == []


def test_the_drivers_verdict_ends_the_job_where_a_hang_is_to_be_ended() -> None:
    hung = (61.0, fact.HungVerdict())
    said = play(Watchdog(AGENT.replace(on_hung="end"), 0.0), 200.0, (61.0, STUCK), hung)
    assert of_kind(said, act.Warned) == [61.0]
    assert of_kind(said, act.LimitReached) == [91.0]


@given(st.lists(st.tuples(st.floats(0, 200), facts), max_size=20), st.booleans())
def test_a_stall_is_announced_once_whatever_happens(steps: list[tuple[float, Fact]], busy: bool) -> None:
    now, told = 0.0, []
    for gap, what in steps:
        now += gap
        told.append((now, what))
    said = play(Watchdog(AGENT, 0.0), now + 250, *told, busy=busy)
    # the order is the one in which it was told, and what was told at one moment comes before what is said at it
    names = {MOVED: "life", STUCK: "told"}
    marks = [(at, names[what]) for at, what in told if what in names]
    tools = [(at, what) for at, what in told if isinstance(what, fact.Window)]
    for at, action in said:
        if isinstance(action, act.Quiet):
            window = [what for since, what in tools if since <= at]
            assert window[-1:] == [TOOL]
        if isinstance(action, act.Stuck):
            marks.append((at, "stuck"))
    announced = False
    for _, mark in sorted(marks, key=lambda entry: entry[0]):
        assert not (mark == "stuck" and announced)
        announced = mark != "life"


def test_only_what_was_started_with_a_tool_counts() -> None:
    def sample(at: float, cpu: int) -> CheapSample:
        old = CheapProcess(100, 1, "codex", 50 + cpu, 0, 1000 * cpu, 0)
        return CheapSample(at, 100, {7: old, 9: CheapProcess(9000, 7, "sleep", 0, 0, 0, 0)})

    before, after = sample(100.0, 0), sample(110.0, 900)
    assert progressed(before, after).alive
    assert not progressed(begun_since(before, 80.0), begun_since(after, 80.0)).alive


def test_a_notice_about_an_agent_is_no_activity_of_it() -> None:
    view = View()
    said = [("thinking", True), ("stuck", False), ("metering", False), ("warning", False)]
    for number, (phase, alive) in enumerate(said, 1):
        event = {"seq": number, "ts": f"t{number}", "type": "agent", "phase": phase, "alive": alive, "message": ""}
        view.apply(event | ({"diagnosis": {"reason": "nothing"}} if phase == "stuck" else {}))
    assert (view.last_activity_at, view.phase, view.diagnosis) == ("t1", "stuck", {"reason": "nothing"})
    view.apply({"seq": 5, "ts": "t5", "type": "agent", "phase": "thinking", "alive": True, "message": ""})
    assert (view.last_activity_at, view.phase, view.diagnosis) == ("t5", "thinking", None)


def seen(state: str, cause: str) -> Diagnosis:
    return Diagnosis(state, cause, f"{cause} it is", {"pid": 1}, [])


def test_what_a_driver_has_said_beats_what_the_kernel_shows_except_a_stop() -> None:
    told = {"state": "hung", "cause": "network", "reason": "nothing from its model"}
    for cause in ("listening", "progress", "timer"):
        found = agents.of_driven_agent(seen("alive", cause), told, None, 70.0)
        assert (found.state, found.reason) == ("hung", "nothing from its model")
        assert agents.of_driven_agent(seen("alive", cause), None, {"phase": "thinking"}, 5.0).state == "unsure"
    stopped = seen("hung", "stopped")
    assert agents.of_driven_agent(stopped, told, None, 70.0) == stopped == agents.of_proxied_agent(stopped)
    tool = {"phase": "running", "message": "make"}
    for cause in ("listening", "progress", "unknown"):
        found = agents.of_driven_agent(seen("alive", cause), None, tool, 70.0)
        assert (found.state, "make" in found.reason, cause in found.reason) == ("unsure", True, False), "it is its own"
    for started in (seen("alive", "progress"), seen("hung", "lock"), seen("unsure", "unknown")):
        found = agents.of_driven_agent(seen("alive", "listening"), None, tool, 70.0, tool=started)
        assert (found.state, found.cause) == (started.state, started.cause)
        assert found.reason == f"make: {started.reason}"


def test_what_a_tool_waited_for_at_the_last_look_is_said_without_a_time_that_has_passed() -> None:
    peer = {"remote": "10.0.0.7:443", "received": 0, "sinceReceiveMs": 4700}
    words = "waits for 10.0.0.7:443, connected, not one byte received"
    tool = Diagnosis("unsure", "network", f"{words} in 4.7s", {"pid": 9, "socket": peer}, [])
    watching = Observer()
    assert watching.of_tool() is None
    for ago, said in ((0.0, f"{words} in 4.7s"), (50.0, words)):
        watching._of_tool, watching._full = tool, FullSample(time.monotonic() - ago, 100, {})
        assert (watching.of_tool() or {})["reason"] == said
    watching.forget_tool()
    assert watching.of_tool() is None


def test_an_agent_that_has_asked_a_person_waits_for_the_answer_and_for_no_tool() -> None:
    tool = {"phase": "running", "message": "Bash"}
    for kernel in (seen("hung", "input"), seen("alive", "progress")):
        found = agents.of_driven_agent(kernel, None, tool, 70.0, asks="May I run rm?")
        assert (found.cause, found.evidence) == ("input", {})
        assert "May I run rm?" in found.reason
    stopped = seen("hung", "stopped")
    assert agents.of_driven_agent(stopped, None, tool, 70.0, asks="May I run rm?") == stopped


def test_an_agent_of_which_one_process_is_stopped_is_stopped_whatever_else_moves() -> None:
    """A driver or a launcher stands above the agent, and runs."""
    told = {"state": "hung", "cause": "network", "reason": "nothing from its model"}
    tree = [
        ProcessLine(7, 1, "node", "node x", "S", 9.0, "epoll", None),
        ProcessLine(8, 7, "claude", "claude -p", "T", 0.0, "", None),
    ]
    found = seen("alive", "progress")._replace(processes=tree)
    driven = agents.of_driven_agent(found, told, {"phase": "thinking"}, 70.0)
    assert (driven.state, driven.cause, driven.evidence) == ("hung", "stopped", {"pid": 8})
    assert agents.of_proxied_agent(found) == driven
    for busy in (True, False):
        assert agents.of_silent_turn(found, busy=busy) == driven
    assert "claude [8]" in driven.reason
    runs = found._replace(processes=[line._replace(state="S") for line in tree])
    assert agents.of_driven_agent(runs, told, None, 70.0).cause == "network"


def agent_event(number: int, phase: str, *, alive: bool = True, **more: Any) -> dict[str, Any]:
    message = f"{phase} {number}"
    return {
        "seq": number,
        "ts": f"t{number}",
        "type": "agent",
        "phase": phase,
        "alive": alive,
        "message": message,
    } | more


def test_what_an_agent_is_at_is_not_what_it_has_used_nor_what_is_told_again() -> None:
    """Claude Code reports tokens, and three seconds later a task, while its tool hangs."""
    view = View()
    for number, (phase, alive) in enumerate([("thinking", True), ("running", True), ("metering", False)], 1):
        view.apply(agent_event(number, phase, alive=alive))
    assert (view.phase, (view.doing or {})["message"]) == ("running", "running 2")
    view.apply(agent_event(4, "running", alive=False))
    assert ((view.doing or {})["message"], (view.agent or {})["message"]) == ("running 2", "running 4")
    view.apply(agent_event(5, "thinking", alive=False))
    assert ((view.doing or {})["message"], view.phase) == ("thinking 5", "thinking")


def test_a_model_reads_fifty_events_of_an_agent_however_it_was_ended() -> None:
    view = View()
    for number in range(1, 81):
        view.apply(agent_event(number, "running"))
    for number in range(81, 131):
        view.apply(ev.output("stdout", 10, 10 * number) | {"seq": number, "ts": "t"})
    for number in range(131, 141):
        view.apply(agent_event(number, "stopping", alive=False, step="close", done=True))
        view.apply(ev.signal("terminate", "SIGTERM", [1], "idle", "m") | {"seq": number, "ts": "t"})
    assert [event["seq"] for event in view.last_of_agent] == list(range(31, 81))
    view = View()
    view.apply(ev.watchdog("warning", "soon") | {"seq": 1, "ts": "t"})
    assert view.last_of_agent == [], "not for a command"


def test_a_proxy_blames_the_model_where_no_tool_runs() -> None:
    for cause in ("listening", "progress", "input"):
        found = agents.of_silent_turn(seen("alive", cause), busy=False)
        assert (found.state, found.cause, "its model" in found.reason) == ("hung", "network", True)
    assert "network it is" in agents.of_silent_turn(seen("unsure", "network"), busy=False).reason
    for cause in ("listening", "progress", "unknown"):
        silent = agents.of_silent_turn(seen("alive", cause), busy=True)
        assert (silent.state, silent.reason) == ("unsure", ""), "what the agent itself does is no reason"
    started = seen("hung", "input")
    assert agents.of_silent_turn(seen("alive", "progress"), busy=True, tool=started) == started
    assert agents.of_silent_turn(seen("hung", "stopped"), busy=False).cause == "stopped"
    assert agents.of_proxied_agent(seen("alive", "listening")).state == "unsure"
    told = {"state": "hung", "cause": "network", "reason": "its model has sent nothing"}
    assert agents.of_proxied_agent(seen("alive", "listening"), told)[:3] == ("hung", "network", told["reason"])
    assert agents.of_proxied_agent(seen("hung", "stopped"), told).cause == "stopped"
