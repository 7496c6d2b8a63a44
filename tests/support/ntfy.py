"""The contract of ntfy's server for a message that is published, as its documentation says; it refuses all else.

No registry that tests may use has the server itself.
"""

from __future__ import annotations

import re
from email.header import decode_header, make_header
from typing import NamedTuple
from urllib.parse import urlsplit

from tests.support.alerts import Receiver

_TOPIC = re.compile("/[-_A-Za-z0-9]{1,64}")
_PRIORITIES = {"min", "low", "default", "high", "max", "urgent", "1", "2", "3", "4", "5"}
_OURS = {"title", "priority", "tags", "actions", "authorization", "x-unhang-key"}
_TRANSPORT = {"host", "connection", "accept-encoding", "content-length", "content-type", "user-agent"}
_OPTIONS = {"view": {"clear"}, "http": {"method", "clear", "body"}, "broadcast": {"intent", "clear"}}


class Action(NamedTuple):
    kind: str
    label: str
    url: str
    options: dict[str, str]


class Published(NamedTuple):
    """One message as ntfy's apps show it."""

    title: str
    priority: str
    text: str
    actions: list[Action]
    token: str


def published(receiver: Receiver, number: int = 0) -> Published:
    """What the server makes of a request. AssertionError: it would have refused it, or shown another thing."""
    headers, body = receiver.requests[number]
    assert _TOPIC.fullmatch(urlsplit(receiver.url).path)
    assert not set(headers) - _OURS - _TRANSPORT, "an option that the documentation does not have"
    assert headers.get("priority", "default") in _PRIORITIES
    assert len(body) <= 4096, "a longer one is shown as a file that is attached"
    for value in headers.values():
        assert value.isascii(), "only RFC 2047 is read alike by all servers and proxies"
        assert value.isprintable()
    return Published(
        str(make_header(decode_header(headers["title"]))),
        headers["priority"],
        body.decode(),
        [_action(each) for each in headers["actions"].split(";")] if "actions" in headers else [],
        headers.get("authorization", "").removeprefix("Bearer "),
    )


def _action(text: str) -> Action:
    """The short form: `action, label, url, name=value, …`; what has a comma in it would have to be quoted."""
    kind, label, url, *rest = (part.strip() for part in text.split(","))
    options = dict(part.split("=", 1) for part in rest)
    assert not set(options) - _OPTIONS[kind]
    assert options.get("method", "POST") in {"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD"}
    assert options.get("clear", "false") in {"true", "false"}
    assert label
    assert urlsplit(url).scheme in {"http", "https"}
    return Action(kind, label, url, options)
