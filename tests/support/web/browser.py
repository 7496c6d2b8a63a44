"""A real Chromium (Debian's), driven by Playwright; what a person would not see but must not happen is noted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request, sync_playwright

from tests.support.programs import unavailable

PATIENCE = 60_000  # milliseconds; this machine may be busy with everything else


class Watched:
    """A page, what its console said, and which requests left its origin."""

    def __init__(self, page: Page, origin: str) -> None:
        self.page = page
        self.origin = origin
        self.problems: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("console", self._said)
        page.on("pageerror", self._failed)
        page.on("request", self._asked)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"console: {message.text}")

    def _failed(self, error: Error) -> None:
        self.problems.append(f"script: {error}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith(self.origin + "/"):
            self.problems.append(f"request: {request.url}")


@contextmanager
def chromium(*more: str) -> Iterator[Browser]:
    """The system's Chromium, with more words for its command line.

    The test is skipped loudly where there is none, and fails where CI=true.
    """
    path = shutil.which("chromium") or shutil.which("chromium-headless-shell")
    if path is None:
        unavailable("NOT TESTED: chromium is not installed (Debian's package chromium)")
    # root has no sandbox; /dev/shm of a container is too small for a browser
    words = [*more, "--disable-dev-shm-usage", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=words, timeout=PATIENCE)
        try:
            yield browser
        finally:
            browser.close()
