"""The real `unhang web`, and requests to it that no browser would send."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from tests.support.jobs import Jobs


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class WebServer:
    """One `unhang web`. `get` and `post` are what its own page would send, unless told otherwise."""

    def __init__(self, jobs: Jobs, *words: str) -> None:
        self.process = jobs.popen("web", *words)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().decode().strip()
        assert self.address, self.process.stderr and self.process.stderr.read()
        parts = urlsplit(self.address)
        self.port = parts.port or 443
        self.token = parse_qs(parts.query)["token"][0]
        self.cookie = f"unhang_{self.port}={self.token}"
        self.origin = f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str | None) -> Answer:
        """A request with the headers of the page, some of them replaced (None: left out)."""
        given: dict[str, str | None] = {"Host": f"127.0.0.1:{self.port}", "Cookie": self.cookie}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str | None) -> Answer:
        return self.ask("GET", path, None, **headers)

    def post(self, path: str, asked: Any, **headers: str | None) -> Answer:
        given: dict[str, str | None] = {"Origin": self.origin, "Content_Type": "application/json"}
        return self.ask("POST", path, json.dumps(asked).encode(), **(given | headers))

    @contextmanager
    def stream(self, path: str, **headers: str) -> Iterator[EventSource]:
        source = EventSource(self, path, headers)
        try:
            yield source
        finally:
            source.close()

    def end(self) -> int:
        self.process.terminate()
        return self.process.wait(30)


class EventSource:
    """An event stream as a browser reads it."""

    def __init__(self, server: WebServer, path: str, headers: dict[str, str]) -> None:
        self._socket = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        head = {"Host": f"127.0.0.1:{server.port}", "Cookie": server.cookie} | headers
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items()), "", ""]
        self._socket.sendall("\r\n".join(lines).encode())
        self._file = self._socket.makefile("rb")
        self.status = int(self._file.readline().split()[1])
        while self._file.readline().strip():
            pass

    def messages(self) -> Iterator[tuple[str, str, Any]]:
        """(event, id, data) of each message but the beats."""
        name, number, data = "", "", b""
        for raw in self._lines():
            line = raw.rstrip(b"\r\n")
            field, _, value = line.partition(b": ")
            if field == b"event":
                name = value.decode()
            elif field == b"id":
                number = value.decode()
            elif field == b"data":
                data = value
            elif not line and data:
                if name != "beat":
                    yield name, number, json.loads(data)
                name, number, data = "", "", b""

    def _lines(self) -> Iterator[bytes]:
        """The lines of a body that comes in chunks."""
        rest = b""
        while size := int(self._file.readline().strip() or b"0", 16):
            rest += self._file.read(size)
            self._file.readline()
            *lines, rest = rest.split(b"\n")
            yield from lines

    def close(self) -> None:
        self._file.close()
        self._socket.close()
