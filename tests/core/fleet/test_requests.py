"""What may be asked of another machine: a closed list of commands and options, about named jobs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhang.core.fleet.requests import ALLOWED, MOST_DATA, Request, read_request
from unhang.errors import UsageError

_JOBS = st.lists(st.text("abcdef0123456789", min_size=1, max_size=10), min_size=1, max_size=5)


@given(st.sampled_from(sorted(ALLOWED)), _JOBS, st.binary(max_size=2000), st.data())
def test_a_request_arrives_as_it_was_made(do: str, jobs: list[str], data: bytes, draw: st.DataObject) -> None:
    options = draw.draw(st.lists(st.sampled_from(ALLOWED[do]), max_size=3, unique=True))
    request = Request(do, jobs, options, data, "n")
    assert read_request(request.to_bytes()) == request


@pytest.mark.parametrize(
    "value",
    [
        {"do": "run", "jobs": ["a"], "options": []},
        {"do": "gc", "jobs": ["a"], "options": []},
        {"do": "cancel", "jobs": [], "options": ["--all"]},
        {"do": "cancel", "jobs": ["a"], "options": ["--label=x=y"]},
        {"do": "cancel", "jobs": ["--all"], "options": []},
        {"do": "diagnose", "jobs": ["a"], "options": ["--pid=1"]},
        {"do": "send", "jobs": ["a"], "options": ["x"]},
        {"do": "logs", "jobs": ["a\0b"], "options": []},
        {"do": "logs", "jobs": ["a" * 5000], "options": []},
        {"do": "logs", "jobs": "abc", "options": []},
        {"do": "logs", "jobs": ["a"], "options": ["--raw"] * 30},
        {"do": "send", "jobs": ["a"], "options": [], "data": "!"},
        {"do": "send", "jobs": ["a"], "options": [], "data": "QUFB" * (MOST_DATA // 2)},
        {"do": ["status"], "jobs": ["a"], "options": []},
        [],
        "status",
        None,
    ],
)
def test_what_may_not_be_asked_for_is_refused(value: Any) -> None:
    with pytest.raises(UsageError):
        read_request(json.dumps(value).encode())


@given(st.binary(max_size=200))
def test_garbage_is_refused(data: bytes) -> None:
    with pytest.raises(UsageError):
        read_request(data)
