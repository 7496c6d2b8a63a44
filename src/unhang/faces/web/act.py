"""The page behind a button of an alert. It asks first: programs that scan mail or show previews fetch every link.

GET shows what the job asks and one button; POST does it, once. A link that was used, whose job has moved on or that
is not ours gets a page that says so, with the command that shows where the job stands.
"""

from __future__ import annotations

import base64
import hashlib
import html
import time
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, Response

from unhang.alerts import links
from unhang.core import plain_text
from unhang.core.alerts.answers import ANSWER, CANCEL, EXTEND, LABELS, WORDS, Question, question
from unhang.core.alerts.message import WORDS as TOLD
from unhang.core.alerts.occasions import subject_of
from unhang.core.attention import MORE_TIME
from unhang.core.record import Record
from unhang.errors import NoSuchJob, UnhangError
from unhang.jobs.handle import Job, attach
from unhang.jobs.local_server import admit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request

    from unhang.core import events as ev
    from unhang.faces.web.api import Desk

_STYLE = (
    "body{font:1.1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}"
    "h1{font-size:1.3rem}code{overflow-wrap:anywhere}"
    "button,input{font:inherit;padding:.6rem 1.2rem;margin:.3rem .3rem .3rem 0}input{width:100%;box-sizing:border-box}"
)
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{_HASH}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    # with `no-referrer` a browser would send `Origin: null` with the form
    "Referrer-Policy": "same-origin",
}
_DONE = {
    EXTEND: f"It has {MORE_TIME} more.",
    ANSWER: "The answer was sent.",
    CANCEL: "It is being ended.",
}
_EVENTS = 1000
_LONGEST_ANSWER = 4096


class _Shown(Record):
    """A page: its status, its heading, its lines, and what stands below them as HTML."""

    status: int
    title: str
    lines: tuple[str, ...]
    below: str = ""


class Act:
    """Answers the requests for links of alerts."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def answer(self, request: Request) -> Response:
        """GET and POST /act/LINK."""
        link = await run_in_threadpool(links.read, self._desk.home, request.path_params["link"])
        text = None
        if link is not None and request.method == "POST":
            try:
                given = parse_qs((await request.body()).decode("utf-8", "replace"))
            except ClientDisconnect:
                return Response(status_code=400)
            # not before: until then it is a stranger, who has little time
            admit(request.scope)
            text = given.get("text", [""])[0]
        shown = _unknown() if link is None else await run_in_threadpool(self._shown, link, text)
        return HTMLResponse(_page(shown), shown.status, _HEADERS)

    def _shown(self, link: links.Link, text: str | None) -> _Shown:
        """`text`: None asks; otherwise it is done, with this answer."""
        home, command = self._desk.home, f"unhang status {link.job}"
        try:
            job = attach(home, link.job)
            asked = question(_events(job), job.spec, job.id, link.seq)
        except NoSuchJob:
            asked = None
        if asked is None:
            return _Shown(404, "There is no such job any more", ("It was deleted.",))
        name = subject_of(job.id, job.spec).name
        if links.is_spent(home, link):
            return _refused(410, name, "This alert was answered before; a link works once.", command)
        if time.time() > link.expiry:
            return _refused(410, name, "This link is too old.", command)
        if not asked.stands or asked.attention is None:
            return _refused(409, name, "The job has moved on since this alert; nothing was done.", command)
        if text is None or (link.act == ANSWER and not text):
            return _asks(link, name, asked)
        if len(text) > _LONGEST_ANSWER:
            return _refused(413, name, "The answer is too long.", *asked.attention.to_paste)
        if not links.spend(home, link):
            return _refused(410, name, "This alert was answered before; a link works once.", command)
        try:
            _do(job, link.act, asked, text)
        except (UnhangError, OSError) as error:
            said = plain_text.one_line(str(error), 300)
            return _refused(409, name, f"It could not be done: {said}", *asked.attention.to_paste)
        done = _DONE.get(link.act) or f"“{WORDS[link.act]}” was sent."
        return _Shown(200, name, (done,), _code(command))


def _do(job: Job, act: str, asked: Question, text: str) -> None:
    if act == EXTEND:
        job.extend(**{asked.limit: MORE_TIME})
    elif act == CANCEL:
        job.cancel(wait=False, by="a link of an alert")
    else:
        job.send(WORDS.get(act, text) + "\n")


def _events(job: Job) -> Iterator[ev.Event]:
    after = 0
    while found := job.events(after_seq=after, limit=_EVENTS):
        yield from found
        after = found[-1]["seq"]


def _unknown() -> _Shown:
    return _Shown(404, "This is no link of this unhang", ("It was changed on the way, or its key was deleted.",))


def _refused(status: int, name: str, why: str, *commands: str) -> _Shown:
    return _Shown(status, name, (why,), _code(*commands))


def _asks(link: links.Link, name: str, asked: Question) -> _Shown:
    assert asked.attention is not None
    field = (
        '<input name="text" aria-label="Answer" autocomplete="off" required autofocus>' if link.act == ANSWER else ""
    )
    form = f'<form method="post">{field}<button>{html.escape(LABELS[link.act])}</button></form>'
    return _Shown(200, f"{name} {TOLD[asked.kind]}", (asked.attention.why,), form + _code(*asked.attention.to_paste))


def _code(*commands: str) -> str:
    return "".join(f"<p><code>{html.escape(command)}</code></p>" for command in commands)


def _page(shown: _Shown) -> str:
    lines = "".join(f"<p>{html.escape(line)}</p>" for line in shown.lines)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><meta name="robots" content="noindex">'
        f"<title>unhang</title><style>{_STYLE}</style><h1>{html.escape(shown.title)}</h1>{lines}{shown.below}</html>"
    )
