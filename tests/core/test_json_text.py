"""JSON without `json`: the same text, the same values, an error where there is one."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhang.core import json_text

TEXTS = st.text(st.characters(exclude_categories=()), max_size=20)  # lone surrogates too: bytes that were no UTF-8
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)
# no value at all · one that is cut off or wrong inside · more than one
MALFORMED = ["", " ", "\ufeff1", "{", "[1,]", '{"a"}', '{"a":}', "[1 2]", '"a', '"\n"', '"\\x"', "01", "1 2", "{} x"]


@given(VALUES)
def test_it_writes_what_json_writes(value: Any) -> None:
    assert json_text.encode(value, ascii_only=True) == json.dumps(value, separators=(",", ":"))
    assert json_text.encode(value) == json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    assert json_text.encode(value, spaced=True) == json.dumps(value, ensure_ascii=False)


@given(VALUES)
def test_it_reads_what_json_wrote(value: Any) -> None:
    line = json.dumps(value)
    assert json_text.decode(line) == value
    assert json_text.decode(f" \t{line}\r\n".encode()) == value
    assert json_text.decode(b"\xef\xbb\xbf" + line.encode()) == value


def test_what_is_no_number_of_json_is_refused_only_where_asked() -> None:
    assert json_text.encode([float("nan"), float("inf")]) == "[NaN,Infinity]"
    assert json_text.decode("[Infinity, -Infinity]") == [float("inf"), float("-inf")]
    with pytest.raises(ValueError):
        json_text.encode([float("nan")], finite=True)


def test_constants_and_fractions_are_read_as_the_caller_likes() -> None:
    decode = json_text.decoder(lambda digits: f"fraction {digits}", lambda name: f"constant {name}")
    assert decode("[1, 2.5, NaN]") == [1, "fraction 2.5", "constant NaN"]


def test_a_value_that_is_none_of_json_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        json_text.encode({"a": object()})


def test_what_is_nested_too_deeply_is_a_recursion_error() -> None:
    deep: list[Any] = []
    for _ in range(200_000):
        deep = [deep]
    with pytest.raises(RecursionError):
        json_text.encode(deep)
    with pytest.raises(RecursionError):
        json_text.decode("[" * 200_000)
    while deep:  # piece by piece: freeing it at once would go as deep
        deep = deep.pop()


@pytest.mark.parametrize("text", MALFORMED)
def test_what_is_malformed_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        json_text.decode(text)


def test_what_is_malformed_is_a_value_error_where_json_was_never_loaded() -> None:
    """As in a keeper. Python 3.11 finds no class for its error then."""
    program = f"""
import sys
from unhang.core import json_text
for text in {MALFORMED!r}:
    try:
        json_text.decode(text)
    except ValueError:
        continue
    sys.exit(repr(text))
sys.exit("json was loaded" if sys.version_info < (3, 12) and "json" in sys.modules else 0)
"""
    subprocess.run([sys.executable, "-I", "-c", program], check=True)
