"""The live line of a job fits, and says first what matters most."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from unhang.core.live_line import Standing, bar, live_line
from unhang.core.wrap import cells

SECONDS = st.none() | st.floats(0, 1e6)
STANDINGS = st.builds(
    Standing, st.text(min_size=1, max_size=30), SECONDS, SECONDS, st.text(max_size=200), SECONDS, st.text(max_size=30)
)


@given(STANDINGS, st.integers(20, 200))
def test_it_fits_and_is_one_line(at: Standing, width: int) -> None:
    line = live_line(at, width)
    assert cells(line) <= width
    assert line.isprintable()


def test_the_line_says_age_progress_doing_and_what_ends_it_and_shortens() -> None:
    at = Standing("web", 72.0, 100.0, "compiling main.c", 228.0, "unless output comes")
    line = live_line(at, 100)
    assert line == "web  1m 12s  ███████░░░ usually 1m 40s  compiling main.c  ends in 3m 48s unless output comes"
    narrow = live_line(at, 40)
    assert narrow.startswith("web  1m 12s")
    assert "ends in 3m 48s" in narrow


def test_the_bar_is_full_when_a_run_has_taken_as_long_as_usual() -> None:
    assert (bar(0.0), bar(0.5), bar(1.0), bar(7.0)) == ("░" * 10, "█" * 5 + "░" * 5, "█" * 10, "█" * 10)


def test_a_run_that_usually_takes_no_time_has_a_full_bar() -> None:
    assert bar(float("inf")) == bar(1.0)
