"""What jobs say of themselves, in a real Chromium: labels, directories, commands, prompts, messages and outputs that
are made to be taken for something else are text on every view, and what acts on other text is made visible."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.support.jobs import STILL, Jobs, wait_until
from tests.support.web.browser import Watched
from tests.support.web.server import WebServer
from unhang.store.session_log import SessionLog

SESSION = "4f1c0f2e-9d1b-4c0e-8a55-2b6f0f6f9a10"
MARKUP = "<img src=http://evil.example/x onerror=alert(1)><script>document.title='pwned'</script>"
BIDI = "\u202e\u2066\u200f"
ODD = f"{MARKUP}{BIDI}'\"&amp;\x1b[31m\x1b]0;pwned\x07"
# Whatever could act on the text around it, in any text or attribute that a person or a screen reader is given.
ACTING = """() => {
  const bad = /[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]/;
  const found = bad.test(document.title) ? ['title'] : [];
  for (const each of document.querySelectorAll('body *')) {
    for (const { name, value } of each.attributes) if (bad.test(value)) found.push(`${name}: ${value}`);
    for (const node of each.childNodes) if (node.nodeType === 3 && bad.test(node.data)) found.push(node.data);
  }
  return found.map((each) => JSON.stringify(each)); }"""
FOREIGN = "main script, main img, main iframe, main a:not([href^='/']), [onerror], [onclick]"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def harmless(watched: Watched) -> None:
    page = watched.page
    assert page.evaluate(ACTING) == []
    assert page.locator(FOREIGN).count() == 0
    assert "pwned" not in page.title()


def test_what_a_job_says_of_itself_is_text_on_every_view(
    jobs: Jobs, web: WebServer, watched: Watched, tmp_path: Path
) -> None:
    folder = tmp_path / ODD.replace("/", "-")
    folder.mkdir()
    job = jobs.begin(
        *("--stdin", "pipe", "--idle", "1h", "--hard", "2h", "--cwd", folder, "--label", f"a={ODD}", "--"),
        *("sh", "-c", f"printf '%s' \"$1\" >&2; printf '%s? ' \"$1\"; read x # {ODD}", "sh", ODD),
    )
    failed = jobs.begin("--cwd", folder, "--", "sh", "-c", f"exit 3 # {ODD}", ODD)
    failed.wait()
    log = SessionLog(SESSION, str(jobs.home))
    log.append({"type": "hook", "phase": "tool", "toolUseId": ODD, "message": f"Bash: {ODD}", "cwd": f"/srv/{ODD}"})
    log.append({"type": "watch", "phase": "warning", "message": f"Bash has run for 8m {ODD}"})
    saved = Path(log.folder) / "saved-2026-01-02T000000Z.json"
    saved.write_text('{"screen": "\\u202e<b>a</b>\\u0007", "draft": "<i>\\u202e"}')
    page = watched.page
    page.wait_for_selector(f"#r-{job.id} input")
    page.wait_for_selector(f"#r-{SESSION}")
    page.wait_for_selector(f"#r-{failed.id}")
    assert MARKUP in page.inner_text(f"#r-{job.id}")
    harmless(watched)
    page.keyboard.press("j")
    page.keyboard.press("c")  # the question names the job
    page.wait_for_selector("#confirm[open]")
    harmless(watched)
    page.keyboard.press("Escape")
    page.click(f"#r-{job.id} [data-act=extend]")
    page.wait_for_selector(".toast")
    harmless(watched)
    page.goto(f"{web.origin}/jobs/{job.id}")
    page.wait_for_selector(".facts >> text=Labels")
    page.wait_for_selector(".events >> text=needs_input")
    page.wait_for_selector(".line >> text=<img")
    page.click("button >> text=Look now")
    page.wait_for_selector(".tree table")
    harmless(watched)
    page.press("button >> text=JSON", "Enter")
    page.wait_for_selector("pre.json")
    harmless(watched)
    page.goto(f"{web.origin}/jobs/{failed.id}")
    page.wait_for_selector(".result >> text=exit code 3")
    harmless(watched)
    page.goto(f"{web.origin}/history")
    page.click("tbody button.command >> nth=0")
    page.wait_for_selector(".runs li")
    harmless(watched)
    page.goto(f"{web.origin}/sessions/{SESSION}")
    page.wait_for_selector(".screen")
    harmless(watched)
    page.goto(f"{web.origin}/jobs/{quote(f'<img src=x onerror=alert(1)>{BIDI}')}")
    page.wait_for_selector("h1")
    harmless(watched)
    watched.problems = [each for each in watched.problems if "404" not in each]  # the browser says so in its console


SHAPES = {
    "one line of ten megabytes": b"x" * 10_000_000,
    "ten megabytes of colours that never end": b"\x1b[31" * 2_500_000,
    "ten megabytes of NULs": b"\0" * 10_000_000,
    "ten megabytes of marks of direction": "\u202e".encode() * 3_000_000,
    "a million empty lines": b"\n" * 1_000_000,
    "what writes over itself": b"50%\r" * 2_500_000,
    "marks above one letter": b"Z" + "\u0300".encode() * 200_000,
    "no character of any kind": os.urandom(1_000_000),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_odd_outputs_are_drawn_and_the_page_goes_on(
    jobs: Jobs, web: WebServer, watched: Watched, tmp_path: Path, shape: str
) -> None:
    (tmp_path / "out").write_bytes(SHAPES[shape] + b"\nthe end\n")
    job = jobs.begin(*STILL, "--", "sh", "-c", 'cat "$1"; sleep 600', "sh", tmp_path / "out")
    wait_until(lambda: job.printed("stdout") == len(SHAPES[shape]) + 9, "its output")
    page = watched.page
    page.goto(f"{web.origin}/jobs/{job.id}")
    page.wait_for_selector(".line >> text=the end")
    harmless(watched)
    page.uncheck("#follow")
    for place in (0, 0.5):
        page.evaluate(
            "(at) => { const box = document.querySelector('.output'); box.scrollTop = at * box.scrollHeight }", place
        )
        page.wait_for_function(
            "() => { const line = document.querySelector('.line'); return line && line.textContent !== '…' }"
        )
        harmless(watched)
        assert page.locator(".line").count() < 100
        assert max(len(line) for line in page.locator(".line").all_text_contents()) <= 2000
    page.keyboard.press("c")  # it is still a page with a job to be ended
    page.click("#confirm button.danger")
    page.wait_for_selector(".line2 .state >> text=cancelled")
