"""Lines fit the terminal, by words."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from unhang.core.wrap import NARROWEST, cells, wrapped


@given(st.text(max_size=400), st.integers(1, 120))
def test_every_line_fits_and_no_word_is_lost(text: str, width: int) -> None:
    lines = wrapped(text, width)
    room = max(NARROWEST, width)
    assert all(cells(line) <= room for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=15), min_size=1), st.integers(NARROWEST, 120))
def test_only_a_word_that_is_too_long_is_broken(words: list[str], width: int) -> None:
    assert " ".join(wrapped(" ".join(words), width)).split() == words


def test_a_wide_character_takes_two_cells() -> None:
    assert cells("日本") == 4
    assert cells("e\u0301") == 1
