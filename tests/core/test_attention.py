"""What needs a person, from the events of a job alone: why, and the command that answers it."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from unhang.core import attention, notices
from unhang.core import events as ev
from unhang.core.view import View

_AT = "2026-01-02T03:04:05.000Z"


def _view(*events: dict[str, Any]) -> View:
    view = View()
    for seq, event in enumerate((ev.started(7, "make", {}), *events), 1):
        view.apply({"seq": seq, "ts": _AT} | event)
    return view


def _warned(**fields: Any) -> dict[str, Any]:
    return ev.watchdog("warning", "Will abort.", willAbortInMs=30_000, **fields)


_IDLE = _warned(idleMs=60_000, reason="no_output_timeout", since=_AT)
_HARD = _warned(wallClockMs=60_000, reason="exec_timeout", since=_AT)
_PROMPT = ev.watchdog("needs_input", "Waits for input.", prompt="Go on? ", since=_AT)
_PASSWORD = ev.watchdog("needs_input", "Waits for input.", prompt="Password: ", password=True, since=_AT)
_APPROVAL = ev.agent("needs_approval", "rm -rf build. Answer it.") | {"request": "Run rm -rf build?"}
_STUCK = ev.watchdog("stuck", "No output.", stallMs=1000, diagnosis={"reason": "waits for 127.0.0.1:80"})


@pytest.mark.parametrize(
    ("event", "job", "kind", "command"),
    [
        (_APPROVAL, {}, "approval", "unhang send web ANSWER"),
        (_PROMPT, {"stdin": "pipe"}, "input", "unhang send web ANSWER"),
        (_PROMPT, {"pty": True}, "input", "unhang send web ANSWER"),
        (_PROMPT, {"stdin": "null"}, "input", "unhang cancel web"),
        (_PASSWORD, {"stdin": "pipe"}, "input", "unhang send web - < FILE"),
        (_IDLE, {}, "warning", "unhang extend web --idle 10m"),
        (_HARD, {}, "warning", "unhang extend web --hard 10m"),
        (_STUCK, {}, "stuck", "unhang diagnose web"),
    ],
)
def test_each_thing_that_needs_a_person_has_its_command(
    event: dict[str, Any], job: dict[str, Any], kind: str, command: str
) -> None:
    found = attention.attention_of(_view(event), job, "web")
    assert found is not None
    assert (found.kind, found.command, found.since) == (kind, command, _AT)
    assert found.why
    assert found.to_json()["kind"] == kind


@pytest.mark.parametrize(
    ("answers", "lines"),
    [
        (None, ["unhang send web yes", "unhang send web no"]),
        ("yes|no", ["unhang send web yes", "unhang send web no"]),
        ("yes|no, or one of: 1|2", ["unhang send web yes", "unhang send web no", "# other answers: 1|2"]),
    ],
)
def test_an_approval_has_one_line_to_paste_for_each_answer(answers: str | None, lines: list[str]) -> None:
    """`unhang send web yes|no` would approve, whatever was meant: a shell takes the bar for a pipe."""
    found = attention.attention_of(_view(_APPROVAL | {"answers": answers}), {}, "web")
    assert found is not None
    assert found.to_paste == lines


def test_a_question_has_one_line_to_paste() -> None:
    for job, line in (({"stdin": "pipe"}, "unhang send web TEXT"), ({"stdin": "null"}, "unhang cancel web")):
        found = attention.attention_of(_view(_PROMPT), job, "web")
        assert found is not None
        assert found.to_paste == [line]


def test_a_warning_says_when_the_job_is_ended() -> None:
    found = attention.attention_of(_view(_HARD), {}, "web")
    assert found is not None
    assert found.to_json()["endsAt"] == "2026-01-02T03:04:35.000Z"


@pytest.mark.parametrize(
    "after",
    [
        ev.watchdog("extended", "More.", tier="hard", asked=True),
        ev.watchdog("timeout", "Over.", wallClockMs=1),
        ev.started(8, "make", {}),
        ev.exited("completed", "exited with 0", {"status": "success"}),
        ev.signal("terminate", "SIGTERM", [7], "cancelled", "asked"),
    ],
)
def test_a_warning_is_over_with_its_limit(after: dict[str, Any]) -> None:
    assert attention.attention_of(_view(_HARD, after), {}, "web") is None


def test_output_ends_a_warning_of_silence_and_not_one_of_the_hard_limit() -> None:
    spoke = ev.output("stdout", 1, 0)
    assert attention.attention_of(_view(_IDLE, spoke), {}, "web") is None
    found = attention.attention_of(_view(_HARD, spoke), {}, "web")
    assert found is not None
    assert found.kind == attention.WARNING


def test_an_answer_ends_the_need() -> None:
    answered = ev.agent("running", "accepted")
    assert attention.attention_of(_view(_APPROVAL, answered), {}, "web") is None
    assert attention.attention_of(_view(_PROMPT, ev.output("stdout", 1, 0)), {"pty": True}, "web") is None


_EVENTS = st.sampled_from(
    [_IDLE, _HARD, _PROMPT, _PASSWORD, _APPROVAL, _STUCK, ev.output("stdout", 1, 0), ev.heartbeat("x")]
    + [ev.agent(phase, "m") for phase in ev.PHASES[ev.AGENT]]
    + [ev.watchdog(phase, "m") for phase in ev.PHASES[ev.WATCHDOG]]
)


@settings(max_examples=200)
@given(story=st.lists(_EVENTS, max_size=6), ended=st.booleans())
def test_whatever_happened_the_answer_is_whole(story: list[dict[str, Any]], ended: bool) -> None:
    end = [ev.exited("failed", "exited with 1", {"status": "error"})] if ended else []
    view = _view(*story, *end)
    found = attention.attention_of(view, {"pty": True}, "web")
    assert 0 <= attention.urgency(found) <= len(attention.KINDS)
    if ended:
        assert found is None
    elif story and notices.audience(story[-1]).needs_person:
        assert found is not None
        assert found.kind in (attention.APPROVAL, attention.INPUT)
    if found is not None:
        assert found.kind in attention.KINDS
        assert found.command.startswith("unhang ")
        assert "\n" not in found.why
