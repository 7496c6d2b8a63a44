"""A policy file is read whole or not at all, and an error says where."""

from __future__ import annotations

import json
from typing import Any

import pytest

from unhang.core.policy.file import allowed_env
from unhang.core.policy.file.load import PolicyError, load
from unhang.core.policy.learn import Learn
from unhang.core.policy.model import Bounds
from unhang.core.policy.resolve import resolve
from unhang.faces.cli.commands.policy import STARTER

GOOD: dict[str, Any] = {
    "version": "1.0",
    "categories": {"a": {"exec_timeout_sec": 10, "no_output_timeout_sec": 5}},
    "command_patterns": {"a": ["^x"]},
    "default_category": "a",
}


def message(text: str, toml: bool = False, trusted: bool = True) -> str:
    with pytest.raises(PolicyError) as caught:
        load(text, "p", toml=toml, trusted=trusted)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def with_(**more: Any) -> str:
    return json.dumps({**GOOD, **more}, indent=1)


def category(**more: Any) -> str:
    return json.dumps({**GOOD, "categories": {"a": more}}, indent=1)


def test_json_and_toml_say_the_same() -> None:
    text = """
version = "1.0"
default_category = "a"
[categories.a]
exec_timeout_sec = 10
no_output_timeout_sec = 5
[command_patterns]
a = ["^x"]
"""
    one, two = load(json.dumps(GOOD), "p"), load(text, "p", toml=True)
    assert one.categories == two.categories
    assert [row[:2] for row in one.patterns] == [row[:2] for row in two.patterns]
    assert one.default == two.default


def test_every_key_of_a_policy_is_read() -> None:
    text = with_(
        categories={
            "a": {
                "description": "d",
                "exec_timeout_sec": "1h30m",
                "no_output_timeout_sec": "off",
                "liveness": "output",
                "stall_sec": None,
                "warn_sec": 3,
                "grace_sec": "500ms",
                "never_ending": True,
                "retry": 2,
                "env": {"X": "1"},
                "bounds": {"exec_timeout_sec": {"min": 1, "max": "2h"}},
                "x-mine": 1,
            },
            "b": {},
        },
        stall_sec=7,
        env={"Y": "2"},
        learn={"quantile": 0.9, "factor": 2, "min_runs": 5, "floor_sec": 1, "ceiling_sec": 60},
        **{"$schema": "x"},
    )
    policy = load("\ufeff" + text, "p")
    a, b = policy.categories["a"], policy.categories["b"]
    assert (a.hard, a.idle, a.stall, a.warn, a.grace, a.liveness) == (5400, None, None, 3, 0.5, "output")
    assert (a.never_ending, a.retry, a.env, a.bounds) == (True, 2, {"X": "1"}, Bounds(None, None, 1.0, 7200.0))
    assert (b.hard, b.idle, b.stall) == (1200, 300, 7)
    assert policy.learn == Learn(0.9, 2.0, 5, 1.0, 60.0)
    found = resolve("x", policy)
    assert found.env == {"Y": "2", "X": "1"}
    assert found.sourced["stallMs"].source == "policy:a"
    assert found.retry == 2


def test_the_starter_file_extends_the_built_in_policy() -> None:
    policy = load(STARTER, "p", toml=True)
    assert resolve("make integration", policy).category == "slow-tests"
    assert resolve("make integration FOO=1", policy).limits.hard == 1800
    assert resolve("npm run dev", policy).never_ending
    assert resolve("frobnicate", policy).category == "default"
    assert resolve("git log", policy).env["GIT_PAGER"] == "cat"


def test_what_the_file_to_begin_with_says_of_its_limits_is_true() -> None:
    limits = resolve("make integration", load(STARTER, "p", toml=True)).limits
    assert (limits.hard, limits.idle) == (30 * 60, 8 * 60)
    assert 'at most 30 minutes, and never silent for more than 8"' in STARTER
    assert "Left out: 5 minutes, but never more than the hard limit" in STARTER
    without = "".join(line for line in STARTER.splitlines(True) if not line.startswith("no_output_timeout_sec"))
    assert resolve("make integration", load(without, "p", toml=True)).limits.idle == 5 * 60
    shorter = without.replace('exec_timeout_sec = "30m"', 'exec_timeout_sec = "2m"')
    assert resolve("make integration", load(shorter, "p", toml=True)).limits.idle == 2 * 60


def test_extending_changes_only_what_is_written() -> None:
    policy = load('{"extends": "built-in", "categories": {"long": {"exec_timeout_sec": 60}}}', "p")
    long = policy.categories["long"]
    assert (long.hard, long.idle) == (60, 60)
    assert policy.categories["server"].never_ending
    policy = load('{"extends": "built-in", "stall_sec": 5}', "p")
    assert policy.categories["quick"].stall == 5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "p:1:1: "),
        ("[]", "p:1:1: "),
        ('{"version": "1.0",\n  "categories": {,}\n}', "p:2:18: "),
        ('{"a": 1,\n "a": 2}', 'p:2:2: "a"'),
        ('{"version": NaN}', "p:1:1: NaN"),
        ("[" * 100_000, "p:1:101: "),
    ],
)
def test_broken_json_is_an_error_with_its_place(text: str, expected: str) -> None:
    assert message(text).startswith(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("version = ", "p:1:11: "),
        ('version = "1"\n[categories\n', "p:2:12: "),
        ("a = 1\na = 2\n", "p:2:6: "),
        ('version = "1.0"\nx = 1\n', "p:2:1: unknown key 'x'"),
        (
            'default_category = "a"\n[categories.a]\nexec_timeout_sec = -1\n',
            "p:3:1: exec_timeout_sec",
        ),
        (
            'default_category = "a"\n[categories.a]\n[command_patterns]\na = ["ok",\n  "(a"]\n',
            "p:5:3: bad pattern '(a'",
        ),
    ],
)
def test_broken_toml_is_an_error_with_its_place(text: str, expected: str) -> None:
    assert message(text, toml=True).startswith(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (with_(version="2.0"), "p:2:2: version 2.0"),
        (with_(version=[1]), "p:2:13: version"),
        (with_(extends="other"), "p:15:2: extends"),
        (with_(categories={}), "p:3:16: categories"),
        (with_(categories=3), "p:3:2: categories"),
        (with_(default_category="zzz"), "p:14:2: default_category"),
        (with_(default_category=None), "p:1:1: default_category"),
        (with_(command_patterns={"zzz": ["x"]}), "'zzz'"),
        (with_(command_patterns={"a": "x"}), "patterns of 'a'"),
        (with_(command_patterns={"a": ["x", ""]}), "p:12:4: "),
        (with_(command_patterns={"a": ["x", "(a"]}), "p:12:4: bad pattern '(a'"),
        (with_(command_patterns={"a": ["(a)\\1"]}), "character 4"),
        (with_(exec_timeout_sec=3), "unknown key 'exec_timeout_sec'"),
        (category(exec_timeout=3), "exec_timeout_sec?"),
        (category(exec_timeout_sec=True), "exec_timeout_sec"),
        (category(exec_timeout_sec="soon"), "'soon'"),
        (category(exec_timeout_sec=1e99), "century"),
        (category(no_output_timeout_sec=[1]), "no_output_timeout_sec"),
        (category(liveness="pulse"), "liveness"),
        (category(never_ending=1), "never_ending"),
        (category(retry=99), "retry"),
        (category(bounds={"exec_timeout_sec": {"min": 5, "max": 3}}), "min is above max"),
        (category(bounds={"hard": {}}), "'hard'"),
        (category(env={"A": 1}), "A must be a text"),
        (category(env={"A=B": "1"}), "is no name of a variable"),
        (category(description=1), "description"),
        (with_(learn={"factor": 0}), "factor"),
        (with_(learn={"floor_sec": 9, "ceiling_sec": 3}), "floor_sec is above ceiling_sec"),
        (with_(learn=3), "learn"),
    ],
)
def test_what_makes_no_sense_is_an_error_with_its_place(text: str, expected: str) -> None:
    assert expected in message(text)


@pytest.mark.parametrize("env", [{"A": "x\ud800y"}, {"A": "\udcff"}, {"A\udfff": "x"}])
@pytest.mark.parametrize("trusted", [True, False])
def test_half_a_character_in_a_variable_is_an_error_of_the_file(env: dict[str, str], trusted: bool) -> None:
    said = message(category(env=env), trusted=trusted)
    assert "surrogate" in said
    assert said.isprintable()


def test_a_projects_own_file_may_not_choose_what_code_runs() -> None:
    for name, value in (
        ("LD_PRELOAD", "x"),
        ("PATH", "."),
        ("NODE_OPTIONS", "x"),
        ("PAGER", "evil"),
        ("BASH_ENV", "x"),
    ):
        text = category(env={name: value})
        assert "may not set" in message(text, trusted=False)
        load(text, "p", trusted=True)
    load(category(env={"CI": "1", "PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}), "p", trusted=False)


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("DEBIAN_FRONTEND", "Noninteractive; system('id')", "noninteractive"),
        ("DEBIAN_FRONTEND", "noninteractive\n", "noninteractive"),
        ("CI", "$(id)", "true"),
        ("TERM", "../../x", "xterm"),
        ("TZ", "/etc/passwd", "UTC"),
        ("TZ", ":etc", "UTC"),
        ("TZ", "../x", "UTC"),
        ("LANG", "../x.UTF-8", "C.UTF-8"),
        ("LC_ALL", "C.UTF-8/../x", "C.UTF-8"),
        ("COLUMNS", "80;id", "9999"),
        ("LINES", "a[$(id)]", "9999"),
        ("WATCHPACK_POLLING", "yes", "true"),
        ("MANPAGER", "sh -c id", "cat"),
        ("NODE_ENV", "x" * 1000, "production"),
    ],
)
def test_a_projects_own_file_may_set_a_variable_only_to_what_is_known(name: str, value: str, allowed: str) -> None:
    said = message(category(env={name: value}), trusted=False)
    assert f"{name}=" in said
    assert allowed in said  # the way out is named
    load(category(env={name: value}), "p", trusted=True)


def test_every_value_that_is_known_to_be_harmless_can_be_set() -> None:
    for name, values in allowed_env.VALUES.items():
        for value in values:
            load(category(env={name: value}), "p", trusted=False)
    for name, value in {
        "LANG": "de_DE.UTF-8",
        "LC_ALL": "C",
        "TZ": "America/Argentina/Buenos_Aires",
        "COLUMNS": "120",
        "LINES": "",
        "WATCHPACK_POLLING": "500",
    }.items():
        load(category(env={name: value}), "p", trusted=False)


def test_a_policy_or_a_pattern_that_is_too_large_is_refused() -> None:
    assert "more than 1 MiB" in message(" " * (1 << 20) + "{}")
    assert "more than 256 KiB" in message(" " * (1 << 18) + "{}", trusted=False)
    assert "more than 2000 patterns" in message(with_(command_patterns={"a": ["x"] * 2001}))
    assert "more than 2000 patterns" in message(with_(command_patterns={"a": ["x" * 2001]}))
