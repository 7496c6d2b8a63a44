"""ntfy's own server: what its apps are given of an alert, that its buttons act, and how a refusal is named."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.alerts.test_targets import HOSTILE, message
from tests.support.jobs import STILL, Jobs, wait_until
from tests.support.ntfy import NtfyServer
from tests.support.web.server import WebServer
from unhang.alerts.targets import NotDelivered, send
from unhang.core import plain_text
from unhang.core.alerts.ledger import Delivery
from unhang.core.alerts.message import message_of
from unhang.core.alerts.occasions import AlertSubject, Occasion
from unhang.core.alerts.settings import Target

ASKS = (*STILL, "--stdin", "pipe", "--", "sh", "-c", 'printf "Name? "; read x; sleep 3600')


@pytest.fixture
def ntfy(tmp_path: Path) -> Iterator[NtfyServer]:
    folder = tmp_path / "ntfy"
    folder.mkdir()
    server = NtfyServer(folder)
    (tmp_path / "token").write_text(f"{server.token}\n")
    yield server
    server.close()


def test_a_prompt_arrives_with_buttons_and_the_one_that_acts_ends_the_job(
    jobs: Jobs, alerts: Path, ntfy: NtfyServer, tmp_path: Path
) -> None:
    web = WebServer(jobs)
    try:
        alerts.write_text(
            f'[target.phone]\nkind = "ntfy"\nurl = "{ntfy.url("mine")}"\ntoken_file = "{tmp_path}/token"\n'
            f'[[rule]]\non = ["needs_input"]\nto = ["phone"]\n[web]\nurl = "{web.origin}"\n'
        )
        job = jobs.begin("--name", "build", *ASKS)
        (told,) = wait_until(lambda: ntfy.messages("mine"), "the prompt is told")
        assert (told["title"], told["priority"], "attachment" in told) == ("build needs input", 4, False)
        assert told["message"].splitlines()[-1] == f"unhang send {job.id} ANSWER"
        shows, acts = told["actions"]
        assert (shows["action"], shows["label"]) == ("view", "Answer")
        assert (acts["action"], acts["label"], acts["method"], acts["clear"]) == ("http", "End it", "POST", True)
        with urllib.request.urlopen(urllib.request.Request(acts["url"], method="POST"), timeout=60) as answer:
            assert answer.status == 200
        assert job.wait().status == "cancelled"
    finally:
        web.end()


def test_any_name_and_any_length_is_shown_as_it_is(ntfy: NtfyServer, tmp_path: Path) -> None:
    phone = Target("p", "ntfy", {"url": ntfy.url("mine"), "token_file": str(tmp_path / "token")})
    hostile = message(plain_text.one_line(HOSTILE, 60))
    part = Occasion(
        AlertSubject("j1", "ü" * 60, "make " + "ü" * 9000), "failed", 1, 1.0, "", "ü" * 300, "unhang result j1"
    )
    for each in (hostile, message_of(Delivery("k", "p", (part,) * 20))):
        send(phone, each)
    first, second = ntfy.messages("mine")
    assert (first["title"], first["message"], "actions" in first) == (hostile.title, hostile.body, False)
    assert (second["title"].startswith("üü"), "attachment" in second) == (True, False)
    assert len(second["message"].encode()) > 3900


def test_a_server_that_refuses_is_not_asked_again(ntfy: NtfyServer) -> None:
    with pytest.raises(NotDelivered, match="403") as refused:
        send(Target("p", "ntfy", {"url": ntfy.url("mine")}), message())
    assert refused.value.for_good
    assert ntfy.messages("mine") == []
