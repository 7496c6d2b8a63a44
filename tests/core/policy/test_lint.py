"""`policy check`: allowed, and yet almost certainly not meant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unhang.core.policy.file.lint import lint
from unhang.core.policy.file.load import load
from unhang.core.policy.regex.examples import examples_of
from unhang.core.policy.regex.parse import RegexError, parse


def findings(**more: Any) -> list[str]:
    data = {
        "categories": {"a": {"exec_timeout_sec": 10, "no_output_timeout_sec": 5}, "b": {"exec_timeout_sec": 900}},
        "command_patterns": {"a": ["ls"], "b": ["npm ci"]},
        "default_category": "a",
        **more,
    }
    return [f"{item.level}: {item.message}" for item in lint(load(json.dumps(data), "p"))]


def test_a_sound_file_has_nothing_to_say() -> None:
    assert findings() == []


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"command_patterns": {"a": ["npm"], "b": ["npm( ci)?"]}}, "'npm' (a) can never win: 'npm( ci)?' (b)"),
        ({"command_patterns": {"a": ["npm ci"], "b": ["npm ci"]}}, "'npm ci' (a) can never win"),
        ({"command_patterns": {"a": [".*"], "b": ["npm ci"]}}, "'.*': matches every command"),
        ({"command_patterns": {"a": ["(a+)+$"], "b": ["x"]}}, "a repetition inside a repetition"),
        ({"command_patterns": {"a": ["git (?!.*push|pull)"], "b": ["x"]}}, ".* binds to the first one only"),
        ({"command_patterns": {"a": ["ls"]}}, "warning: no pattern leads to category 'b'"),
        (
            {"categories": {"a": {"exec_timeout_sec": 5, "no_output_timeout_sec": 60}, "b": {}}},
            "warning: category 'a'",
        ),
        (
            {"categories": {"a": {"exec_timeout_sec": 5000, "bounds": {"exec_timeout_sec": {"max": 60}}}, "b": {}}},
            "exec_timeout_sec",
        ),
        ({"categories": {"a": {"never_ending": True, "exec_timeout_sec": 600}, "b": {}}}, "never ends"),
    ],
)
def test_what_cannot_be_meant_is_pointed_at(more: dict[str, Any], expected: str) -> None:
    assert any(expected in line for line in findings(**more)), findings(**more)


def test_the_seeds_file_has_its_one_trap() -> None:
    path = Path(__file__).parent / "seed_policy.json"
    found = lint(load(path.read_text(encoding="utf-8"), "p"))
    assert [item.path for item in found] == [("command_patterns", "quick", 1)]


@given(st.text(alphabet="ab|()*+?.[]{}^$\\ 12,", max_size=20))
@settings(max_examples=200, deadline=None)
def test_any_pattern_has_a_bounded_number_of_examples(pattern: str) -> None:
    try:
        tree = parse(pattern)
    except RegexError:
        return
    assert len(examples_of(tree)) <= 12
