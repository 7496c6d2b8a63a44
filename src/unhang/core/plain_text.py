"""Bytes → text for people: whole characters, one line, nothing that moves a cursor.

A job's output may be cut anywhere and hold anything. Whatever unhang itself prints of it goes through here.
"""

from __future__ import annotations

from unhang.core.values import visible_bytes

_CONTINUATION = range(0x80, 0xC0)


def decode(data: bytes) -> str:
    """Return the text of bytes; what is no UTF-8 becomes U+FFFD, and nothing is raised."""
    return data.decode("utf-8", "replace")


def whole_start(data: bytes) -> bytes:
    """Return the data without the rest of a character that was cut off at the front (at most 3 bytes)."""
    n = 0
    while n < min(3, len(data)) and data[n] in _CONTINUATION:
        n += 1
    return data[n:]


def whole_end(data: bytes) -> bytes:
    """Return the data without the beginning of a character that was cut off at the end (at most 3 bytes)."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            return data
        if byte >= 0xC0:
            wanted = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data if back >= wanted else data[:-back]
    return data


def screen_of(ends: list[bytes]) -> bytes:
    """Return the ends of several streams as one screen: a line without an end, which may be a prompt, comes last."""
    whole = [end for end in ends if not _is_unfinished(end)]
    return b"".join([*whole, *filter(_is_unfinished, ends)])


def _is_unfinished(end: bytes) -> bool:
    return bool(end) and not end.endswith(b"\n")


# --- terminal sequences ----------------------------------------------------------------------------------------

_ESC = "\x1b"
# Titles, links and clipboard contents are short. A string that does not end within this many characters, or not on
# its line, is no sequence but an ESC in the middle of text: else one would hide all that follows it.
LONGEST_SEQUENCE = 4096
_STRING = frozenset("]PX^_")  # OSC, DCS, SOS, PM, APC: up to BEL, or ESC and a backslash
# How much of a piece may wait for the next one. A job that stops in the middle of a sequence is shown without delay.
_MOST_HELD = 256
_NONE, _CUT = 0, -1


def _sequence_end(text: str, at: int) -> int:
    """The index behind the sequence that begins with the ESC at `at`; _NONE: none does; _CUT: the text ends before."""
    if at + 1 >= len(text):
        return _CUT
    kind = text[at + 1]
    if kind == "[":
        return _after(text, at + 2, "\x20", "\x3f", "\x40", "\x7e")
    if kind in _STRING:
        return _after_string(text, at + 2)
    return _after(text, at + 1, "\x20", "\x2f", "\x30", "\x7e")


def _after(text: str, at: int, low: str, high: str, first: str, last: str) -> int:
    """Behind any number of characters from `low` to `high` and one from `first` to `last`."""
    for i in range(at, at + LONGEST_SEQUENCE):
        if i >= len(text):
            return _CUT
        if not low <= text[i] <= high:
            return i + 1 if first <= text[i] <= last else _NONE
    return _NONE


def _after_string(text: str, at: int) -> int:
    """Behind BEL, or ESC and a backslash, if no other control character comes before."""
    for i in range(at, at + LONGEST_SEQUENCE):
        if i >= len(text) or (text[i] == _ESC and i + 1 == len(text)):
            return _CUT
        if text[i] == "\a":
            return i + 1
        if text[i] == _ESC:
            return i + 2 if text[i + 1] == "\\" else _NONE
        if text[i] < " " and text[i] != "\t":
            return _NONE
    return _NONE


def _is_colour(sequence: str) -> bool:
    """A change of colour or weight (SGR) that hides nothing: not the one that makes text invisible (8)."""
    numbers = sequence[2:-1]
    if sequence[1] != "[" or sequence[-1] != "m" or numbers.strip("0123456789;:"):
        return False
    fields = numbers.split(";")
    while fields:
        first = fields.pop(0).lstrip("0")
        if first in ("38", "48", "58") and fields:  # a colour by its number (5) or by its parts (2) follows
            del fields[: 2 if fields[0] == "5" else 4]
        elif first.partition(":")[0] == "8":
            return False
    return True


def harmless(text: str, *, colours: bool = False) -> str:
    """Return a text that is safe to print: whole escape sequences dropped (`colours`: those stay), tabs to blanks, all
    other control characters made visible. An ESC that begins no whole sequence is shown as ^[, and what follows it
    stays.
    """
    if text.isprintable():
        return text
    # no sequence goes beyond its line
    return "\n".join(line if line.isprintable() else _harmless(line, colours) for line in text.split("\n"))


def without_overstrikes(text: str) -> str:
    """Return a text in which letters that are bold or underlined by backspaces (`man` without a pager) are letters.

    Nothing is hidden: only a character that is struck over by itself, and an underscore below one, are left out.
    """
    parts = text.split("\b")
    for i in range(len(parts) - 1):
        last, first = parts[i][-1:], parts[i + 1][:1]
        struck = bool(last) and bool(first) and first != "\n" and last in ("_", first)
        parts[i] = parts[i][:-1] if struck else f"{parts[i]}\b"
    return "".join(parts)


def visible(text: str) -> str:
    """Replace every character that cannot be seen (controls, ESC, marks of direction, lone surrogates) by U+FFFD.

    For a sentence of ours that holds the name of a process or of a file: `harmless` drops whole escape sequences, and
    one that a name leaves open would take our own words behind it along.
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text)


def escaped(text: str, most: int = 200) -> str:
    """Return a text, cut, with every character that cannot be seen written as its escape (\\n, \\x1b)."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[: most + 1])
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def _harmless(line: str, colours: bool) -> str:
    out: list[str] = []
    i = 0
    while i < len(line):
        if line[i] != _ESC:
            out.append(_shown(line[i]))
            i += 1
            continue
        end = _sequence_end(line, i)
        if end <= 0:
            out.append("^[")
        elif colours and _is_colour(line[i:end]):
            out.append(line[i:end])
        i = max(end, i + 1)
    return "".join(out)


def _shown(c: str) -> str:
    if c.isprintable():
        return c
    if c == "\t":
        return "    "
    if c < " ":
        return "" if c == "\r" else "^" + chr(ord(c) + 64)
    return visible_bytes(c) if "\ud800" <= c <= "\udfff" else "\ufffd"


class TerminalText:
    """Output for a person's terminal, piece by piece as it comes: colours pass, nothing else that acts on a terminal.

    A character or a short sequence that a piece ends in the middle of waits for the next piece.
    """

    def __init__(self) -> None:
        self._bytes = b""
        self._text = ""
        self._coloured = False

    def feed(self, data: bytes) -> str:
        """Return what can be shown so far; an incomplete character or sequence waits for the next call."""
        data = self._bytes + data
        whole = whole_end(data)
        self._bytes = data[len(whole) :]
        text = self._text + decode(whole)
        cut = _whole_sequences(text)
        cut = cut if len(text) - cut <= _MOST_HELD else len(text)
        self._text = text[cut:]
        return self._shown(text[:cut])

    def finish(self) -> str:
        """Return what still waits, and the end of any colour."""
        shown = self._shown(self._text + decode(self._bytes))
        self._bytes, self._text = b"", ""
        return shown + (f"{_ESC}[0m" if self._coloured else "")

    def _shown(self, text: str) -> str:
        shown = harmless(text, colours=True)
        self._coloured = self._coloured or _ESC in shown
        return shown


def _whole_sequences(text: str) -> int:
    """Where the text ends, or where a sequence begins that may go on behind it."""
    at = text.find(_ESC)
    while at >= 0:
        end = _sequence_end(text, at)
        if end == _CUT:
            return at
        at = text.find(_ESC, max(end, at + 1))
    return len(text)


# --- one line ---------------------------------------------------------------------------------------------------


def one_line(text: str, most: int) -> str:
    """Return a text harmless, on one line, with single blanks, and cut."""
    line = " ".join(harmless(text[: 8 * most]).split())
    return cut_line(line, most, rest=text[8 * most :])


def cut_line(line: str, most: int, *, rest: str) -> str:
    """Return a line, cut. `rest`: what was not looked at; many blanks before it must not hide that there is more."""
    if len(line) <= most and (not rest or rest.isspace()):
        return line
    return line[: most - 1] + "…"


def end_on_one_line(text: str, most: int) -> str:
    """Do what `one_line` does, but of what is too long the end is kept."""
    line = " ".join(harmless(text[-8 * most :]).split())
    return line if len(line) <= most else "…" + line[1 - most :]


def quoted(text: str, most: int = 120) -> str:
    """Return words of a job's for a sentence of ours: in quotation marks that they cannot close, on one line, cut."""
    return '"' + one_line(text, most).replace('"', "'") + '"'


def last_line(data: bytes, limit: int = 200) -> str:
    """Return what a person would see on the last line of the screen: after the last newline or carriage return, or the
    last line with anything on it."""
    text = harmless(decode(whole_start(data[-4096:])).replace("\r\n", "\n").replace("\r", "\n"))
    for line in reversed(text.split("\n")):
        if line.strip():
            line = line.strip()
            return line if len(line) <= limit else "…" + line[-(limit - 1) :]
    return ""
