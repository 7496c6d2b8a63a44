"""The page in a browser shows of the same streams what every other surface shows."""

from __future__ import annotations

import pytest

from tests.faces.agreement.test_one_view import NEEDS, SESSION_NEEDS, SESSION_WORDS, WORDS
from tests.support.jobs import Jobs, wait_until
from tests.support.streams import SESSIONS
from tests.support.web.browser import Watched

pytestmark = pytest.mark.timeout(300)


@pytest.mark.slow
def test_the_page_draws_the_same_words_and_a_look_at_a_bad_end_is_enough(
    jobs: Jobs, ids: dict[str, str], watched: Watched
) -> None:
    page = watched.page
    page.wait_for_function(f"() => document.querySelectorAll('.row').length === {len(ids) + len(SESSIONS)}")
    drawn = page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('.row')].map((row) =>"
        " [row.querySelector('.name').textContent, row.querySelector('.state').textContent]))"
    )
    assert drawn == WORDS | SESSION_WORDS
    assert page.inner_text(f"#r-{ids['sleeps']} .what") == "sleep [4] sleeps, wakes by itself in 3d 5h"
    # what runs and needs nobody is not said to be all that runs
    assert page.inner_text("#group-running").startswith("Also running ")
    in_all = len(NEEDS) + len(SESSION_NEEDS)
    assert page.title().startswith(f"({in_all}) ")
    assert page.inner_text("#counts").startswith(f"{in_all} need you · ")
    # by its button, and by its page
    page.click(f"#r-{ids['badly']} [data-act=seen]")
    page.wait_for_selector(f"#r-{ids['badly']}[data-group=failed]")
    page.click(f"#r-{ids['lost']} a.name")
    page.wait_for_selector(".line2 .state >> text=lost")
    wait_until(lambda: "lost" not in {need["name"] for need in jobs.said("needs")}, "the look at its page")
    page.keyboard.press("Escape")
    page.wait_for_selector(f"#r-{ids['lost']}[data-group=failed]")
    wait_until(lambda: page.title().startswith(f"({in_all - 2}) "), "two fewer")
    assert {need["name"] for need in jobs.said("needs")} == NEEDS.keys() - {"badly", "lost"}


@pytest.mark.slow
def test_the_newest_of_many_bad_ends_are_drawn_and_the_others_by_a_button(
    many_bad_ends: list[str], watched: Watched
) -> None:
    page = watched.page
    page.wait_for_selector(".more >> text=280 more")
    rows = "[...document.querySelectorAll('.row .name')].map((name) => name.textContent)"
    page.wait_for_function(f"() => {rows}.length === 21")
    assert set(page.evaluate(rows)) == {*many_bad_ends[:20], "runs"}
    assert page.title().startswith("(300) ")
    assert page.inner_text("#group-attention .number") == "300"
    page.fill("#filter", "bad-29")
    page.wait_for_function(f"() => {rows}.length === 10")
    page.fill("#filter", "")
    page.wait_for_function(f"() => {rows}.length === 21")
    page.click(".more button")
    page.wait_for_function(f"() => {rows}.length === 301")
    assert not page.is_visible(".more")
