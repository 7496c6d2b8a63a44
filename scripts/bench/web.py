"""The page with a thousand running jobs: first paint, from an event to the screen, the server, a large output.

The jobs are planted records whose keeper is this process, and their logs grow at twenty changes a second: what a page
costs is measured, not what a thousand keepers cost. The reference of each is the same with nothing to show.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.measure import Row, quantile

COUNT = 1000
CHANGES = 20  # a second
SECONDS = 20
OUTPUT = 100_000_000
_WAIT = 120_000


def web_page(home: str) -> list[Row]:
    """First paint, update latency, the server's CPU and memory, with 1,000 jobs and with none."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-headless-shell")
    if program is None:
        print("    chromium is not installed: the page is not measured", file=sys.stderr)
        return []
    found: dict[str, dict[str, float]] = {}
    with sync_playwright() as playwright:
        words = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=program, args=words, timeout=_WAIT)
        for name, count in (("nothing", 0), ("thousand", COUNT)):
            state = Path(home) / f"web-{name}"
            logs = [_planted(state, number) for number in range(count)]
            with _server(state) as (server, address):
                found[name] = _measured(browser, server, address, logs)
                if count:
                    found["output"] = _large_output(browser, state, address)
        browser.close()
    many, none = found["thousand"], found["nothing"]
    return [
        Row(
            "web first paint, 1,000 jobs",
            many["paint"],
            none["paint"],
            None,
            "ms",
            note="against a page that shows nothing",
        ),
        Row("web event to screen, p95", many["latency"], None, 1000, "ms", note=f"{CHANGES} changes a second"),
        Row("web server CPU", many["cpu"], none["cpu"] or None, None, "% of a core"),
        Row("web server memory", many["memory"], none["memory"], 3, "MiB"),
        Row("web opens 100 MB of output", found["output"]["open"], None, 1000, "ms"),
        Row("web scrolls to its middle", found["output"]["scroll"], None, 1000, "ms"),
    ]


def _measured(browser: Any, server: subprocess.Popen[str], address: str, logs: list[Path]) -> dict[str, float]:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(_WAIT)
    page.goto(address)
    page.wait_for_selector(".row" if logs else ".empty:not([hidden])")
    begin = time.perf_counter()
    page.reload()
    page.wait_for_selector(".row" if logs else ".empty:not([hidden])")
    paint = (time.perf_counter() - begin) * 1000
    page.wait_for_timeout(3000)
    page.evaluate(
        """() => { window.seen = []; const row = document.querySelector('.row'); if (!row) return;
        new MutationObserver(() => { const told = row.querySelector('.what').textContent;
          if (told.startsWith('at ')) window.seen.push(Date.now() - Number(told.slice(3))); })
        .observe(row, {subtree: true, childList: true, characterData: true}); }"""
    )
    first = page.evaluate("document.querySelector('.row')?.id.slice(2)") if logs else None
    before = _used(server.pid)
    begin = time.perf_counter()
    if logs:
        _grow(logs, str(first))
    else:
        time.sleep(SECONDS / 2)
    passed = time.perf_counter() - begin
    after = _used(server.pid)
    page.wait_for_timeout(1000)
    seen = page.evaluate("window.seen")
    memory = int(Path(f"/proc/{server.pid}/statm").read_text().split()[1]) * resource.getpagesize() / (1 << 20)
    page.close()
    return {
        "paint": paint,
        "latency": quantile(seen, 0.95) if seen else 0.0,
        "cpu": 100 * (after - before) / passed,
        "memory": memory,
    }


def _grow(logs: list[Path], watched: str) -> None:
    """Twenty heartbeats a second; every tenth is the watched job's, and says when it was written."""
    numbers = dict.fromkeys(logs, 2)
    target = next(log for log in logs if log.parent.name == watched)
    for change in range(CHANGES * SECONDS):
        log = target if change % 10 == 0 else logs[change % len(logs)]
        text = f"at {round(time.time() * 1000)}"
        with open(log, "a", encoding="utf-8") as file:
            file.write(_line(numbers[log], {"type": "heartbeat", "phase": "running", "message": text, "status": text}))
        numbers[log] += 1
        time.sleep(1 / CHANGES)


def _large_output(browser: Any, state: Path, address: str) -> dict[str, float]:
    log = _planted(state, COUNT + 1, ended=True)
    line = b"%08d " + b"." * 90 + b"\n"
    with open(log.parent / "stdout", "wb") as file:
        for first in range(0, OUTPUT // 100, 10_000):
            file.write(b"".join(line % number for number in range(first, first + 10_000)))
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(_WAIT)
    page.goto(address)
    page.wait_for_selector(".row")
    begin = time.perf_counter()
    page.goto(f"{address.partition('/?')[0]}/jobs/{log.parent.name}")
    page.wait_for_selector(f".line >> text={OUTPUT // 100 - 1:08d}")
    opened = time.perf_counter()
    page.evaluate("const box = document.querySelector('.output'); box.scrollTop = box.scrollHeight / 2")
    page.wait_for_function(
        "() => { const row = document.querySelectorAll('.line')[20];"
        " const n = Number(row?.textContent.slice(0, 8)); return n > 4e5 && n < 6e5 }"
    )
    scrolled = time.perf_counter()
    page.close()
    return {"open": (opened - begin) * 1000, "scroll": (scrolled - opened) * 1000}


def _planted(state: Path, number: int, *, ended: bool = False) -> Path:
    """A job directory whose keeper is this process; its log."""
    from unhang.procs import clock, identity, vantage

    job = f"{number:010d}"
    folder = state / "jobs" / job
    folder.mkdir(mode=0o700, parents=True)
    for each in (state, state / "jobs"):
        each.chmod(0o700)
    me = {"pid": os.getpid(), "start": identity.start_time(os.getpid())} | vantage.record(vantage.here())
    record: dict[str, Any] = {
        "v": 1,
        "id": job,
        "createdAt": clock.now(),
        "argv": ["worker", str(number)],
        "shell": None,
    }
    record |= {"cwd": "/srv", "labels": {}, "kind": "command", "keeper": me, "stdin": "null", "pty": False}
    limits = {"idleMs": {"value": 600_000, "source": "policy"}, "hardMs": {"value": 6_000_000, "source": "policy"}}
    (folder / "job.json").write_text(json.dumps(record))
    log = folder / "events.ndjson"
    begun = {
        "v": 1,
        "type": "job/started",
        "phase": "running",
        "message": "started",
        "pid": os.getpid(),
        "limits": limits,
    }
    lines = [_line(1, begun)]
    if ended:
        end = {
            "type": "job/exited",
            "phase": "completed",
            "message": "exited with 0",
            "status": "success",
            "exitCode": 0,
        }
        lines.append(_line(2, end | {"durationMs": 1000, "bytes": {"stdout": OUTPUT, "stderr": 0}}))
    log.write_text("".join(lines))
    return log


def _line(seq: int, event: dict[str, Any]) -> str:
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps({"seq": seq, "ts": now} | event) + "\n"


@contextmanager
def _server(state: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    state.mkdir(mode=0o700, exist_ok=True)
    command = [sys.executable, "-m", "unhang", "web"]
    server = subprocess.Popen(command, env=os.environ | {"UNHANG_HOME": str(state)}, stdout=subprocess.PIPE, text=True)
    guard = threading.Timer(600, server.kill)
    guard.start()
    try:
        assert server.stdout is not None
        yield server, server.stdout.readline().strip()
    finally:
        guard.cancel()
        server.terminate()
        server.wait()


def _used(pid: int) -> float:
    """Seconds of processor time."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
