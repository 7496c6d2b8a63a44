"""The last line on the screen is what a prompt asks, and nothing in it may reach a terminal as a command."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unhang.core.diagnosis.screen import full_screen, last_line, line_at_cursor, looks_like_a_question, unfinished


@pytest.mark.parametrize(
    ("screen", "line"),
    [
        ("Password: ", "Password:"),
        ("a\r\nb\r\nOverwrite? [y/N] ", "Overwrite? [y/N]"),
        ("\x1b[1;32muser\x1b[0m$ ", "user$"),
        ("\x1b[?2004h>>> ", ">>>"),
        ("10 %\r55 %\rpackage name: (x) ", "package name: (x)"),
        ("\x1b[1G\u2819\x1b[1G\x1b[0Jpackage name: (x) \x1b[20G", "package name: (x)"),
        ("\x1b]0;title\x07Name: ", "Name:"),
        ("abc\b\bX", "aX"),
        ("text\x1b[24;1H:", ":"),
        ("done\n\n\n", "done"),
        ("\x1b[", ""),
        ("", ""),
        ("x" * 500, "x" * 200),
    ],
)
def test_the_last_line_is_what_a_terminal_would_show(screen: str, line: str) -> None:
    assert last_line(screen) == line


@pytest.mark.parametrize(
    ("screen", "line"),
    [
        ("\x1b[?1049h\x1b[HName? \x1b[24;1H[0] 0:sh* 10:59\x1b[1;7H", "Name?"),
        ("\x1b[?1049h\x1b[2;1HOn? \x1b[5d\x1b[1Gstatus\x1b[3A", "On?"),
        ("\x1b[?1049hold text\x1b[1;4H\x1b[KY\x1b[2Eb\x1b[F\x1b[A", "oldY"),
        ("\x1b[?1049habc\x1b[2J\x1b[HNew:", "New:"),
        ("\x1b[?1049h\x1b[9999999999;9999999999Hx", "x"),
        ("\x1b[?1049h\x1b[3;3H", ""),
        ("", ""),
    ],
)
def test_the_line_at_the_cursor_is_where_a_program_inside_of_tmux_waits(screen: str, line: str) -> None:
    assert line_at_cursor(screen) == line


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["\x1b[", ";", "9", "H", "J", "K", "A", "D", "F", "d", "\r", "\n", "\b", "x"])).map(
        "".join
    )
)
def test_whatever_moves_the_cursor_the_line_at_it_is_text(screen: str) -> None:
    assert line_at_cursor(screen).isprintable()


@settings(deadline=None)
@given(st.text())
def test_no_control_character_survives(screen: str) -> None:
    assert last_line(screen).isprintable()


@pytest.mark.parametrize("line", ["Password:", "Overwrite? [y/N]", "sqlite>", "$", "(END)", "Press any key to go on"])
def test_a_prompt_looks_like_a_question(line: str) -> None:
    assert looks_like_a_question(line)


@pytest.mark.parametrize("line", ["Compiling foo v1.2", "downloading 34 of 80", "done."])
def test_other_output_does_not_look_like_a_question(line: str) -> None:
    assert not looks_like_a_question(line)


def test_a_prompt_is_a_line_without_an_end() -> None:
    assert unfinished("Name: \x1b[0m")
    assert not unfinished("Name:\r\n\x1b[0m")
    assert not unfinished("")


def test_the_alternate_screen_is_recognised_while_it_is_on() -> None:
    assert full_screen("\x1b[?1049h~")
    assert not full_screen("\x1b[?1049h~\x1b[?1049l$ ")
