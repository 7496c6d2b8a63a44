"""What output does to a terminal is the same however it is cut into pieces, and what was switched on can be undone."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from unhang.core.terminal_modes import TerminalModes

PARTS = st.sampled_from(
    [
        b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b[?47h", b"\x1b[?1047l", b"\x1b[?1h\x1b=", b"\x1b[?1l\x1b>", b"\x1b[?25l",
        b"\x1b[?25h", b"\x1b[?2004h", b"\x1b[?2004l", b"\x1b[?1000;1006h", b"\x1b[?1000;1006l", b"\x1bc", b"\n", b"\r\n", b"text",
        b"\x1b[31m", b"\x1b[0m", b"\x1b]0;title\x07", b"\x1b", b"\x1b[", b"\x1b[?", b"\x1b[?99999999999h", b"\r", b"\x1b[K", b"\xff",
    ]
)  # fmt: skip
# ruff: noqa: E501


def after(*pieces: bytes) -> TerminalModes:
    modes = TerminalModes()
    for piece in pieces:
        modes.feed(piece)
    return modes


@given(st.lists(PARTS, max_size=12), st.lists(st.integers(1, 9), min_size=1, max_size=40))
def test_the_modes_do_not_depend_on_how_the_output_is_cut(parts: list[bytes], sizes: list[int]) -> None:
    data, at = b"".join(parts), 0
    pieces: list[bytes] = []
    while at < len(data):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(data[at : at + size])
        at += size
    whole, cut = after(data), after(*pieces)
    assert (whole.full, whole.editing, whole.restore()) == (cut.full, cut.editing, cut.restore())


@given(st.lists(PARTS, max_size=20))
def test_what_restores_a_terminal_leaves_nothing_to_restore(parts: list[bytes]) -> None:
    modes = after(b"".join(parts), b"x")  # an unfinished sequence ends here
    modes.feed(modes.restore())
    assert modes.restore() == b""
    assert not modes.full
    assert not modes.editing


@pytest.mark.parametrize(
    ("output", "full"),
    [
        (b"\x1b[?1049h\x1b[22;0;0t", True),
        (b"\x1b[?1049h\x1b[?1049l", False),
        (b"\x1b[?1h\x1b=\r", True),  # less -X
        (b"\x1b[?1h\x1b=\x1b[?1l\x1b>", False),
        (b"\x1b[31mred\x1b[0m", False),
        (b"\x1b[?25l 45%", False),  # a progress bar
    ],
)
def test_a_program_that_fills_the_screen_is_known(output: bytes, full: bool) -> None:
    assert after(output).full == full


@pytest.mark.parametrize(
    ("output", "fresh"),
    [
        (b"", True),
        (b"one line\n", True),
        (b"one line\r\n\x1b[0m", True),
        (b"no end", False),
        (b"45%\r", False),
        (b"45%\r\x1b[K", True),
        (b"45%\x1b[2K\r", True),
        (b"done\n$ ", False),
        (b"\x1b[1m\x1b[0m", True),
    ],
)
def test_a_line_with_something_on_it_is_known(output: bytes, fresh: bool) -> None:
    assert after(output).fresh == fresh
