"""Reading a message of an agent: each field has its type or is nothing, and what is recorded is small."""

from __future__ import annotations

import json
import math
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from tests.support.acp_agents.odd import FEW, ODD
from unhang.agents.base.update import raw_of
from unhang.core.values import (
    bounded,
    count_of,
    id_of,
    integer_of,
    items_of,
    number_of,
    parse_message,
    text_of,
    words_of,
)


@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_a_field_has_its_type_or_is_none(value: Any) -> None:
    message = {"a": value}
    assert isinstance(text_of(message, "a", most=10), str)
    assert len(text_of(message, "a", most=10)) <= 10
    assert len(id_of(message, "a")) <= 300
    assert isinstance(words_of(message, "a"), str)
    assert len(items_of(message, "a", most=5)) <= 5
    number, integer, count = number_of(message, "a"), integer_of(message, "a"), count_of(message, "a")
    assert number is None or math.isfinite(number)
    assert integer is None or type(integer) is int
    assert count is None or count >= 0
    assert text_of(value, "a", "b") == "" or isinstance(value, dict)


@given(value=st.recursive(st.sampled_from(ODD), lambda inner: st.lists(inner, max_size=4), max_leaves=6))
@FEW
def test_what_is_recorded_is_small_and_json(value: Any) -> None:
    text = json.dumps(bounded(value, text=100, nodes=50, depth=4), allow_nan=False)
    assert len(text) < 50 * (6 * 100 + 310)
    assert len(raw_of(value)) <= 1500


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b'{"a": 1}\n', {"a": 1}),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (b'{"a": "\xff\xfe"}', {"a": "\ufffd\ufffd"}),
        (b'{"a": ' + b"9" * 5000 + b"}", None),
        (b"[" * 200_000, None),
        (b"[" + b"{}," * 1_500_000 + b"1]", None),
        (b"", None),
        (b"\0\0{\0}", None),
    ],
    ids=["plain", "mark", "latin", "digits", "deep", "many", "empty", "utf16"],
)
def test_a_line_is_read_or_passed_over(line: bytes, value: Any) -> None:
    assert parse_message(line) == value
