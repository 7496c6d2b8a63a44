"""The completion scripts, in the shells that they are for."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import programs
from tests.support.jobs import STILL, Jobs
from unhang.faces.cli.main import COMMANDS

# One shell answers for all lines, since reading its completion takes each of them seconds. ASKED is printed before the
# answer to each line, which has one candidate a line. zsh has no other way to ask than a terminal.
ASKED = "asked:"
BEGIN = {
    "bash": "source <(unhang completion bash)\n",
    "fish": "unhang completion fish | source\n",
    "zsh": """
zmodload zsh/zpty
zpty -b shell zsh -f -i
send() { zpty -w shell "$1" }
send 'PROMPT=; stty -echo; autoload -U compinit; compinit -u -D; source <(unhang completion zsh)'
send 'compadd() { local -a shown; builtin compadd -O shown "$@"; print -rl -- "offers:"${^shown}; }'
send 'zstyle ":completion:*" list-prompt ""; LISTMAX=0; bindkey "^I" complete-word; print ready-$((40+2))'
zpty -r shell line '*ready-42*'
""",
}
ASK = {
    "bash": """
echo {asked}; COMP_WORDS=({words}); COMP_CWORD={last}; _unhang
printf "%s\\n" "${{COMPREPLY[@]}}"
""",
    "fish": """
echo {asked}; complete -C {line}
""",
    "zsh": """
zpty -w -n shell {line}$'\\t'
zpty -w -n shell $'\\C-a\\C-kprint done-$((40+2))\\n'
zpty -r shell line '*done-42*'
print -r -- {asked}; print -r -- "$line"
""",
}
END = {"bash": "", "fish": "", "zsh": "zpty -d shell\n"}


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


def offered(shell: str, env: dict[str, str], folder: Path, *lines: tuple[str, ...]) -> list[list[str]]:
    """What a shell offers for the last word of each line behind `unhang`."""
    programs.need_command(shell)
    code = BEGIN[shell]
    for words in lines:
        quoted = " ".join(shlex.quote(word) for word in ("unhang", *words))
        line = shlex.quote(" ".join(("unhang", *words)))
        code += ASK[shell].format(words=quoted, last=len(words), line=line, asked=ASKED)
    start = {"bash": ["bash", "--norc"], "zsh": ["zsh", "-f"], "fish": ["fish"]}[shell]
    done = subprocess.run(
        [*start, "-c", code + END[shell]], env=env, cwd=folder, capture_output=True, text=True, timeout=100, check=False
    )
    answers: list[set[str]] = []
    for line in done.stdout.replace("\r", "").splitlines():
        if line == ASKED:
            answers.append(set())
        elif shell == "zsh":
            answers[-1] |= {line.partition("offers:")[2]} if "offers:" in line else set()
        elif line:
            answers[-1].add(line.partition("\t")[0])
    return [sorted(answer) for answer in answers]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_real_shell_completes_commands_verbs_values_clients_and_names(
    shell: str, jobs: Jobs, shells: dict[str, str], tmp_path: Path
) -> None:
    programs.need_command(shell)
    live = jobs.begin(*STILL, "--name", "weblive", "--label", "tier=front", "--", "sleep", "100")
    jobs.begin("--name", "webdone", "--", "true").wait()
    wanted: dict[tuple[str, ...], list[str]] = {
        ("res",): ["restart", "result"],
        ("policy", "ex"): ["explain"],
        ("ps", "--sort", "n"): ["name", "need", "newest"],
        ("mcp", "install", "c"): ["claude-code", "codex", "cursor"],
        ("cancel", "web"): ["weblive"],
        ("diagnose", "web"): ["weblive"],
        ("logs", "web"): ["webdone", "weblive"],
        ("status", live.id[:8]): [live.id],
        ("run", "--liven"): ["--liveness"],
    }
    answers = offered(shell, shells, tmp_path, *wanted)
    assert dict(zip(wanted, answers, strict=True)) == wanted


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_labels_files_and_programs_are_completed(
    shell: str, jobs: Jobs, shells: dict[str, str], tmp_path: Path
) -> None:
    jobs.begin("--label", "tier=front", "--", "true").wait()
    (tmp_path / "policy-of-mine.toml").write_text("")
    lines: list[tuple[str, ...]] = [("ps", "--label", "ti"), ("run", "--policy", "policy-o"), ("run", "--", "print")]
    if shell == "bash":  # it takes words apart at =
        lines.append(("ps", "--label", "tier", "=", "f"))
    lines += [(command, "--label", "ti") for command in ("wait", "report")]
    labels, files, names, *values, waits, report = offered(shell, shells, tmp_path, *lines)
    assert waits == report == labels
    assert (labels, files) == (["tier=front"], ["policy-of-mine.toml"])
    assert "printf" in names
    assert values == ([["front"]] if shell == "bash" else [])


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_a_shell_would_act_upon_is_not_offered(
    shell: str, jobs: Jobs, shells: dict[str, str], tmp_path: Path
) -> None:
    """Bash puts a candidate on the command line as it is: the next Enter would run what a project has planted."""
    odd = ["$(id)", "`id`", "a;id", "a b", "a\\", "'", "x|id", "x&", "x>y", "*"]
    project = tmp_path / "project"
    project.mkdir()
    categories = "".join(f"[categories.{json.dumps('p-' + name)}]\nstall_sec = 9\n" for name in [*odd, "plain"])
    (project / ".unhang.toml").write_text(f'extends = "built-in"\n{categories}')
    labels = [*odd, "a\nk=b", "\x1b[2J", b"caf\xe9".decode(errors="surrogateescape"), "good"]
    jobs.begin(
        *(word for label in labels for word in ("--label", f"k{labels.index(label)}={label}")), "--", "true"
    ).wait()
    lines = [("run", "--category", "p-"), ("ps", "--label", "k")]
    assert offered(shell, shells, project, *lines) == [["p-plain"], [f"k{len(labels) - 1}=good"]]


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
