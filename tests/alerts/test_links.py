"""The buttons of alerts, from a real job by a real receiver to the real page: they ask first and work once."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.alerts import Receiver, rules
from tests.support.jobs import STILL, Jobs, wait_until
from tests.support.namespaces import in_pid_namespace, need_namespaces
from tests.support.ntfy import published
from tests.support.web.server import Answer, WebServer
from unhang.alerts import links, pages
from unhang.core.alerts.occasions import AlertSubject, Occasion

ASKS = (*STILL, "--stdin", "pipe", "--", "sh", "-c", 'printf "Name? "; read x; echo "hello $x"; sleep 3600')


@pytest.fixture
def web(jobs: Jobs) -> Iterator[WebServer]:
    server = WebServer(jobs)
    yield server
    server.end()


def opened(web: WebServer, url: str) -> Answer:
    """As a phone that was sent the link opens it: no cookie, from another site."""
    return web.get(urlsplit(url).path, Cookie=None, Sec_Fetch_Site="cross-site")


def pressed(web: WebServer, url: str, body: bytes = b"", origin: str | None = None, **headers: str | None) -> Answer:
    """As the page's own form does it; `origin` None: as ntfy does it, which is no browser."""
    return web.ask("POST", urlsplit(url).path, body, Cookie=None, Origin=origin, **headers)


def with_page(text: str, web: WebServer) -> str:
    return f'{text}\n[web]\nurl = "{web.origin}/"\n'


def test_a_prompt_is_answered_from_its_alert_once_and_by_no_one_else(
    jobs: Jobs, alerts: Path, receiver: Receiver, web: WebServer
) -> None:
    alerts.write_text(with_page(rules(receiver.url, "needs_input"), web))
    job = jobs.begin(*ASKS)
    wait_until(lambda: receiver.requests, "the prompt is told")
    (told,) = receiver.values()[0]["alerts"]
    assert told["paste"] == f"unhang send {job.id} ANSWER"
    urls = {button["act"]: button["url"] for button in told["actions"]}
    assert set(urls) == {"answer", "cancel"}
    seq = job.status()["seq"]
    asked = opened(web, urls["answer"])
    assert (asked.status, b"<form" in asked.body, b"Name?" in asked.body) == (200, True, True)
    assert opened(web, urls["cancel"]).status == 200
    assert web.ask("HEAD", urlsplit(urls["cancel"]).path, Cookie=None).status == 200
    assert job.status()["seq"] == seq, "looking at a link does nothing"
    assert pressed(web, urls["answer"], b"text=Eve", "http://evil.example").status == 403
    assert pressed(web, urls["answer"], b"text=Eve", "null").status == 403
    assert pressed(web, urls["answer"], b"text=Eve", web.origin, Sec_Fetch_Site="cross-site").status == 403
    other = jobs.begin(*ASKS)
    for wrong in (
        urls["cancel"].replace(job.id, other.id),
        urls["cancel"].replace(".cancel.", ".answer."),
        urls["cancel"][:-1],
        urls["cancel"].rpartition(".")[0],
        f"{web.origin}/act/x",
    ):
        assert pressed(web, wrong, b"text=Eve", web.origin).status == 404, wrong
    assert pressed(web, urls["answer"], b"", web.origin).status == 200, "without a text it asks again"
    done = pressed(web, urls["answer"], b"text=Ada+%3Cb%3E", web.origin)
    assert (done.status, b"<form" in done.body) == (200, False)
    wait_until(lambda: "hello Ada <b>" in job.status()["stdout"], "it has its answer")
    for url in urls.values():
        assert opened(web, url).status == 410
        assert pressed(web, url, b"text=Bob", web.origin).status == 410
    assert not job.ended()
    wait_until(lambda: other.status()["needsInput"], "the other one asks, too")
    assert other.status()["stdout"] == "Name? "


def test_ntfy_gets_buttons_that_act_and_a_job_that_moved_on_refuses_them(
    jobs: Jobs, alerts: Path, receiver: Receiver, web: WebServer
) -> None:
    text = rules(receiver.url, "needs_input") + rules(receiver.url, "stuck").replace("hook", "second")
    alerts.write_text(with_page(re.sub('kind = "[a-z]+"', 'kind = "ntfy"', text), web))
    asks = jobs.begin(*ASKS)
    wait_until(lambda: len(receiver.requests) == 1, "the prompt is told")
    told = published(receiver)
    assert f"unhang send {asks.id} ANSWER" in told.text
    view, act = told.actions
    assert (view.kind, view.label, view.options) == ("view", "Answer", {})
    assert (act.kind, act.label, act.options) == ("http", "End it", {"method": "POST", "clear": "true"})
    asks.send("Ada\n")
    wait_until(lambda: "hello Ada" in asks.status()["stdout"], "a person was faster")
    refused = pressed(web, act.url)
    assert refused.status == 409
    assert f"unhang status {asks.id}" in refused.body.decode()
    assert not asks.ended()
    stuck = jobs.begin(*STILL, "--stall", "1", "--", "sleep", "infinity")
    wait_until(lambda: len(receiver.requests) == 2, "the stall is told")
    assert pressed(web, published(receiver, 1).actions[0].url).status == 200
    assert stuck.wait().status == "cancelled"


def test_a_warning_is_answered_with_more_time_once_however_many_press_at_once(jobs: Jobs, web: WebServer) -> None:
    job = jobs.begin("--idle", "16", "--hard", "off", "--stall", "off", "--", "sleep", "3600")
    warned = wait_until(lambda: [e for e in job.events() if e["phase"] == "warning"], "it is warned about")[0]
    make = links.maker(str(jobs.home), web.origin)
    assert make is not None
    told = Occasion(AlertSubject(job.id, "x", "x"), "warning", warned["seq"], time.time(), "", "", "")
    paths = [urlsplit(make(told, "extend")).path, urlsplit(make(told.replace(seq=1), "cancel")).path]
    assert web.ask("POST", paths[1], b"", Cookie=None).status == 404, "that event is no alert"
    old = make(told.replace(at=time.time() - links.LIFE - 9), "extend")
    assert pressed(web, old).status == 410
    sockets = [socket.create_connection(("127.0.0.1", web.port), timeout=30) for _ in range(4)]
    for each in sockets:
        head = f"POST {paths[0]} HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\nContent-Length: 0\r\n\r\n"
        each.sendall(head.encode())
    codes = sorted(each.recv(20).split()[1] for each in sockets)
    for each in sockets:
        each.close()
    assert codes[0] == b"200"
    assert set(codes[1:]) <= {b"409", b"410"}
    # the keeper answers first and records afterwards
    moved = wait_until(lambda: [e for e in job.events() if e["phase"] == "extended"], "it is extended")
    assert [(event["tier"], event["asked"]) for event in moved] == [("idle", True)]
    job.cancel()


def test_a_link_that_is_not_ours_is_refused_before_its_body_is_read(web: WebServer) -> None:
    """Else a stranger's request, begun and never finished, would hold a place among the clients for ever."""
    with socket.create_connection(("127.0.0.1", web.port), timeout=30) as line:
        head = f"POST /act/x HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\nContent-Length: 60000\r\n\r\nt"
        line.sendall(head.encode())
        assert line.recv(100).startswith(b"HTTP/1.1 404 ")


def test_without_a_page_that_runs_and_is_named_an_alert_has_the_command_alone(
    jobs: Jobs, alerts: Path, receiver: Receiver, web: WebServer
) -> None:
    def listed() -> object:
        return jobs.said("alerts", "list")["web"]

    text = rules(receiver.url, "needs_input")
    alerts.write_text(text)
    assert listed() is None
    alerts.write_text(f'{text}\n[web]\nurl = "https://unhang.example.org"\n')
    assert listed() == {"url": "https://unhang.example.org", "served": False}, "no page has this name"
    alerts.write_text(with_page(text, web))
    assert listed() == {"url": web.origin, "served": True}
    web.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: listed() == {"url": web.origin, "served": False}, "a page that is stopped serves nothing")
    assert [pid for pid, _ in pages.stopped(str(jobs.home))] == [web.process.pid]
    assert str(web.process.pid) in page_by_doctor(jobs, ok=False)
    web.process.send_signal(signal.SIGCONT)
    wait_until(lambda: listed() == {"url": web.origin, "served": True}, "it goes on")
    assert web.origin in page_by_doctor(jobs, ok=True)
    web.process.kill()
    web.process.wait(30)
    assert listed() == {"url": web.origin, "served": False}
    assert web.origin not in page_by_doctor(jobs, ok=True)
    assert os.listdir(jobs.home / "alerts" / "pages") == []
    job = jobs.begin(*ASKS)
    wait_until(lambda: receiver.requests, "the prompt is told")
    (alert,) = receiver.values()[0]["alerts"]
    assert (alert["actions"], alert["paste"]) == ([], f"unhang send {job.id} ANSWER")


def page_by_doctor(jobs: Jobs, *, ok: bool) -> str:
    (found,) = [each for each in json.loads(jobs.call("doctor", "--json").out)["checks"] if each["check"] == "page"]
    assert found["ok"] is ok, found
    return str(found["message"])


def test_pages_in_two_containers_with_one_home_are_both_known(jobs: Jobs) -> None:
    """Each is process 1 of its own."""
    need_namespaces()
    code = (
        "import sys; from unhang.alerts import pages\n"
        "pages.announce(sys.argv[1], [sys.argv[2]]); print('announced', flush=True); sys.stdin.read()"
    )
    home, origins = str(jobs.home), ["http://127.0.0.1:1", "http://127.0.0.1:2"]
    running = []
    for origin in origins:
        words = in_pid_namespace([sys.executable, "-c", code, home, origin])
        running.append(jobs.popen_program(*words, stdin=subprocess.PIPE))
        assert running[-1].stdout is not None
        assert running[-1].stdout.readline() == b"announced\n"
    assert pages.page_origins(home) == set(origins)
    assert pages.stopped(home) == [], "of a process in another container it cannot be said"
    for origin, process in zip(origins, running, strict=True):
        assert jobs.finish(process).code == 0
        assert origin not in pages.page_origins(home)
