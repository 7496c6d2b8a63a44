"""`/metrics` of the page: for the page itself, and for a scraper that shows the token of `metrics/token`."""

from __future__ import annotations

from tests.support.jobs import Jobs
from tests.support.web.server import WebServer

ENDS = b'unhang_job_ends_total{status="success",reason="exit"} '


def test_a_scraper_reads_metrics_with_its_own_token_and_nothing_else(jobs: Jobs, web: WebServer) -> None:
    path = jobs.home / "metrics" / "token"
    assert path.stat().st_mode & 0o777 == 0o600
    bearer = f"Bearer {path.read_text().strip()}"
    jobs.call("run", "--", "true")
    scraped = web.get("/metrics", Cookie=None, Authorization=bearer)
    assert (scraped.status, scraped.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert ENDS + b"1\n" in scraped.body
    assert web.get("/metrics").status == 200
    for wrong in (None, "", "Bearer", "Bearer ", bearer[:-1], bearer + "x", f"Bearer {web.token}", bearer[7:]):
        assert web.get("/metrics", Cookie=None, Authorization=wrong).status == 401, wrong
    for other in ("/", "/api/overview", "/metrics/", "/static/app.js"):
        assert web.get(other, Cookie=None, Authorization=bearer).status == 401, other
    assert web.get("/metrics", Cookie=None, Authorization=bearer, Host="evil.example").status == 421
    assert web.get("/metrics", Cookie=None, Authorization=bearer, Origin="http://evil.example").status == 403
    assert web.ask("POST", "/metrics", Cookie=None, Origin=web.origin, Authorization=bearer).status == 405


def test_the_token_of_a_scraper_outlives_the_server(jobs: Jobs, web: WebServer) -> None:
    token = (jobs.home / "metrics" / "token").read_text()
    web.end()
    later = WebServer(jobs)
    assert (jobs.home / "metrics" / "token").read_text() == token
    assert later.get("/metrics", Cookie=None, Authorization=f"Bearer {token.strip()}").status == 200
    later.end()
