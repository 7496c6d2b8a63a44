"""Who may talk to the page: a browser that was given the address which `unhang web` printed, and no other page in it.

Any web page that a person opens can try to reach a port on loopback (DNS rebinding, a form, an image). So every
request, for reading and for event streams too, needs a known Host, no foreign Origin and the token. The token comes
once in the address and is then kept in a cookie that scripts cannot read and that no other site's page sends. What is
served may load nothing from elsewhere and run no script but its own files.

Nor is the token enough for another user of this machine, who may have seen it in the command line of a browser, or been
sent the cookie: a browser sends it to every port of this address. The kernel is asked whose connection it is.

A link of an alert (alerts/links.py) needs no token: it is signed, and faces/web/act.py reads nothing and does nothing
but what it names.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from unhang.alerts import links
from unhang.core.record import Record
from unhang.jobs.local_server import admit, stranger

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 1 << 16
_METHODS = frozenset({"GET", "HEAD", "POST"})
_ABSENT = "open the address that `unhang web` has printed: it holds the token"
_OTHER_USER = "this page is for the user who started it, and not for {} (unhang web --any-user lets others in)"
_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>unhang</title>'
    '<meta http-equiv="refresh" content="0;url={}"></html>'
)
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "manifest-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Door(Record):
    """What a request must show. `origins`: as a browser sends them, with scheme, name and port."""

    token: str
    cookie: str
    hosts: frozenset[str]
    origins: frozenset[str]
    secure: bool
    scraper: str  # the bearer token that opens /metrics and nothing else
    any_user: bool = False  # other users of this machine who show the token are let in


class Access:
    """Refuses every request that does not come from the page itself. The answer gives no details."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # uvicorn closes what is not answered
        send = _with_headers(send)
        answer = self._answer(scope)
        if answer is not None:
            await answer(scope, receive, send)
            return
        if not scope["path"].startswith(links.PATH):
            admit(scope, scraper=self._is_scraper(scope))
        await self._app(scope, _bounded(receive), send)

    def _answer(self, scope: Scope) -> Response | None:
        """A refusal, or the cookie; None: let it through."""
        headers, method = Headers(scope=scope), scope["method"]
        if headers.get("host", "") not in self._door.hosts:
            return _refused("unknown host", 421)
        if method not in _METHODS:
            return _refused("no such method", 405)
        origin, of_alert = headers.get("origin"), scope["path"].startswith(links.PATH)
        if origin is None and method == "POST" and not of_alert:
            return _refused("an origin is needed", 403)
        if origin is not None and origin not in self._door.origins:
            return _refused("foreign origin: a page of another site cannot use this address; open it itself", 403)
        if _length(headers) > LARGEST_BODY:
            return _refused("the body is too large", 413)
        if of_alert:  # its signature is what admits it: a phone that was sent the link has no cookie
            foreign = method == "POST" and headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
            return _refused("not from another page: open the link itself", 403) if foreign else None
        if self._is_scraper(scope):
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        if given is not None and method == "GET":
            return self._let_in(given[0], scope)
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return _refused("not from another page", 403)
        if not self._has_cookie(headers):
            return _refused(_ABSENT, 401)
        return self._other_user(scope)

    def _other_user(self, scope: Scope) -> Response | None:
        other = "" if self._door.any_user else stranger(scope)
        return _refused(_OTHER_USER.format(other), 403) if other else None

    def _let_in(self, given: str, scope: Scope) -> Response:
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self._door.token.encode()):
            return _refused(_ABSENT, 401)
        if (refused := self._other_user(scope)) is not None:
            return refused
        path = scope["path"]
        # By a page of ours, no redirect: after a link on another site a redirect would not bring the cookie.
        where = path if path.startswith("/jobs/") and path[6:].isalnum() else "/"
        answer = HTMLResponse(_PAGE.format(where), headers={"Cache-Control": "no-store"})
        answer.set_cookie(
            self._door.cookie, self._door.token, path="/", httponly=True, samesite="strict", secure=self._door.secure
        )
        return answer

    def _is_scraper(self, scope: Scope) -> bool:
        given = Headers(scope=scope).get("authorization", "").encode("utf-8", "replace")
        return scope["path"] == "/metrics" and hmac.compare_digest(given, f"Bearer {self._door.scraper}".encode())

    def _has_cookie(self, headers: Headers) -> bool:
        wanted = f"{self._door.cookie}={self._door.token}".encode()
        return any(
            hmac.compare_digest(part.strip().encode("utf-8", "replace"), wanted)
            for line in headers.getlist("cookie")
            for part in line.split(";")
        )


def _refused(text: str, status: int) -> PlainTextResponse:
    """Return a refusal that also closes the connection, so that the rest of the request is not read."""
    return PlainTextResponse(text + "\n", status, {"Connection": "close", "Cache-Control": "no-store"})


def _length(headers: Headers) -> int:
    given = headers.get("content-length", "0")
    return int(given) if given.isdecimal() and len(given) < 12 else LARGEST_BODY + 1


def _bounded(receive: Receive) -> Receive:
    """A body without a length is cut off, too: the rest is not read."""
    size = 0

    async def bounded() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > LARGEST_BODY:
            return {"type": "http.disconnect"}
        return message

    return bounded


def _with_headers(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return with_headers
