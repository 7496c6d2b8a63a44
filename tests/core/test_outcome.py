"""How a job ended → status, error and exit code: the whole table. And the value objects all of it is made of."""

from __future__ import annotations

from typing import Any

import pytest

from unhang.core import outcome
from unhang.core.record import Record
from unhang.core.watchdog import actions as act

BASE: dict[str, Any] = {
    "ending": act.EXITED, "exit_code": 0, "signal": None, "leaked": False, "abandoned": False, "mode": None,
    "duration": 1.5, "silence": 0.5, "longest_silence": 0.5, "pid": 42, "cancelled_by": "request", "idle_limit": 300.0, "hard_limit": 1200.0,
    "leftovers": [], "survivors": [],
}  # fmt: skip
BY_TERM = {"exit_code": None, "signal": 15, "mode": "soft"}
BY_KILL = {"exit_code": None, "signal": 9, "mode": "hard"}

# what happened → phase, status, error code, terminationMode, exit code of `unhang run`
TABLE: dict[str, tuple[dict[str, Any], tuple[str, str, str | None, str | None, int]]] = {
    "exit 0": ({}, ("completed", "success", None, None, 0)),
    "exit 3": ({"exit_code": 3}, ("failed", "error", None, None, 3)),
    "exit 255": ({"exit_code": 255}, ("failed", "error", None, None, 255)),
    "SIGSEGV": ({"exit_code": None, "signal": 11}, ("failed", "error", None, None, 139)),
    "a signal without a name": ({"exit_code": None, "signal": 40}, ("failed", "error", None, None, 168)),
    "idle, soft": ({"ending": act.IDLE} | BY_TERM, ("timed_out", "timeout", "EIDLE", "soft", 124)),
    "idle, hard": ({"ending": act.IDLE} | BY_KILL, ("timed_out", "timeout", "EIDLE", "hard", 124)),
    "hard, soft": ({"ending": act.HARD} | BY_TERM, ("timed_out", "timeout", "ETIMEDOUT", "soft", 124)),
    "hard, and it exits with 0": ({"ending": act.HARD, "mode": "soft"}, ("timed_out", "timeout", "ETIMEDOUT", "soft", 124)),
    "cancelled": ({"ending": act.CANCELLED} | BY_TERM, ("cancelled", "cancelled", "ECANCELED", "soft", 130)),
    "SIGINT": ({"ending": act.CANCELLED, "cancelled_by": "SIGINT"} | BY_TERM, ("cancelled", "cancelled", "ECANCELED", "soft", 130)),
    "SIGTERM": ({"ending": act.CANCELLED, "cancelled_by": "SIGTERM"} | BY_TERM, ("cancelled", "cancelled", "ECANCELED", "soft", 143)),
    "SIGHUP": ({"ending": act.CANCELLED, "cancelled_by": "SIGHUP"} | BY_KILL, ("cancelled", "cancelled", "ECANCELED", "hard", 129)),
    "SIGPIPE": ({"ending": act.CANCELLED, "cancelled_by": "SIGPIPE"} | BY_TERM, ("cancelled", "cancelled", "ECANCELED", "soft", 141)),
    "leaked": ({"leaked": True, "mode": "hard"}, ("completed", "success", None, None, 0)),
}  # fmt: skip
# ruff: noqa: E501


@pytest.mark.parametrize(("happened", "expected"), TABLE.values(), ids=list(TABLE))
def test_how_it_ended_is_what_is_said(happened: dict[str, Any], expected: tuple[Any, ...]) -> None:
    end = outcome.ended(outcome.Facts(**(BASE | happened)))
    error = end.fields.get("error") or {}
    said = (
        end.phase,
        end.fields["status"],
        error.get("code"),
        end.fields["terminationMode"],
        outcome.exit_code(end.fields),
    )
    assert said == expected
    assert "\n" not in end.message


@pytest.mark.parametrize(
    ("happened", "said"),
    [
        ({"exit_code": None, "signal": 9, "out_of_memory": True}, True),
        ({"exit_code": 137, "out_of_memory": True}, True),  # a shell passes on how its child ended
        ({"exit_code": None, "signal": 9}, False),
        ({"exit_code": None, "signal": 11, "out_of_memory": True}, False),
    ],
)
def test_a_job_that_the_kernel_ended_for_want_of_memory_says_so(happened: dict[str, Any], said: bool) -> None:
    end = outcome.ended(outcome.Facts(**(BASE | happened)))
    assert ("out of memory: " in end.message) == said


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        (outcome.spawn_failed("m", 127).fields, 127),
        (outcome.spawn_failed("m", 126).fields, 126),
        (outcome.lost("m", None, 1, [1], []).fields, 125),
        ({}, 125),
        ({"status": "error", "signal": "nonsense"}, 125),
    ],
    ids=str,
)
def test_exit_codes_of_what_never_ran_or_was_lost(fields: dict[str, Any], code: int) -> None:
    assert outcome.exit_code(fields) == code


def test_survivors_are_named() -> None:
    left = [{"pid": 7, "command": "stuck", "state": "D"}]
    end = outcome.ended(outcome.Facts(**(BASE | BY_KILL | {"ending": act.IDLE, "abandoned": True, "survivors": left})))
    assert end.fields["error"]["survivors"] == left
    assert "1 process" in end.message


@pytest.mark.parametrize(
    "ending", [{}, {"exit_code": 3}, {"ending": act.CANCELLED, "cancelled_by": "SIGINT"} | BY_TERM]
)
def test_what_a_leader_left_running_is_named_however_it_ended(ending: dict[str, Any]) -> None:
    left = {"leaked": True, "leftovers": [{"pid": 7, "command": "sleep 100"}], "mode": "soft", "interrupted": True}
    message = outcome.ended(outcome.Facts(**(BASE | ending | left))).message
    assert '"sleep 100"' in message
    assert "was enough" not in message


def test_survivors_that_cannot_be_listed_are_not_counted_as_none() -> None:
    given = {"ending": act.HARD, "abandoned": True, "unseen": "/proc is not mounted"}
    end = outcome.ended(outcome.Facts(**(BASE | BY_KILL | given)))
    assert (end.fields["error"]["survivors"], end.fields["error"]["unseen"]) == ([], "/proc is not mounted")
    assert "0 processes" not in end.message
    assert "/proc is not mounted" in end.message


def test_what_could_not_be_seen_on_the_way_does_not_matter_once_everything_has_ended() -> None:
    end = outcome.ended(outcome.Facts(**(BASE | BY_KILL | {"ending": act.HARD, "unseen": "/proc is not mounted"})))
    assert "unseen" not in end.fields["error"]
    assert "/proc" not in end.message


class Point(Record):
    x: int
    y: int = 2


def test_a_record_is_a_frozen_value() -> None:
    point = Point(1)
    assert (point.x, point.y, point) == (1, 2, Point(1, y=2))
    assert point != Point(1, 3)
    assert hash(point) == hash(Point(1))
    assert point.replace(y=5) == Point(1, 5)
    assert repr(point) == "Point(x=1, y=2)"
    assert point.to_dict() == {"x": 1, "y": 2}
    match point:
        case Point(x, y):
            assert (x, y) == (1, 2)
    with pytest.raises(AttributeError):
        point.x = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    "wrong", [((), {}), ((1, 2, 3), {}), ((1,), {"x": 1}), ((1,), {"z": 1}), ((), {"x": 1, "z": 1})], ids=str
)
def test_a_record_takes_its_own_values_only(wrong: tuple[tuple[int, ...], dict[str, int]]) -> None:
    with pytest.raises((TypeError, AttributeError)):
        Point(*wrong[0], **wrong[1])
