"""Durations both ways."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from unhang.core import durations
from unhang.core.limit_request import read_limit, read_limits
from unhang.errors import UsageError

GOOD = {
    "90": 90, "90s": 90, "5m": 300, "1h30m": 5400, "500ms": 0.5, "0.5": 0.5, "1.5h": 5400, "2d": 172800, "0": 0,
    " 5m ": 300, "1h 30m": 5400, "5M": 300, "1d2h3m4s5ms": 93784.005, ".5": 0.5, "5.": 5, "0s": 0, "00012": 12,
}  # fmt: skip
BAD = [
    "", " ", "soon", "-5", "+5", "5x", "5m30", "30 5m", "5s3m", "5m5m", "1e9", "nan", "inf", "0x10", "1_000", "5 5",
    ".", "..5", "1.2.3", "m", "h5", "5mm", "٥", "５", "1,5", "5m-3s", "1h30", "ms", "5 m m", "\0", "5\n5",
]  # fmt: skip


@pytest.mark.parametrize(("text", "seconds"), GOOD.items())
def test_a_duration_is_read(text: str, seconds: float) -> None:
    assert durations.parse(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", BAD, ids=repr)
def test_what_is_no_duration_is_refused_in_one_line_that_names_it(text: str) -> None:
    with pytest.raises(ValueError) as raised:
        durations.parse(text)
    assert repr(text) in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["3153600001", "999999999999999999999", "36501d", "9" * 400])
def test_more_than_a_century_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="century"):
        durations.parse(text)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=20))
def test_any_text_is_a_finite_number_or_a_value_error(text: str) -> None:
    try:
        seconds = durations.parse(text)
    except ValueError:
        return
    assert 0 <= seconds <= durations.LONGEST


HUMAN = {
    0: "0s", 0.04: "0s", 0.4: "0.4s", 1: "1s", 9.94: "9.9s", 9.95: "10s", 41: "41s", 59.4: "59s", 59.6: "1m",
    60: "1m", 270: "4m 30s", 3599.6: "1h", 5400: "1h 30m", 7200: "2h", 172800: "2d", 180000: "2d 2h", -5: "-5s",
}  # fmt: skip


@pytest.mark.parametrize(("seconds", "text"), HUMAN.items())
def test_a_duration_is_written_for_people(seconds: float, text: str) -> None:
    assert durations.human(seconds) == text


@settings(max_examples=200, deadline=None)
@given(st.floats(min_value=0, max_value=durations.LONGEST))
def test_what_is_written_can_be_read_and_is_near(seconds: float) -> None:
    assert durations.parse(durations.human(seconds)) == pytest.approx(seconds, rel=0.05, abs=0.06)


@pytest.mark.parametrize(
    "number",
    [float("nan"), float("inf"), 1e300, 10**400, 10**5000, -1, -1e-9],
    ids=["nan", "inf", "1e300", "400-digits", "5000-digits", "-1", "-1e-9"],
)
def test_a_number_that_is_no_length_of_time_is_refused_in_one_line(number: float) -> None:
    for refuse in (
        lambda: durations.usable("idle", number),
        lambda: durations.usable_ms("idle", number),  # type: ignore[arg-type]
        lambda: read_limit("idle", number),
        lambda: read_limits({"timeout_sec": number}),
        lambda: read_limits({"idleTimeoutMs": number}),
    ):
        with pytest.raises((ValueError, UsageError), match="century"):
            refuse()
