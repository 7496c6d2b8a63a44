"""Whatever a downloaded project's policy holds, it is used in bounded time and memory, or refused in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.jobs import Jobs
from tests.support.outside.usage import used
from unhang.core import settings_text
from unhang.core.policy.file.load import LARGEST_OF_A_PROJECT, load
from unhang.core.policy.regex.match import CompiledPattern
from unhang.core.policy.regex.parse import RegexError
from unhang.errors import UsageError
from unhang.procs import executable

SOUND = 'default_category = "a"\n[categories.a]\n'
ROOM = LARGEST_OF_A_PROJECT - 1000


def patterns(*listed: str) -> str:
    """A whole policy, as JSON."""
    return json.dumps({"categories": {"a": {}}, "default_category": "a", "command_patterns": {"a": listed}})


TOML = {
    "dotted-key": ".".join(["a"] * 10_000) + " = 1",
    "dotted-quoted-key": ".".join(['"a"'] * 10_000) + " = 1",
    "dotted-header": f"[{'.'.join(['a'] * 10_000)}]",
    "dotted-key-behind-a-string": 'x = {a = """b"""", ' + ".".join(["c"] * 10_000) + " = 1}",
    "dotted-keys": "\n".join(f"a{n}" + ".b" * 20 + " = 1" for n in range(4000)),
    "deep-array": "x = " + "[" * 100_000,
    "deep-table": "x = " + "{a = " * 20_000,
    "integer": "x = 1" + "0" * 5000,
    "hexadecimal": "version = 0x" + "F" * 5000,
    "newlines": SOUND + "\n" * ROOM,
    "comments": SOUND + "#\n" * (ROOM // 2),
    "escapes": SOUND + 'description = "' + "\\n" * (ROOM // 2) + '"',
    "tables": "\n".join(f"[a{n}]" for n in range(30_000)),
    "categories": SOUND + "\n".join(f"[categories.a{n}]" for n in range(6000)),
    "free-keys": SOUND + "\n".join(f"x-{n} = 1" for n in range(15_000)),
    "huge": SOUND + " " * (4 << 20),
    "nul": SOUND + "\0",
    "surrogate": SOUND + 'description = "\\ud800"',
}
JSON = {
    "deep-array": "[" * 100_000,
    "deep-object": '{"a":' * 50_000,
    "integer": '{"version": 1' + "0" * 5000 + "}",
    "lists": '{"x-a": [' + "[]," * 80_000 + "[]]}",
    "objects": '{"x-a": {' + ",".join(f'"{n}":{{}}' for n in range(20_000)) + "}}",
    "long-key": json.dumps({"k" * ROOM: 1}),
    "control-characters": json.dumps({"\x1b]0;owned\x07\n\nunhang: all is well": 1}),
    "backtracking": patterns(*(f"(a|a?|(a*)*|[a-z]*)*{n}" for n in range(2000))),
    "everything": patterns(*(f".*.*.*.*{n}$" for n in range(2000))),
    "nothing-often": patterns("((((){999}){999}){999}){999}"),
    "something-often": patterns("((((a{999}){999}){999}){999}){999}"),
    "braces": patterns(*["{" * 1999 + "}"] * 100),
    "ranges": patterns(*("[" + "".join(f"{chr(n)}-{chr(n)}" for n in range(300, 900)) + "]*x" for _ in range(15))),
    "long-patterns": patterns(*["(ab?)" * 350] * 120),
    "looks": patterns(*["(?=" * 39 + "a*" + ")" * 39 + "b"] * 1000),
    "alternatives": patterns(*["|".join("a" * n for n in range(60))] * 100),
}
FILES = {f"toml-{name}": (".unhang.toml", text) for name, text in TOML.items()}
FILES |= {f"json-{name}": (".unhang.json", text) for name, text in JSON.items()}


@pytest.mark.parametrize(("name", "text"), FILES.values(), ids=FILES)
def test_a_command_runs_or_is_refused_in_one_line(jobs: Jobs, name: str, text: str) -> None:
    project = jobs.folder / "project"
    project.mkdir()
    (project / name).write_text(text)
    letters = "a" * 500
    for words in (["run", "--", "true"], ["policy", "explain", ";".join(f"{letters}{n}" for n in range(30))]):
        done = used([*executable.command(), *words], project, jobs.env)
        assert done.code in (0, 2), done.err
        assert len(done.err.splitlines()) == (done.code == 2)
        assert len(done.err) < 2000
        assert b"\x1b" not in done.err
        assert done.megabytes < 60
        assert done.seconds < 3, "some tenths of a second, on any machine"


def test_the_bombs_are_no_sound_policies() -> None:
    """Or the test above would check nothing. (Some are sound, and only large.)"""
    refused = 0
    for name, text in FILES.values():
        try:
            load(text, name, toml=name.endswith("toml"), trusted=False)
        except UsageError:
            refused += 1
    assert refused > 20


@pytest.mark.parametrize("pattern", ["((((){999}){999}){999}){999}", "(((a{999}){999}){999}){999}"])
def test_a_pattern_that_grows_without_end_is_refused(pattern: str) -> None:
    with pytest.raises(RegexError):
        CompiledPattern(pattern)


@pytest.mark.parametrize(
    "text",
    [
        'a = """\n"""" # .........................................\nb = 1',
        "a = '''\n'''' # .........................................\nb = 1",
        'a = "' + ".[{," * 50_000 + '"',
        "a = '" + ".[{," * 50_000 + "'",
        'a = "\\"' + "[" * 200 + '"',
        "# " + "[" * 200 + "\na = 1",
        'a = """\\""" ' + "[" * 200 + '"""',
    ],
)
def test_what_stands_in_strings_and_comments_is_no_structure(text: str) -> None:
    assert "a" in settings_text.toml(text)


def test_a_large_policy_is_still_one(tmp_path: Path) -> None:
    """Two thousand patterns of an ordinary length, with which a person may well live."""
    text = patterns(*(f"^tool{n} (build|test)" for n in range(2000)))
    policy = load(text, str(tmp_path), trusted=False)
    assert len(policy.patterns) == 2000
