"""What a job may take: what makes sense, and how long before a limit its warning comes."""

from __future__ import annotations

from typing import Any

import pytest

from unhang.core.limits import Limits, Sourced, check, lead

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "fine",
    [{}, {"idle": None}, {"stall": None, "idle": None, "hard": None}, {"grace": 0.0}, {"warn": 0.0}, {"hard": 0.001}],
    ids=str,
)
def test_numbers_that_make_sense_pass(fine: dict[str, Any]) -> None:
    assert check(Limits(**fine)) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"idle": 0.0}, {"hard": 0.0}, {"stall": 0.0}, {"kill_wait": 0.0}, {"liveness": "maybe"}, {"liveness": ""},
        *({name: value} for name in ("stall", "idle", "hard", "warn", "grace") for value in (-1.0, NAN, INF, -INF)),
    ],
    ids=str,
)  # fmt: skip
def test_numbers_that_make_no_sense_are_named_in_one_line(wrong: dict[str, Any]) -> None:
    problem = check(Limits(**wrong))
    assert problem is not None
    assert problem.startswith(next(iter(wrong)))
    assert "\n" not in problem


@pytest.mark.parametrize(
    ("limit", "warn", "expected"),
    [(300, 30, 30), (60, 30, 30), (20, 30, 10), (300, 0, 0), (None, 30, 0), (1, 600, 0.5)],
)
def test_a_warning_comes_its_lead_before_the_limit_but_never_before_half_of_it(
    limit: float | None, warn: float, expected: float
) -> None:
    assert lead(limit, warn) == expected


def test_a_limit_is_shown_in_milliseconds_with_its_source() -> None:
    assert Sourced(1.5, "argument").to_json() == {"value": 1500, "source": "argument"}
    assert Sourced(None, "default").to_json() == {"value": None, "source": "default"}
    assert Sourced(60, "policy:long", 90).to_json() == {"value": 60000, "source": "policy:long", "asked": 90000}
