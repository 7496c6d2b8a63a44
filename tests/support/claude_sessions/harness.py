"""The real Claude Code in a real tmux of a test's own, against a fake model, with `unhang hook` behind its hooks.

tmux tells nobody when a pane changes: what it shows is asked for again and again, with a generous deadline. Claude's
status file and the streams are waited for in the same loop: a session is what all three of them say together.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

from tests.support import programs
from tests.support.claude.harness import KEY, environment
from tests.support.engine import MARK, Engine, wait_until
from tests.support.fakes.anthropic_messages import FakeAnthropic
from tests.support.places import SUPPORT
from unhang.installers import claude_code
from unhang.procs import identity
from unhang.procs.sampler.connections import connections
from unhang.sessions import lock
from unhang.store.session_log import SessionLog, session_ids
from unhang.testing.liveness import Process

# Generous: a loaded machine may need many seconds to start a program of 366 MB.
PATIENCE = 60.0
HOOKS = tuple(claude_code.EVENTS)
ALLOWED = ("Bash", "WebFetch", "WebSearch", "Read", "Agent", "Task", "mcp__slow")
# SessionLimits of some seconds. Nobody sits at these panes, so nobody has to be waited for.
LIMIT = 3.0
QUICK = ("--api", str(LIMIT), "--cooldown", "1", "--hands-off", "5")
SLOW = SUPPORT / "claude_sessions" / "slow_mcp.py"


def need_programs() -> None:
    programs.need(programs.CLAUDE)
    programs.need_command("tmux")


def hook_command() -> str:
    return shlex.join([sys.executable, "-P", "-m", "unhang", "hook"])


class Desk(Engine):
    """One tmux server, one configuration of Claude, one state directory."""

    def __init__(self, folder: Path, fake: FakeAnthropic, *, watch: str = "off") -> None:
        super().__init__(folder)
        self.fake = fake
        self.config, self.work, self.user = folder / "config", folder / "work", folder / "user"
        for place in (self.config, self.work, self.user, folder / "tmp"):
            place.mkdir()
        self.socket = folder / "tmux"
        assert len(str(self.socket)) < 100, "too long for a socket's name: use a shorter --basetemp"
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.user),
            "TMPDIR": str(folder / "tmp"),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/bash",
            "UNHANG_HOME": str(self.home),
            "UNHANG_WATCH": watch,
            MARK: self.mark,
        }
        self.agent_env = environment(self.config, fake.port)
        self.sessions: list[Session] = []
        self.configure()

    def configure(
        self,
        *,
        vim: bool = False,
        mcp: bool = False,
        ours: tuple[str, ...] = HOOKS,
        hooks: dict[str, list[str]] | None = None,
        deny: tuple[str, ...] = (),
    ) -> None:
        """`ours`: which hooks have unhang behind them; `hooks`: further commands behind some."""
        answered = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "lastOnboardingVersion": "2.1.325",
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "bypassPermissionsModeAccepted": True,
            "projects": {str(self.work): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
        }
        if mcp:
            answered["mcpServers"] = {"slow": {"type": "stdio", "command": sys.executable, "args": [str(SLOW)]}}
        if vim:
            answered["editorMode"] = "vim"
        (self.config / ".claude.json").write_text(json.dumps(answered))
        lines = {name: [*([hook_command()] if name in ours else []), *(hooks or {}).get(name, [])] for name in HOOKS}
        entries = {
            name: [{"hooks": [{"type": "command", "command": line} for line in behind]}]
            for name, behind in lines.items()
            if behind
        }
        settings: dict[str, Any] = {"permissions": {"allow": list(ALLOWED), "deny": list(deny)}, "hooks": entries}
        settings |= {"skipWebFetchPreflight": True} | ({"editorMode": "vim"} if vim else {})
        (self.config / "settings.json").write_text(json.dumps(settings))

    # --- tmux -----------------------------------------------------------------------------------------------

    def tmux(self, *words: str, socket: Path | None = None) -> str:
        """One command of the test's own server."""
        command = ["tmux", "-S", str(socket or self.socket), "-f", "/dev/null", *words]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    def claude(self, *words: str, shell: bool = False, socket: Path | None = None, wait: bool = True) -> Session:
        """A session in a window of its own, at its empty prompt. `shell`: started from a shell, as people do it."""
        env = [f"{name}={value}" for name, value in self.agent_env.items()]
        mode = () if "--permission-mode" in words else ("--permission-mode", "manual")
        line = ["env", *env, str(programs.CLAUDE), *mode, *words]
        name = f"s{len(self.sessions)}"
        options = ("-d", "-P", "-F", "#{pane_id}", "-c", str(self.work), "-n", name)
        first = not (socket or self.socket).exists()
        begin = ("new-session", "-x", "120", "-y", "40", "-s", "main") if first else ("new-window",)
        command = ["bash", "--norc", "--noprofile"] if shell else line
        pane = self.tmux(*begin, *options, *command, socket=socket).strip()
        session = Session(self, pane, socket or self.socket)
        self.sessions.append(session)
        if shell:
            session.draft(shlex.join(line))
            session.keys("Enter")
        if wait:
            session.wait_status("idle")
        return session

    def watch(self, *words: str) -> Watcher:
        """`unhang watch` with limits of some seconds; what is said here goes before them."""
        return Watcher(self, *QUICK, *words, "--limit", f"*={LIMIT}")

    def streams(self) -> list[str]:
        return session_ids(str(self.home))

    def end_watcher(self) -> None:
        """One that a hook has started."""
        found = lock.holder(str(self.home))
        if found:
            watcher = Process(int(found["pid"]), "watcher")
            watcher.send(signal.SIGTERM)
            assert watcher.wait_gone()
            watcher.close()

    def end(self) -> None:
        """Every tmux server of the test; Claude hears SIGHUP and goes."""
        for socket in {self.socket, *(session.socket for session in self.sessions)}:
            subprocess.run(
                ["tmux", "-S", str(socket), "kill-server"], env=self.env, capture_output=True, timeout=30, check=False
            )


class Watcher:
    """The real watcher, and what it says."""

    def __init__(self, desk: Desk, *words: str) -> None:
        self._path = desk.folder / f"watch-{len(desk._started)}.ndjson"
        with open(self._path, "wb") as out:
            self.process = subprocess.Popen(
                desk.command("watch", "--json", *words), env=desk.env, stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )
        desk._started.append(self.process)
        wait_until(lambda: lock.holder(str(desk.home)), f"the watcher has its lock: {self._path.read_text()}", PATIENCE)

    def said(self, phase: str | None = None) -> list[dict[str, Any]]:
        whole, _, _ = self._path.read_text().rpartition("\n")  # the last line may be half written
        lines = whole.splitlines()
        events = [json.loads(line) for line in lines if line.startswith("{")]
        assert len(events) == len(lines), lines
        return [event for event in events if phase in (None, event["phase"])]

    def wait(self, phase: str, timeout: float = PATIENCE, count: int = 1) -> dict[str, Any]:
        """The event with which it has said so for the `count`-th time."""
        try:
            found = wait_until(lambda: self.said(phase)[count - 1 :], f"the watcher says {phase}", timeout)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; it said:\n{self.story()}") from None
        assert isinstance(found, list)
        return dict(found[0])

    def steps(self) -> list[str]:
        return [event["step"] for event in self.said("step")]

    def story(self) -> str:
        return "\n".join(f"{event.get('ts')} {event['phase']}: {event['message']}" for event in self.said())


class Session:
    """One Claude in its pane."""

    def __init__(self, desk: Desk, pane: str, socket: Path) -> None:
        self.desk = desk
        self.pane = pane
        self.socket = socket
        self._pid = 0

    # --- what it shows --------------------------------------------------------------------------------------

    @property
    def pid(self) -> int:
        """Claude's own, by its status file: with a shell around it the pane's process is another."""
        if not self._pid:
            wait_until(lambda: self.status() is not None, "a status file", PATIENCE)
        return self._pid

    def forget(self) -> None:
        """Another process takes the pane over."""
        self._pid = 0

    def status(self) -> dict[str, Any] | None:
        """Its status file; None while there is none, or it is being rewritten."""
        for path in (self.desk.config / "sessions").glob("*.json"):
            try:
                found = json.loads(path.read_text())
            except (OSError, ValueError):
                continue
            if str(found.get("tmux", "")).endswith("." + self.pane) and self._is_here(found):
                self._pid = int(found["pid"])
                assert isinstance(found, dict)
                return found
        return None

    def _is_here(self, found: dict[str, Any]) -> bool:
        """Panes of two servers have the same numbers: the environment of the process says which server it is."""
        if self._pid:
            return int(found["pid"]) == self._pid
        return identity.environment(int(found["pid"])).get("TMUX", "").startswith(f"{self.socket},")

    def wait_status(self, *wanted: str, timeout: float = PATIENCE) -> dict[str, Any]:
        def right() -> dict[str, Any] | None:
            found = self.status()
            return found if found and found.get("status") in wanted else None

        try:
            found = wait_until(right, f"status {wanted}", timeout)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; it is {self.status()}; the pane:\n{self.screen()}") from None
        assert isinstance(found, dict)
        return found

    @property
    def session_id(self) -> str:
        found = wait_until(self.status, "a status file", PATIENCE)
        return str(found["sessionId"])

    def screen(self) -> str:
        return self.desk.tmux("capture-pane", "-p", "-t", self.pane, socket=self.socket)

    def wait_screen(self, *texts: str, timeout: float = PATIENCE) -> str:
        """As soon as the pane shows all of them."""
        last = ""

        def shown() -> bool:
            nonlocal last
            last = self.screen()
            return all(text in last for text in texts)

        try:
            wait_until(shown, f"the pane shows {texts}", timeout)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; it shows:\n{last}") from None
        return last

    def box(self) -> str:
        """What stands in the input box: between the last two rules, without the prompt's mark."""
        lines = self.screen().splitlines()
        rules = [place for place, line in enumerate(lines) if line.startswith("────")]
        if len(rules) < 2:
            return ""
        inside = lines[rules[-2] + 1 : rules[-1]]
        return "\n".join(line.removeprefix("❯").strip() for line in inside).strip()

    def shown(self, form: str) -> str:
        return self.desk.tmux("display-message", "-p", "-t", self.pane, form, socket=self.socket).strip()

    # --- what is recorded -----------------------------------------------------------------------------------

    @property
    def log(self) -> SessionLog:
        return SessionLog(self.session_id, str(self.desk.home))

    def events(self, kind: str | None = None) -> list[dict[str, Any]]:
        return [event for event in self.log.read() if kind in (None, event["type"])]

    def wait_hook(self, method: str, timeout: float = PATIENCE, **fields: Any) -> dict[str, Any]:
        return self.wait_event("hook", timeout, method=method, **fields)

    def wait_event(self, kind: str, timeout: float = PATIENCE, **fields: Any) -> dict[str, Any]:
        def seen() -> dict[str, Any] | None:
            for event in self.events(kind):
                if all(event.get(name) == value for name, value in fields.items()):
                    return event
            return None

        try:
            found = wait_until(seen, f"an event {kind} {fields}", timeout)
        except TimeoutError as error:
            lines = "\n".join(f"{e['type']} {e['phase']} {e['message']}" for e in self.events())
            raise TimeoutError(f"{error}; there are:\n{lines}\nthe pane:\n{self.screen()}") from None
        assert isinstance(found, dict)
        return found

    # --- typing ---------------------------------------------------------------------------------------------

    def keys(self, *names: str) -> None:
        self.desk.tmux("send-keys", "-t", self.pane, *names, socket=self.socket)

    def draft(self, text: str) -> None:
        """Typed, not sent."""
        self.desk.tmux("send-keys", "-t", self.pane, "-l", text, socket=self.socket)

    def type(self, text: str) -> None:
        """Enter comes only when the text stands there: what arrives with it in one piece is taken for a paste."""
        self.draft(text)
        end = "".join(text.split())[-20:]
        wait_until(lambda: "".join(self.box().split()).endswith(end), f"{text!r} is in the box", PATIENCE)
        self.keys("Enter")

    def ask(self, text: str) -> None:
        """Typed at the prompt, and taken: the session works on it (or has already answered)."""
        before = (self.status() or {}).get("statusUpdatedAt")
        self.type(text)
        wait_until(lambda: (self.status() or {}).get("statusUpdatedAt") != before, f"{text!r} is taken", PATIENCE)

    def warm_up(self) -> None:
        """The first command of a session takes a picture of the shell first, for seconds on a busy machine."""
        self.ask("fake: bash echo warm")
        self.wait_screen("pong after tool: warm")
        self.wait_status("idle")

    def queue(self, *texts: str) -> None:
        """Messages while it is busy: each is there when the pane says so."""
        for text in texts:
            self.type(text)
            wait_until(partial(self._is_gone, text), f"{text!r} is queued", PATIENCE)
        self.wait_screen("Press up to edit queued messages")

    def _is_gone(self, text: str) -> bool:
        return text not in self.box()

    def wait_connected(self, port: int) -> None:
        """As soon as its own process has a connection to this port."""

        def connected() -> bool:
            found = connections(self.pid, alone=True).values()
            return any(each.remote.endswith(f":{port}") for each in found)

        wait_until(connected, f"a connection to port {port}", PATIENCE)

    def process(self) -> Process:
        return Process(self.pid, "claude")
