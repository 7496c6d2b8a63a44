"""Output as rows: every byte is in one row, counting agrees with splitting, and nothing acts on what shows it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from unhang.core import rows

PIECES = st.sampled_from(
    [b"\n", b"a", b"\xc3\xa9", b"\xe2\x82\xac", b"\xff", b"\r", b"\x1b[31m", b"x" * 700, b"y" * 2500, b""]
)
OUTPUT = st.lists(PIECES, max_size=30).map(b"".join)


@given(OUTPUT)
def test_every_byte_is_in_one_row_and_rows_are_short(data: bytes) -> None:
    found = rows.split(data)
    assert len(found) == rows.count(data)
    assert all(len(row) <= rows.LONGEST for _, row in found)
    assert all(data[at : at + len(row)] == row for at, row in found)
    assert b"".join(row for _, row in found) == data.replace(b"\n", b"")
    assert [at for at, _ in found] == sorted(at for at, _ in found)


@given(OUTPUT, OUTPUT)
def test_whole_rows_stay_what_they_are_whatever_follows(data: bytes, more: bytes) -> None:
    whole = rows.length_of_rows(data)
    assert 0 <= whole <= len(data)
    first = rows.split(data[:whole])
    assert rows.split(data + more)[: len(first)] == first
    assert rows.count(data[:whole]) + rows.count(data[whole:] + more) == rows.count(data + more)


@given(OUTPUT)
def test_a_row_is_shown_as_text(data: bytes) -> None:
    for _, row in rows.split(data):
        text = rows.text_of_row(row)
        assert all(c.isprintable() or c == "\x1b" for c in text)
        assert text.count("\x1b") == text.count("\x1b[")


def test_what_a_carriage_return_has_overwritten_is_left_out() -> None:
    assert rows.text_of_row(b" 10%\r 50%\r100%") == "100%"
    assert rows.text_of_row(b"done\r") == "done"
    assert rows.text_of_row("a\u202eb".encode()) == "a\ufffdb"
