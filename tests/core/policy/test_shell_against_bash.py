"""The splitter against the shell itself: everything that bash runs must be among the pieces.

Lines are made at random from the grammar, checked with `bash -n`, and run in a bash where no command exists: its
handler for commands that are not found writes down what would have been run.
"""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from tests.support.programs import need_command
from unhang.core.policy.shell.split_commands import split
from unhang.core.policy.shell.wrapper_commands import is_assignment

HANDLER = """
command_not_found_handle() { local IFS=$'\\x1f'; printf '%s\\0' "$*" >> "$LOG"; return $((RANDOM % 2)); }
PATH=/nonexistent
"""


class Lines:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.depth = 0

    def word(self) -> str:
        plain = ["x", "'y z'", '"q r"', "a\\ b", "$'t\\'u'", "${v:-w}", "$((1+(2)))", "#no", "k#l", "{p,q}", '"it\'s"',
                 "'say \"hi\"'", ">/dev/null", "2>&1", "</dev/null", "A=1", "if", "\\\n", '"a\\"b"', "''"]  # fmt: skip
        if self.depth < 3:
            inner = self.simple()
            plain += [f'"$({inner})"', f"`{inner}`", f"<({inner})"]
        return self.random.choice(plain)

    def simple(self) -> str:
        self.depth += 1
        words = [self.random.choice(["aa", "bb", "cc", "dd"]), *(self.word() for _ in range(self.random.randint(0, 3)))]
        self.depth -= 1
        return self.random.choice(["", "B=2 ", "C='d e' "]) + " ".join(words)

    def command(self, depth: int) -> str:
        def some() -> str:
            return self.list(depth + 1)

        kind = self.random.randint(0, 11) if depth < 3 else 0
        if kind == 4:
            return f"( {some()} )"
        if kind == 5:
            return f"{{ {some()}; }}"
        if kind == 6:
            return f"for i in 1 2; do {some()}; done"
        if kind == 7:
            return f"if {some()}; then {some()}; else {some()}; fi"
        if kind == 8:
            return f"case z in (y) {some()};; z|w) {some()};; *) {some()}; esac"
        if kind == 9:
            return f"until {some()}; do {some()}; break; done"
        if kind == 10:
            return f"{self.simple()} <<'E'\nit's $(aa \"\nE\n"
        if kind == 11:
            return "[[ x == (y|z) && -n q ]]"
        return self.simple()

    def list(self, depth: int = 0) -> str:
        made = self.command(depth)
        for _ in range(self.random.randint(0, 2)):
            # after a here-document the next line begins by itself
            separator = "" if made.endswith("E\n") else self.random.choice([" && ", " || ", "; ", " | ", "\n", " & "])
            made += separator + self.command(depth)
        return made + "aa" if made.endswith("E\n") else made


def ran(line: str, log: Path) -> list[tuple[str, ...]]:
    subprocess.run(["bash", "-c", HANDLER + line], env={"LOG": str(log)}, capture_output=True, timeout=30, check=False)
    if not log.exists():
        return []
    found = [tuple(entry.split("\x1f")) for entry in log.read_text().split("\0") if entry]
    log.unlink()
    return found


def found_in(line: str) -> list[tuple[str, ...]]:
    pieces = []
    for simple in split(line).commands:
        words = list(simple.words)
        while words and is_assignment(words[0]):
            words.pop(0)
        pieces.append(tuple(words))
    return pieces


@pytest.mark.parametrize("seed", range(4))
def test_what_bash_runs_is_among_the_pieces(seed: int, tmp_path: Path) -> None:
    need_command("bash")
    lines = Lines(seed)
    checked = 0
    for _ in range(60):
        line = lines.list()
        if subprocess.run(["bash", "-n", "-c", line], capture_output=True, check=False).returncode:
            continue
        checked += 1
        pieces = found_in(line)
        for words in ran(line, tmp_path / "log"):
            # expansions are left as they are written, so only the command of such a piece can be compared
            same = [piece for piece in pieces if piece == words]
            alike = [piece for piece in pieces if piece and piece[0] == words[0] and set("".join(piece)) & set("${…`")]
            assert same or alike, (line, words, pieces)
    assert checked > 20
