"""Any valid policy explains any text, and the order of the patterns never changes the answer."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unhang.core.limit_request import read_limits
from unhang.core.policy.file.load import load
from unhang.core.policy.resolve import resolve

NAMES = st.sampled_from(["quick", "long", "other"])
LIMIT = st.one_of(st.none(), st.integers(1, 5000), st.sampled_from(["5m", "off", "auto"]))
PATTERN = st.sampled_from(
    [
        "^npm",
        "npm (ci|test)",
        "npm ci",
        "ls",
        "^(ls|dir)",
        ".*",
        "git .+",
        "(a+)+$",
        "[a-z]+ x",
        "npm (?!ci)\\w+",
        "x|y",
    ]
)
CATEGORY = st.fixed_dictionaries(
    {"exec_timeout_sec": LIMIT, "no_output_timeout_sec": LIMIT},
    optional={"never_ending": st.booleans(), "liveness": st.sampled_from(["progress", "output"])},
)
POLICY = st.fixed_dictionaries(
    {
        "version": st.just("1.0"),
        "categories": st.fixed_dictionaries(dict.fromkeys(("quick", "long", "other"), CATEGORY)),
        "command_patterns": st.dictionaries(NAMES, st.lists(PATTERN, max_size=4), max_size=3),
        "default_category": NAMES,
    },
    optional={"extends": st.just("built-in")},
)
LINE = st.one_of(
    st.text(max_size=80),
    st.lists(
        st.sampled_from(
            ["npm", "ci", "ls", "git", "&&", ";", "|", "$(", ")", "'", '"', "sudo", "x", "dir", "aaaa", "\n", "<<E"]
        ),
        max_size=14,
    ).map(" ".join),
)


@given(POLICY, LINE)
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_valid_policy_explains_any_text(data: dict[str, Any], line: str) -> None:
    policy = load(json.dumps(data), "p")
    found = resolve(line, policy)
    assert found.category in policy.categories
    assert set(found.sourced) == {"idleMs", "hardMs", "stallMs", "warnMs", "graceMs"}
    json.dumps(found.limits_json())
    json.dumps([piece.to_json() for piece in found.pieces])


@given(POLICY, LINE, st.randoms(use_true_random=False))
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_order_of_the_file_does_not_change_the_answer(data: dict[str, Any], line: str, random: Any) -> None:
    one = resolve(line, load(json.dumps(data), "p"))
    shuffled = dict(data)
    groups = [(name, random.sample(patterns, len(patterns))) for name, patterns in data["command_patterns"].items()]
    random.shuffle(groups)
    shuffled["command_patterns"] = dict(groups)
    kinds = list(data["categories"].items())
    random.shuffle(kinds)
    shuffled["categories"] = dict(kinds)
    two = resolve(line, load(json.dumps(shuffled), "p"))
    assert (one.category, one.pattern, one.limits, one.pieces) == (two.category, two.pattern, two.limits, two.pieces)


WISH = st.one_of(st.none(), st.just(0.0), st.floats(0.001, 1e6))  # 0.0: off


@given(LINE, WISH, WISH)
@settings(max_examples=150, deadline=None)
def test_a_callers_wish_is_granted_or_the_refusal_is_shown(line: str, idle: Any, hard: Any) -> None:
    data = {
        "categories": {"a": {}},
        "default_category": "a",
        "bounds": {"exec_timeout_sec": {"min": 10, "max": 100}, "no_output_timeout_sec": {"min": 5}},
    }
    found = resolve(line, load(json.dumps(data), "p"), read_limits({"idle": idle, "hard": hard}))
    for wish, sourced, least, most in (
        (idle, found.sourced["idleMs"], 5, None),
        (hard, found.sourced["hardMs"], 10, 100),
    ):
        if wish is None:
            assert sourced.source == "policy:a"
            continue
        wanted = wish or None
        assert sourced.asked is not None or sourced.value == wanted
        if most is not None:
            assert sourced.value is not None
            assert sourced.value <= most
        assert sourced.value is None or sourced.value >= least
