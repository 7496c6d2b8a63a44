"""What watching 200 sessions costs: real processes in a real tmux, with real status files, hooks and transcripts.

Half of the sessions are busy: each of them ends a tool call and begins the next every five seconds, and a turn every
minute. That is some forty hooks a second for the whole machine, which is more than most of them have.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.measure import Row
from unhang.procs.identity import start_time
from unhang.store.session_log import SessionLog

SESSIONS = 200
SETTLE, SECONDS = 10.0, 40.0
TOOL_EVERY, TOOLS_A_TURN = 5.0, 12


class Fake:
    """One session: a process in a pane, and the files that Claude Code and its hooks would write."""

    def __init__(self, pid: int, number: int, place: Path) -> None:
        self.pid = pid
        self.id = f"{number:08d}-0000-4000-8000-000000000000"
        self.start = start_time(pid) or "0"
        self.config = place / "config"
        self.transcript = place / "transcripts" / f"{self.id}.jsonl"
        self.log = SessionLog(self.id, str(place / "home"))
        self.born = time.time()
        self.calls = 0
        self.status("idle")

    def status(self, status: str) -> None:
        stamp = round(time.time() * 1000)
        value = {
            "pid": self.pid,
            "sessionId": self.id,
            "cwd": "/",
            "startedAt": round(self.born * 1000),
            "procStart": self.start,
            "kind": "interactive",
            "entrypoint": "cli",
            "status": status,
            "updatedAt": stamp,
            "statusUpdatedAt": stamp,
        }
        (self.config / "sessions" / f"{self.pid}.json").write_text(json.dumps(value))

    def hook(self, method: str, **more: Any) -> None:
        self.log.append(
            {
                "type": "hook",
                "phase": "tool",
                "message": method,
                "method": method,
                "sessionId": self.id,
                "pid": self.pid,
                "procStart": self.start,
                "cwd": "/",
                "transcriptPath": str(self.transcript),
                "attended": True,
            }
            | more
        )

    def write(self, lines: int) -> None:
        with self.transcript.open("a") as file:
            for _ in range(lines):
                file.write(json.dumps({"type": "assistant", "message": {"content": "x" * 400}}) + "\n")

    def work(self) -> None:
        """One tool call ends, the next begins; now and then a turn."""
        if self.calls % TOOLS_A_TURN == 0:
            if self.calls:
                self.hook("Stop", backgroundTasks=[])
                self.status("idle")
            self.hook("UserPromptSubmit")
            self.status("busy")
        else:
            self.hook("PostToolUse", toolName="Bash", toolUseId=f"toolu_{self.calls}")
        self.calls += 1
        self.write(3)
        self.hook("PreToolUse", toolName="Bash", toolUseId=f"toolu_{self.calls}", toolInput={"command": "make test"})


def _panes(socket: Path, count: int) -> list[int]:
    def tmux(*words: str) -> str:
        return subprocess.run(["tmux", "-S", str(socket), *words], check=True, capture_output=True, text=True).stdout

    tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "sleep 3600")
    for _ in range(count - 1):
        tmux("new-window", "-d", "sleep 3600")
    return [int(line) for line in tmux("list-panes", "-a", "-F", "#{pane_pid}").split()]


def _feed(fakes: list[Fake], seconds: float) -> None:
    """At its rate, evenly spread."""
    began = time.monotonic()
    done = 0
    while (passed := time.monotonic() - began) < seconds:
        wanted = int(passed / TOOL_EVERY * len(fakes))
        while done < wanted:
            fakes[done % len(fakes)].work()
            done += 1
        time.sleep(0.005)


def _cpu(pid: int) -> float:
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _peak(pid: int) -> float:
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024


def watch_200(_home: str) -> list[Row]:
    if shutil.which("tmux") is None:
        print("no tmux: the watcher is not measured", file=sys.stderr)
        return []
    with tempfile.TemporaryDirectory(prefix="unhang-watch-") as folder:
        place = Path(folder)
        for name in ("config/sessions", "transcripts", "user"):
            (place / name).mkdir(parents=True)
        env = os.environ | {"UNHANG_HOME": str(place / "home"), "HOME": str(place / "user")}
        env |= {"CLAUDE_CONFIG_DIR": str(place / "config")}
        try:
            fakes = [Fake(pid, n, place) for n, pid in enumerate(_panes(place / "sock", SESSIONS))]
            command = [sys.executable, "-m", "unhang", "watch", "--json"]
            with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as watcher:
                try:
                    assert watcher.stdout is not None
                    found = 0
                    while found < SESSIONS:
                        found += json.loads(watcher.stdout.readline())["phase"] == "found"
                    busy = fakes[: SESSIONS // 2]
                    _feed(busy, SETTLE)
                    before, at = _cpu(watcher.pid), time.monotonic()
                    _feed(busy, SECONDS)
                    share = 100 * (_cpu(watcher.pid) - before) / (time.monotonic() - at)
                    peak = _peak(watcher.pid)
                finally:
                    watcher.terminate()
        finally:
            subprocess.run(["tmux", "-S", str(place / "sock"), "kill-server"], check=False, capture_output=True)
    rate = 2 * len(busy) / TOOL_EVERY
    note = f"{SESSIONS} sessions, half of them busy: {rate:.0f} hooks a second"
    return [
        Row("CPU of a watcher of 200 sessions", share, None, 2.0, "%", note=note),
        Row("its peak of resident memory", peak, None, 80.0, "MiB", note=note),
    ]
