"""`/metrics` of the page: for the page itself, and for a scraper that shows the token of `metrics/token`."""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack

from tests.support.jobs import Jobs
from tests.support.web.server import WebServer
from unhang.store import file_lock

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


def test_many_scrapers_at_once_are_counted_for_once_and_hold_nobody_up(jobs: Jobs, web: WebServer) -> None:
    jobs.call("run", "--", "true")
    bearer = (jobs.home / "metrics" / "token").read_text().strip()
    head = f"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\nAuthorization: Bearer {bearer}\r\n\r\n"
    with ExitStack() as scrapers, open(jobs.home / "metrics" / "lock", "w") as lock:
        assert file_lock.try_lock(lock.fileno())  # counting waits for it, for some seconds at most
        lines = [scrapers.enter_context(socket.create_connection(("127.0.0.1", web.port), 60)) for _ in range(40)]
        for line in lines:
            line.sendall(head.encode())
        assert web.get("/api/history").status == 200
        assert len(os.listdir(f"/proc/{web.process.pid}/task")) < 10, "one of them counts"
        lock.close()
        for line in lines:
            assert line.recv(12) == b"HTTP/1.1 200"


def test_a_count_that_cannot_be_made_is_an_answer_and_no_traceback(jobs: Jobs, web: WebServer) -> None:
    (jobs.home / "metrics" / "lock").mkdir()
    answer = web.get("/metrics")
    assert (answer.status, answer.body.count(b"\n")) == (500, 1)
    (jobs.home / "metrics" / "lock").rmdir()
    assert web.get("/metrics").status == 200
    web.end()
    assert web.process.stderr is not None
    assert web.process.stderr.read() == b""
