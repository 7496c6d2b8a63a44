"""What is told of a job that goes on by itself: the newest thing that still holds, and how it ended."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from unhang.core import events as ev
from unhang.core.job_news import newest

PROMPT = {"type": ev.WATCHDOG, "phase": "needs_input", "prompt": 'Name? "x"'}
STUCK = {"type": ev.WATCHDOG, "phase": "stuck", "diagnosis": {"reason": "waits for 127.0.0.1:80"}}
WARNING = {"type": ev.WATCHDOG, "phase": "warning", "reason": "no_output_timeout", "willAbortInMs": 30_000}
ASKS = {"type": ev.AGENT, "phase": "needs_approval", "request": "run rm"}
DECIDED = {"type": ev.AGENT, "phase": "running", "decision": "accepted"}
RESUMED = {"type": ev.WATCHDOG, "phase": "resumed"}
OUTPUT = {"type": ev.OUTPUT, "phase": "running"}
FAILED = {"type": ev.EXITED, "phase": "failed", "exitCode": 3, "durationMs": 61_000}
SIGNALLED = {"type": ev.EXITED, "phase": "failed", "exitCode": None, "message": "killed by SIGKILL"}
DONE = {"type": ev.EXITED, "phase": "completed", "exitCode": 0, "durationMs": 1000}
TIMED_OUT = {"type": ev.EXITED, "phase": "timed_out", "message": "no sign of life for 6s"}
CANCELLED = {"type": ev.EXITED, "phase": "cancelled"}
GOING = [PROMPT, STUCK, WARNING, ASKS, DECIDED, RESUMED, OUTPUT]
ENDS = [FAILED, SIGNALLED, DONE, TIMED_OUT, CANCELLED]


def numbered(*events: dict[str, Any]) -> list[dict[str, Any]]:
    return [event | {"seq": number} for number, event in enumerate(events, 1)]


def text(*events: dict[str, Any]) -> str | None:
    found = newest(numbered(*events))
    return None if found is None else found.text


def test_each_kind_has_its_words_and_quotes_what_others_said() -> None:
    assert text(PROMPT) == "needs input: \"Name? 'x'\""
    assert text(STUCK) == 'is stuck: "waits for 127.0.0.1:80"'
    assert text(WARNING) == "will be ended in 30s by its idle limit"
    assert text(ASKS) == 'needs approval: "run rm"'
    assert text(FAILED) == "finished with 3 after 1m 1s"
    assert text(DONE) == "finished with 0 after 1s"
    assert text(SIGNALLED) == 'was ended: "killed by SIGKILL"'
    assert text(TIMED_OUT) == 'was ended: "no sign of life for 6s"'
    assert text(CANCELLED) == "was cancelled"


def test_an_end_says_what_was_left_running_and_is_ended_with_it() -> None:
    left: dict[str, Any] = {
        "leaked": True,
        "leftovers": [{"pid": 5, "command": f"serve {name}"} for name in ("a", "b", "c")],
    }
    assert text(DONE | left) == 'finished with 0 after 1s; left running and ended: "serve a", "serve b"'
    one = left | {"leftovers": left["leftovers"][:1], "survivors": [{"pid": 5}]}
    assert text(FAILED | one) == 'finished with 3 after 1m 1s; left running and not ended by SIGKILL: "serve a"'
    assert text(DONE | {"leaked": True}) == text(DONE)  # only its output was held open


def test_what_is_over_is_not_told() -> None:
    assert text(OUTPUT) is None
    assert text(PROMPT, OUTPUT) is None
    assert text(STUCK, RESUMED) is None
    assert text(ASKS, DECIDED) is None
    assert text(STUCK, WARNING) == text(WARNING)
    assert text(PROMPT, OUTPUT, DONE) == text(DONE)


@given(st.lists(st.sampled_from(GOING), max_size=8), st.sampled_from(ENDS), st.integers(0, 9))
def test_an_end_is_always_told_and_reading_in_pieces_changes_nothing(
    events: list[dict[str, Any]], end: dict[str, Any], cut: int
) -> None:
    every = numbered(*events, end)
    found = newest(every)
    assert found is not None
    assert found.ends
    assert found.seq == len(every)
    assert newest(every[cut:], newest(every[:cut])) == found
