"""The page with the keyboard alone, in a real Chromium: everything can be reached, is seen to have the focus, keeps it
while the job goes on, and does what it does by mouse."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route

from tests.support.jobs import STILL, Jobs, wait_until
from tests.support.web.browser import Watched
from tests.support.web.server import WebServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

# What can be pressed or typed into and is shown; of tabs only the chosen one, the arrows lead to the others.
WANTED = """() => [...document.querySelectorAll('a[href], button, input, summary, [tabindex="0"]')]
  .filter((each) => each.checkVisibility() && !each.disabled && each.tabIndex >= 0)
  .map((each) => { each.dataset.wanted ??= String(Math.random()); return each.dataset.wanted; })"""
FOCUSED = """() => { const each = document.activeElement, style = getComputedStyle(each);
  const seen = style.outlineStyle !== 'none' || style.boxShadow !== 'none';
  return [each.dataset.wanted || '', each.tagName, seen, each.outerHTML.slice(0, 100)]; }"""


def reaches_everything(page: Page) -> None:
    """Tab through the whole page: every part of it that acts is reached, and is seen to have the focus."""
    wanted = set(page.evaluate(WANTED))
    assert wanted
    page.evaluate("document.activeElement.blur(); window.getSelection().removeAllRanges()")
    reached = set()
    for _ in range(3 * len(wanted) + 5):
        page.keyboard.press("Tab")
        name, tag, is_seen, markup = page.evaluate(FOCUSED)
        if tag == "BODY":
            continue
        assert is_seen, markup
        reached.add(name)
    missed = [page.locator(f"[data-wanted='{each}']").evaluate("(it) => it.outerHTML") for each in wanted - reached]
    assert missed == []


def is_focused(page: Page, selector: str) -> bool:
    return bool(page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector))


def test_a_job_is_answered_extended_looked_at_and_ended_without_a_mouse(
    jobs: Jobs, web: WebServer, watched: Watched
) -> None:
    job = jobs.begin(
        *("--stdin", "pipe", "--idle", "5m", "--hard", "20m", "--name", "init", "--", "sh", "-c"),
        "echo out; echo error >&2; printf 'name? '; read x; echo got $x; sleep 600",
    )
    page = watched.page
    page.wait_for_selector(f"#r-{job.id} input")
    reaches_everything(page)
    page.keyboard.press("?")
    page.wait_for_selector("#keys[open]")
    page.keyboard.press("Enter")
    page.wait_for_selector("#keys:not([open])", state="attached")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    assert is_focused(page, f"#r-{job.id} a.name")
    page.keyboard.press("a")
    page.keyboard.type("bob")
    page.keyboard.press("Enter")
    wait_until(lambda: b"got bob" in job.output("stdout").data, "the answer")
    page.wait_for_selector(f"#r-{job.id} a.name:focus")
    page.keyboard.press("e")
    wait_until(lambda: job.view().limits["idleMs"]["value"] == 900_000, "ten more minutes")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/jobs/{job.id}")
    page.wait_for_selector(".line >> text=got bob")
    page.wait_for_selector(".events li")
    page.wait_for_selector(".timeline .mark")
    reaches_everything(page)
    # the other stream
    page.focus("[role=tab][aria-selected=true]")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(".line >> text=error")
    assert is_focused(page, "[role=tab][aria-selected=true]")
    assert page.inner_text("[role=tab]:focus") == "stderr"
    page.keyboard.press("Home")
    page.wait_for_selector(".line >> text=got bob")
    # a box that is ticked takes no letters: the keys go on
    page.focus("#follow")
    page.keyboard.press("Space")
    assert page.is_checked("#follow") is False
    page.keyboard.press("c")
    page.wait_for_selector("#confirm[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector("#confirm:not([open])", state="attached")
    assert not job.ended()
    page.keyboard.press("c")
    page.wait_for_selector("#confirm button.danger:focus")
    page.keyboard.press("Enter")
    assert job.wait().status == "cancelled"
    page.wait_for_selector(".line2 .state >> text=cancelled")
    page.keyboard.press("h")
    page.wait_for_selector("tbody button.command")
    reaches_everything(page)
    page.focus("tbody button.command")
    page.keyboard.press("Enter")
    page.wait_for_selector(".runs li a")
    reaches_everything(page)
    page.focus(".runs li a")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/jobs/{job.id}")
    page.keyboard.press("Escape")
    page.wait_for_url(f"{web.origin}/")


def test_what_has_the_focus_keeps_it_while_the_job_goes_on(jobs: Jobs, web: WebServer, watched: Watched) -> None:
    job = jobs.begin("--stdin", "pipe", "--idle", "5m", "--hard", "20m", "--", "cat")
    page = watched.page
    page.goto(f"{web.origin}/jobs/{job.id}")
    page.wait_for_selector(".acts [data-act=cancel]")
    page.wait_for_selector(".timeline .mark")
    for number, place in enumerate((".acts [data-act=cancel]", ".timeline .mark", ".events button", "#wrap")):
        page.focus(place)
        page.evaluate("document.activeElement.dataset.mine = ''")
        job.send(f"line {number}\n")
        page.wait_for_selector(f".line >> text=line {number}")
        job.extend(hard="1m")
        page.wait_for_function("(n) => document.querySelectorAll('.timeline .mark').length > n", arg=number + 1)
        assert is_focused(page, place), place
    page.focus(".acts [data-act=cancel]")
    job.cancel()
    page.wait_for_selector(".acts [data-act=restart]:focus")


def test_an_answer_that_comes_too_late_is_not_taken_for_one_to_the_next_question(jobs: Jobs, watched: Watched) -> None:
    job = jobs.begin(
        *("--stdin", "pipe", *STILL, "--", "sh", "-c"),
        "printf 'first? '; read a; printf '\\nsecond? '; read b; echo got $b; sleep 600",
    )
    page = watched.page
    page.wait_for_selector(f"#r-{job.id} input")

    def meanwhile(route: Route) -> None:
        job.send("from elsewhere\n")
        wait_until(lambda: "second" in str(job.view().needs_input), "the next question")
        route.continue_()

    page.route("**/send", meanwhile)
    page.focus(f"#r-{job.id} input")
    page.keyboard.type("for the first")
    page.keyboard.press("Enter")
    page.wait_for_selector(".toast.bad")
    page.unroute("**/send")
    page.wait_for_selector(f"#r-{job.id} .what >> text=second?")
    assert page.input_value(f"#r-{job.id} input") == ""
    page.focus(f"#r-{job.id} input")
    page.keyboard.type("for the second")
    page.keyboard.press("Enter")
    wait_until(lambda: b"got for the second" in job.output("stdout").data, "the answer")
    watched.problems = [each for each in watched.problems if "409" not in each]  # the browser says so in its console
