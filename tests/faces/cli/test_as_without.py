"""The same programs at the same terminal, once without unhang and once with it: the screens are the same."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable

import pytest

from tests.support import programs
from tests.support.desk import PATIENCE, Desk
from tests.support.engine import wait_until

WITH = ["unhang", "run", "--"]
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]


def _desk(desk_of: Callable[..., Desk], columns: int = 80) -> Desk:
    desk = desk_of(columns=columns)
    desk.enter("export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1")  # of those that this suite needs
    desk.clear()
    return desk


def _screen(desk: Desk) -> str:
    """What it shows, with its colours; how long a thing took differs."""
    return re.sub(r"\d+\.\d+s", "TIME", desk.screen(colours=True))


@pytest.mark.parametrize("columns", [40, 80])
def test_what_a_program_prints_looks_the_same(desk_of: Callable[..., Desk], columns: int) -> None:
    desk = _desk(desk_of, columns)
    (desk.folder / "shown" / "a folder").mkdir(parents=True)
    (desk.folder / "shown" / "program").touch(0o755)
    (desk.folder / "test_two.py").write_text("def test_one(): assert 1 == 2\ndef test_two(): pass\n")
    asks = "import os; print(os.get_terminal_size(), [os.isatty(n) for n in range(3)])"
    for command in (
        ["ls", "--color=auto", "shown"],
        [sys.executable, "-c", asks],
        [*PYTEST, "test_two.py"],
        ["stty", "-a"],
    ):
        shown = []
        for before in ([], WITH):
            desk.clear()
            desk.enter(f"clear; {shlex.join([*before, *command])}; echo do''ne")
            desk.matches(r"^done$")
            desk.is_back()
            shown.append(_screen(desk))
        assert shown[0] == shown[1], command
        assert "\x1b[" in shown[0] or command[0] not in ("ls", PYTEST[0]) or "-c" in command, "it has colours"


# A bar as wide as the terminal, drawn again and again in its line; at half of it, it waits for a line.
BAR = """
import os, sys
columns = os.get_terminal_size().columns
for done in range(101):
    full = (columns - 8) * done // 100
    sys.stdout.write(f"\\r\\x1b[32m{'#' * full:<{columns - 8}}\\x1b[0m {done:>3} %\\x1b[K")
    sys.stdout.flush()
    if done == 50:
        sys.stdin.readline()
print()
"""


@pytest.mark.parametrize("columns", [40, 80])
def test_a_progress_bar_and_edited_lines_look_the_same(desk_of: Callable[..., Desk], columns: int) -> None:
    """A bar at half and at its end; a line that bash reads, and lines at Python's own prompt, edited by their keys."""
    desk = _desk(desk_of, columns)
    (desk.folder / "bar.py").write_text(BAR)
    long = "word " * (columns // 5)  # is wrapped while it is edited
    for command, dialogue in (
        ([sys.executable, "bar.py"], [(r" 50 %$", ["Enter"])]),
        (
            ["bash", "--norc", "-c", "read -e -p 'which? ' line; echo \"got $line\""],
            [(r"^which\?", [f"{long}X end", "C-a", "the ", "M-f", "C-w", "C-e", "Left", "Left", "BSpace", "Enter"])],
        ),
        (
            [sys.executable, "-q"],
            [
                (r"^>>>$", ["'ad' * 2", "C-a", "Right", "Right", "bc", "C-e", "Enter"]),
                (r"^'abcdabcd'\n>>>$", ["Up", "BSpace", "3", "Enter"]),
                (r"^'abcdabcdabcd'\n>>>$", ["C-d"]),
            ],
        ),
    ):
        shown = []
        for before in ([], WITH):
            desk.clear()
            desk.enter(f"clear; {shlex.join([*before, *command])}; echo do''ne")
            screens = []
            for prompt, keys in dialogue:
                desk.matches(prompt)
                screens.append(_screen(desk))
                if keys != ["Enter"]:  # on a starved machine unhang may still be about to do so
                    desk.takes_keys()
                for key in keys:
                    desk.type(key)
            desk.matches(r"done$")
            desk.is_back()
            shown.append([*screens, _screen(desk)])
        assert shown[0] == shown[1], command


# How to start, what is drawn last, how to leave.
FULL: dict[str, tuple[list[str], str, list[str]]] = {
    "vim": (["vim", "-u", "NONE", "-c", "syntax on", "-c", "set ruler", "code.py"], r"1,1 +All", [":q", "Enter"]),
    "less": (["less", "-M", "text"], r"^text lines", ["q"]),
}


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("program", FULL)
def test_what_fills_the_screen_looks_the_same(desk_of: Callable[..., Desk], program: str, columns: int) -> None:
    programs.need_command(program)
    desk = _desk(desk_of, columns)
    (desk.folder / "code.py").write_text("def one(): return 1 == 2\n# a comment\n")
    (desk.folder / "text").write_text("".join(f"line {n} {'word ' * 20}\n" for n in range(99)))
    command, last, leave = FULL[program]
    desk.run(*command)
    desk.matches(last)
    without = _screen(desk)
    desk.type(*leave)
    desk.is_back()
    desk.clear()
    desk.run(*WITH, *command)
    desk.matches(last)
    wait_until(lambda: _screen(desk) == without, "the same screen as without unhang", PATIENCE)
    desk.type(*leave)
    desk.is_back()


def test_pytest_shows_its_own_summary_when_it_is_interrupted(desk_of: Callable[..., Desk]) -> None:
    desk = _desk(desk_of)
    (desk.folder / "test_long.py").write_text(
        "def test_it():\n    open('begun', 'w')\n    import time\n    time.sleep(1000)\n"
    )
    desk.enter(shlex.join([*WITH, *PYTEST, "test_long.py"]) + "; echo code $?")
    wait_until((desk.folder / "begun").exists, "the test runs", PATIENCE)
    desk.type("C-c")
    desk.matches(r"^code 2$")
    assert "KeyboardInterrupt" in desk.screen()


@pytest.mark.parametrize("columns", [40, 80])
def test_top_looks_the_same_but_for_its_numbers(desk_of: Callable[..., Desk], columns: int) -> None:
    programs.need_command("top")
    desk = _desk(desk_of, columns)
    command = ["top", "-d", "900", "-p", str(desk.shell)]
    shown = []
    for before in ([], WITH):
        desk.clear()
        desk.run(*before, *command)
        desk.matches(rf"^ *{desk.shell} ")
        shown.append(_words(_screen(desk)))
        desk.type("q")
        desk.is_back()
    assert len(shown[0]) == len(shown[1]) >= 6
    for without, wrapped in zip(*shown, strict=True):
        # where numbers are of other lengths, the edge of the screen cuts the line elsewhere
        both = list(zip(without, wrapped, strict=False))
        assert all(a.startswith(b) or b.startswith(a) for a, b in both[-1:]), (without, wrapped)
        assert [a for a, _ in both[:-1]] == [b for _, b in both[:-1]]


def _words(screen: str) -> list[list[str]]:
    """The lines of a screen of top's by their words, colours included, without numbers; its first line is a clock."""
    plain = re.sub(r"(\x1b\[[\d;]*m)|\d[\d.:]*", lambda found: found[1] or " # ", screen)
    return [line.split() for line in plain.splitlines()[1:] if line.strip()]
