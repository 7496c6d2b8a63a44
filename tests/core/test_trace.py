"""The place of a job in a trace: what is taken from the caller, and what is passed on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhang.core import trace

HEX = "0123456789abcdef"
VALID = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
RANDOM = bytes(range(trace.RANDOM))


def hexes(count: int) -> st.SearchStrategy[str]:
    return st.text(HEX, min_size=count, max_size=count)


@given(hexes(32).filter(lambda text: text.strip("0")), hexes(16).filter(lambda text: text.strip("0")), hexes(2))
def test_what_is_valid_is_taken_over_and_a_span_of_its_own_is_given(trace_id: str, span: str, flags: str) -> None:
    place = trace.begin(f"00-{trace_id}-{span}-{flags}", RANDOM)
    assert (place.id, place.parent) == (trace_id, span)
    assert place.sampled == bool(int(flags, 16) & 1)
    passed_on = trace.parse(place.traceparent)
    assert passed_on is not None
    assert (passed_on.id, passed_on.span, passed_on.sampled) == (trace_id, RANDOM[16:].hex(), place.sampled)


@pytest.mark.parametrize(
    "text",
    [
        "",
        VALID[:-1],
        VALID + "0",
        VALID + "-00",  # version 00 has four fields
        VALID.upper(),
        "ff" + VALID[2:],
        "00-" + "0" * 32 + VALID[35:],
        VALID[:36] + "0" * 16 + "-01",
        VALID.replace("-", "_"),
        VALID.replace("4", "g", 1),
        "01" + VALID[2:] + "x",
        " " + VALID,
        VALID + "\n",
    ],
)
def test_what_is_not_valid_counts_as_none(text: str) -> None:
    assert trace.parse(text) is None
    place = trace.begin(text, RANDOM)
    assert (place.id, place.parent, place.sampled) == (RANDOM[:16].hex(), None, True)


def test_a_later_version_is_read_as_far_as_it_is_known() -> None:
    for text in ("cc" + VALID[2:], "cc" + VALID[2:] + "-more-of-it"):
        place = trace.begin(text, RANDOM)
        assert place.traceparent == f"00-{VALID[3:35]}-{RANDOM[16:].hex()}-01"


@given(st.text(max_size=80), st.binary(min_size=trace.RANDOM, max_size=trace.RANDOM))
def test_whatever_the_caller_has_the_job_gets_a_valid_place(text: str, random: bytes) -> None:
    place = trace.begin(text, random)
    assert trace.parse(place.traceparent) is not None
    assert trace.from_json(place.to_json()) == place


def test_an_id_of_zeros_is_never_given() -> None:
    place = trace.begin(None, bytes(trace.RANDOM))
    assert trace.parse(place.traceparent) is not None


@given(st.recursive(st.none() | st.integers() | st.text(max_size=40), lambda inner: st.lists(inner, max_size=3)))
def test_an_odd_record_has_no_place_in_a_trace(value: Any) -> None:
    assert trace.from_json(value) is None
    odd = {"traceId": value, "spanId": value, "parentSpanId": value, "flags": value}
    assert trace.from_json(odd) is None
    whole = trace.begin(VALID, RANDOM).to_json()
    assert trace.from_json(whole | {"flags": value}) is not None
    kept = trace.from_json(whole | {"parentSpanId": value})
    assert kept is not None
    assert kept.parent is None or kept.parent == value


def test_the_state_of_a_trace_goes_with_a_valid_parent_only() -> None:
    with_state = {"TRACEPARENT": VALID, "TRACESTATE": "a=1", "HOME": "/"}
    place = trace.begin(VALID, RANDOM)
    assert trace.environment(place, with_state) == with_state | {"TRACEPARENT": place.traceparent}
    begun = trace.begin("nonsense", RANDOM)
    assert trace.environment(begun, with_state) == {"TRACEPARENT": begun.traceparent, "HOME": "/"}
