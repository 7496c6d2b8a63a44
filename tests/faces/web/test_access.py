"""The page is for the browser that was given its address: all else is refused, and what is served is fenced in."""

from __future__ import annotations

import os
import socket
import struct
from typing import Any

import pytest

from tests.support.jobs import STILL, Jobs, wait_until
from tests.support.web.server import WebServer
from unhang.faces.web.access import LARGEST_BODY
from unhang.faces.web.app import files
from unhang.faces.web.streams import MOST_STREAMS

READS = ("/", "/api/overview", "/api/stream", "/static/app.js", "/api/history")


def test_who_may_read_and_who_may_not(web: WebServer) -> None:
    for path in ("/", "/api/overview", "/static/app.js", "/api/history"):
        assert web.get(path).status == 200, path
    for path in READS:
        assert web.get(path, Cookie=None).status == 401, path
        assert web.get(path, Cookie=f"unhang_{web.port}=" + "x" * 43).status == 401, path
        for host in ("evil.example", f"evil.example:{web.port}", "127.0.0.1", "", f"127.0.0.1:{web.port + 1}"):
            assert web.get(path, Host=host).status in (400, 421), (path, host)
        for origin in (
            "http://evil.example",
            "null",
            f"https://127.0.0.1:{web.port}",
            f"http://127.0.0.1:{web.port + 1}",
        ):
            assert web.get(path, Origin=origin).status == 403, (path, origin)
        for site in ("cross-site", "same-site"):
            assert web.get(path, Sec_Fetch_Site=site).status == 403, (path, site)
    assert web.get("/", Host=f"localhost:{web.port}").status == 200


def test_the_token_comes_once_in_the_address_and_is_kept_from_scripts(web: WebServer) -> None:
    entered = web.get(f"/?token={web.token}", Cookie=None, Sec_Fetch_Site="cross-site")
    assert entered.status == 200
    cookie = entered.headers["set-cookie"]
    assert cookie.startswith(f"unhang_{web.port}={web.token};")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert web.token.encode() not in entered.body
    for path in (*READS[:2], "/static/app.js"):
        assert web.token.encode() not in web.get(path).body
    for wrong in ("x", "", web.token[:-1], web.token + "x", "%ff"):
        refused = web.get(f"/?token={wrong}", Cookie=None)
        assert refused.status == 401
        assert "set-cookie" not in refused.headers


def test_a_token_of_an_earlier_start_is_refused(jobs: Jobs, web: WebServer) -> None:
    web.end()
    later = WebServer(jobs, "--bind", f"127.0.0.1:{web.port}")
    assert later.get("/", Cookie=web.cookie).status == 401
    assert later.get(f"/?token={web.token}", Cookie=None).status == 401
    assert later.get("/").status == 200
    later.end()


def as_another_user(web: WebServer, path: str, *lines: str, method: str = "GET") -> socket.socket:
    """A request by a socket of the nobody of this machine."""
    os.seteuid(65534)
    try:
        line = socket.create_connection(("127.0.0.1", web.port), timeout=60)
    finally:
        os.seteuid(0)
    head = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{web.port}", *lines, "", ""]
    line.sendall("\r\n".join(head).encode())
    return line


def status_for_another_user(web: WebServer, path: str, *lines: str) -> int:
    with as_another_user(web, path, *lines) as line:
        return int(line.recv(1 << 16).split()[1])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_of_the_machine_who_has_the_address_or_the_cookie_is_not_let_in(
    jobs: Jobs, web: WebServer
) -> None:
    job = jobs.begin(*STILL, "--", "sleep", "100")
    cookie, bearer = f"Cookie: {web.cookie}", (jobs.home / "metrics" / "token").read_text().strip()
    assert status_for_another_user(web, f"/?token={web.token}") == 403
    for path in READS:
        assert status_for_another_user(web, path, cookie) == 403, path
    assert status_for_another_user(web, "/") == 401
    assert status_for_another_user(web, "/metrics", f"Authorization: Bearer {bearer}") == 200, (
        "a scraper is a user, too"
    )
    # one that does not wait for the answer: its end belongs to no user any more
    asks = (cookie, f"Origin: {web.origin}", "Content-Type: application/json", "Content-Length: 0")
    for number in range(50):
        line = as_another_user(web, f"/api/jobs/{job.id}/cancel", *asks, method="POST")
        if number % 2:  # closed by a reset, which leaves nothing of the other end
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        line.close()
    assert web.get("/").status == 200
    assert not job.ended()
    web.end()
    open_to_all = WebServer(jobs, "--any-user")
    assert status_for_another_user(open_to_all, f"/?token={open_to_all.token}") == 200
    assert status_for_another_user(open_to_all, "/", f"Cookie: {open_to_all.cookie}") == 200
    open_to_all.end()


def test_what_changes_something_needs_an_origin_and_json(jobs: Jobs, web: WebServer) -> None:
    job = jobs.begin(*STILL, "--", "sleep", "100")
    path = f"/api/jobs/{job.id}/cancel"
    assert web.post(path, {}, Origin=None).status == 403
    assert web.post(path, {}, Origin="http://evil.example").status == 403
    assert web.post(path, {}, Cookie=None).status == 401
    assert web.post(path, {}, Content_Type="text/plain").status == 415
    assert web.post(path, {}, Content_Type="application/x-www-form-urlencoded").status == 415
    assert web.get(path).status == 405
    assert web.ask("DELETE", path, Origin=web.origin).status == 405
    assert not job.ended()
    assert web.post(path, {}).status == 200
    assert job.wait().status == "cancelled"


def test_what_is_asked_for_is_checked(jobs: Jobs, web: WebServer) -> None:
    job = jobs.begin(*STILL, "--", "sleep", "100")
    at = f"/api/jobs/{job.id}"
    for asked in ("[]", "5", "{", "null"):
        assert (
            web.ask("POST", f"{at}/extend", asked.encode(), Origin=web.origin, Content_Type="application/json").status
            == 400
        )
    assert web.post(f"{at}/extend", {"idle": "soon"}).status == 400
    assert web.post(f"{at}/extend", {"idle": {"a": 1}}).status == 400
    assert web.post(f"{at}/send", {}).status == 400
    assert web.post(f"{at}/explode", {}).status == 400
    assert web.post(f"{at}/send", {"text": "x" * LARGEST_BODY}).status == 413
    assert web.post("/api/jobs/zzzzzzzzzz/cancel", {}).status == 404
    for query in ("stream=../job.json", "stream=control", "first=x", "count=-5", "at=" + "9" * 40):
        assert web.get(f"{at}/rows?{query}").status == 400, query
    assert not job.ended()


ODD: tuple[Any, ...] = (
    *(
        10**400,
        -(10**400),
        1e308,
        -1,
        True,
        [],
        {},
        "",
        "\x00",
        "\ud800",
        "caf\udce9",
        "9" * 5000,
        "inf",
        "nan",
        "\x1b[2J",
    ),
    *("²", "1" * 300 + "h", {"a": {"b": []}}, [["x"]] * 50, None),
)


def test_no_odd_value_breaks_more_than_its_own_answer(jobs: Jobs, web: WebServer) -> None:
    """Each is refused or done; none is an error of the server's own."""
    job = jobs.begin(*STILL, "--stdin", "pipe", "--", "sleep", "100")
    at = f"/api/jobs/{job.id}"
    for action, names in {
        "extend": ("idle", "hard"),
        "send": ("text", "raw", "eof", "question"),
        "seen": ("x",),
    }.items():
        for name in names:
            for odd in ODD:
                status = web.post(f"{at}/{action}", {"text": "x"} | {name: odd}).status
                assert status in (200, 400, 409), (action, name, odd)
    for words in ("%00", "%ff%fe", "%F0%9F%92%A9", "x" * 3000, "%0d%0aX:%20y", "@last", "%2e%2e", "%ED%A0%80"):
        for path in ("jobs/{}", "jobs/{}/rows", "jobs/{}/tree", "sessions/{}", "runs?command={}"):
            assert web.get("/api/" + path.format(words)).status in (200, 400, 404, 409), (path, words)
        assert web.get(f"{at}/search?text={words}").status == 200
        assert web.get(f"/api/history?text={words}").status == 200
        assert web.get(f"/act/{words}", Cookie=None).status == 404
    for number in ("9" * 5000, "²", "-1", "x.9"):
        with web.stream(f"/api/jobs/{job.id}/stream", **{"Last-Event-ID": number}) as stream:
            assert stream.status == 200
    with web.stream("/api/stream") as stream:
        (instance, _, _) = next(stream.messages())[1].rpartition(".")
    with web.stream("/api/stream", **{"Last-Event-ID": f"{instance}.{'9' * 5000}"}) as stream:
        assert stream.status == 200
    assert not job.ended()
    web.process.terminate()
    assert web.process.stderr is not None
    assert web.process.stderr.read() == b""


def test_a_path_names_no_file(jobs: Jobs, web: WebServer) -> None:
    jobs.home.mkdir(mode=0o700, exist_ok=True)
    (jobs.home / "secret").write_text("secret\n")
    for path in (
        "/static/../main.py",
        "/static/..%2fmain.py",
        "/static/%2e%2e/main.py",
        "/static/..\\main.py",
        "/static//etc/passwd",
        "/static/app.js%00.html",
        "/api/jobs/..%2f..%2fsecret",
        "/api/jobs/../secret",
        "/api/sessions/..%2f..%2fsecret",
        "/api/jobs/%2e%2e/download",
        "//etc/passwd",
    ):
        answer = web.get(path)
        assert answer.status in (400, 404, 405), path
        assert b"secret\n" not in answer.body
        assert b"root:" not in answer.body


def test_every_answer_is_fenced_in(web: WebServer) -> None:
    for answer in (web.get("/"), web.get("/nothing"), web.get("/api/overview"), web.get("/", Cookie=None)):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "require-trusted-types-for 'script'" in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in answer.headers


def test_the_files_of_the_page_name_no_other_origin() -> None:
    for name, (data, _) in files().items():
        text = data.decode().replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text, name
        assert "https://" not in text, name
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
            assert word not in text, (name, word)


def test_the_page_asks_for_all_of_its_modules_at_once() -> None:
    found = files()
    page = found["index.html"][0].decode()
    for name in found:
        assert not name.endswith(".js") or f'"/static/{name}"' in page, name


def test_more_streams_than_there_may_be_are_refused_and_the_server_goes_on(web: WebServer) -> None:
    held = []
    for _ in range(MOST_STREAMS):
        line = socket.create_connection(("127.0.0.1", web.port), timeout=30)
        head = f"GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\nCookie: {web.cookie}\r\n\r\n"
        line.sendall(head.encode())
        assert line.recv(12).endswith(b"200")
        held.append(line)
    wait_until(lambda: web.get("/api/stream").status == 503, "a refusal")
    assert web.get("/api/history").status == 200
    for line in held:
        line.close()

    def is_served() -> bool:
        with web.stream("/api/stream") as source:
            return source.status == 200

    wait_until(is_served, "a place again")


@pytest.mark.parametrize(
    ("words", "means"),
    [
        (("--bind", "0.0.0.0:0"), "TLS or a proxy"),
        (("--bind", "[::]:0"), "TLS or a proxy"),
        (("--bind", "0.0.0.0:0", "--behind-proxy", "evil"), "an origin"),
        (("--tls-cert", "/nonexistent"), "both files"),
        (("--tls-cert", "/nonexistent", "--tls-key", "/nonexistent"), "files that are there"),
        (("--bind", "127.0.0.1:99999"), "a port"),
    ],
)
def test_other_machines_are_let_in_only_on_purpose(jobs: Jobs, words: tuple[str, ...], means: str) -> None:
    assert jobs.refused("web", *words, code=2), means


def test_behind_a_proxy_its_origin_is_the_page(jobs: Jobs) -> None:
    server = WebServer(jobs, "--behind-proxy", "https://unhang.example.org")
    assert server.address.startswith("https://unhang.example.org/?token=")
    server.end()


def test_an_ended_job_is_started_again_and_a_running_one_is_ended_first(jobs: Jobs, web: WebServer) -> None:
    job = jobs.begin(*STILL, "--", "sleep", "100")
    answer = web.post(f"/api/jobs/{job.id}/restart", {})
    assert answer.status == 200
    again = jobs.handle(answer.json["jobId"])
    assert again.id != job.id
    assert job.wait().status == "cancelled"
    assert again.spec["argv"] == job.spec["argv"]
    assert not again.ended()
