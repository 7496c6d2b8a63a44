"""A receiver of webhooks that answers as it is told, and the deliverers that run for a home."""

from __future__ import annotations

import json
import os
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.support.engine import wait_until

OK, FAIL, NEVER, SLOW = 200, 500, 0, -1


class Receiver:
    """Keeps every request. `answers`: the codes of the next answers, then 200; NEVER: no answer until it is closed.

    SLOW: 200, a byte of its head at a time, and the rest of it when `release` is called.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[int] = []
        self._closing = threading.Event()
        self._released = threading.Event()
        ours = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                answer = ours.answers.pop(0) if ours.answers else OK
                ours.requests.append(({k.lower(): v for k, v in self.headers.items()}, body))
                if answer == NEVER:
                    ours._closing.wait()
                    return
                if answer == SLOW:
                    for byte in b"HTTP/1.1":
                        self.wfile.write(bytes([byte]))
                        self.wfile.flush()
                    ours._released.wait()
                    self.wfile.write(b" 200 OK\r\nContent-Length: 0\r\n\r\n")
                    return
                self.send_response(answer)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self) -> None:
                self.do_POST()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/alerts"

    def values(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.requests]

    def kinds(self) -> list[list[str]]:
        """The kinds of alerts of each message."""
        return [[each["kind"] for each in value["alerts"]] for value in self.values()]

    def release(self) -> None:
        self._released.set()

    def close(self) -> None:
        self._closing.set()
        self._released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def deliverers(home: Path) -> list[int]:
    """The pids of those that deliver the alerts of a home."""
    mark, found = f"UNHANG_HOME={home}".encode(), []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
            if b"deliver" in words and mark in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                found.append(int(name))
        except OSError:
            continue
    return found


def end_deliverers(home: Path) -> None:
    """Whoever delivers the alerts of a home, and whoever sends for them."""

    def gone() -> bool:
        left = deliverers(home)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        return not left

    wait_until(gone, "the deliverer is gone")


def rules(url: str, *kinds: str, more: str = "") -> str:
    """An alerts.toml with one webhook."""
    return (
        f'[target.hook]\nkind = "webhook"\nurl = "{url}"\n{more}\n[[rule]]\non = {json.dumps(kinds)}\nto = ["hook"]\n'
    )
