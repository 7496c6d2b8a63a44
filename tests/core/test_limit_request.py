"""What a caller asks for is read in one place, in every spelling, and an error names what the caller wrote."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from unhang.core.limit_request import LimitRequest, read_duration, read_limit, read_limits, read_positive
from unhang.errors import UsageError


@pytest.mark.parametrize(
    ("given", "request_"),
    [
        ({}, LimitRequest()),
        ({"idle": None, "--hard": None, "idleTimeoutMs": None, "category": ""}, LimitRequest()),
        ({"idle": "5m", "hard": 90, "stall": timedelta(minutes=2)}, LimitRequest(idle=300.0, hard=90.0, stall=120.0)),
        ({"--idle": "off", "--hard": " Never ", "--stall": 0}, LimitRequest(idle=0.0, hard=0.0, stall=0.0)),
        ({"--idle": "auto", "hard": "AUTO"}, LimitRequest(idle="auto", hard="auto")),
        ({"--warn": "0", "--grace": "off", "--on-hung": "end"}, LimitRequest(warn=0.0, grace=0.0, on_hung="end")),
        ({"idleTimeoutMs": 1500, "hardTimeoutMs": 0}, LimitRequest(idle=1.5, hard=0.0)),
        (
            {"timeout_sec": 20, "category": "long", "liveness": "output"},
            LimitRequest(timeout_sec=20.0, category="long", liveness="output"),
        ),
    ],
)
def test_every_spelling_of_a_limit_is_read(given: dict[str, Any], request_: LimitRequest) -> None:
    assert read_limits(given) == request_


@pytest.mark.parametrize(
    ("spelling", "value"),
    [
        ("--idle", "soon"),
        ("idle", True),
        ("hard", [1]),
        ("idleTimeoutMs", -1),
        ("hardTimeoutMs", 10**400),
        ("--grace", "auto"),
        ("warn", -1),
        ("timeout_sec", 0),
        ("--timeout-sec", "off"),
    ],
)
def test_an_error_names_the_field_in_the_callers_own_spelling(spelling: str, value: Any) -> None:
    with pytest.raises(UsageError) as refused:
        read_limits({spelling: value})
    assert str(refused.value).startswith(spelling)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 200


def test_a_field_that_no_request_has_is_a_mistake_of_the_program() -> None:
    with pytest.raises(TypeError, match="pulse"):
        read_limits({"pulse": 1})


def test_a_duration_that_cannot_be_off_is_refused_when_it_is() -> None:
    assert read_duration("--timeout", "90s", off=False) == 90
    assert read_limit("idle", "off") == 0
    with pytest.raises(UsageError, match="--timeout"):
        read_duration("--timeout", "off", off=False)
    with pytest.raises(UsageError, match="--startup"):
        read_positive("--startup", "off")
