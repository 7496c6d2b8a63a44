"""How the page is served: with TLS, behind a proxy, opened in a browser, to a hundred viewers; and its downloads."""

from __future__ import annotations

import http.client
import os
import resource
import socket
import ssl
import subprocess
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from tests.support import programs
from tests.support.jobs import STILL, Jobs, wait_until
from tests.support.web.server import WebServer
from unhang.procs.sampler.connections import listening

pytestmark = pytest.mark.timeout(300)


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate of loopback, and its key."""
    programs.need_command("openssl")
    cert, key = folder / "cert.pem", folder / "key.pem"
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", *words, *name, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
    return cert, key


def test_with_a_certificate_it_serves_https_and_the_cookie_stays_there(jobs: Jobs, tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    server = WebServer(jobs, "--tls-cert", str(cert), "--tls-key", str(key))
    parts = urlsplit(server.address)
    assert parts.scheme == "https"
    trusted = ssl.create_default_context(cafile=str(cert))
    line = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60, context=trusted)
    line.request("GET", f"{parts.path}?{parts.query}")
    entered = line.getresponse()
    entered.read()
    cookie = entered.headers["Set-Cookie"]
    assert "Secure" in cookie
    line.request("GET", "/api/overview", headers={"Cookie": cookie.partition(";")[0]})
    answer = line.getresponse()
    assert (answer.status, b"entries" in answer.read()) == (200, True)
    line.request("POST", "/api/jobs/x/cancel", b"{}", {"Cookie": server.cookie, "Origin": server.origin})
    assert line.getresponse().status == 403, "the page is https: a page of http is a stranger's"
    line.close()
    with pytest.raises((OSError, http.client.HTTPException)):
        server.get("/api/overview")
    server.end()


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/favicon.ico"])
def test_what_a_browser_has_is_not_sent_again_until_it_changes(web: WebServer, path: str) -> None:
    first = web.get(path)
    tag = first.headers["etag"]
    assert (first.headers["cache-control"], len(first.body) > 0) == ("no-cache", True)
    for wanted in (tag, f'"other", W/{tag}', "*"):
        again = web.get(path, **{"If-None-Match": wanted})
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
        assert again.headers["cache-control"] == "no-cache"
    assert web.get(path, **{"If-None-Match": '"other"'}).body == first.body
    stranger = web.get(path, Cookie=None, **{"If-None-Match": tag})
    assert (stranger.status, stranger.headers["cache-control"]) == (401, "no-store")


def test_the_address_that_holds_the_token_is_kept_nowhere(web: WebServer) -> None:
    entered = web.get(web.address.removeprefix(web.origin), **{"If-None-Match": web.get("/").headers["etag"]})
    assert (entered.status, entered.headers["cache-control"], entered.headers.get("etag")) == (200, "no-store", None)


def test_strangers_who_never_begin_to_speak_tls_keep_no_client_out(jobs: Jobs, tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    server = WebServer(jobs, "--tls-cert", str(cert), "--tls-key", str(key))
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (256, 256))
    parts = urlsplit(server.address)
    trusted = ssl.create_default_context(cafile=str(cert))
    with ExitStack() as strangers:
        for _ in range(3):
            for _ in range(150):
                strangers.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60))
            line = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60, context=trusted)
            line.request("GET", f"{parts.path}?{parts.query}")
            assert line.getresponse().status == 200
            line.close()
        held = len(os.listdir(f"/proc/{server.process.pid}/fd"))
    assert held < 100, "the oldest of the strangers were closed"
    server.end()
    assert server.process.stderr is not None
    assert server.process.stderr.read() == b""


def test_behind_a_proxy_its_host_and_origin_are_let_in_and_others_are_not(jobs: Jobs) -> None:
    server = WebServer(jobs, "--behind-proxy", "https://unhang.example.org")
    # its address is the proxy's: where it listens itself, the kernel knows
    (own,) = wait_until(lambda: listening([os.getpid()]).get(os.getpid()), "its port")
    server.port = int(own.rpartition(":")[2])
    job = jobs.begin(*STILL, "--", "sleep", "100")
    host, origin = "unhang.example.org", "https://unhang.example.org"
    entered = server.get(f"/?token={server.token}", Host=host, Cookie=None)
    cookie = entered.headers["set-cookie"]
    assert "secure" in cookie.lower()
    cookie = cookie.partition(";")[0]
    assert server.get("/api/overview", Host=host, Cookie=cookie).status == 200
    path = f"/api/jobs/{job.id}/extend"
    assert server.post(path, {"hard": "1h"}, Host=host, Origin=origin, Cookie=cookie).status == 200
    assert server.post(path, {"hard": "1h"}, Host=host, Origin="http://unhang.example.org", Cookie=cookie).status == 403
    assert server.post(path, {"hard": "1h"}, Host="evil.example.org", Origin=origin, Cookie=cookie).status in (403, 421)
    assert sum(event["phase"] == "extended" for event in job.events()) == 1
    server.end()


def test_it_is_opened_in_the_browser_of_the_person(jobs: Jobs, tmp_path: Path) -> None:
    opened, browser = tmp_path / "opened", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.new && mv {opened}.new {opened}\n')
    browser.chmod(0o700)
    jobs.env["BROWSER"] = str(browser)
    server = WebServer(jobs, "--open")
    wait_until(opened.exists, "the browser was started")
    assert opened.read_text() == server.address
    server.end()
    jobs.env["BROWSER"] = os.devnull
    alone = WebServer(jobs, "--open")
    assert alone.get("/api/overview").status == 200, "without a browser it is served all the same"
    alone.end()


def test_a_hundred_viewers_are_told_the_same(jobs: Jobs, web: WebServer) -> None:
    first = jobs.begin(*STILL, "--stdin", "pipe", "--", "cat")
    viewers = [web.stream("/api/stream") for _ in range(100)]
    sources = [viewer.__enter__() for viewer in viewers]
    try:
        streams = [source.messages() for source in sources]
        for stream in streams:
            _, _, data = next(stream)
            assert data["whole"]
        first.send("hello\n")
        for stream in streams:
            assert any(
                entry["id"] == first.id and entry["bytes"]["stdout"] == 6
                for _, _, data in stream
                for entry in data["entries"]
            )
    finally:
        for viewer in viewers:
            viewer.__exit__(None, None, None)


def test_a_download_is_all_that_was_printed_to_the_last_byte(jobs: Jobs, web: WebServer) -> None:
    job = jobs.begin("--", "sh", "-c", "printf '\\377\\000<b>'; yes 0123456789 | head -c 3000000; echo no >&2")
    job.wait()
    got = web.get(f"/api/jobs/{job.id}/download?stream=stdout")
    assert got.status == 200
    assert got.body == job.kept("stdout")
    assert len(got.body) == 3_000_005
    assert got.headers["content-disposition"] == f'attachment; filename="{job.id}.stdout.txt"'
    assert got.headers["content-type"] == "application/octet-stream"
    assert web.get(f"/api/jobs/{job.id}/download?stream=stderr").body == b"no\n"
    assert web.get(f"/api/jobs/{job.id}/download?stream=../job.json").status == 400
    assert web.get("/api/jobs/zzzzzzzzzz/download").status == 404


def test_the_history_of_a_command_has_each_run_and_what_it_would_teach(
    jobs: Jobs, web: WebServer, tmp_path: Path
) -> None:
    ends = [jobs.begin("--cwd", tmp_path, "--", "sh", "-c", "exit ${N:-0}") for _ in range(2)]
    ends.append(jobs.begin("--cwd", tmp_path, "--", "sh", "-c", "exit ${N:-0}", env=jobs.env | {"N": "3"}))
    for job in ends:
        job.wait()
    (found,) = web.get("/api/history?text=exit").json
    assert (found["runs"], found["succeeded"], found["failed"], found["cwd"]) == (3, 2, 1, str(tmp_path))
    assert web.get("/api/history?text=no-such-command").json == []
    asked = f"command={quote(found['command'])}&directory={quote(found['cwd'])}"
    runs = web.get(f"/api/runs?{asked}").json
    assert {run["jobId"]: run["state"] for run in runs["runs"]} == dict(
        zip((job.id for job in ends), ("done", "done", "failed"), strict=True)
    )
    assert runs["learnt"] == {"hard": None, "idle": None}, "three runs are too few to learn from"
    limits = ends[-1].status()["limits"]
    assert runs["limits"] == {
        name: {"ms": limits[f"{name}Ms"]["value"], "source": limits[f"{name}Ms"]["source"]} for name in ("hard", "idle")
    }
