"""A link answers what the job asked at one event, and only as long as it still asks that."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from unhang.core import events as ev
from unhang.core.alerts.answers import ACTS, ANSWER, APPROVE, CANCEL, DENY, EXTEND, LABELS, offers, question
from unhang.core.alerts.kinds import kind_of
from unhang.core.attention import attention_of
from unhang.core.view import View

PIPE = {"stdin": "pipe"}
OUTPUT = {"type": ev.OUTPUT, "stream": "stdout", "offset": 0, "bytes": 1}
END = {"type": ev.EXITED, "phase": "completed", "status": "success"}
PROMPT = {"type": ev.WATCHDOG, "phase": "needs_input", "prompt": "Name? ", "since": "T0"}
PASSWORD = PROMPT | {"password": True}
STUCK = {"type": ev.WATCHDOG, "phase": "stuck"}
WARNING = {"type": ev.WATCHDOG, "phase": "warning", "reason": "no_output_timeout", "idleMs": 1, "willAbortInMs": 1}
HARD = {"type": ev.WATCHDOG, "phase": "warning", "reason": "exec_timeout", "wallClockMs": 1, "willAbortInMs": 1}
EXTENDED = {"type": ev.WATCHDOG, "phase": "extended", "tier": "idle", "asked": True}
ASKS = {"type": ev.AGENT, "phase": "needs_approval", "request": "run rm", "answers": "yes|no", "alive": False}
DECIDED = {"type": ev.AGENT, "phase": "running", "decision": "accepted", "alive": False}
TIMEOUT = {"type": ev.WATCHDOG, "phase": "timeout", "reason": "no_output_timeout"}
ALL = (OUTPUT, END, PROMPT, STUCK, WARNING, HARD, EXTENDED, ASKS, DECIDED, TIMEOUT)


def numbered(*events: dict[str, Any]) -> list[dict[str, Any]]:
    first = {"type": ev.STARTED, "phase": "running", "pid": 1}
    return [each | {"seq": n, "ts": f"T{n}"} for n, each in enumerate((first, *events), 1)]


def as_recorded(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Numbered, and each prompt since the last sign of life before it: two prompts with output between them differ."""
    found, since = [], "T1"
    for event in numbered(*events):
        if event["type"] == ev.OUTPUT:
            since = event["ts"]
        found.append(event | {"since": since} if event.get("phase") == "needs_input" else event)
    return found


def stands(*events: dict[str, Any], seq: int = 2) -> bool:
    found = question(numbered(*events), PIPE, "j1", seq)
    return found is not None and found.stands


def offered(*events: dict[str, Any], job: dict[str, Any] = PIPE) -> tuple[str, ...]:
    view = View()
    for event in numbered(*events):
        view.apply(event)
    return offers(attention_of(view, job, "j1"))


def test_each_question_offers_what_answers_it() -> None:
    assert offered(PROMPT) == (ANSWER, CANCEL)
    assert offered(PROMPT, job={}) == (CANCEL,)
    assert offered(PASSWORD) == (CANCEL,)
    assert offered(WARNING) == (EXTEND, CANCEL)
    assert offered(STUCK) == (CANCEL,)
    assert offered(ASKS) == (APPROVE, DENY, CANCEL)
    assert offered(OUTPUT) == offered(PROMPT, END) == ()
    assert set(LABELS) == set(ACTS)


def test_a_question_stands_until_the_job_moves_on() -> None:
    for event in (PROMPT, STUCK, WARNING, HARD, ASKS):
        assert stands(event)
        assert not stands(event, END)
        assert not stands(event, TIMEOUT)
    for event in (PROMPT, STUCK, WARNING):
        assert not stands(event, OUTPUT)
    assert stands(HARD, OUTPUT), "more output moves no hard limit"
    assert not stands(WARNING, EXTENDED)
    assert not stands(ASKS, DECIDED)
    assert stands(ASKS, ASKS), "an answer was not understood"
    assert not stands(ASKS, DECIDED, ASKS), "the same words, asked again, are another question"
    assert not stands(WARNING, WARNING), "a later warning has links of its own"
    assert stands(STUCK, WARNING), "the same silence"
    assert not stands(PROMPT, OUTPUT, PROMPT | {"since": "T3"})


def test_an_agent_asks_by_its_question_and_is_answered_by_a_decision() -> None:
    waits = {name: value for name, value in ASKS.items() if name not in ("request", "answers")}
    assert [kind_of(event) for event in (waits, ASKS, DECIDED)] == [None, "needs_approval", "recovered"]


def test_the_limit_that_is_extended_is_the_one_that_is_near() -> None:
    for event, limit in ((WARNING, "idle"), (HARD, "hard")):
        found = question(numbered(event), PIPE, "j1", 2)
        assert found is not None
        assert found.limit == limit


@given(st.lists(st.sampled_from(ALL), max_size=12), st.integers(0, 15))
def test_what_stands_was_asked_is_asked_now_and_was_not_lived_through(events: list[dict[str, Any]], seq: int) -> None:
    found = question(as_recorded(events), PIPE, "j1", seq)
    if found is None or not found.stands:
        return
    assert found.attention is not None
    assert offers(found.attention)
    asked, later = numbered(*events)[seq - 1], events[seq - 1 :]
    assert asked["type"] != ev.EXITED
    assert END not in later
    if found.attention.kind != "approval" and found.limit == "idle":
        assert OUTPUT not in later
