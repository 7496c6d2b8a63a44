"""Bytes → text for people, whatever the bytes and wherever they were cut."""

from __future__ import annotations

from collections.abc import Callable

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from unhang.agents.base.update import preview
from unhang.core import plain_text

TEXT = "ascii, žluťoučký, 馬, 🐎"


def test_text_cut_at_any_byte_loses_at_most_the_character_that_was_cut() -> None:
    data = TEXT.encode()
    for i in range(len(data) + 1):
        start, end = plain_text.whole_start(data[i:]), plain_text.whole_end(data[:i])
        assert TEXT.endswith(start.decode())
        assert TEXT.startswith(end.decode())
        assert len(data[i:]) - len(start) <= 3
        assert i - len(end) <= 3


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=50))
def test_no_bytes_are_refused(data: bytes) -> None:
    assert data.endswith(plain_text.whole_start(data))
    assert data.startswith(plain_text.whole_end(data))
    assert isinstance(plain_text.decode(data), str)
    assert "\n" not in plain_text.last_line(data)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_harmless_text_moves_no_cursor(text: str) -> None:
    shown = plain_text.harmless(text)
    assert all(c == "\n" or c.isprintable() for c in shown)
    assert plain_text.harmless(shown) == shown


# pieces of text with every beginning, middle and end of a sequence
_PIECES = st.lists(
    st.sampled_from(
        [
            "\x1b",
            "\x1b[",
            "\x1b]",
            "\x1bP",
            "\x1b\\",
            "\a",
            "\n",
            "\r",
            "\t",
            "31",
            ";",
            "m",
            "J",
            "8",
            "seen",
            "é",
            "\0",
        ]
    )
    | st.text(max_size=3),
    max_size=12,
).map("".join)


@settings(max_examples=300, deadline=None)
@given(_PIECES)
def test_colours_are_all_that_acts_on_a_terminal(text: str) -> None:
    shown = plain_text.harmless(text, colours=True)
    for part in shown.split("\x1b")[1:]:
        numbers, _, rest = part.partition("m")
        assert numbers[0] == "["
        assert set(numbers[1:]) <= set("0123456789;:")
        assert all(c == "\n" or c.isprintable() for c in rest)
    assert plain_text.harmless(shown) == plain_text.harmless(text)


@settings(max_examples=300, deadline=None)
@given(_PIECES, st.sampled_from(["]0;", "P", "X", "^", "_", "[", "[31", "[31;", "(", " "]))
def test_a_sequence_that_never_ends_hides_nothing_behind_it(before: str, begin: str) -> None:
    behind = "\nerror: something important"
    assert plain_text.harmless(f"{before}\x1b{begin}{behind}").endswith(behind)
    # ... nor on its own line, where no character ends it
    shown = plain_text.harmless(f"{before}\n\x1b{begin}×important×")
    assert shown.endswith("×important×")


@settings(max_examples=300, deadline=None)
@given(_PIECES, st.lists(st.integers(0, 60), max_size=6))
def test_output_that_comes_in_pieces_is_shown_as_if_it_came_at_once(text: str, cuts: list[int]) -> None:
    data = text.encode()
    terminal = plain_text.TerminalText()
    shown, at = "", 0
    for cut in [*sorted(cuts), len(data)]:
        shown += terminal.feed(data[at : max(at, cut)])
        at = max(at, cut)
    shown += terminal.finish()
    assert shown.removesuffix("\x1b[0m") == plain_text.harmless(text, colours=True).removesuffix("\x1b[0m")


def test_a_piece_that_stops_in_a_long_sequence_is_shown_at_once() -> None:
    terminal = plain_text.TerminalText()
    assert terminal.feed(b"\x1b]0;short") == ""
    assert terminal.feed(b"x" * 300).endswith("x" * 300)


@pytest.mark.parametrize("numbers", ["0", "", "1;31", "38;5;8", "38;2;8;8;8", "38:5:8", "4:3"])
def test_a_colour_passes(numbers: str) -> None:
    text = f"\x1b[{numbers}mtext"
    assert plain_text.harmless(text, colours=True) == text


@pytest.mark.parametrize("numbers", ["8", "1;8", "08", "38;5;1;8", "38:5:1;8", "?25"])
def test_what_hides_text_is_no_colour(numbers: str) -> None:
    assert plain_text.harmless(f"\x1b[{numbers}mtext", colours=True) == "text"


@settings(max_examples=200, deadline=None)
@given(_PIECES)
def test_quoted_words_cannot_leave_their_quotation_marks(text: str) -> None:
    shown = plain_text.quoted(f'{text}" and "{text}', 60)
    assert len(shown) <= 62
    assert shown[0] == shown[-1] == '"'
    assert '"' not in shown[1:-1]
    assert shown.isprintable()


HARMLESS = {
    "plain": "plain",
    "\x1b[31mred\x1b[0m": "red",
    "\x1b]0;title\x07after": "after",
    "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link",
    "a\x1b(Bb\x1b7c": "abc",
    # what is not whole hides nothing
    "\x1b": "^[",
    "\x1b[": "^[[",
    "\x1b[31": "^[[31",
    "\x1b[3\nm": "^[[3\nm",
    "\x1b]never ended": "^[]never ended",
    "\x1b]0;cut\nby a line\a": "^[]0;cut\nby a line^G",
    "\x1b]0;cut\x1b[1mby another": "^[]0;cutby another",
    "\x1bP" + "x" * 5000 + "\x1b\\": "^[P" + "x" * 5000,
    "\x1b\n": "^[\n",
    "\x1bé": "^[é",
    "a\tb": "a    b",
    "bell\a": "bell^G",
    "nul\0": "nul^@",
    "cr\r\nlf": "cr\nlf",
    "\x7f\x9b31m": "\ufffd\ufffd31m",
    "\u202eright to left": "\ufffdright to left",
    "M\udcfcller\ud800": "M\\xfcller\ufffd",
}


@pytest.mark.parametrize(("text", "shown"), HARMLESS.items(), ids=repr)
def test_text_is_made_harmless(text: str, shown: str) -> None:
    assert plain_text.harmless(text) == shown


LAST = {
    b"": "",
    b"\n\n": "",
    b"one\ntwo\n": "two",
    b"one\nPassword: ": "Password:",
    b"10%\r20%\r30%": "30%",
    b"one\r\ntwo\r\n": "two",
    b"\x1b[1mContinue? [y/N]\x1b[0m ": "Continue? [y/N]",
    b"\xff\xfe": "\ufffd\ufffd",
    b"x" * 5000: "…" + "x" * 199,
    "é".encode()[1:] + b"tail": "tail",
}


@pytest.mark.parametrize(("data", "line"), LAST.items(), ids=lambda value: repr(value)[:30])
def test_the_last_line_is_what_a_person_sees(data: bytes, line: str) -> None:
    assert plain_text.last_line(data) == line


@pytest.mark.parametrize("shorten", [plain_text.one_line, preview])
def test_blanks_do_not_hide_that_a_line_goes_on(shorten: Callable[[str, int], str]) -> None:
    assert shorten("ls" + " " * 5000 + "; rm -rf build", 80) == "ls…"
    assert shorten("ls" + " " * 5000 + "\n", 80) == "ls"


def test_of_what_is_too_long_the_end_is_kept() -> None:
    assert plain_text.end_on_one_line("  a\nb  c\n", 20) == "a b c"
    assert plain_text.end_on_one_line("first and last words", 10) == "…ast words"
    assert len(plain_text.end_on_one_line("x " * 5000, 300)) == 300


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("N\bNA\bAM\bME\bE", "NAME"),
        ("_\bO_\bP", "OP"),
        ("_\b_ i", "_ i"),
        ("N\bN\bN", "N"),
        ("ab\bc", "ab\bc"),
        ("\b\b", "\b\b"),
        ("a\b", "a\b"),
        ("_\b\n", "_\b\n"),
        ("ls", "ls"),
        ("", ""),
    ],
)
def test_letters_that_are_struck_over_by_themselves_are_letters(text: str, shown: str) -> None:
    assert plain_text.without_overstrikes(text) == shown
