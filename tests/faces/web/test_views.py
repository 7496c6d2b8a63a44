"""What the views of the page show beyond the list: why, a session and its saved screen, a job that is not there; and
that everything fits at any width."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from playwright.sync_api import Route

from tests.support.jobs import STILL, Jobs, wait_until
from tests.support.streams import STREAMS, put
from tests.support.web.browser import Watched
from tests.support.web.server import WebServer
from unhang.store.session_log import SessionLog

SESSION = "4f1c0f2e-9d1b-4c0e-8a55-2b6f0f6f9a10"
ASKED = "Overwrite the settings of a-package-with-a-name? (y/N) "
# Every part of a row is inside of it, and no page is wider than its window.
FITS = """() => { const wide = document.scrollingElement;
  const found = wide.scrollWidth > wide.clientWidth ? ['the page'] : [];
  for (const row of document.querySelectorAll('.row')) { const box = row.getBoundingClientRect();
    for (const part of row.querySelectorAll('*')) { const at = part.getBoundingClientRect();
      if (at.width && (at.right > box.right + 1 || at.left < box.left - 1)) found.push(part.outerHTML.slice(0, 80)); }
    const parts = [...row.children].flatMap((each) => [each, ...each.querySelectorAll('*')]
      .map((part) => [each.className, part.getBoundingClientRect()]));
    const over = (one, two) => one.left < two.right - 1 && two.left < one.right - 1
      && one.top < two.bottom - 1 && two.top < one.bottom - 1;
    for (const [a, one] of parts) for (const [b, two] of parts)
      if (a < b && over(one, two)) found.push(`${a} over ${b}`); }
  return found; }"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_why_shows_what_each_process_of_a_silent_job_waits_for(jobs: Jobs, watched: Watched) -> None:
    job = jobs.begin("--stall", "1s", "--idle", "5h", "--hard", "9h", "--", "sleep", "3600")
    page = watched.page
    page.click(f"#r-{job.id} [data-act=why]")
    page.wait_for_url(f"**/jobs/{job.id}#why")
    page.wait_for_selector(".tree td >> text=sleep")
    page.keyboard.press("Escape")
    page.wait_for_selector(f"#r-{job.id}")
    page.keyboard.press("j")
    page.keyboard.press("w")
    page.wait_for_url(f"**/jobs/{job.id}#why")
    page.wait_for_selector(".tree td >> text=sleep")


def test_the_keys_are_listed_and_the_filter_leads_to_the_first_match(jobs: Jobs, watched: Watched) -> None:
    jobs.begin(*STILL, "--name", "red", "--", "sleep", "3600")
    blue = jobs.begin(*STILL, "--name", "blue", "--", "sleep", "3600")
    page = watched.page
    page.wait_for_selector(f"#r-{blue.id}")
    page.keyboard.press("?")
    page.wait_for_selector("#keys[open]")
    shown = page.locator("#keys dt").all_inner_texts()
    assert {"Enter", "a", "e", "w", "c", "r", "/", "Esc", "?"} <= set(shown)
    assert page.locator("#keys dd").count() == len(shown)
    page.keyboard.press("Escape")
    page.wait_for_selector("#keys:not([open])", state="attached")
    page.keyboard.press("/")
    page.keyboard.type("blue")
    page.wait_for_function("document.querySelectorAll('.row').length === 1")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#r-{blue.id} a.name:focus")


def test_a_job_that_printed_one_line_to_stderr_opens_there_with_the_line_on_top(jobs: Jobs, watched: Watched) -> None:
    job = jobs.begin("--", "sh", "-c", "echo no such file >&2; exit 3")
    job.wait()
    page = watched.page
    page.click(f"#r-{job.id} a.name")
    page.wait_for_selector(".line >> text=no such file")
    assert page.get_attribute("[role=tab] >> text=stderr", "aria-selected") == "true"
    assert page.locator("button >> text=Look now").is_hidden()
    assert (
        page.eval_on_selector(
            ".line", "(line) => line.getBoundingClientRect().top - line.closest('.output').getBoundingClientRect().top"
        )
        < 19
    )


def test_a_session_has_its_calls_what_the_watcher_did_and_its_saved_screen(jobs: Jobs, watched: Watched) -> None:
    log = SessionLog(SESSION, str(jobs.home))
    log.append({"type": "hook", "phase": "tool", "toolUseId": "t1", "message": "Bash: npm test", "cwd": "/srv/login"})
    log.append({"type": "watch", "phase": "warning", "message": "Bash has run for 8m of 10m"})
    page = watched.page
    page.click(f"#r-{SESSION} a.name")
    page.wait_for_selector(".calls >> text=Bash: npm test")
    page.wait_for_selector(".events >> text=Bash has run for 8m of 10m")
    assert page.locator(".screen").count() == 0
    folder = Path(log.folder)
    (folder / "saved-2026-01-01T000000Z.json").write_text('{"screen": "an older one"}')
    shown = {"ts": "2026-01-02T00:00:00Z", "screen": "<b>a</b> \x1b[31mred\x1b[0m\n> draft", "draft": "<i>draft"}
    (folder / "saved-2026-01-02T000000Z.json").write_text(json.dumps(shown))
    log.append({"type": "watch", "phase": "recovered", "message": "it is back"})
    page.wait_for_selector(".screen")
    assert page.inner_text(".screen") == "<b>a</b> red\n> draft"
    assert "<i>draft" in page.inner_text("main")


@pytest.mark.parametrize("saved", ["", "[]", '{"screen": 5}', "\xff", None])
def test_a_saved_screen_that_cannot_be_read_costs_itself_alone(jobs: Jobs, web: WebServer, saved: str | None) -> None:
    log = SessionLog(SESSION, str(jobs.home))
    log.append({"type": "hook", "phase": "prompted", "message": "a prompt", "cwd": "/srv"})
    path = Path(log.folder) / "saved-2026-01-01T000000Z.json"
    if saved is None:
        path.mkdir()
    else:
        path.write_text(saved, encoding="latin-1")
    answer = web.get(f"/api/sessions/{SESSION}")
    assert answer.status == 200
    assert answer.json["saved"] is None
    assert answer.json["entry"]["id"] == SESSION


def test_a_job_that_is_not_there_is_said_and_the_others_are_still_counted(
    jobs: Jobs, web: WebServer, watched: Watched
) -> None:
    jobs.begin(*STILL, "--", "sleep", "100")
    page = watched.page
    page.goto(f"{web.origin}/jobs/zzzzzzzzzz")
    page.wait_for_selector("h1 >> text=zzzzzzzzzz")
    page.wait_for_selector("#counts >> text=1 running")
    assert page.locator(".timeline, .pane").count() == 0
    jobs.begin(*STILL, "--", "sleep", "100")
    page.wait_for_selector("#counts >> text=2 running")
    assert page.is_hidden("#offline")
    page.click("main a >> text=All jobs")
    page.wait_for_selector(".row")
    watched.problems = [each for each in watched.problems if "404" not in each]  # the browser says so in its console


def test_everything_fits_at_any_width(jobs: Jobs, web: WebServer, watched: Watched) -> None:
    asks = jobs.begin("--stdin", "pipe", *STILL, "--", "sh", "-c", f"printf '{ASKED}'; read x")
    quiet = jobs.begin("--stall", "1s", "--idle", "5h", "--hard", "9h", "--", "sleep", "3600")
    jobs.begin("--name", "done", "--", "echo", "x" * 200).wait()
    jobs.begin("--", "sh", "-c", "exit 3").wait()
    old = next(made for made in STREAMS if made.name == "badly")  # of yesterday: its time has a date
    put(str(jobs.home), old._replace(events=[(80_000.0, old.events[0][1])]), 1, os.getpid())
    page = watched.page
    page.wait_for_selector(f"#r-{asks.id} input")
    page.wait_for_selector(f"#r-{quiet.id} [data-act=why]")
    for width in (360, 390, 640, 955, 965, 1225, 1235, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(FITS) == [], width
        # what is told stands in one column, however long a state or a time beside it is
        lefts = (
            "[...document.querySelectorAll('.row .told')].map((told) => Math.round(told.getBoundingClientRect().left))"
        )
        assert len(set(page.evaluate(lefts))) == 1, width
    # and why a person is needed is not cut while a second line holds it
    page.set_viewport_size({"width": 1280, "height": 800})
    why = page.locator(f"#r-{asks.id} .what")
    assert page.inner_text(f"#r-{asks.id} .what") == ASKED.strip()
    assert why.evaluate("(it) => it.scrollWidth <= it.clientWidth && it.scrollHeight <= it.clientHeight")
    page.goto(f"{web.origin}/jobs/{quiet.id}")
    page.wait_for_selector(".events li")
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(FITS) == [], width


TOUCH = """
[...document.querySelectorAll(".ticks .tick")].map((it) => it.getBoundingClientRect()).sort((a, b) => a.left - b.left)
  .filter((box, at, all) => at && box.left < all[at - 1].right + 4).length
"""


def test_the_times_below_a_timeline_do_not_touch_on_a_phone(jobs: Jobs, web: WebServer, watched: Watched) -> None:
    job = jobs.begin("--", "true")
    job.wait()
    page = watched.page

    def half_a_minute(route: Route) -> None:
        answer = route.fetch()
        data = answer.json()
        route.fulfill(response=answer, json=data | {"toMs": data["fromMs"] + 34_000, "ended": True})

    page.route("**/timeline", half_a_minute)
    for width, fewest in ((360, 2), (1280, 6)):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(f"{web.origin}/jobs/{job.id}")
        page.wait_for_selector(".ticks .tick")
        assert page.evaluate(TOUCH) == 0, width
        assert page.locator(".ticks .tick").count() >= fewest


def test_a_timeline_is_zoomed_an_event_leads_to_its_output_and_lines_are_wrapped(jobs: Jobs, watched: Watched) -> None:
    job = jobs.begin(*STILL, "--stdin", "pipe", "--", "sh", "-c", "seq 1 2000; read x; seq 2001 4000; exit 3")
    wait_until(lambda: b"\n2000\n" in job.output("stdout").data, "the first half")
    job.extend(hard="1h")
    job.send(f"{'y' * 3000}\n")
    job.wait()
    page = watched.page
    page.click(f"#r-{job.id} a.name")
    page.wait_for_selector(".line >> text=4000")
    # zoom: fewer marks, or the same over less time; 0 shows all again
    page.wait_for_selector(".timeline .mark")
    page.focus(".picture")
    whole = page.inner_text(".timeline .said")
    page.keyboard.press("+")
    page.wait_for_function("(whole) => document.querySelector('.timeline .said').textContent !== whole", arg=whole)
    assert "0 shows all" in page.inner_text(".timeline .said")
    page.keyboard.press("0")
    page.wait_for_function("() => !document.querySelector('.timeline .said').textContent.includes('0 shows all')")
    # an event leads to the output of its moment
    extended = next(event["seq"] for event in job.events() if event["phase"] == "extended")
    page.click(f"#e-{extended} button")
    page.wait_for_selector(f"#e-{extended}.picked")
    page.wait_for_selector(".line.marked")
    assert int(page.inner_text(".line.marked")) <= 2001
    assert page.is_checked("#follow") is False
    assert page.locator(".output.wrapped").count() == 0
    page.check("#wrap")
    assert page.locator(".output.wrapped").count() == 1
    with page.expect_download() as getting:
        page.click("a.button >> text=Download")
    assert Path(getting.value.path()).read_bytes() == job.kept("stdout")


def test_history_opens_a_command_to_its_runs_and_leads_to_a_job(jobs: Jobs, web: WebServer, watched: Watched) -> None:
    made = [jobs.begin("--", *words) for words in (("true",), ("sh", "-c", "exit 3"))]
    for job in made:
        job.wait()
    page = watched.page
    page.goto(f"{web.origin}/history")
    page.wait_for_selector("tbody tr")
    assert page.locator("tbody tr").count() == 2
    page.fill("#filter", "exit")
    page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 1")
    assert page.locator("tbody td.num[data-tone=bad]").inner_text() == "0%"
    page.click("tbody button.command")
    page.wait_for_selector(".runs li")
    assert page.locator(".spread circle").count() == 2, "one run: a dot for its time, and one for its silence"
    assert "failed" in page.inner_text(".runs li")
    named = page.locator(".spread span.inforce").all_inner_texts()
    assert len(named) == 2, "the limit of the newest run, of its time and of its silence"
    assert page.locator(".spread line.inforce").count() == sum("beyond" not in each for each in named)
    page.set_viewport_size({"width": 390, "height": 800})
    tops = "[...document.querySelector('.runs li').children].map((part) => part.getBoundingClientRect().bottom)"
    assert max(page.evaluate(tops)) - min(page.evaluate(tops)) < 8, "a run is one line, on a phone, too"
    page.click(".runs li a")
    page.wait_for_url(f"**/jobs/{made[1].id}")
    page.wait_for_selector(".line2 .state >> text=failed (3)")
