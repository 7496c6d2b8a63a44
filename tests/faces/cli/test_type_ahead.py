"""What is typed while a wrapped command runs is for the program that reads it next, as without unhang.

Each test runs twice: without unhang, which shows what is right, and with it. A real tmux, a real bash.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from tests.support import programs
from tests.support.desk import Desk
from tests.support.engine import wait_until

BOTH = pytest.mark.parametrize("before", ["", "unhang run -- "], ids=["plain", "wrapped"])
WAITS = ": > begun; while test ! -e go; do sleep 0.1; done"


def _is_begun(desk: Desk) -> None:
    wait_until((desk.folder / "begun").exists, "the command runs", 60)


@BOTH
def test_lines_that_the_command_does_not_read_are_the_shells(desk_of: Callable[..., Desk], before: str) -> None:
    desk = desk_of()
    (desk.folder / "work.sh").write_text(WAITS)
    desk.enter(f"{before}sh work.sh\necho one $((1+1))\necho three $((2+2))")
    _is_begun(desk)
    desk.enter("echo five $((3+3))")
    (desk.folder / "go").touch()
    desk.matches(r"^one 2$(.|\n)*^three 4$(.|\n)*^five 6$")


@BOTH
def test_lines_are_the_shells_once_the_command_has_closed_its_terminal(
    desk_of: Callable[..., Desk], before: str
) -> None:
    """It runs on, so that there is all the time to take a line for a program that can never read it."""
    desk = desk_of()
    (desk.folder / "work.sh").write_text(f"exec 0<&- 1>&- 2>&-; {WAITS}")
    desk.enter(f"{before}sh work.sh")
    _is_begun(desk)
    desk.enter("echo one $((1+1))")
    desk.enter("echo three $((2+2))")
    (desk.folder / "go").touch()
    desk.matches(r"^one 2$(.|\n)*^three 4$")


@BOTH
def test_a_command_takes_the_line_it_reads_and_leaves_the_next(desk_of: Callable[..., Desk], before: str) -> None:
    desk = desk_of()
    (desk.folder / "ask.sh").write_text(f'{WAITS}; read first; echo "got $first"; read second; echo "and $second"\n')
    desk.enter(f"{before}sh ask.sh\nfor the command\nonce more\necho for the shell $((1+1))")
    _is_begun(desk)
    (desk.folder / "go").touch()
    desk.matches(r"^got for the command$(.|\n)*^and once more$(.|\n)*^for the shell 2$")


@BOTH
def test_ctrl_c_drops_what_was_typed_ahead(desk_of: Callable[..., Desk], before: str) -> None:
    desk = desk_of()
    (desk.folder / "work.sh").write_text(WAITS)
    desk.enter(f"{before}sh work.sh\necho must not run $((1+1))")
    _is_begun(desk)
    desk.type("C-c")
    desk.is_back()
    desk.enter("echo last $((2+2))")
    desk.matches(r"^last 4$")
    assert "must not run 2" not in desk.screen()


@BOTH
def test_a_pasted_text_arrives_whole_at_a_program_that_reads_lines(desk_of: Callable[..., Desk], before: str) -> None:
    desk = desk_of()
    (desk.folder / "keep.sh").write_text(": > begun; cat > kept; echo all of it")
    lines = [f"line {number}" for number in range(100)]
    desk.enter(f"{before}sh keep.sh")
    _is_begun(desk)
    desk.enter("\n".join(lines))
    desk.type("C-d")
    desk.matches(r"^all of it$")
    assert (desk.folder / "kept").read_text().splitlines() == lines


# Ways to wait for a line at a terminal, beside a plain read.
READERS = {
    "a look now and then": "while not select.select([0], [], [], 0)[0]: time.sleep(0.05)",
    "an event loop": "each = select.epoll(); each.register(0, select.EPOLLIN); each.poll()",
    "a thread": "each = threading.Thread(target=select.select, args=([0], [], [])); each.start(); each.join()",
}


@pytest.mark.parametrize("how", READERS)
def test_a_line_reaches_a_program_however_it_waits_for_it(desk_of: Callable[..., Desk], how: str) -> None:
    desk = desk_of()
    code = f"import select, threading, time\nprint('rea' + 'dy', flush=True)\n{READERS[how]}\nprint('got', input())\n"
    (desk.folder / "wait.py").write_text(code)
    desk.enter(f"unhang run -- {sys.executable} wait.py")
    desk.matches(r"^ready$")
    desk.enter("a line")
    desk.matches(r"^got a line$")
    desk.is_back()


def test_keys_typed_ahead_reach_an_editor(desk_of: Callable[..., Desk]) -> None:
    programs.need_command("vim")
    desk = desk_of()
    desk.enter("unhang run -- vim letter.txt\nidear reader")
    desk.sees("dear reader")
    desk.type("Escape")
    desk.enter(":wq")
    desk.is_back()
    assert (desk.folder / "letter.txt").read_text() == "dear reader\n\n"
