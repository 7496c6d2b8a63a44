"""Makes the pictures of the page in docs/pictures, from real jobs in a home of their own, in Debian's Chromium.

    python scripts/web_pictures.py [FOLDER]

Every view in light, dark and at the width of a phone. Look at them before you commit them.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from unhang.procs import clock, identity
from unhang.store.session_log import SessionLog

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 120_000
LOOKS = {
    "light": {"viewport": {"width": 1280, "height": 720}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 720}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light", "is_mobile": True},
}
# Stand-ins for what a newcomer's machine would run: a prompt, a build, a test that fails.
PROGRAMS = {
    "npm": "printf 'This utility will walk you through creating a package.json.\\n\\npackage name: (web) '; read x",
    "make": """i=0
while :; do
  i=$((i+1)); printf '\\033[32mCXX\\033[0m obj/parser_%03d.o\\n' $i
  [ $((i % 9)) = 0 ] && printf 'src/lexer.cc:%d:14: \\033[1;35mwarning:\\033[0m unused \\033[1mtok\\033[0m\\n' $i
  [ $((i % 40)) = 0 ] && sleep 2; sleep .12
done""",
    "pytest": "printf '....\\033[31mF\\033[0m...\\n\\033[31m1 failed\\033[0m, 7 passed in 0.31s\\n'; exit 1",
    "lint": "sleep .$1; echo clean",
}
# What a watcher saved of a session's terminal.
SCREEN = """\
● Bash(npm test -- --watch=false)
  └  Running… (8m 12s · timeout 10m)

✻ Working… (8m 14s · esc to interrupt)

╭──────────────────────────────────────────────────────────────╮
│ > then fix the login test                                    │
╰──────────────────────────────────────────────────────────────╯
"""


class Scene:
    """A home with jobs that do what jobs do."""

    def __init__(self, folder: Path) -> None:
        self.home, self.work, programs = folder / "home", folder / "web", folder / "bin"
        for each in (self.home, self.work, programs):
            each.mkdir(mode=0o700)
        for name, text in PROGRAMS.items():
            program = programs / name
            program.write_text(f"#!/bin/sh\n{text}\n")
            program.chmod(0o755)
        path = f"{programs}:{os.environ['PATH']}"
        self.env = os.environ | {"UNHANG_HOME": str(self.home), "PATH": path, "PYTHONPATH": str(ROOT / "src")}
        self.silent = socket.create_server(("127.0.0.1", 0))

    def unhang(self, *words: str) -> str:
        command = [sys.executable, "-m", "unhang", *words]
        done = subprocess.run(command, env=self.env, cwd=self.work, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def begin(self) -> dict[str, str]:
        address = f"http://127.0.0.1:{self.silent.getsockname()[1]}/v1/packages"
        for number in range(12):
            self.unhang("run", "--idle", "20s", "--", "lint", str(1 + number % 4))
        jobs = {"make": self.unhang("start", "--hard", "40m", "--idle", "10m", "--", "make", "-j8")}
        stuck = ("--stall", "3s", "--idle", "5m", "--warn", "10s", "--hard", "30m")
        jobs["curl"] = self.unhang("start", *stuck, "--", "curl", "-s", address)
        jobs["vite"] = self.unhang("start", "--name", "web", "--idle", "off", "--", "python3", "-m", "http.server", "0")
        jobs["pytest"] = self.unhang("start", "--label", "suite=unit", "--", "pytest", "-q")
        self.unhang("start", "--", "lint", "2")
        self.session()
        jobs["npm"] = self.unhang("start", "--stdin", "pipe", "--idle", "10m", "--", "npm", "init")
        return jobs

    def session(self) -> None:
        log = SessionLog("4f1c0f2e-9d1b-4c0e-8a55-2b6f0f6f9a10", str(self.home))
        me = {"type": "hook", "pid": os.getpid(), "procStart": identity.start_time(os.getpid()), "cwd": "/srv/login"}
        log.append(me | {"phase": "prompted", "message": "a prompt"})
        log.append(me | {"phase": "tool", "toolUseId": "t1", "message": "Bash: npm test -- --watch=false"})
        log.append({"type": "watch", "phase": "warning", "message": "Bash has run for 8m of 10m"})
        log.append({"type": "watch", "phase": "extended", "message": "its processes work: left alone"})
        saved = {"ts": clock.now(), "screen": SCREEN, "draft": "then fix the login test"}
        (self.home / "sessions" / log.session_id / "saved-2026-01-01T000000Z.json").write_text(json.dumps(saved))
        log.append(me | {"phase": "tool_done", "toolUseId": "t1", "message": "Bash: done"})
        log.append(me | {"phase": "tool", "toolUseId": "t2", "message": "Bash: rm -rf build"})
        log.append(me | {"phase": "waiting", "message": "Bash: rm -rf build", "pane": "%3"})


def pictures(browser: Browser, address: str, jobs: dict[str, str], folder: Path) -> None:
    origin = address.partition("/?")[0]

    def now(page: Page) -> None:
        page.wait_for_selector(f"#r-{jobs['npm']} input")
        page.wait_for_selector(f"#r-{jobs['make']} .memory:not(:empty)", state="attached")
        page.wait_for_selector(f"#r-{jobs['make']} .cpu:not(:empty)", state="attached")

    def job(page: Page) -> None:
        page.wait_for_selector(".density")
        page.wait_for_selector(".line >> text=CXX")

    def stuck(page: Page) -> None:
        page.wait_for_selector(".events li")
        page.click("button >> text=Look now")
        page.wait_for_selector(".tree table")

    def runs(page: Page) -> None:
        page.click(".history .command >> text=lint")
        page.wait_for_selector(".spread circle")

    views: dict[str, tuple[str, Callable[[Page], object]]] = {
        "now": ("/", now),
        "job": (f"/jobs/{jobs['make']}", job),
        "stuck": (f"/jobs/{jobs['curl']}", stuck),
        "history": ("/history", runs),
        "session": ("/sessions/4f1c0f2e-9d1b-4c0e-8a55-2b6f0f6f9a10", lambda page: page.wait_for_selector(".calls li")),
    }
    for look, given in LOOKS.items():
        context = browser.new_context(device_scale_factor=1.5 if look == "phone" else 1, **given)  # type: ignore[arg-type]
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(address)
        page.wait_for_selector(".row")
        for name, (path, ready) in views.items():
            page.goto(origin + path)
            ready(page)
            page.evaluate("window.scrollTo(0, 0)")
            page.wait_for_timeout(800)
            page.screenshot(path=folder / f"web-{name}-{look}.png", full_page=name != "now" and look != "phone")
        context.close()


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures"
    program = shutil.which("chromium") or shutil.which("chromium-headless-shell")
    if program is None:
        print("chromium is needed (Debian's package chromium)", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="demo-") as made:
        scene = Scene(Path(made))
        jobs = scene.begin()
        server = subprocess.Popen(
            [sys.executable, "-m", "unhang", "web"], env=scene.env, stdout=subprocess.PIPE, text=True, cwd=scene.work
        )
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            time.sleep(12)  # so that the pictures have something to show
            with sync_playwright() as playwright:
                words = ["--no-sandbox"] if os.geteuid() == 0 else []
                browser = playwright.chromium.launch(executable_path=program, args=words, timeout=PATIENCE)
                pictures(browser, address, jobs, folder)
                browser.close()
        finally:
            server.terminate()
            server.wait()
            for job in jobs.values():
                subprocess.run(
                    [sys.executable, "-m", "unhang", "cancel", job], env=scene.env, capture_output=True, check=False
                )
            scene.silent.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
