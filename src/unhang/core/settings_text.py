"""Measure and parse settings files of unknown origin in bounded time and memory.

A file may come with a project that was only downloaded. The parsers of the standard library are quadratic in the parts
of a dotted key (20 KB of `a.a.a…` take 400 MB), recurse with the nesting, and refuse or compute with integers of any
length. So a text is measured before it is parsed: how many marks of structure it has, how deep it is nested, how long
its longest key and its longest number are. A string or a comment counts once, however long it is.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# A policy of 2000 patterns has some 3000.
MOST_MARKS = 20_000
DEEPEST = 100
_MOST_PARTS = 32
# Of a number or a bare word. In hexadecimal these are fewer decimal digits than the least limit that Python may have.
_LONGEST_WORD = 400

_TOML_MARK = re.compile(r"""["'#\[\]{}.,=]|[0-9A-Za-z_+-]{401}""")
_JSON_MARK = re.compile(r"""["\[\]{},:]|[0-9A-Za-z_.+-]{401}""")
# possessive, so that no way back through a megabyte is kept
_STRING = re.compile(r'"(?:[^"\\\n]++|\\.)*+"?')
_LITERAL = re.compile(r"'[^'\n]*+'?")
_IN_LONG_STRING = re.compile(r'\\.|"""', re.DOTALL)


class TooMuch(ValueError):
    """A text that is too large or too deeply nested to parse; `at` is the offset in it."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


def toml(text: str) -> dict[str, Any]:
    """Parse TOML as `tomllib.loads` does. Raises ValueError, with the place in words, and nothing else."""
    import tomllib

    try:
        measure(text, toml=True)
        return tomllib.loads(text)
    except TooMuch as error:
        line, column = line_column(text, error.at)
        raise ValueError(f"{error} (at line {line}, column {column})") from None
    except RecursionError:
        raise ValueError("nested too deep (at line 1, column 1)") from None


def measure(text: str, *, toml: bool) -> None:
    """Raise TooMuch if the text has too many parts or nests too deep. `toml` False: the text is JSON."""
    mark = _TOML_MARK if toml else _JSON_MARK
    at = marks = depth = parts = 0
    while found := mark.search(text, at):
        start, what = found.start(), found.group()
        at = found.end()
        marks += 1
        if marks > MOST_MARKS:
            raise TooMuch(f"more than {MOST_MARKS} keys and values", start)
        if what in "\"'#":
            at = _past(text, start, toml)
        elif what in "[{":
            depth += 1
            parts = 0
            if depth > DEEPEST:
                raise TooMuch(f"nested more than {DEEPEST} deep", start)
        elif what in "]}":
            depth = max(0, depth - 1)
        elif what == ".":
            parts += 1
            if parts >= _MOST_PARTS:
                raise TooMuch(f"a key of more than {_MOST_PARTS} parts", start)
        elif len(what) > 1:
            raise TooMuch(f"a number or a word of more than {_LONGEST_WORD} characters", start)
        else:
            parts = 0


def _past(text: str, start: int, toml: bool) -> int:
    """Where the string or the comment that begins at `start` ends; one that is never closed ends with the text."""
    quote = text[start]
    if quote == "#":
        end = text.find("\n", start)
        return len(text) if end < 0 else end
    if toml and text.startswith(quote * 3, start):
        return _past_long(text, start + 3, quote)
    string = (_STRING if quote == '"' else _LITERAL).match(text, start)
    assert string is not None
    return string.end()


def _past_long(text: str, at: int, quote: str) -> int:
    if quote == "'":
        end = text.find("'''", at)
    else:
        marks = _IN_LONG_STRING.finditer(text, at)
        end = next((found.start() for found in marks if found.group() == '"""'), -1)
    if end < 0:
        return len(text)
    # one or two quotes may stand before the three that close it
    end += 3
    for _ in range(2):
        end += text.startswith(quote, end)
    return end


def line_column(text: str, offset: int) -> tuple[int, int]:
    """Return the line and column of an offset, both counted from 1."""
    offset = min(offset, len(text))
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
