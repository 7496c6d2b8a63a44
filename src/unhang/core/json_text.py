"""JSON, by the C functions below Python's `json` and without that package.

Its import brings along regular expressions and enumerations, and takes as long as all modules of unhang that a command
line needs before it can fork a keeper. What is written and read is the same, but for two things: an error is a plain
ValueError, and bytes are UTF-8.
"""

from __future__ import annotations

from _json import encode_basestring, encode_basestring_ascii, make_encoder, make_scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

_BLANKS = " \t\n\r"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NUMBERS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def _refuse(value: object) -> NoReturn:
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def encode(value: Any, *, ascii_only: bool = False, spaced: bool = False, finite: bool = False) -> str:
    """Return a value as one line of JSON.

    `ascii_only`: also undecodable bytes (lone surrogates) survive. `spaced`: with a blank behind colons and commas.
    `finite`: raise ValueError for NaN and the infinities, which are no JSON. RecursionError: it is nested too deeply.
    """
    quote = encode_basestring_ascii if ascii_only else encode_basestring
    colon, comma = (": ", ", ") if spaced else (":", ",")
    return "".join(make_encoder(None, _refuse, quote, None, colon, comma, False, False, not finite)(value, 0))


class _Rules:
    """How the scanner turns the parts of a text into values."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    array_hook = None
    parse_int = int

    def __init__(self, parse_float: Callable[[str], Any], parse_constant: Callable[[str], Any]) -> None:
        self.parse_float = parse_float
        self.parse_constant = parse_constant


def decoder(parse_float: Callable[[str], Any], parse_constant: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a function that reads JSON; `parse_constant` gets NaN, Infinity and -Infinity."""
    rules = _Rules(parse_float, parse_constant)
    scan = make_scanner(rules)  # type: ignore[arg-type]  # it needs these attributes, not this class

    def decode_text(text: str) -> Any:
        text = text.strip(_BLANKS)
        try:
            value, end = scan(text, 0)
        except (StopIteration, SystemError):
            # Python 3.11 looks for the class of its error in `json`, and without that has none to raise
            raise ValueError("no JSON") from None
        if end != len(text):
            raise ValueError("more than one value of JSON")
        return value

    return decode_text


_decode = decoder(float, _NUMBERS.__getitem__)


def decode(data: str | bytes) -> Any:
    """Return the value that JSON holds; raise ValueError if it is none, RecursionError if it is nested too deeply."""
    if isinstance(data, bytes):
        data = data.removeprefix(_BYTE_ORDER_MARK).decode("utf-8", "surrogatepass")
    return _decode(data)
