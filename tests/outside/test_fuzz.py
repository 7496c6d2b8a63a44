"""Whatever a settings file or a shell line holds: a value or one UsageError, no traceback, no hang, little memory."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unhang.core import jsonc
from unhang.core.policy import builtin
from unhang.core.policy.command_key import command_key
from unhang.core.policy.file.lint import lint
from unhang.core.policy.file.load import load
from unhang.core.policy.resolve import resolve
from unhang.errors import UsageError
from unhang.installers import claude_code, known_mcp_clients, mcp_clients, zed
from unhang.sessions import settings as watch_settings
from unhang.store import policy_file

# No test here is slow: the bound is for the whole of each.
pytestmark = pytest.mark.timeout(240)
FUZZ = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)

# --- texts ----------------------------------------------------------------------------------------------------------

_KEYS = (
    *("version", "categories", "command_patterns", "default_category", "extends", "learn", "bounds", "env", "retry"),
    *("liveness", "on_hung", "stall_sec", "warn_sec", "grace_sec", "exec_timeout_sec", "no_output_timeout_sec"),
    *("never_ending", "description", "quantile", "factor", "min_runs", "floor_sec", "ceiling_sec", "min", "max", "a"),
    *("turn", "total", "api", "warn", "limits", "notify", "config_dirs", "escapes", "allow_clear", "hands_off", "x-a"),
    *("hooks", "PreToolUse", "mcpServers", "unhang", "agent_servers", "command", "args", "enabledPlugins", "type"),
)
_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(10**300, 10**320),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(
        ["built-in", "a", "5m", "off", "auto", "1.0", "progress", "^npm .*", "(a+)+$", "(?=(", "\ud800", "acp"]
    ),
)
_KEY = st.one_of(st.sampled_from(_KEYS), st.text(max_size=6))
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_KEY, inner, max_size=5)),
    max_leaves=12,
)
_TABLES = st.dictionaries(st.sampled_from(_KEYS), _VALUES, max_size=6)


def _toml_value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml_value(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else json.dumps(value)


def _toml(table: dict[str, Any]) -> str:
    return "".join(f"{key} = {_toml_value(value)}\n" for key, value in table.items())


# a valid beginning, and then anything; and pieces of grammar in any order
_BEGINNING = 'default_category = "a"\n[categories.a]\nexec_timeout_sec = 5\n[command_patterns]\na = ["^npm"]\n'
_PIECES = st.lists(
    st.sampled_from(
        [
            *("[", "]", "{", "}", "[[", "]]", "=", ".", ",", "#", "\n", " ", '"', "'", '"""', "'''", "\\", "\\u", "\r"),
            *("a", "1", "-", "_", "0x", "1e", "nan", "inf", "true", "1979-05-27", "T07:32:00Z", "a.b", ":", "//", "/*"),
            *(*_KEYS[:8], "\0", "\ufeff", "\ud800", "a" * 500, "1" * 500, "." * 50, "[" * 200, '{"a":' * 200, "é"),
        ]
    ),
    max_size=30,
).map("".join)
TOML = st.one_of(st.text(max_size=200), _PIECES, _TABLES.map(_toml), _PIECES.map(lambda text: _BEGINNING + text))
_SOUND = {"default_category": "a", "categories": {"a": {}}}
JSON = st.one_of(
    st.text(max_size=200),
    _PIECES,
    _TABLES.map(json.dumps),
    _TABLES.map(lambda table: json.dumps(_SOUND | table)),
    _PIECES.map(lambda text: json.dumps(_SOUND)[:-1] + text),
)
BYTES = st.one_of(st.binary(max_size=300), TOML.map(lambda text: text.encode("utf-8", "surrogatepass")))
_FRAGMENTS = st.lists(
    st.sampled_from(
        [
            *(
                "npm",
                "ci",
                "ls",
                "git",
                "sudo",
                "env",
                "bash",
                "-c",
                "find",
                "-exec",
                "xargs",
                "ssh",
                "host",
                "timeout",
                "5",
            ),
            *(
                "&&",
                ";",
                "|",
                "$(",
                ")",
                "((",
                "))",
                "'",
                '"',
                "`",
                "\\",
                "\n",
                "<<E",
                "\nE\n",
                "{",
                "}",
                "if",
                "then",
                "fi",
            ),
            *(
                "for",
                "do",
                "done",
                "case",
                "esac",
                "in",
                "while",
                "true",
                "x=1",
                "$x",
                "${x",
                "#",
                "&",
                ">",
                "2>&1",
                "[[",
            ),
            *(
                "a" * 2000,
                "(" * 600,
                "\0",
                "\ud800",
                "é",
                "=",
                "--",
                "-",
                "unhang",
                "run",
                "--shell",
                "docker",
                "exec",
                "nix",
            ),
        ]
    ),
    max_size=20,
)
LINES = st.one_of(st.text(max_size=300), _FRAGMENTS.map(" ".join), _FRAGMENTS.map("".join))


def _only_usage_errors(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except UsageError:
        return None


# --- policies -------------------------------------------------------------------------------------------------------


@given(TOML, st.booleans())
@FUZZ
def test_any_toml_is_a_policy_or_a_usage_error(text: str, trusted: bool) -> None:
    _policy(text, toml=True, trusted=trusted)


@given(JSON, st.booleans())
@FUZZ
def test_any_json_is_a_policy_or_a_usage_error(text: str, trusted: bool) -> None:
    _policy(text, toml=False, trusted=trusted)


def _policy(text: str, *, toml: bool, trusted: bool) -> None:
    policy = _only_usage_errors(lambda: load(text, "p", toml=toml, trusted=trusted))
    if policy is not None:
        assert _only_usage_errors(lambda: resolve("npm ci && sudo ls", policy)) is not None
        lint(policy)


@given(BYTES, st.sampled_from([".unhang.toml", ".unhang.json"]))
@settings(FUZZ, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_policy_file_of_any_bytes_is_read_or_a_usage_error(tmp_path: Path, data: bytes, name: str) -> None:
    (tmp_path / name).write_bytes(data)
    _only_usage_errors(lambda: policy_file.find(None, str(tmp_path), {}))
    (tmp_path / name).unlink()


_PATTERN_PIECES = [
    "a",
    ".",
    "*",
    "+",
    "?",
    "(",
    ")",
    "(?=",
    "(?!",
    "(?<=",
    "(?:",
    "[",
    "]",
    "^",
    "-",
    "|",
    "\\",
    "{2,3}",
    "{",
    "}",
    "$",
]
_PATTERNS = st.lists(
    st.sampled_from([*_PATTERN_PIECES, "\\w", "\\1", "{999}", "()", "a*", "(a*)*", "x{0,999}"]), max_size=25
).map("".join)


@given(st.lists(_PATTERNS, min_size=1, max_size=5), st.text("a x*", max_size=600))
@FUZZ
def test_any_patterns_match_or_are_a_usage_error(patterns: list[str], line: str) -> None:
    text = json.dumps(_SOUND | {"command_patterns": {"a": patterns}})
    policy = _only_usage_errors(lambda: load(text, "p"))
    if policy is not None:
        _only_usage_errors(lambda: resolve(line, policy))


def test_reading_and_matching_takes_little_memory() -> None:
    @given(st.one_of(TOML, JSON), st.booleans())
    @settings(max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def measured(text: str, toml: bool) -> None:
        tracemalloc.start()
        try:
            _policy(text, toml=toml, trusted=False)
            assert tracemalloc.get_traced_memory()[1] < 40 << 20
        finally:
            tracemalloc.stop()

    measured()


# --- a watcher's settings -------------------------------------------------------------------------------------------


@given(
    st.one_of(BYTES, JSON.map(lambda text: text.encode("utf-8", "surrogatepass"))), st.sampled_from(["toml", "json"])
)
@settings(FUZZ, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_settings_of_a_watcher_are_read_or_a_usage_error(tmp_path: Path, data: bytes, kind: str) -> None:
    file = tmp_path / f"watch.{kind}"
    file.write_bytes(data)
    _only_usage_errors(lambda: watch_settings.load({}, str(file)))


# --- settings that others keep --------------------------------------------------------------------------------------

CLIENTS = known_mcp_clients.known({"HOME": "/home"})


@given(st.one_of(JSON, TOML), st.sampled_from(sorted(CLIENTS)))
@FUZZ
def test_any_configuration_of_a_client_is_edited_or_a_usage_error(text: str, name: str) -> None:
    client = CLIENTS[name]
    after = _only_usage_errors(lambda: mcp_clients.add(client, text, ["unhang", "mcp"]))
    if after is not None:
        assert mcp_clients.add(client, after, ["unhang", "mcp"]) == after
        if client.form == "json":
            assert _only_usage_errors(lambda: mcp_clients.remove(client, after)) is not None


@given(JSON)
@settings(FUZZ, max_examples=100)
def test_any_settings_of_claude_are_edited_or_a_usage_error(text: str) -> None:
    after = _only_usage_errors(lambda: claude_code.with_hooks(text, "/bin/unhang hook"))
    if after is not None:
        assert claude_code.state(after, "/bin/unhang hook") == "installed"
        _only_usage_errors(lambda: claude_code.without_hooks(after))
    _only_usage_errors(lambda: claude_code.uses_plugin(text))


@given(JSON)
@FUZZ
def test_any_settings_of_an_editor_are_edited_or_a_usage_error(text: str) -> None:
    after = _only_usage_errors(lambda: zed.add(text, "x", ["unhang", "acp", "proxy", "--", "x"]))
    if after is not None:
        assert _only_usage_errors(lambda: zed.remove(after, "x")) is not None


@given(st.one_of(JSON, TOML))
@FUZZ
def test_any_text_is_json_with_comments_or_a_value_error(text: str) -> None:
    try:
        jsonc.parse(text)
    except ValueError:
        pass


# --- lines ----------------------------------------------------------------------------------------------------------


@given(LINES)
@FUZZ
def test_any_line_is_explained(line: str) -> None:
    found = resolve(line, builtin.policy())
    json.dumps(found.to_json())
    command_key(line)


@given(st.lists(st.one_of(st.text(max_size=30), LINES), min_size=1, max_size=8))
@FUZZ
def test_any_words_are_explained(words: list[str]) -> None:
    found = resolve(words, builtin.policy())
    json.dumps(found.to_json())
    command_key(words)
