"""At a terminal a wrapped command behaves as if it were not wrapped. A real tmux, a real shell, real programs."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import programs
from tests.support.desk import Desk
from tests.support.engine import actor, wait_until

# Limits that no person wrote down: seconds, where they would be minutes.
SHORT = """
version = "1.0"
default_category = "short"
[categories.short]
stall_sec = 3
no_output_timeout_sec = 6
exec_timeout_sec = 10
warn_sec = 1
"""
REPL = [sys.executable, "-q"]


def _states(desk: Desk, name: str) -> list[str]:
    """The kernel's letters for the processes of this name in the job of this desk."""
    found = []
    for pid in desk.engine.marked():
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue
        if stat[stat.index("(") + 1 : stat.rindex(")")] == name:
            found.append(stat[stat.rindex(")") + 2])
    return found


def _phases(desk: Desk) -> list[str]:
    return [event["phase"] for event in desk.engine.events()]


def test_ctrl_z_stops_an_editor_and_fg_brings_its_screen_back(desk_of: Callable[..., Desk]) -> None:
    programs.need_command("vim")
    desk = desk_of()
    desk.run("unhang", "run", "--", "vim", "letter.txt")
    desk.sees("[New]")
    desk.type("i", "dear reader", "Escape")
    desk.sees("dear reader")
    desk.type("C-z")
    desk.matches(r"Stopped +unhang run")
    assert "dear reader" not in desk.screen()
    assert _states(desk, "vim") == ["T"]
    desk.enter("fg")
    desk.sees("dear reader")
    desk.enter(":wq")
    desk.is_back()
    assert (desk.folder / "letter.txt").read_text() == "dear reader\n"
    assert "unhang: " not in desk.screen()
    assert [phase for phase in _phases(desk) if phase not in ("running", "completed")] == ["paused", "continued"]


def test_ctrl_c_is_the_programs_own_and_ends_a_loop_of_the_shell(desk_of: Callable[..., Desk]) -> None:
    desk = desk_of()
    code = "import signal\ntry:\n    print('ready')\n    signal.pause()\nexcept KeyboardInterrupt:\n"
    code += "    print('tidied up')\n    raise SystemExit(7)\n"
    (desk.folder / "tidy.py").write_text(code)
    desk.enter(f"unhang run -- {sys.executable} tidy.py; echo code $?")
    desk.matches(r"^ready$")
    desk.type("C-c")
    desk.matches(r"^code 7$")
    assert "tidied up" in desk.screen()
    desk.clear()
    desk.enter("for i in 1 2 3; do echo round $i; unhang run -- sleep 1000; done; echo $? after")
    desk.matches(r"^round 1$")
    wait_until(lambda: _states(desk, "sleep"), "it sleeps")
    desk.type("C-c")
    desk.is_back()
    assert "round 2" not in desk.screen()
    assert not re.search(r"^\d+ after", desk.screen(), re.MULTILINE)
    assert "unhang: " not in desk.screen()


def test_who_ended_a_job_from_elsewhere_is_told_to_the_person_in_front_of_it(desk_of: Callable[..., Desk]) -> None:
    desk = desk_of()
    desk.run("unhang", "run", "--name", "q", "--", "sh", "-c", "echo begun; printf 'Name? '; read x")
    desk.matches(r"^begun$")
    assert desk.engine.unhang("cancel", "q").code == 0
    desk.matches(r"^unhang: q: cancelled by unhang cancel ")
    desk.is_back()


def test_what_a_program_left_running_at_ctrl_c_is_named(desk_of: Callable[..., Desk]) -> None:
    """A shell has its background processes ignore SIGINT: without unhang they would go on."""
    desk = desk_of(columns=120)
    desk.run("unhang", "run", "--", "sh", "-c", "sleep 1000 & echo begun; sleep 2000")
    desk.matches(r"^begun$")
    desk.type("C-c")
    desk.sees('left running and ended: "sleep 1000"')
    desk.is_back()


def test_a_program_that_stays_is_ended_by_the_second_and_killed_by_the_third_ctrl_c(
    desk_of: Callable[..., Desk],
) -> None:
    desk = desk_of(columns=40)
    desk.enter(
        "unhang run --grace 1h -- sh -c 'trap \"\" INT TERM; echo rea''dy; while :; do sleep 0.1; done'; echo code $?"
    )
    desk.sees("ready")
    desk.type("C-c")
    desk.matches(r"^unhang: sh: (.|\n)*again(.|\n)*end(.|\n)*third(.|\n)*kill")
    assert "interrupted" in _phases(desk)
    assert all(len(line) <= 40 for line in desk.lines())
    desk.type("C-c")
    desk.engine.wait_for_event("signal", "stopping")
    desk.type("C-c")
    desk.is_back()
    last = desk.engine.events()[-1]
    assert (last["status"], last["cancelledBy"], last["terminationMode"]) == ("cancelled", "SIGINT", "hard")


def test_ctrl_backslash_and_a_new_size_reach_the_program(desk_of: Callable[..., Desk]) -> None:
    desk = desk_of()
    desk.enter("unhang run -- " + " ".join(actor("screen")))
    desk.sees("size 24x80")
    desk.size(66, 20)
    desk.sees("size 20x66")
    desk.type("C-\\")
    desk.is_back()
    desk.enter("echo code $?")
    desk.matches(r"^code 131$")
    assert desk.engine.events()[-1]["signal"] == "SIGQUIT"


def test_in_the_background_it_waits_for_its_turn_as_any_job(desk_of: Callable[..., Desk]) -> None:
    desk = desk_of()
    desk.enter("unhang run -- cat &")
    wait_until(lambda: "paused" in _phases(desk) if desk.engine.jobs() else False, "it asks, and is stopped", 60)
    wait_until(
        lambda: "T" in _states(desk, Path(sys.executable).name),
        "and whoever waits for it, so that the shell can say so",
    )
    desk.type("Enter")
    desk.matches(r"Stopped.*unhang run")
    desk.enter("fg")
    wait_until(lambda: "continued" in _phases(desk), "it goes on", 60)
    desk.enter("hello")
    desk.sees("hello", times=2)
    desk.type("C-z")
    desk.matches(r"Stopped(.|\n)*Stopped")
    desk.enter("bg")
    wait_until(lambda: _phases(desk).count("paused") == 3, "it asks again", 60)
    desk.enter("fg")
    wait_until(lambda: _phases(desk).count("continued") == 3, "it goes on", 60)
    desk.type("C-d")
    desk.is_back()
    assert desk.engine.events()[-1]["status"] == "success"


def test_after_ctrl_z_and_bg_it_goes_on_in_the_background_to_its_end(desk_of: Callable[..., Desk]) -> None:
    desk = desk_of()
    rounds = desk.folder / "rounds"
    (desk.folder / "loop.sh").write_text(
        "echo ready; while test ! -e enough; do echo >>rounds; sleep 0.1; done; exit 3\n"
    )
    desk.enter("unhang run -- sh loop.sh")
    desk.matches(r"^ready$")
    wait_until(rounds.exists, "it goes round", 60)
    desk.type("C-z")
    desk.matches(r"Stopped +unhang run")
    assert set(_states(desk, "sh")) == {"T"}  # one more while it starts the next sleep
    before = rounds.stat().st_size
    desk.enter("bg")
    wait_until(lambda: rounds.stat().st_size > before, "it goes round again", 60)
    desk.enter("echo the shell is $((1 + 1)); touch enough; wait %1; echo code $?")
    desk.matches(r"^the shell is 2$")
    desk.matches(r"^code 3$")
    assert [phase for phase in _phases(desk) if phase in ("paused", "continued")] == ["paused", "continued"]


def test_with_a_redirection_it_keeps_pipes_and_ctrl_z_stops_the_whole_job(desk_of: Callable[..., Desk]) -> None:
    desk = desk_of()
    desk.enter("unhang run -- sh -c 'test -t 1 || echo pipe >&2; sleep 1000 & wait' | cat")
    desk.matches(r"^pipe$")
    wait_until(lambda: _states(desk, "sleep"), "it sleeps")
    desk.type("C-z")
    desk.matches(r"Stopped.*unhang run")
    assert _states(desk, "sleep") == ["T"]
    desk.enter("fg")
    wait_until(lambda: "continued" in _phases(desk), "it goes on")
    desk.type("C-c")
    desk.is_back()
    assert desk.engine.events()[-1]["cancelledBy"] == "SIGINT"


def test_no_pty_keeps_pipes_at_a_terminal_and_the_command_reads_what_is_typed(desk_of: Callable[..., Desk]) -> None:
    desk = desk_of()
    (desk.folder / "kinds.sh").write_text(
        'for fd in 0 1 2; do test -t $fd && echo "$fd terminal" || echo "$fd pipe"; done; read line; echo "got $line"\n'
    )
    desk.enter("unhang run --no-pty -- sh kinds.sh")
    desk.matches(r"^0 terminal\n1 pipe\n2 pipe$")
    desk.enter("a line")
    desk.matches(r"^got a line$")
    desk.is_back()
    desk.clear()
    desk.enter("unhang run -- sh kinds.sh")
    desk.matches(r"^0 terminal\n1 terminal\n2 terminal$")
    desk.enter("a line")
    desk.matches(r"^got a line$")
    desk.is_back()


def test_a_script_and_make_stop_and_end_with_the_job(desk_of: Callable[..., Desk]) -> None:
    programs.need_command("make")
    desk = desk_of()
    (desk.folder / "Makefile").write_text(
        "all:\n\t@unhang run -- sh -c 'test -t 1 && echo rea\"\"dy; sleep 1000'\n\t@echo not reached\n"
    )
    desk.enter("make")
    desk.matches(r"^ready$")
    wait_until(lambda: _states(desk, "sleep") == ["S"], "it sleeps")
    desk.type("C-z")
    desk.matches(r"Stopped +make")
    assert _states(desk, "make") == ["T"]
    wait_until(lambda: _states(desk, "sleep") == ["T"], "the job below it has stopped, too")
    desk.enter("fg")
    wait_until(lambda: _states(desk, "sleep") == ["S"], "it goes on")
    desk.type("C-c")
    desk.is_back()
    assert "not reached" not in desk.screen()


def test_a_job_below_make_goes_on_though_fg_came_before_it_had_stopped(desk_of: Callable[..., Desk]) -> None:
    """The shell sees that make has stopped, and not whether the job below it has."""
    programs.need_command("make")
    desk = desk_of()
    (desk.folder / "Makefile").write_text("all:\n\t@unhang run -- sh -c 'echo rea\"\"dy; sleep 1000'\n")
    desk.enter("make")
    desk.matches(r"^ready$")
    wait_until(lambda: _states(desk, "sleep") == ["S"], "it sleeps")
    keeper = desk.engine.keeper().pid
    os.kill(keeper, signal.SIGSTOP)  # it stops the job, when it can
    try:
        desk.type("C-z")
        desk.matches(r"Stopped +make")
        desk.enter("fg")
        wait_until(lambda: _states(desk, "make") == ["S"], "make goes on")
    finally:
        os.kill(keeper, signal.SIGCONT)
    desk.engine.wait_for_event("watchdog", "continued")
    wait_until(lambda: _states(desk, "sleep") == ["S"], "it goes on")
    desk.type("C-c")
    desk.is_back()


WAITING: dict[str, tuple[list[str], str, str]] = {
    "vim": (["vim", "x"], "All", ":q"),
    "less": (["less", "text"], "line 2", ""),
    "less -X": (["less", "-X", "text"], "line 2", ""),
    "top": (["top"], "PID", ""),
    "man": (["man", "./page.1"], "shown by man", ""),
    "git rebase": (["git", "-c", "core.editor=vim", "rebase", "-i", "--root"], "git-rebase-todo", ":q"),
    "python": (REPL, ">>>", "exit()"),
    "a prompt": (["sh", "-c", "printf 'Name? '; read name"], "Name?", "me"),
}


def _prepare(desk: Desk) -> None:
    """A text to page through, a manual page, and a repository in which a commit can be rebased."""
    (desk.folder / "text").write_text("".join(f"line {n}\n" for n in range(99)))
    (desk.folder / "page.1").write_text(".TH PAGE 1\n.SH NAME\npage \\- shown by man\n" + ".PP\nmore of it\n" * 99)
    who = [["config", "user.name", "Person"], ["config", "user.email", "person@example.com"]]
    for words in (["init", "-q"], *who, ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *words], cwd=desk.folder, env=desk.env, check=True)


def test_programs_that_wait_for_this_very_person_have_no_limit_and_no_notice(desk_of: Callable[..., Desk]) -> None:
    for name in ("vim", "less", "top", "man", "git"):
        programs.need_command(name)
    desks: dict[str, Desk] = {}
    for name, (words, there, _) in WAITING.items():
        # what the built-in policy knows as a session has no limit; the others would have been ended by now
        desk = desks[name] = desk_of(policy="" if name == "top" else SHORT, columns=60)
        _prepare(desk)
        desk.run("unhang", "run", "--", *words)
        desk.sees(there)
    stopped = desk_of(policy=SHORT)
    stopped.enter("unhang run -- sh -c 'echo rea''dy; kill -TSTP 0; echo on again'")
    stopped.matches(r"Stopped +unhang run")
    began = os.times().elapsed
    wait_until(lambda: os.times().elapsed - began > 12, "the hard limit is over", 30)
    stopped.enter("fg")
    stopped.matches(r"^on again$")
    assert "unhang: " not in stopped.screen()
    for name, (_, there, leave) in WAITING.items():
        desk = desks[name]
        desk.sees(there)
        assert "unhang: " not in desk.screen(), name
        if name == "python":  # at a prompt Ctrl-C ends nothing, however often
            for times in range(1, 4):
                desk.type("C-c")
                desk.sees("KeyboardInterrupt", times)
        desk.enter(leave) if leave else desk.type("q")
        desk.is_back()
        assert "unhang: " not in desk.screen(), name
        assert desk.engine.events()[-1]["status"] == "success", name


@pytest.mark.parametrize("columns", [40, 80])
def test_notices_begin_on_a_fresh_line_fit_the_width_and_say_the_reason_once(
    desk_of: Callable[..., Desk], columns: int
) -> None:
    desk = desk_of(columns=columns, rows=60)
    script = "printf 'half a line'; sleep 1000"
    desk.enter(f"clear; unhang run --stall 1 --idle 4 --warn 2 --name web -- sh -c {script!r}")
    desk.matches(r"^unhang: web: Ended")
    desk.is_back()
    lines = desk.lines()
    assert "half a line" in lines
    assert all(len(line) <= columns for line in lines)
    text = " ".join(line.strip() for line in lines)
    assert text.count("Why: ") == 1
    assert "--idle" in text
    assert "--hard" not in text
    assert sum(line.startswith("unhang: web: ") for line in lines) >= 4
    coloured = desk.screen(colours=True)
    assert "\x1b[2munhang: web: " in coloured
    words = {word for event in desk.engine.events() for word in str(event["message"]).split()}
    assert all(word in text.split() for word in words if word.isalpha() and len(word) < 20 and f" {word} " in text)


def test_a_question_that_was_told_in_a_warning_is_not_told_again_at_the_end(desk_of: Callable[..., Desk]) -> None:
    """Meanwhile it has become sure that it waits for a person: the reason is the same."""
    desk = desk_of(rows=60)
    asks = "printf 'Name? '; read x"
    desk.enter(f"clear; unhang run --idle 4 -- sh -c {asks!r}")
    desk.matches(r"^unhang: sh: Ended")
    desk.is_back()
    assert " ".join(desk.lines()).count("Why: ") == 1


def test_a_notice_waits_until_the_screen_is_free_and_the_screen_is_given_back(desk_of: Callable[..., Desk]) -> None:
    programs.need_command("vim")
    desk = desk_of(columns=60)
    desk.enter("unhang run --stall 1 --idle 5 --warn 3 --grace 0.1 -- vim letter.txt")
    desk.sees("[New]")
    wait_until(lambda: "warning" in _phases(desk), "the warning", 60)
    assert "unhang: " not in desk.screen()
    desk.matches(r"^unhang: vim: Ended")
    desk.is_back()
    shown = " ".join(" ".join(desk.lines()).split())
    assert "Will abort" not in shown, "what was warned of has come, and is said once"
    assert "No action taken" not in shown
    assert "ending it" in shown


def test_what_was_feared_while_an_editor_was_used_is_not_told_when_it_is_left(desk_of: Callable[..., Desk]) -> None:
    programs.need_command("vim")
    desk = desk_of(columns=60)
    desk.enter("unhang run --stall 1 --idle 10m -- vim letter.txt")
    desk.sees("[New]")
    wait_until(lambda: "stuck" in _phases(desk), "the notice", 60)
    desk.type("i", "written", "Escape")
    desk.sees("written")
    desk.enter(":q!")
    desk.is_back()
    assert "unhang: " not in desk.screen()


# What a full-screen program does to its terminal, and how it goes: killed, by a signal's default, by its own handler.
FULL = r"printf '\033[?1049h\033[?25l\033[?1003h\033[?1006hfull of it'"
ENDINGS = {
    "killed": f"trap '' TERM; {FULL}; while :; do sleep 100; done",
    "ended": f"{FULL}; exec sleep 1000",
    "left": f"trap 'exit 3' TERM; {FULL}; sleep 1000 & wait",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_screen_the_cursor_and_the_mouse_are_given_back(desk_of: Callable[..., Desk], ending: str) -> None:
    desk = desk_of()
    modes = "#{alternate_on} #{cursor_flag} #{mouse_any_flag} #{mouse_sgr_flag}"
    (desk.folder / "full.sh").write_text(ENDINGS[ending])
    desk.enter("unhang run --name full --grace 0.5 -- sh full.sh; echo code $?")
    desk.sees("full of it")
    assert desk.tmux("display-message", "-p", modes).split() == ["1", "0", "1", "1"]
    assert desk.engine.unhang("cancel", "full").code == 0
    desk.matches(r"^code \d+$")
    assert "full of it" not in desk.screen()
    assert desk.tmux("display-message", "-p", modes).split() == ["0", "1", "0", "0"]


def test_a_program_that_ends_by_itself_may_leave_the_cursor_hidden(desk_of: Callable[..., Desk]) -> None:
    desk = desk_of()
    (desk.folder / "hide.sh").write_text(r"printf '\033[?25lhid''den\n'")
    desk.enter("unhang run -- sh hide.sh; echo code $?")
    desk.matches(r"^code 0$")
    assert "hidden" in desk.screen()
    assert desk.tmux("display-message", "-p", "#{cursor_flag}").strip() == "0"
