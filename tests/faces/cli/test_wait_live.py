"""`unhang wait` at a terminal shows where each job stands; elsewhere it says which go on when its time is over."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.desk import Desk
from tests.support.engine import Engine


@pytest.mark.parametrize("columns", [40, 80])
def test_a_line_for_each_job_says_how_long_what_and_what_ends_it(desk_of: Callable[..., Desk], columns: int) -> None:
    desk = desk_of(columns=columns)
    script = 'echo step one; until test -e "$0"; do sleep 0.1; done; exit 3'
    for name in ("web", "db"):
        desk.enter(f"unhang start --name {name} --hard 1h -- sh -c '{script}' {desk.folder}/go >/dev/null")
        desk.is_back()
    desk.enter("clear; unhang wait web db; echo code $?")
    desk.matches(r"^web  \d+s(.|\n)*^db  \d+s")
    desk.sees("ends in")
    if columns == 80:
        desk.sees("step one")
    assert all(len(line) < columns for line in desk.lines())
    desk.matches(r"^web  [1-9]\d*s")
    (desk.folder / "go").touch()
    desk.matches(r"^code 3$")
    assert sum(line.startswith(("web  ", "db  ")) for line in desk.lines()) == 2, "drawn in place"
    assert "unhang: " not in desk.screen(), "how each ended is said once"
    assert desk.engine.unhang("wait", "web", "db").err.count(b"exited with 3") == 2, "elsewhere there are no lines"


@pytest.mark.parametrize("command", ["unhang wait web db", "unhang logs -f web db", "unhang ps --watch"])
def test_ctrl_c_ends_the_waiting_and_a_loop_around_it_and_says_that_the_jobs_go_on(
    desk_of: Callable[..., Desk], command: str
) -> None:
    desk = desk_of()
    for name in ("web", "db"):
        desk.enter(f"unhang start --name {name} -- sh -c 'echo be''gun; sleep 1000' >/dev/null")
        desk.is_back()
    desk.enter(f"clear; for i in 1 2 3; do {command}; done")
    desk.matches(r"^(web|db) .*\n(web|db) ")
    desk.type("C-c")
    desk.is_back()
    assert ("unhang wait web db" in " ".join(desk.lines()[1:])) == ("wait" in command)
    assert desk.engine.unhang("cancel", "--all").err.count(b"nothing of it is left") == 2
    assert desk.engine.unhang("cancel", "--all").err == b"unhang: no job runs\n"


def test_the_bar_comes_from_history_and_start_can_wait(desk_of: Callable[..., Desk]) -> None:
    desk = desk_of()
    engine = desk.engine
    command = ["--shell", f"test -e {desk.folder}/slow && sleep 1000; true"]
    for _ in range(3):
        assert engine.run(*command, cwd=desk.folder).code == 0
    (desk.folder / "slow").touch()
    desk.run("unhang", "start", "--wait", "--name", "build", *command)
    desk.matches(r"^build  \d+s  ██████████ usually [\d.]+s")
    desk.type("C-c")
    desk.is_back()
    desk.enter("unhang cancel build")
    desk.is_back()
    assert engine.unhang("wait", "build").code == 130


def test_nothing_is_said_where_stderr_is_no_terminal(engine: Engine) -> None:
    done = engine.unhang("start", "--wait", "--", "sh", "-c", "exit 4")
    assert (done.code, done.err) == (4, b"")
    assert engine.unhang("wait", "@last").err == b""
