"""The page with a thousand running jobs, against the same page with nothing and with one job: first paint, from an
event to the screen, the processor time of server and browser, the server's memory; and an output of 100 megabytes.

The jobs are planted records, each with a process of its own that answers as a keeper does and nothing else
(`keepers.py`), and their logs grow at twenty changes a second: what a page costs is measured, not what a thousand
keepers cost.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import keepers
from bench.measure import Row, quantile

COUNT = 1000
CHANGES = 20  # a second
SECONDS = 15
OUTPUT = 100_000_000
_PAINTS = 5
_WAIT = 120_000
# When what a page has to show is on the screen: two frames after it is in the document.
_PAINTED = """(wanted) => new Promise((done) => {
  const look = () => document.querySelector(wanted)
    ? requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))) : requestAnimationFrame(look);
  look(); })"""
# How long after it was written each change of the watched row is in a frame.
_LISTEN = """(id) => { window.seen = []; let last = ''; const told = document.querySelector(`#r-${id} .what`);
  new MutationObserver(() => { const text = told.textContent; if (!text.startsWith('at ') || text === last) return;
    last = text; requestAnimationFrame(() => window.seen.push(Date.now() - Number(text.slice(3)))); })
  .observe(told, {childList: true, characterData: true, subtree: true}); }"""


def web_page(home: str) -> list[Row]:
    """What the page costs with a thousand jobs, against none and one."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-headless-shell")
    if program is None:
        print("    chromium is not installed: the page is not measured", file=sys.stderr)
        return []
    found: dict[int, dict[str, float]] = {}
    with sync_playwright() as playwright:
        words = ["--no-sandbox"] if os.geteuid() == 0 else []
        for count in (0, 1, COUNT):
            state = Path(home) / f"web-{count}"
            with _keepers(state, count) as pids:
                logs = [_planted(state, number, pid) for number, pid in enumerate(pids)]
                browser = playwright.chromium.launch(executable_path=program, args=words, timeout=_WAIT)
                with _server(state) as (server, address):
                    found[count] = _measured(browser, server, address, logs)
                    if count == COUNT:
                        output = _large_output(browser, state, address, os.getpid())
                browser.close()
    none, one, many = found[0], found[1], found[COUNT]
    busy = f"{CHANGES} changes a second; against one job"
    nothing = "against a page that shows nothing"
    return [
        Row("web first paint, 1,000 jobs", many["paint"], none["paint"], 4, "ms", note=nothing),
        Row("web event to screen, p95", many["latency"], one["latency"], 3, "ms", note=busy),
        Row("web server CPU of an event", many["event"], one["event"], 3, "ms", note=busy),
        Row("web server CPU at rest", many["rest"], none["rest"], None, "ms/s", note=nothing),
        Row("web server memory", many["memory"], none["memory"], 3, "MiB", note=nothing),
        Row("web page CPU, changes", many["page busy"], one["page busy"], 5, "ms/s", note=busy),
        Row("web page CPU at rest", many["page rest"], none["page rest"], None, "ms/s", note=nothing),
        Row("web page CPU at rest, in all", many["page rest"], None, 100, "ms/s", note="of a second of one core"),
        Row("web opens 100 MB of output", output["large"], output["small"], 4, "ms", note="against 10 kB"),
        Row("web scrolls to its middle", output["scroll"], output["small"], 2, "ms", note="against opening 10 kB"),
    ]


def _measured(browser: Any, server: subprocess.Popen[str], address: str, logs: list[Path]) -> dict[str, float]:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(_WAIT)
    page.goto(address)
    wanted = ".row" if logs else ".empty:not([hidden])"
    page.wait_for_selector(wanted)
    paints = []
    for _ in range(_PAINTS):
        page.reload(wait_until="commit")
        paints.append(page.evaluate(_PAINTED, wanted))
    page.wait_for_timeout(4000)  # the rows below the first screen are made
    found = {"paint": statistics.median(paints), "latency": 0.0, "event": 0.0, "page busy": 0.0}
    rest = _Spent(server.pid)
    page.wait_for_timeout(SECONDS * 1000)
    found["rest"], found["page rest"] = rest.a_second()
    if logs:
        first = page.evaluate("document.querySelector('.row').id.slice(2)")
        page.evaluate(_LISTEN, first)
        busy = _Spent(server.pid)
        _grow(logs, str(first))
        spent, found["page busy"] = busy.a_second()
        found["event"] = spent / CHANGES
        page.wait_for_timeout(1000)
        found["latency"] = quantile(page.evaluate("window.seen"), 0.95)
    found["memory"] = int(Path(f"/proc/{server.pid}/statm").read_text().split()[1]) * resource.getpagesize() / (1 << 20)
    page.close()
    return found


class _Spent:
    """The processor time of the server, and of the browser, since this was made."""

    def __init__(self, server: int) -> None:
        self._server = server
        self._begun = time.perf_counter()
        self._before = _used(server), _browser()

    def a_second(self) -> tuple[float, float]:
        """Milliseconds of each, for each second that has passed."""
        passed = time.perf_counter() - self._begun
        before, pages = self._before
        spent = sum(used - pages.get(pid, 0.0) for pid, used in _browser().items())
        return 1000 * (_used(self._server) - before) / passed, 1000 * spent / passed


def _browser() -> dict[int, float]:
    """Seconds of processor time of each process below this one that belongs to a browser."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                parents[int(name)] = int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found: dict[int, float] = {}
    for pid in parents:
        above: int | None = pid
        while above is not None and above != os.getpid():
            above = parents.get(above)
        try:
            if above is not None and b"chrom" in Path(f"/proc/{pid}/cmdline").read_bytes().partition(b"\0")[0]:
                found[pid] = _used(pid)
        except OSError:
            continue
    return found


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


def _large_output(browser: Any, state: Path, address: str, keeper: int) -> dict[str, float]:
    """Open a job with a little output, and one with a hundred megabytes; then scroll to the middle of that."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(_WAIT)
    page.goto(address)
    page.wait_for_selector(".row")
    taken: dict[str, float] = {}
    for name, lines in (("small", 100), ("large", OUTPUT // 100)):
        job = _with_output(state, COUNT + lines, lines, keeper)
        begin = time.perf_counter()
        page.goto(f"{address.partition('/?')[0]}/jobs/{job}")
        page.wait_for_selector(f".line >> text={lines - 1:08d}")
        taken[name] = (time.perf_counter() - begin) * 1000
    begin = time.perf_counter()
    page.evaluate("const box = document.querySelector('.output'); box.scrollTop = box.scrollHeight / 2")
    page.wait_for_function(
        "() => { const row = document.querySelectorAll('.line')[20];"
        " const n = Number(row?.textContent.slice(0, 8)); return n > 4e5 && n < 6e5 }"
    )
    taken["scroll"] = (time.perf_counter() - begin) * 1000
    page.close()
    return taken


def _with_output(state: Path, number: int, lines: int, keeper: int) -> str:
    log = _planted(state, number, keeper, printed=100 * lines)
    line = b"%08d " + b"." * 90 + b"\n"
    with open(log.parent / "stdout", "wb") as file:
        for first in range(0, lines, 10_000):
            file.write(b"".join(line % each for each in range(first, min(lines, first + 10_000))))
    return log.parent.name


def _planted(state: Path, number: int, keeper: int, *, printed: int | None = None) -> Path:
    """A job directory with such a keeper; its log. `printed`: it has ended, and had printed so much."""
    from unhang.procs import clock, identity, vantage

    folder = keepers.job_folder(state, number)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for each in (state, state / "jobs"):
        each.chmod(0o700)
    kept = {"pid": keeper, "start": identity.start_time(keeper)} | vantage.record(vantage.here())
    record: dict[str, Any] = {
        "v": 1,
        "id": folder.name,
        "createdAt": clock.now(),
        "argv": ["worker", str(number)],
        "shell": None,
    }
    record |= {"cwd": "/srv", "labels": {}, "kind": "command", "keeper": kept, "stdin": "null", "pty": False}
    limits = {
        "idleMs": {"value": keepers.IDLE_MS, "source": "policy"},
        "hardMs": {"value": 6_000_000, "source": "policy"},
    }
    (folder / "job.json").write_text(json.dumps(record))
    log = folder / "events.ndjson"
    begun = {
        "v": 1,
        "type": "job/started",
        "phase": "running",
        "message": "started",
        "pid": keeper,
        "limits": limits,
    }
    lines = [_line(1, begun)]
    if printed is not None:
        end = {
            "type": "job/exited",
            "phase": "completed",
            "message": "exited with 0",
            "status": "success",
            "exitCode": 0,
        }
        lines.append(_line(2, end | {"durationMs": 1000, "bytes": {"stdout": printed, "stderr": 0}}))
    log.write_text("".join(lines))
    return log


def _line(seq: int, event: dict[str, Any]) -> str:
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps({"seq": seq, "ts": now} | event) + "\n"


@contextmanager
def _keepers(state: Path, count: int) -> Iterator[list[int]]:
    """The pids of the keepers of that many jobs."""
    command = [sys.executable, "-SE", keepers.__file__, str(state), str(count)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        yield [int(line) for line in program.stdout]  # it ends when its stdin is closed


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
