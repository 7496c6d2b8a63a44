"""The completion scripts, in the shells that they are for."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import programs
from tests.support.jobs import STILL, Jobs
from unhang.faces.cli.main import COMMANDS

# Each prints what its shell offers for a line, one candidate a line. zsh has no other way to ask than a terminal.
BASH = """
source <(unhang completion bash)
COMP_WORDS=({words}); COMP_CWORD={last}; _unhang
printf "%s\\n" "${{COMPREPLY[@]}}"
"""
FISH = """
unhang completion fish | source
complete -C {line}
"""
ZSH = """
zmodload zsh/zpty
zpty -b shell zsh -f -i
send() {{ zpty -w shell "$1" }}
send 'PROMPT=; stty -echo; autoload -U compinit; compinit -u -D; source <(unhang completion zsh)'
send 'compadd() {{ local -a shown; builtin compadd -O shown "$@"; print -rl -- "offers:"${{^shown}}; }}'
send 'zstyle ":completion:*" list-prompt ""; LISTMAX=0; bindkey "^I" complete-word; print ready-$((40+2))'
zpty -r shell line '*ready-42*'
zpty -w -n shell {line}$'\\t'
zpty -w -n shell $'\\C-a\\C-kprint done-$((40+2))\\n'
zpty -r shell line '*done-42*'
print -r -- "$line"
zpty -d shell
"""


@pytest.fixture
def shells(jobs: Jobs, tmp_path: Path) -> dict[str, str]:
    """An environment in which `unhang` is this one."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "unhang").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m unhang "$@"\n')
    (folder / "unhang").chmod(0o755)
    home = tmp_path / "nobody"
    home.mkdir()
    return jobs.env | {"PATH": f"{folder}:{jobs.env['PATH']}", "HOME": str(home), "TERM": "dumb", "LC_ALL": "C.UTF-8"}


def offered(shell: str, env: dict[str, str], folder: Path, *words: str) -> list[str]:
    """What a shell offers for the last of the words behind `unhang`."""
    programs.need_command(shell)
    line = " ".join(["unhang", *words])
    code = {"bash": BASH, "fish": FISH, "zsh": ZSH}[shell].format(
        words=" ".join(shlex.quote(word) for word in ("unhang", *words)), last=len(words), line=shlex.quote(line)
    )
    start = {"bash": ["bash", "--norc"], "zsh": ["zsh", "-f"], "fish": ["fish", "--no-config"]}[shell]
    done = subprocess.run(
        [*start, "-c", code], env=env, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    lines = done.stdout.replace("\r", "").splitlines()
    if shell == "zsh":
        return sorted({line.partition("offers:")[2] for line in lines if "offers:" in line})
    return sorted({line.partition("\t")[0] for line in lines if line})


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_real_shell_completes_commands_verbs_values_clients_and_names(
    shell: str, jobs: Jobs, shells: dict[str, str], tmp_path: Path
) -> None:
    programs.need_command(shell)
    live = jobs.begin(*STILL, "--name", "weblive", "--label", "tier=front", "--", "sleep", "100")
    jobs.begin("--name", "webdone", "--", "true").wait()
    for words, wanted in (
        (("st",), ["start", "status"]),
        (("policy", "ex"), ["explain"]),
        (("ps", "--sort", "n"), ["name", "need", "newest"]),
        (("mcp", "install", "c"), ["claude-code", "codex", "cursor"]),
        (("cancel", "web"), ["weblive"]),
        (("logs", "web"), ["webdone", "weblive"]),
        (("status", live.id[:8]), [live.id]),
        (("run", "--liven"), ["--liveness"]),
    ):
        assert offered(shell, shells, tmp_path, *words) == wanted, words


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_labels_files_and_programs(shell: str, jobs: Jobs, shells: dict[str, str], tmp_path: Path) -> None:
    jobs.begin("--label", "tier=front", "--", "true").wait()
    (tmp_path / "policy-of-mine.toml").write_text("")
    if shell == "bash":  # it takes words apart at =
        assert offered(shell, shells, tmp_path, "ps", "--label", "tier", "=", "f") == ["front"]
    assert offered(shell, shells, tmp_path, "ps", "--label", "ti") == ["tier=front"]
    assert offered(shell, shells, tmp_path, "run", "--policy", "policy-o") == ["policy-of-mine.toml"]
    assert "printf" in offered(shell, shells, tmp_path, "run", "--", "print")


def test_the_words_are_offered_without_a_shell(jobs: Jobs) -> None:
    def words(*typed: str) -> list[str]:
        return jobs.call("completion", "words", "unhang", *typed).out.decode().split()

    assert {*COMMANDS} <= {*words("")}
    assert words("help", "can") == ["cancel"]
    assert words("agent", "run", "gem") == ["gemini"]
    assert words("nosuch", "") == []
    assert words("run", "--category", "lon") == ["long"]
    os.chmod(jobs.folder, 0o700)
    assert words("status", "") == ["@last"]
