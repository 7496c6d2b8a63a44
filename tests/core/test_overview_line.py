"""The overview in little room: bounds hold for any entries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from unhang.core.overview_line import bars, status_line


@given(st.lists(st.integers(0, 1 << 40), max_size=50))
def test_a_picture_has_one_character_a_number_and_the_highest_is_the_highest(counts: list[int]) -> None:
    drawn = bars(counts)
    assert len(drawn) == len(counts)
    for n, c in zip(counts, drawn, strict=True):
        assert (n == 0) == (c == " ")
    if any(counts):
        assert drawn[counts.index(max(counts))] == max(drawn)


def test_nothing_is_an_empty_line() -> None:
    assert status_line([]) == ""
