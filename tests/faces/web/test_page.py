"""The page in a real Chromium: from the address that was printed to jobs that are answered, extended and cancelled."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.support.jobs import STILL, Jobs, wait_until
from tests.support.programs import MODULES, need
from tests.support.web.browser import Watched
from tests.support.web.server import WebServer
from unhang.alerts import links
from unhang.core.alerts.occasions import AlertSubject, Occasion
from unhang.store.session_log import SessionLog

AXE = MODULES / "axe-core" / "axe.min.js"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def row(page: Page, job_id: str) -> str:
    page.wait_for_selector(f"#r-{job_id}")
    return f"#r-{job_id}"


def test_from_a_newcomers_click_to_a_job_that_is_answered_extended_and_cancelled(
    jobs: Jobs, web: WebServer, watched: Watched
) -> None:
    page = watched.page
    page.wait_for_selector(".empty:not([hidden])")
    assert web.token not in page.url
    assert page.evaluate("document.cookie") == ""
    job = jobs.begin(
        "--stdin",
        "pipe",
        "--idle",
        "5m",
        "--hard",
        "20m",
        "--name",
        "init",
        "--",
        "sh",
        "-c",
        "printf 'name? '; read x; echo got $x; read y",
    )
    at = row(page, job.id)
    page.wait_for_selector(f"{at} input")
    assert "needs input" in page.inner_text(at)
    assert page.title().startswith("(1) ")
    assert page.get_attribute("#icon", "href") == "/static/icon-attention.svg"
    page.keyboard.press("j")
    page.keyboard.press("a")
    page.keyboard.type("bob")
    page.keyboard.press("Enter")
    wait_until(lambda: b"got bob" in job.output("stdout").data, "the answer")
    page.wait_for_selector(f"{at} a.name:focus")
    page.click(f"{at} [data-act=extend]")
    wait_until(lambda: job.view().limits["idleMs"]["value"] == 900_000, "ten more minutes")
    page.click(f"{at} a.name")
    page.wait_for_url(f"**/jobs/{job.id}")
    page.wait_for_selector(".line >> text=got bob")
    page.wait_for_selector(".events >> text=needs_input")
    page.keyboard.press("c")
    page.click("#confirm button.danger")
    page.wait_for_selector(".line2 .state >> text=cancelled")
    assert job.wait().status == "cancelled"
    page.keyboard.press("Escape")
    page.wait_for_selector(f"{at}[data-group=done]")


def test_the_numbers_on_the_page_are_those_of_status_at_the_same_event(jobs: Jobs, watched: Watched) -> None:
    job = jobs.begin("--", "sh", "-c", "echo one; echo two >&2; exit 3")
    job.wait()
    page = watched.page
    at = row(page, job.id)
    page.wait_for_selector(f"{at} .state >> text=failed (3)")
    page.click(f"{at} a.name")
    page.wait_for_selector(".result >> text=exit code 3")
    page.press("button >> text=JSON", "Enter")  # the page still grows above it, so a mouse may miss it
    page.wait_for_selector("pre.json")
    shown = json.loads(page.inner_text("pre.json"))
    status = jobs.said("status", job.id)
    assert shown["seq"] == status["seq"]
    assert {name: shown[name] for name in status} == status


def test_a_job_that_has_ended_is_not_said_to_be_ended_by_its_limits(jobs: Jobs, watched: Watched) -> None:
    job = jobs.begin(*STILL, "--hard", "20m", "--stdin", "pipe", "--", "cat")
    page = watched.page
    page.click(f"{row(page, job.id)} a.name")
    page.wait_for_selector(".line2 .clocks >> text=hard limit ends it in")
    job.send(b"", eof=True)
    page.wait_for_selector(".line2 .state >> text=done")
    page.wait_for_selector(".line2 .clocks:empty", state="attached")


HOSTILE = (
    b"<script>document.title='pwned'</script><img src=http://evil.example/x onerror=alert(1)>\n"
    b"\x1b]0;title\x07\x1b[2J\x1b[31mred\x1b[0m \x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\\n"
    b"\xff\xfe invalid \x00 nul\n"
    + "right \u202e to left \u2066 marks\n".encode()
    + b"long "
    + b"z" * (1 << 20)
    + b"\nthe end\n"
)


def test_hostile_output_is_shown_as_text(jobs: Jobs, watched: Watched) -> None:
    job = jobs.begin(*STILL, "--stdin", "pipe", "--", "cat")
    job.send(HOSTILE[: 1 << 15])
    for at in range(1 << 15, len(HOSTILE), 1 << 15):
        wait_until(lambda at=at: job.printed("stdout") >= at, "its output")  # type: ignore[misc]
        job.send(HOSTILE[at : at + (1 << 15)])
    wait_until(lambda: job.printed("stdout") == len(HOSTILE), "its output")
    page = watched.page
    page.click(f"{row(page, job.id)} a.name")
    page.wait_for_selector(".line >> text=the end")
    page.uncheck("#follow")
    page.evaluate("document.querySelector('.output').scrollTop = 0")
    page.wait_for_selector(".line >> text=<script>")
    first = page.inner_text(".lines")
    assert "<img src=http://evil.example/x onerror=alert(1)>" in first
    assert page.inner_text(".line .f1") == "red"
    assert "\u202e" not in first
    assert "\u2066" not in first
    assert "pwned" not in page.title()
    assert page.locator(".output img, .output script, .output a").count() == 0
    assert max(len(line) for line in page.locator(".line").all_inner_texts()) < 1100


def test_the_end_the_middle_and_a_search_of_a_long_output_are_shown(jobs: Jobs, watched: Watched) -> None:
    lines = 700_000  # more than a browser can draw one below the other
    script = f"import sys; [sys.stdout.write('line %06d\\n' % i) for i in range({lines})]"
    job = jobs.begin("--", "python3", "-c", script)
    job.wait()
    page = watched.page
    page.click(f"{row(page, job.id)} a.name")
    page.wait_for_selector(f".line >> text=line {lines - 1:06d}")
    page.evaluate("const box = document.querySelector('.output'); box.scrollTop = box.scrollHeight / 2")
    page.wait_for_function(
        "() => { const row = document.querySelectorAll('.line')[20];"
        " const n = Number(row?.textContent.slice(5)); return n > 3e5 && n < 4e5 }"
    )
    page.fill("input[aria-label='Search the output']", "LINE 123456")
    page.press("input[aria-label='Search the output']", "Enter")
    page.wait_for_selector(".line.marked >> text=line 123456")
    assert page.inner_text(".line.marked mark") == "line 123456"
    assert page.locator(".line").count() < 100


def test_a_lost_connection_is_said_and_comes_back_without_a_gap(jobs: Jobs, web: WebServer, watched: Watched) -> None:
    page = watched.page
    page.wait_for_selector(".empty:not([hidden])")
    page.context.set_offline(True)
    web.end()
    page.wait_for_selector("#offline:not([hidden])")
    job = jobs.begin("--", "true")
    job.wait()
    again = WebServer(jobs, "--bind", f"127.0.0.1:{web.port}")
    page.context.set_offline(False)
    page.goto(again.address)
    # the browser says in its console that the server was gone, and that the new one did not know the old page
    watched.problems.clear()
    page.wait_for_selector(f"#r-{job.id}")
    page.wait_for_selector("#offline[hidden]", state="attached")
    watched.problems = [each for each in watched.problems if "ERR_" not in each]
    again.end()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(jobs: Jobs, browser: Browser, web: WebServer, scheme: str) -> None:
    need(AXE)
    asks = jobs.begin("--stdin", "pipe", "--hard", "20m", "--", "sh", "-c", "printf 'name? '; read x")
    failed = jobs.begin("--", "sh", "-c", "printf '\\033[31mred\\033[0m\\n'; exit 3")
    failed.wait()
    session = SessionLog("4f1c0f2e-9d1b-4c0e-8a55-2b6f0f6f9a10", str(jobs.home))
    session.append({"type": "hook", "phase": "tool", "toolUseId": "t1", "message": "Bash: npm test", "cwd": "/srv"})
    (Path(session.folder) / "saved-2026-01-02T000000Z.json").write_text('{"screen": "> draft", "draft": "draft"}')
    session.append({"type": "watch", "phase": "warning", "message": "Bash has run for 8m of 10m"})
    context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme=scheme, bypass_csp=True)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(web.address)
    page.wait_for_selector(f"#r-{asks.id} input")
    for path, ready, press in (
        ("/", f"#r-{failed.id}", ""),
        ("/", f"#r-{asks.id}", "#help"),  # the list of keys
        (f"/jobs/{failed.id}", ".json, .result p", ""),
        (f"/jobs/{asks.id}", ".ask input", "button >> text=Look now"),
        ("/history", "tbody tr", "tbody button.command"),
        (f"/sessions/{session.session_id}", ".screen", ""),
        ("/jobs/zzzzzzzzzz", "h1 >> text=zzzzzzzzzz", ""),
    ):
        page.goto(web.origin + path)
        page.wait_for_selector(ready)
        if press:
            page.click(press)
            page.wait_for_selector("#keys[open], .tree table, .spread circle >> nth=0", state="attached")
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        assert [
            (each["id"], [node["html"][:120] for node in each["nodes"][:3]]) for each in found["violations"]
        ] == [], path
    context.close()


def test_a_link_of_an_alert_is_answered_in_a_browser_that_was_never_let_in(
    jobs: Jobs, web: WebServer, browser: Browser
) -> None:
    """A form, no script: the browser must be let to send it, and must say where it comes from."""
    job = jobs.begin(*STILL, "--stdin", "pipe", "--", "sh", "-c", 'printf "Name? "; read x; echo "hello $x"; sleep 600')
    wait_until(lambda: job.status()["needsInput"], "it asks")
    make = links.maker(str(jobs.home), web.origin)
    assert make is not None
    told = Occasion(AlertSubject(job.id, "x", "x"), "needs_input", job.status()["seq"], time.time(), "", "", "")
    context = browser.new_context(viewport={"width": 390, "height": 700})
    found = Watched(context.new_page(), web.origin)
    try:
        found.page.goto(make(told, "answer"))
        assert "Name?" in found.page.inner_text("body")
        found.page.fill("input", "Ada")
        found.page.click("button")
        found.page.wait_for_function("!document.querySelector('form')")
        wait_until(lambda: "hello Ada" in job.status()["stdout"], "it has its answer")
        assert found.problems == []
        assert context.cookies() == []
    finally:
        context.close()
