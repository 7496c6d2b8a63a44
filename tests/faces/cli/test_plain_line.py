"""Plain command lines are read without argparse, and mean what argparse would read in them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unhang.errors import EXIT_USAGE
from unhang.faces.cli import plain_line
from unhang.faces.cli.command_module import load
from unhang.faces.cli.parser import parser_of

# without `site`, whose .pth files may load anything
PATH = f"import sys; sys.path.append({str(Path(plain_line.__file__).parents[3])!r})"
COMMANDS = ["run", "start"]
NAMES = [
    *("--json", "--quiet", "--no-pty", "--pty", "--keep", "--wait", "--idle", "--hard", "--retry", "--liveness"),
    *("--on-hung", "--env", "--label", "--stdin", "--shell", "--timeout-sec", "--need", "--priority"),
]
WORDS = st.sampled_from(
    [*NAMES, *(f"{name}=5" for name in NAMES), "--", "-", "-h", "--idl", "-x", "5", "-5", "", "progress", "A=b", "true"]
)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(COMMANDS), st.lists(WORDS, max_size=6).filter(lambda words: "--" not in words))
def test_a_line_that_is_read_means_what_argparse_reads(name: str, words: list[str]) -> None:
    found = plain_line.read(load(name), words)
    if found is not None:
        assert vars(found) == vars(parser_of(name, load(name), "").parse(words))


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--idle", "5m", "--hard=1h", "--env", "A=b", "--env", "C=d", "--retry", "2", "make", "--idle", "x"],
        ["--json", "--pty", "--liveness", "output", "--shell", "make test"],
    ],
)
def test_ordinary_lines_need_no_argparse(name: str, words: list[str]) -> None:
    found = plain_line.read(load(name), words)
    assert found is not None
    assert vars(found) == vars(parser_of(name, load(name), "").parse(words))


SERVED = [
    [],
    ["--compat", "--wait", "5", "--max-jobs=3", "--aliases", "myshell", "--deny-dir", "/a", "--deny-dir=/b"],
    ["--http", "127.0.0.1:0", "--token-file", "t", "--policy", "p.toml", "--allow-command", "git *"],
]


@pytest.mark.parametrize("words", SERVED)
def test_the_server_is_started_without_argparse(words: list[str]) -> None:
    found = plain_line.read(load("mcp"), words)
    assert found is not None
    assert vars(found) == vars(parser_of("mcp", load("mcp"), "").parse(words))


@pytest.mark.parametrize(
    "words",
    [["install", "codex"], ["config"], ["nonsense"], ["--wait", "5", "install", "zed", "-y"], ["--"], ["--wai"]],
)
def test_a_verb_of_the_server_or_a_mistake_is_left_to_argparse(words: list[str]) -> None:
    assert plain_line.read(load("mcp"), words) is None


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(
    "words",
    [["--help"], ["-h"], ["--idl", "5"], ["--idle"], ["--idle", "--json"], ["--json=1"], ["--retry", "x"], ["-5"]],
)
def test_a_mistake_or_a_question_is_left_to_argparse(name: str, words: list[str]) -> None:
    assert plain_line.read(load(name), words) is None


def test_a_plain_run_loads_no_argparse_and_a_mistake_does(tmp_path: Path) -> None:
    env = os.environ | {"UNHANG_HOME": str(tmp_path)}
    program = """
import sys
from unhang.faces.cli.main import run
code = run(sys.argv[1:])
sys.exit(code if "argparse" not in sys.modules else 100 + code)
"""
    plain = subprocess.run(
        [sys.executable, "-I", "-S", "-c", PATH + program, "run", "--quiet", "--", "true"], check=False, env=env
    )
    assert plain.returncode == 0
    wrong = subprocess.run([sys.executable, "-I", "-S", "-c", PATH + program, "run", "--liveness", "x"], check=False)
    assert wrong.returncode == 100 + EXIT_USAGE
