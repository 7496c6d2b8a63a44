"""Bytes → text for people, whatever the bytes and wherever they were cut."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from unhang.core import framing

TEXT = "ascii, žluťoučký, 馬, 🐎"


def test_text_cut_at_any_byte_loses_at_most_the_character_that_was_cut() -> None:
    data = TEXT.encode()
    for i in range(len(data) + 1):
        start, end = framing.whole_start(data[i:]), framing.whole_end(data[:i])
        assert TEXT.endswith(start.decode())
        assert TEXT.startswith(end.decode())
        assert len(data[i:]) - len(start) <= 3
        assert i - len(end) <= 3


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=50))
def test_no_bytes_are_refused(data: bytes) -> None:
    assert data.endswith(framing.whole_start(data))
    assert data.startswith(framing.whole_end(data))
    assert isinstance(framing.decode(data), str)
    assert "\n" not in framing.last_line(data)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_harmless_text_moves_no_cursor(text: str) -> None:
    shown = framing.harmless(text)
    assert all(c == "\n" or c.isprintable() for c in shown)
    assert framing.harmless(shown) == shown


HARMLESS = {
    "plain": "plain",
    "\x1b[31mred\x1b[0m": "red",
    "\x1b]0;title\x07after": "after",
    "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link",
    "\x1b": "",
    "\x1b[": "",
    "\x1b]never ended": "",
    "a\tb": "a    b",
    "bell\a": "bell^G",
    "nul\0": "nul^@",
    "cr\r\nlf": "cr\nlf",
    "\x7f\x9b31m": "\ufffd\ufffd31m",
    "\u202eright to left": "\ufffdright to left",
}


@pytest.mark.parametrize(("text", "shown"), HARMLESS.items(), ids=repr)
def test_text_is_made_harmless(text: str, shown: str) -> None:
    assert framing.harmless(text) == shown


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
    assert framing.last_line(data) == line
