"""The screen of `unhang top`, driven by Textual's pilot over real jobs, and once in a real tmux."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Footer, Input, Static

from tests.support import programs
from tests.support.jobs import STILL, Jobs, over, wait_until
from tests.support.pilot import until
from unhang.faces.top.app import TopApp


def drive(
    jobs: Jobs, story: Callable[[TopApp, Pilot[None]], Awaitable[None]], size: tuple[int, int] = (120, 40)
) -> None:
    async def play() -> None:
        app = TopApp(str(jobs.home))
        async with app.run_test(size=size) as pilot:
            await story(app, pilot)

    asyncio.run(play())


def cells(app: TopApp) -> list[list[str]]:
    return [[str(cell) for cell in app.table.get_row_at(n)] for n in range(app.table.row_count)]


def test_what_needs_a_person_comes_first_and_is_answered_extended_and_cancelled_by_keys(jobs: Jobs) -> None:
    quiet = jobs.begin(*STILL, "--name", "quiet", "--", "sleep", "3600")
    asks = jobs.begin(
        *STILL, "--name", "asks", "--stdin", "pipe", "--", "sh", "-c", 'printf "Name? "; read x; echo "<$x>"'
    )
    wait_until(lambda: jobs.said("needs"), "the prompt is noticed")

    async def story(app: TopApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: [row[1] for row in cells(app)] == ["asks", "quiet"])
        assert cells(app)[0][2] == "needs input"
        assert "Name?" in cells(app)[0][3]
        await pilot.press("a")
        assert app.query_one("#ask", Input).has_class("shown")
        await pilot.press(*"Ada", "enter")
        await until(pilot, asks.ended)
        await until(pilot, lambda: cells(app)[0][1] == "quiet")
        app.table.move_cursor(row=0)
        await pilot.press("e")
        await until(pilot, lambda: _extended(jobs, quiet.id))
        await pilot.press("c", "n")
        await pilot.press("c", "enter")
        await pilot.press("c", "escape")
        await pilot.press("c")
        assert "quiet" in app.query_one("#ask", Input).placeholder
        assert not any(event["type"] == "signal" for event in quiet.events()), "it was asked, and nothing was done"
        await pilot.press("y")
        await until(pilot, quiet.ended)
        await until(pilot, lambda: all(row[2] != "running" for row in cells(app)))

    drive(jobs, story)
    assert asks.result().stdout == "Name? <Ada>\n"
    assert quiet.result().status == "cancelled"


def _extended(jobs: Jobs, job_id: str) -> bool:
    return any(event["phase"] == "extended" for event in jobs.handle(job_id).events())


def test_it_filters_sorts_and_shows_output_and_events(jobs: Jobs) -> None:
    jobs.begin("--name", "red", "--", "printf", "\\033[31mhot\\033[0m <b>[bold]x[/bold]\\n").wait()
    jobs.begin("--name", "blue", "--", "false").wait()

    async def story(app: TopApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: app.table.row_count == 2)
        assert [row[1] for row in cells(app)] == ["blue", "red"], "what failed stands above what ended well"
        await pilot.press("slash", *"red", "enter")
        await until(pilot, lambda: [row[1] for row in cells(app)] == ["red"])
        await until(pilot, lambda: "hot <b>[bold]x[/bold]" in str(app.query_one("#text", Static).content))
        await pilot.press("slash", "enter")
        await until(pilot, lambda: app.table.row_count == 2)
        await pilot.press("o", "o")
        assert [row[1] for row in cells(app)] == ["blue", "red"]

    drive(jobs, story)


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (40, ["JOB", "STATE", "ENDS IN"]),
        (80, ["JOB", "STATE", "WHY", "ENDS IN", "RAN"]),
        (120, ["JOB", "STATE", "WHY", "ENDS IN", "RAN", "OUTPUT"]),
    ],
)
def test_all_that_is_shown_fits_the_width(jobs: Jobs, width: int, shown: list[str]) -> None:
    jobs.begin(*STILL, "--name", "a-name-that-is-as-long-as-it-may-be-40-c", "--", "sleep", "3600")
    question = "Overwrite the settings of everything that there is in here? [y/N] "
    jobs.begin(*STILL, "--stdin", "pipe", "--shell", f"printf '{question}'; read x; echo a long command line $x")
    wait_until(lambda: jobs.said("needs"), "the prompt is noticed")
    over(jobs.begin("--", "sh", "-c", "kill -SEGV $$"))  # the longest state

    async def story(app: TopApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: app.table.row_count == 3)
        await pilot.pause()
        columns = app.table.columns.values()
        assert [str(column.label) for column in columns][1:] == shown
        assert app.table.virtual_size.width <= width, "nothing is behind the right edge"
        assert question.strip() in str(app.query_one("#why", Static).content), "the whole of it, below the table"
        footer = app.query_one(Footer)
        assert width < 80 or footer.virtual_size.width <= width

    drive(jobs, story, (width, 24))


def test_why_shows_what_each_process_of_the_job_waits_for(jobs: Jobs) -> None:
    jobs.begin(*STILL, "--name", "quiet", "--", "sleep", "3600")

    async def story(app: TopApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: bool(cells(app)))
        await pilot.press("w")
        await until(pilot, lambda: "sleep" in str(app.query_one("#tree-text", Static).render()))

    drive(jobs, story)


@pytest.mark.parametrize("size", [(40, 12), (200, 60)])
def test_it_fits_any_window_and_an_empty_home(jobs: Jobs, size: tuple[int, int]) -> None:
    async def story(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("e", "c", "y", "n", "w", "a", "escape", "o")
        assert app.table.row_count == 0

    drive(jobs, story, size)


def test_it_runs_in_a_real_terminal_and_leaves_it_as_it_was(jobs: Jobs, tmp_path: Path) -> None:
    programs.need_command("tmux")
    jobs.begin(*STILL, "--name", "deep-sleep", "--", "sleep", "3600")
    with tempfile.TemporaryDirectory(prefix="ut-") as folder:
        socket = f"{folder}/s"

        def tmux(*words: str) -> str:
            command = ["tmux", "-S", socket, "-f", "/dev/null", *words]
            return subprocess.run(command, check=True, capture_output=True, text=True, env=jobs.env).stdout

        done = tmp_path / "done"
        line = f"{sys.executable} -m unhang top; echo $? > {done}; exec cat"
        tmux("new-session", "-d", "-x", "100", "-y", "30", "sh", "-c", line)
        try:
            wait_until(lambda: "deep-sleep" in tmux("capture-pane", "-p"), "the job is shown")
            tmux("resize-window", "-x", "60", "-y", "20")
            wait_until(lambda: "deep-sleep" in tmux("capture-pane", "-p"), "it is drawn again")
            assert tmux("display-message", "-p", "#{alternate_on}").strip() == "1"
            tmux("send-keys", "q")
            wait_until(lambda: done.exists() and done.read_text(), "it has left")
            assert done.read_text().strip() == "0"
            # what it has said to the terminal may still be on its way to tmux
            wait_until(lambda: tmux("display-message", "-p", "#{alternate_on}").strip() == "0", "the screen is back")
        finally:
            with contextlib.suppress(subprocess.CalledProcessError):
                tmux("kill-server")


def test_without_a_terminal_it_says_so_in_one_line(jobs: Jobs) -> None:
    done = jobs.call("top", stdin=subprocess.DEVNULL)
    assert done.code == 125
    assert len(done.err.splitlines()) == 1


def test_the_lines_for_status_bars_say_what_the_overview_says(jobs: Jobs) -> None:
    assert jobs.call("tmux-status").out == b"\n"
    jobs.begin(*STILL, "--name", "plain", "--", "sleep", "3600")
    asks = ("sh", "-c", 'printf "Go #{pid}? "; read x')
    jobs.begin(*STILL, "--stdin", "pipe", "--", *asks)
    wait_until(lambda: jobs.said("needs"), "the prompt is noticed")
    line = jobs.call("statusline", stdin=subprocess.DEVNULL).out.decode()
    assert line.startswith("2 run · 1 needs you: sh -c ")
    shown = jobs.call("tmux-status", "--width", "80").out.decode()
    assert "##{pid}" in shown
    assert shown.replace("##", "#") == line
    assert len(jobs.call("tmux-status", "--width", "20").out.decode().strip()) <= 20


def test_ctrl_c_leaves_the_line_that_is_typed_and_then_the_screen_and_ends_nothing(jobs: Jobs) -> None:
    job = jobs.begin(*STILL, "--name", "quiet", "--", "sleep", "3600")

    async def story(app: TopApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: bool(cells(app)))
        await pilot.press("c")
        line = app.query_one("#ask", Input)
        assert line.has_class("shown")
        await pilot.press("ctrl+c")
        assert not line.has_class("shown")
        assert app.is_running
        await pilot.press("ctrl+c")
        await until(pilot, lambda: app._exit)

    drive(jobs, story)
    assert not job.ended()
    assert not any(event["type"] == "signal" for event in job.events())


def test_it_sorts_by_need_by_age_and_by_name(jobs: Jobs) -> None:
    first = jobs.begin(*STILL, "--name", "zebra", "--", "sleep", "3600")
    wait_until(lambda: first.view().started_at, "its start")
    jobs.begin(*STILL, "--name", "ant", "--", "sleep", "3600")
    asks = ("sh", "-c", 'printf "Name? "; read x')
    jobs.begin(*STILL, "--name", "mole", "--stdin", "pipe", "--", *asks)
    wait_until(lambda: jobs.said("needs"), "the prompt is noticed")

    async def story(app: TopApp, pilot: Pilot[None]) -> None:
        for by, order in (
            ("needs", ["mole", "ant", "zebra"]),
            ("age", ["zebra", "ant", "mole"]),
            ("name", ["ant", "mole", "zebra"]),
            ("needs", ["mole", "ant", "zebra"]),
        ):
            await until(pilot, lambda order=order: [row[1] for row in cells(app)] == order)  # type: ignore[misc]
            assert f"by {by}" in str(app.query_one("#counts", Static).content)
            await pilot.press("o")

    drive(jobs, story)


def test_the_timeline_of_a_job_grows_with_it_and_enter_is_a_look_at_a_bad_end(jobs: Jobs) -> None:
    job = jobs.begin(*STILL, "--name", "talks", "--stdin", "pipe", "--", "sh", "-c", "read x; echo $x; read y; exit 3")

    async def story(app: TopApp, pilot: Pilot[None]) -> None:
        def picture() -> str:
            return str(app.query_one("#timeline-text", Static).content)

        await until(pilot, lambda: bool(cells(app)))
        await pilot.press("t")
        await until(pilot, lambda: "▸" in picture())
        assert "■" not in picture()
        job.send("hello\n\n")
        await until(pilot, lambda: "■" in picture())
        assert "exited with 3" in picture()
        await until(pilot, lambda: cells(app)[0][0] == "⚑")
        await pilot.press("enter")
        await until(pilot, lambda: cells(app)[0][0] == "✗")
        assert cells(app)[0][2] == "failed (3)"

    drive(jobs, story)
    assert jobs.said("needs") == []
