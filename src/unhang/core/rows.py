"""Output as rows for a screen: lines, and pieces of lines that are too long to be drawn as one.

A row begins at a byte and has at most `LONGEST` bytes, so a screen of rows costs the same whatever was printed.
Counting is done for megabytes at once and must be fast; `split` and `count` agree by a property test.
"""

from __future__ import annotations

from unhang.core import plain_text

# Of one row: wider than any screen, and little enough that a screen of them is cheap.
LONGEST = 1000


def split(data: bytes) -> list[tuple[int, bytes]]:
    """Return each row with the position of its first byte in `data`; newlines are not part of a row."""
    found: list[tuple[int, bytes]] = []
    at = 0
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()  # behind the last newline nothing has been printed yet
    for line in lines:
        begin = at
        at += len(line) + 1
        if len(line) <= LONGEST:
            found.append((begin, line))
            continue
        for piece in _pieces(line):
            found.append((begin, piece))
            begin += len(piece)
    return found


def count(data: bytes) -> int:
    """Return how many rows `split` would return."""
    if not _has_long_line(data):
        return data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))
    return len(split(data))


def length_of_rows(data: bytes) -> int:
    """Return how many bytes of `data` are whole rows, whatever follows it. `data` begins where a row does."""
    end = data.rfind(b"\n") + 1
    rest = len(data) - end
    # of a line that goes on, only the pieces that cannot change any more
    return end + sum(len(piece) for piece in _pieces(data[end:])[:-1]) if rest > LONGEST else end


def text_of_row(row: bytes) -> str:
    """Return what a terminal would show of a row: colours stay, everything else that acts on a terminal does not.

    What a carriage return has overwritten is left out.
    """
    text = plain_text.decode(row).rstrip("\r")
    return plain_text.harmless(text.rpartition("\r")[2] if "\r" in text else text, colours=True)


def _has_long_line(data: bytes) -> bool:
    """Whether a line has to be shown in pieces. In hops of a line's length: faster than looking at every line."""
    at = 0
    while len(data) - at > LONGEST:
        newline = data.rfind(b"\n", at, at + LONGEST + 1)
        if newline < 0:
            return True
        at = newline + 1
    return False


def _pieces(line: bytes) -> list[bytes]:
    """A long line in pieces that do not end in the middle of a character."""
    found: list[bytes] = []
    at = 0
    while len(line) - at > LONGEST:
        piece = line[at : at + LONGEST]
        piece = plain_text.whole_end(piece) or piece
        found.append(piece)
        at += len(piece)
    return [*found, line[at:]]
