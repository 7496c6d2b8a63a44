"""The completion scripts are run by the shells that they are for."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from unhang.faces.cli.main import COMMANDS

UNHANG = [sys.executable, "-m", "unhang"]


def script(shell: str) -> str:
    return subprocess.run([*UNHANG, "completion", shell], capture_output=True, text=True, check=True).stdout


def completed(*words: str) -> list[str]:
    """What bash would offer for the last word."""
    typed = " ".join(f"'{word}'" for word in words)
    show = 'printf "%s\\n" "${COMPREPLY[@]}"'
    code = f"{script('bash')}\nCOMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _unhang; {show}"
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_bash_completes_commands() -> None:
    assert completed("unhang", "st") == ["start", "status"]
    assert set(completed("unhang", "")) == set(COMMANDS)


def test_bash_completes_the_options_of_a_command() -> None:
    assert "--idle" in completed("unhang", "run", "--i")
    assert "--after-seq" in completed("unhang", "events", "--a")


def test_bash_completes_programs_behind_two_dashes() -> None:
    assert "printf" in completed("unhang", "run", "--", "print")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_accept_their_script(shell: str) -> None:
    text = script(shell)
    assert "after-seq" in text
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=text, text=True, check=True)
