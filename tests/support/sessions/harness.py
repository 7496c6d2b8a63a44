"""A place of its own for every test: home, config dir, tmux servers, stand-ins in their panes, a watcher."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.support import programs
from tests.support.engine import wait_until
from unhang.store.session_log import SessionLog
from unhang.testing.liveness import Process

STANDIN = Path(__file__).with_name("standin.py")
PATIENCE = 60.0
# The limits of these tests: a tool call is over after a second.
QUICK = ("--limit", "*=1", "--api", "1h", "--cooldown", "0.5", "--verify", "2", "--hands-off", "0.2")


def need_tmux() -> None:
    programs.need_command("tmux")


class Place:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "state"
        self.config = folder / "config"
        (self.config / "sessions").mkdir(parents=True)
        # a socket's path may have a hundred letters, and pytest's are longer
        self._sockets = tempfile.TemporaryDirectory(prefix="uw-")
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(("UNHANG_", "TMUX"))}
        self.env |= {"HOME": str(folder / "user"), "UNHANG_HOME": str(self.home), "CLAUDE_CONFIG_DIR": str(self.config)}
        (folder / "user").mkdir()
        self._servers: dict[str, Path] = {}
        self._watchers: list[Watcher] = []
        self._left: list[Process] = []  # whoever must be gone at the end
        self._count = 0

    # --- tmux -------------------------------------------------------------------------------------------------

    def socket(self, server: str = "a") -> Path:
        return self._servers.setdefault(server, Path(self._sockets.name) / server)

    def tmux(self, *words: str, server: str = "a") -> str:
        command = ["tmux", "-S", str(self.socket(server)), "-f", "/dev/null", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=self.env).stdout.strip()

    def pane(self, command: str, server: str = "a", beside: str = "") -> str:
        """Its id. `beside`: in the window of this pane."""
        words = ["-d", "-P", "-F", "#{pane_id}", "-x", "80", "-y", "24"]
        if not self.socket(server).exists():
            pane = self.tmux("new-session", *words, command, server=server)
            self._left.append(Process(self.server_pid(server), "tmux"))
            return pane
        new = ("split-window", "-t", beside) if beside else ("new-window",)
        return self.tmux(*new, *words[:4], command, server=server)

    def server_pid(self, server: str = "a") -> int:
        return int(self.tmux("display-message", "-p", "#{pid}", server=server))

    # --- sessions ---------------------------------------------------------------------------------------------

    def standin(self, *words: str, server: str = "a", before: str = "exec ", beside: str = "") -> Standin:
        self._count += 1
        session = f"session-{self._count}"
        keys = self.folder / f"keys-{self._count}"
        keys.touch()
        command = [sys.executable, str(STANDIN), str(self.config), session, str(keys), *words]
        pane = self.pane(before + shlex.join(command), server, beside)
        return Standin(self, session, keys, pane, server)

    def log(self, session: str) -> SessionLog:
        return SessionLog(session, str(self.home))

    # --- the watcher ------------------------------------------------------------------------------------------

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "unhang", *words]

    def unhang(self, *words: str, **more: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words), env=self.env, capture_output=True, text=True, check=False, timeout=60, **more
        )

    def watch(self, *words: str) -> Watcher:
        watcher = Watcher(self, *(words or QUICK))
        self._watchers.append(watcher)
        return watcher

    def end(self) -> None:
        for watcher in self._watchers:
            watcher.end()
        for process in self._left:
            if process.name != "tmux" and process.is_alive():
                process.send(signal.SIGKILL)
        wait_until(self._end_watchers, "the watchers that hooks have started are gone")
        for server, path in self._servers.items():
            if path.exists():
                command = ["tmux", "-S", str(self.socket(server)), "kill-server"]
                subprocess.run(command, check=False, capture_output=True, env=self.env)
        left = [process for process in self._left if not process.wait_gone()]
        for process in self._left:
            process.close()
        self._sockets.cleanup()
        assert not left, f"still running: {left}"

    def _end_watchers(self) -> bool:
        """End whoever has our home and was started by no test: a watcher in the background leaves its starter."""
        mark = f"UNHANG_HOME={self.home}".encode()
        left = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _has(pid, mark)]
        for pid in left:
            process = Process(pid, "watcher")
            if _has(pid, mark):  # still: what this handle means is that very process
                process.send(signal.SIGKILL)
            process.close()
        return not left


def _has(pid: int, mark: bytes) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return b"--background" in words and mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


class Standin:
    def __init__(self, place: Place, session: str, keys: Path, pane: str, server: str) -> None:
        self.place = place
        self.session = session
        self.pane = pane
        self._keys = keys
        self.server = server
        found = wait_until(self.status, "the stand-in has a status file")
        self.pid = int(found["pid"])
        self.start = str(found["procStart"])
        place._left.append(Process(self.pid, "stand-in"))

    def status(self) -> dict[str, Any] | None:
        for path in (self.place.config / "sessions").glob("*.json"):
            try:
                value = json.loads(path.read_text())
            except ValueError:
                continue  # being written
            if value.get("sessionId") == self.session:
                return dict(value)
        return None

    def typed(self) -> bytes:
        return self._keys.read_bytes()

    def hook(self, method: str, **more: Any) -> None:
        event: dict[str, Any] = {"type": "hook", "phase": "tool", "message": method, "method": method}
        event |= {
            "sessionId": self.session,
            "pid": self.pid,
            "procStart": self.start,
            "configDir": str(self.place.config),
        }
        self.place.log(self.session).append(event | more)

    def set_status(self, status: str, **more: str) -> None:
        """Write another status into its file, as Claude Code does: each has a time of its own."""
        path = self.place.config / "sessions" / f"{self.pid}.json"
        known = json.loads(path.read_text())
        known.pop("waitingFor", None)
        stamp = max(known["statusUpdatedAt"] + 1, round(time.time() * 1000))
        path.write_text(json.dumps(known | {"status": status, "statusUpdatedAt": stamp} | more))

    def hangs(self, tool: str = "WebFetch") -> None:
        self.hook("PreToolUse", toolName=tool, toolUseId="toolu_1", toolInput={})


class Watcher:
    """A real one, and its events as they come."""

    def __init__(self, place: Place, *words: str) -> None:
        self.errors = place.folder / "watcher-errors"
        self.said: list[dict[str, Any]] = []
        with self.errors.open("ab") as errors:
            self.process = subprocess.Popen(
                place.command("watch", "--json", *words),
                env=place.env,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def until(self, phase: str, session: str | None = None) -> dict[str, Any]:
        """The next event of this phase; the test's own time limit is the deadline."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            event: dict[str, Any] = json.loads(line)
            self.said.append(event)
            if event["phase"] == phase and session in (None, event["sessionId"]):
                return event
        raise AssertionError(f"the watcher ended: {self.errors.read_text()}; it had said {self.said}")

    def steps(self, session: str) -> list[str]:
        return [each["step"] for each in self.said if each["phase"] == "step" and each["sessionId"] == session]

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(30)
        assert self.process.stdout is not None
        self.process.stdout.close()
