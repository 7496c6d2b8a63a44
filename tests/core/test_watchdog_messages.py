"""The messages of notices are made from the fields of their events, so that a face can leave out a reason."""

from __future__ import annotations

from typing import Any

import pytest

from unhang.core import events as ev
from unhang.core.watchdog import actions as act
from unhang.core.watchdog import messages

# A reason that stands in the rest of the message, too: nothing may be cut out of the sentence.
FOUND: dict[str, Any] = {"state": "hung", "cause": "lock", "reason": "No output", "evidence": {}, "processes": []}
NOTICES: dict[str, act.Notice] = {
    "stuck": act.Stuck(60.0),
    "idle warning": act.Warned(act.IDLE, 240.0, 60.0),
    "hard warning": act.Warned(act.HARD, 540.0, 60.0),
    "idle limit": act.LimitReached(act.IDLE, 300.0),
    "hard limit": act.LimitReached(act.HARD, 600.0),
}


def event_of(notice: act.Notice, diagnosis: dict[str, Any] | None) -> ev.Event:
    return messages.event_of(notice, since="2026-11-15T21:13:27.040Z", diagnosis=diagnosis, job_id="x1")


@pytest.mark.parametrize("name", NOTICES)
def test_a_message_without_its_reason_is_that_of_a_job_that_was_not_diagnosed(name: str) -> None:
    known, unknown = event_of(NOTICES[name], FOUND), event_of(NOTICES[name], None)
    assert known["phase"] in messages.GIVE_A_REASON
    assert known["message"] != unknown["message"]
    assert messages.message_of(known, "x1") == known["message"]
    assert messages.message_of(known, "x1", reason=False) == unknown["message"]


@pytest.mark.parametrize("notice", [act.Quiet(60.0, "it compiles"), act.Resumed(5.0, False)])
def test_other_notices_give_their_reason_as_a_part_of_the_sentence(notice: act.Notice) -> None:
    assert event_of(notice, None)["phase"] not in messages.GIVE_A_REASON


def test_an_event_without_the_fields_keeps_its_message() -> None:
    event: ev.Event = {
        "type": ev.WATCHDOG,
        "phase": "stuck",
        "message": "in other words",
        "diagnosis": FOUND,
    }
    assert messages.message_of(event, "x1", reason=False) == event["message"]
