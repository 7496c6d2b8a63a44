"""ntfy's own server, and the contract of it for a message that is published, as its documentation says."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import urllib.request
from email.header import decode_header, make_header
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.support.alerts import Receiver
from tests.support.engine import wait_until
from tests.support.places import ROOT

_PROGRAM = ROOT / ".cache" / "ntfy" / "ntfy"
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


class NtfyServer:
    """The real one, at a port of its own. Who publishes needs the token; everyone may read a topic."""

    def __init__(self, folder: Path) -> None:
        if not _PROGRAM.exists():  # no failure in CI: it is of another release, and the contract is tested beside it
            pytest.skip("NOT TESTED: ntfy's server is not there; scripts/test-programs fetches it from Debian 13")
        self._folder = folder
        self._env = {"NTFY_CONFIG_FILE": str(folder / "server.yml"), "NTFY_PASSWORD": "secret"}
        self._base = ""
        wait_until(self._starts, "ntfy's server answers at a port that was free", 60)
        self._call("user", "add", "--role=admin", "ada")
        self.token = re.findall("tk_[a-z0-9]+", self._call("token", "add", "ada"))[0]

    def _starts(self) -> bool:
        with socket.socket() as line:
            line.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{line.getsockname()[1]}"
        self._base = f"http://{address}"
        files = f"auth-file: {self._folder}/auth.db\ncache-file: {self._folder}/cache.db\n"
        access = "auth-default-access: read-only\nweb-root: disable\nvisitor-request-limit-exempt-hosts: 127.0.0.1\n"
        Path(self._env["NTFY_CONFIG_FILE"]).write_text(
            f"base-url: {self._base}\nlisten-http: {address}\n{files}{access}"
        )
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen([str(_PROGRAM), "serve"], env=self._env, stdout=log, stderr=log)
        return (
            bool(wait_until(self._answers, "ntfy's server answers, or has ended", 60)) and self._process.poll() is None
        )

    def _answers(self) -> bool:
        if self._process.poll() is not None:
            return True  # another process has taken the port
        try:
            with urllib.request.urlopen(f"{self._base}/v1/health", timeout=30) as answer:
                return bool(json.load(answer)["healthy"])
        except (OSError, ValueError):
            return False

    def _call(self, *words: str) -> str:
        done = subprocess.run([str(_PROGRAM), *words], env=self._env, check=True, capture_output=True, text=True)
        return done.stdout + done.stderr

    def url(self, topic: str) -> str:
        return f"{self._base}/{topic}"

    def messages(self, topic: str) -> list[dict[str, Any]]:
        """What an app that polls the topic is given."""
        with urllib.request.urlopen(f"{self.url(topic)}/json?poll=1", timeout=60) as answer:
            return [json.loads(line) for line in answer.read().splitlines()]

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(60)


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
