"""The bars of real programs that download something: at half of it and at the end they look as without unhang."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import shlex
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.support import programs
from tests.support.desk import PATIENCE, Desk
from tests.support.engine import wait_until

WHEEL = "/thing-1.0-py3-none-any.whl"
TARBALL = "/thing/-/thing-1.0.0.tgz"
# more than any program reads at once, and nothing that compresses
CONTENT = b"".join(hashlib.sha512(bytes([n % 256, n // 256])).digest() for n in range(16384))


def _wheel() -> bytes:
    about = "thing-1.0.dist-info"
    files = {
        "thing.bin": CONTENT,
        f"{about}/METADATA": b"Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n",
        f"{about}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{about}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{about}/RECORD"]).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def _tarball() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in {"package.json": b'{"name": "thing", "version": "1.0.0"}', "thing.bin": CONTENT}.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


class Shop:
    """An index for pip and npm on loopback that sends half of a package, and the rest when it is told to."""

    def __init__(self) -> None:
        self.rest = threading.Event()
        self._packages = {WHEEL: _wheel(), TARBALL: _tarball()}
        shop = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                shop._answer(self)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        package = self._packages.get(request.path)
        body = package or json.dumps(self._about()).encode()
        request.send_response(200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        half = len(body) // 2 if package else len(body)
        request.wfile.write(body[:half])
        if package:
            request.wfile.flush()
            self.rest.wait()
            request.wfile.write(body[half:])

    def _about(self) -> dict[str, object]:
        sum512 = base64.b64encode(hashlib.sha512(self._packages[TARBALL]).digest()).decode()
        dist = {"tarball": self.address + TARBALL, "integrity": f"sha512-{sum512}"}
        only = {"name": "thing", "version": "1.0.0", "dist": dist}
        return {"name": "thing", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": only}}

    @contextmanager
    def open(self) -> Iterator[Shop]:
        serving = threading.Thread(target=self._server.serve_forever)
        serving.start()
        try:
            yield self
        finally:
            self.rest.set()
            self._server.shutdown()
            serving.join()
            self._server.server_close()


def _pip(shop: Shop) -> list[str]:
    options = ["--isolated", "--disable-pip-version-check", "--no-cache-dir", "--no-deps"]
    return [sys.executable, "-m", "pip", "download", *options, "-d", "got", shop.address + WHEEL]


def _npm(shop: Shop) -> list[str]:
    options = ["--no-audit", "--no-fund", "--no-update-notifier", "--no-save", "--prefer-online", "--cache=cache"]
    return ["npm", "install", *options, f"--registry={shop.address}", "thing"]


def _curl(shop: Shop) -> list[str]:
    return ["curl", "-#", "-o", "got.whl", shop.address + WHEEL]


# How to start; what is on the screen at half; what is there at the end; what has to be gone before it is done again.
PROGRAMS: dict[str, tuple[Callable[[Shop], list[str]], str, str, str]] = {
    "pip": (_pip, r"━ 0\.5/1\.0 ", r"^Successfully downloaded", "got"),
    "npm": (_npm, r"^[⠀-⣿]", r"^added 1 package", "node_modules cache"),
    "curl": (_curl, r"^#+ +50\.0%", r"^#+ 100\.0%", "got.whl"),
}


def _screen(desk: Desk) -> str:
    """What it shows, with its colours, without what depends on the time: how fast, how long, the turn of a spinner.

    pip gives its bar what room its numbers leave, so its length says how many digits they have.
    """
    shown = desk.screen(colours=True)
    shown = re.sub(r"(\x1b\[[\d;]*m)|\d[\d.:]*( ?(ms|s|[kMG]?B/s)\b)?", lambda found: found[1] or "#", shown)
    shown = re.sub(r"[kMG]?B/s\b", "B/s", shown)
    return re.sub(r"([ ━])\1+", r"\1", re.sub(r"[⠀-⣿]", "⠿", shown))


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_download_looks_the_same(desk_of: Callable[..., Desk], program: str, columns: int) -> None:
    if program != "pip":
        programs.need_command(program)
    begin, half, end, made = PROGRAMS[program]
    desk = desk_of(columns=columns)
    desk.enter("export no_proxy=127.0.0.1; unset CI")  # npm draws nothing where it is set
    shown: list[list[str]] = []

    def sees(pattern: str, like: str | None) -> str:
        """Wait for what the program shows; `like`: and until it is this."""

        def seen() -> str:
            if re.search(pattern, desk.screen(), re.MULTILINE) is None:
                return ""
            found = _screen(desk)
            return found if like in (None, found) else ""

        try:
            return str(wait_until(seen, f"{pattern!r} as without unhang", PATIENCE))
        except TimeoutError as error:
            raise TimeoutError(f"{error}:\n{like}\nis now\n{_screen(desk)}") from None

    for before in ([], ["unhang", "run", "--"]):
        shop = Shop()
        with shop.open():
            desk.clear()
            desk.enter(f"rm -rf {made}; clear; {shlex.join([*before, *begin(shop)])}; echo do''ne")
            without = shown[0] if shown else [None, None]
            # the rest is not sent before, so that neither moves on
            first = sees(half, without[0])
            shop.rest.set()
            sees(r"^done$", None)
            desk.is_back()
            shown.append([first, sees(end, without[1])])
    assert shown[0] == shown[1]
