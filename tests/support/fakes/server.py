"""What every fake model service stands on: an HTTP server on 127.0.0.1 that runs as long as a test uses it."""

from __future__ import annotations

import json
import select
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class Service:
    """Use it as a context. `stopping` is set when the test is over."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        self.stopping = threading.Event()
        self._http = Server(self, handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = True  # every connection is closed when a test ends
    request_queue_size = 64

    def __init__(self, service: Service, handler: type[BaseHTTPRequestHandler]) -> None:
        self.service = service
        super().__init__(("127.0.0.1", 0), handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away in the middle is what most tests are about."""


class Handler(BaseHTTPRequestHandler):
    """Answers whole as JSON, or as a stream of events."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""

    def begin(self) -> None:
        """The head of a stream of events."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True

    def event(self, kind: str, **fields: Any) -> None:
        data = json.dumps({"type": kind} | fields)
        self.wfile.write(f"event: {kind}\ndata: {data}\n\n".encode())
        self.wfile.flush()

    def plain(self, code: int, value: dict[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def hang(self) -> bool:
        """Until the client goes away, or the test ends; whether it was the client."""
        assert isinstance(self.server, Server)
        poll = select.poll()
        poll.register(self.connection, select.POLLIN | select.POLLHUP | select.POLLRDHUP)
        while not self.server.service.stopping.is_set():
            if poll.poll(50):
                return True
        return False
