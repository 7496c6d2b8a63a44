"""Bytes → text for people: whole characters, one line, nothing that moves a cursor.

A job's output may be cut anywhere and hold anything. Whatever unhang itself prints of it goes through here.
"""

from __future__ import annotations

_CONTINUATION = range(0x80, 0xC0)


def decode(data: bytes) -> str:
    """Never raises; what is no UTF-8 becomes U+FFFD."""
    return data.decode("utf-8", "replace")


def whole_start(data: bytes) -> bytes:
    """Without the rest of a character that was cut off at the front (at most 3 bytes)."""
    n = 0
    while n < min(3, len(data)) and data[n] in _CONTINUATION:
        n += 1
    return data[n:]


def whole_end(data: bytes) -> bytes:
    """Without the beginning of a character that was cut off at the end (at most 3 bytes)."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            return data
        if byte >= 0xC0:
            wanted = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data if back >= wanted else data[:-back]
    return data


def _skip_escape(text: str, at: int) -> int:
    """The index after the terminal sequence that begins at `at` (an ESC)."""
    if at + 1 >= len(text):
        return at + 1
    kind = text[at + 1]
    i = at + 2
    if kind == "[":
        while i < len(text) and not "@" <= text[i] <= "~":
            i += 1
        return i + 1
    if kind in "]PX^_":  # strings, ended by BEL or ESC \
        while i < len(text) and text[i] != "\a" and text[i : i + 2] != "\x1b\\":
            i += 1
        return i + (1 if i < len(text) and text[i] == "\a" else 2)
    return i


def harmless(text: str) -> str:
    """Safe to print: escape sequences dropped, tabs to blanks, other control characters made visible."""
    if text.isprintable():
        return text
    out: list[str] = []
    i = 0
    while i < len(text):
        c = text[i]
        if c == "\x1b":
            i = _skip_escape(text, i)
            continue
        if c == "\n" or c.isprintable():
            out.append(c)
        elif c == "\t":
            out.append("    ")
        elif c < " ":
            if c != "\r":
                out.append("^" + chr(ord(c) + 64))
        else:
            out.append("\ufffd")
        i += 1
    return "".join(out)


def last_line(data: bytes, limit: int = 200) -> str:
    """What a person would see on the last line of the screen: after the last newline or carriage return, or the
    last line with anything on it."""
    text = harmless(decode(whole_start(data[-4096:])).replace("\r\n", "\n").replace("\r", "\n"))
    for line in reversed(text.split("\n")):
        if line.strip():
            line = line.strip()
            return line if len(line) <= limit else "…" + line[-(limit - 1) :]
    return ""
