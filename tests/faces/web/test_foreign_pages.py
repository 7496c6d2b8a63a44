"""What other pages in the browser of a person can do to the page: nothing. A real Chromium that was let in visits a
page of another site, one at another port of the same address, and names that lead to this machine (DNS rebinding)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, Page

from tests.support.jobs import STILL, Jobs, wait_until
from tests.support.web.browser import PATIENCE, chromium
from tests.support.web.server import WebServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

# Each returns what it got: of an answer nothing but that there is none.
READ = """(url) => fetch(url, {credentials: 'include'}).then((it) => `read ${it.status}`, () => 'refused')"""
BLIND = """(url) => fetch(url, {method: 'POST', mode: 'no-cors', credentials: 'include', body: '{}',
  headers: {'Content-Type': 'text/plain'}}).then(() => 'sent', () => 'refused')"""
JSON = """(url) => fetch(url, {method: 'POST', credentials: 'include', body: '{}',
  headers: {'Content-Type': 'application/json'}}).then((it) => `read ${it.status}`, () => 'refused')"""
LISTEN = """(url) => new Promise((done) => { const source = new EventSource(url, {withCredentials: true});
  source.onmessage = source.onopen = () => done('open'); source.onerror = () => done('refused'); })"""
LOAD = """([tag, url]) => new Promise((done) => { const made = document.createElement(tag);
  made.onload = () => done('loaded'); made.onerror = () => done('refused');
  made.src = url; document.body.append(made); })"""
FRAME = """(url) => new Promise((done) => { const made = document.createElement('iframe'); made.src = url;
  made.onload = () => { try { done(made.contentDocument.title); } catch { done('refused'); } };
  document.body.append(made); })"""


class Foreign(BaseHTTPRequestHandler):
    """A page with nothing on it, whatever is asked for."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>foreign</title><body>")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def rebound() -> Iterator[Browser]:
    """A browser to which every name of these is this machine, as a hostile name server would have it."""
    with chromium("--host-resolver-rules=MAP *.example 127.0.0.1") as found:
        yield found


@pytest.fixture
def foreign() -> Iterator[int]:
    """The port of a server of somebody else."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Foreign)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def page(rebound: Browser, web: WebServer) -> Iterator[Page]:
    """A page of a browser that was let in."""
    context = rebound.new_context()
    found = context.new_page()
    found.set_default_timeout(PATIENCE)
    found.goto(web.address)
    found.wait_for_url(f"{web.origin}/")
    yield found
    context.close()


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1"])
def test_a_page_of_another_site_or_port_reads_sends_and_shows_nothing(
    jobs: Jobs, web: WebServer, foreign: int, page: Page, host: str
) -> None:
    job = jobs.begin(*STILL, "--stdin", "pipe", "--", "sh", "-c", "printf 'sure? '; read x; sleep 600")
    wait_until(lambda: job.view().needs_input, "the question")
    page.goto(f"http://{host}:{foreign}/")
    for path in ("/", "/api/overview", f"/api/jobs/{job.id}", "/static/app.js", "/metrics"):
        assert page.evaluate(READ, web.origin + path) == "refused", path
    for action in ("cancel", "send", "restart"):
        assert page.evaluate(JSON, f"{web.origin}/api/jobs/{job.id}/{action}") == "refused", action
        page.evaluate(BLIND, f"{web.origin}/api/jobs/{job.id}/{action}")
    assert page.evaluate(LISTEN, f"{web.origin}/api/stream") == "refused"
    for tag, path in (("img", "/static/icon.svg"), ("script", "/static/app.js"), ("script", "/api/overview")):
        assert page.evaluate(LOAD, [tag, web.origin + path]) == "refused", path
    assert page.evaluate(FRAME, f"{web.origin}/") == "refused"
    page.evaluate(
        "(url) => { document.body.innerHTML = `<form method=post action=${url}><input name=a value=b></form>`;"
        " document.forms[0].submit(); }",
        f"{web.origin}/api/jobs/{job.id}/cancel",
    )
    page.wait_for_url(f"{web.origin}/**")
    assert "foreign origin" in page.inner_text("body")
    assert job.view().needs_input is not None, "nothing was sent"
    assert not job.ended()


def test_a_name_that_leads_to_this_machine_leads_to_no_page(jobs: Jobs, web: WebServer, page: Page) -> None:
    job = jobs.begin(*STILL, "--", "sleep", "600")
    origin = f"http://rebound.example:{web.port}"
    for path in ("/", f"/?token={web.token}", "/api/overview", f"/jobs/{job.id}"):
        answer = page.goto(origin + path)
        assert answer is not None
        assert answer.status == 421, path
    for path in ("/api/overview", "/static/app.js"):
        assert page.evaluate(READ, origin + path) == "read 421"
    assert page.evaluate(JSON, f"{origin}/api/jobs/{job.id}/cancel") == "read 421"
    assert page.evaluate(LISTEN, f"{origin}/api/stream") == "refused"
    assert page.context.cookies(origin) == []
    assert not job.ended()
