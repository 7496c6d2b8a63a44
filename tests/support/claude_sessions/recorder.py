"""Writes down what a session of Claude Code shows while somebody plays a scenario: one JSON object a line.

    {"t": 1.25, "hook": {…}}         an event of the session's stream
    {"t": 1.25, "status": {…}}       the status file changed; null: there is none
    {"t": 1.25, "grew": ["user"]}    the transcript grew by lines of these types ("tool": the result of one)
    {"t": 1.25, "pane": {…}}         the pane changed: command, inMode, dead, lines (with their colours)
    {"t": 1.25, "tree": {…}}         the processes below Claude (no hooks, no helpers): names, and bytes printed
    {"t": 1.25, "wire": {…}}         what has come in on Claude's own connections: bytes and segments of each
    {"t": 1.25, "did": "escape"}     what the hand did then

`t` is seconds since the recording began. Nothing of the machine that it was made on stays in it (`keep`).
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from pathlib import Path
from typing import Any

from tests.support.claude_sessions.harness import Session
from tests.support.places import TESTS
from unhang.procs import clock, command_line, tree
from unhang.procs.sampler.connections import connections

FOLDER = TESTS / "sessions" / "claude" / "recordings"
_EVERY = 0.05
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# What moves while nothing happens: the spinner with its verb, the seconds, a bullet, the mascot, colours of all.
_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
_RESTLESS = re.compile(r"\d+s\b|^\s*[·✢✳✶✻✽*] \S+…|●|.*[▐▝▜▛▘].*")
# Of the status file: the rest says more about the machine than about the session.
_STATUS = ("sessionId", "pid", "procStart", "tmux", "kind", "entrypoint", "version", "status", "waitingFor")
_HELPERS = frozenset(
    {"sh", "python", "python3", "git", "git-remote-https", "ssh", "rg", "claude", "zsh", "ps", "grep", "tmux"}
)
_FORM = "#{pane_current_command}\t#{pane_in_mode}\t#{pane_dead}"
_SHOWN = 16  # lines of the pane, from below


class Recorder:
    """Use it as a context around a scenario; `did` marks what the hand does."""

    def __init__(self, session: Session, every: float = _EVERY) -> None:
        self._session = session
        self._every = every
        self._links: dict[str, str] = {}  # connection → its name in the recording
        self._lock = threading.Lock()
        self._lines: list[dict[str, Any]] = []
        self._wall, self._start = clock.wall(), clock.monotonic()
        self._last: dict[str, Any] = {}
        self._read = 0  # bytes of the transcript
        self._path: Path | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._pid = session.pid
        self._log = session.log

    def __enter__(self) -> Recorder:
        self._look()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._look()

    def did(self, what: str) -> None:
        self._look()
        self._note("did", what)

    def _note(self, kind: str, value: Any, at: float | None = None) -> None:
        at = clock.monotonic() - self._start if at is None else at
        with self._lock:
            self._lines.append({"t": round(at, 3), kind: value})

    def _changed(self, kind: str, value: Any, key: Any = None) -> None:
        key = value if key is None else key
        if self._last.get(kind, ...) != key:
            self._last[kind] = key
            self._note(kind, value)

    # --- looking --------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        while not self._stop.wait(self._every):
            self._look()

    def _look(self) -> None:
        for event in self._log.read(self._last.get("seq", 0)):
            self._last["seq"] = event["seq"]
            if event["type"] != "hook":
                continue
            said = {name: value for name, value in event.items() if name not in ("seq", "ts", "v")}
            self._note("hook", said, clock.parse(event["ts"]) - self._wall)
            self._path = Path(event["transcriptPath"]) if "transcriptPath" in event else self._path
        self._changed("status", self._status())
        self._transcript()
        self._pane()
        pids = [process.pid for process in tree.descendants(self._pid)]
        names = {pid: Path(command_line.of(pid).split(" ")[0]).name for pid in pids}
        ours = {pid: name for pid, name in names.items() if name not in _HELPERS and not name.startswith("[")}
        self._changed("tree", {"names": sorted(ours.values()), "printed": sum(map(_printed, ours))})
        self._changed("wire", self._wire())

    def _wire(self) -> dict[str, list[int]]:
        found = {link: seen for link, seen in connections(self._pid, alone=True).items() if seen.received is not None}
        names = {link: self._links.setdefault(link, str(len(self._links) + 1)) for link in found}
        return {names[link]: [seen.received or 0, seen.segments or 0] for link, seen in found.items()}

    def _status(self) -> dict[str, Any] | None:
        found = self._session.status()
        if found is None:
            return None
        kept = {name: found[name] for name in _STATUS if name in found}
        return kept | {"statusUpdatedAt": found["statusUpdatedAt"] - round(self._wall * 1000)}

    def _transcript(self) -> None:
        if self._path is None:
            return
        try:
            with open(self._path, "rb") as file:
                file.seek(self._read)
                data = file.read()
        except OSError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        if whole:
            self._read += len(whole)
            entries = [json.loads(line) for line in whole.splitlines()]
            self._note("grew", ["tool" if "toolUseResult" in entry else str(entry.get("type")) for entry in entries])

    def _pane(self) -> None:
        where = ("-t", self._session.pane)
        words = ("display-message", "-p", *where, _FORM, ";", "capture-pane", "-e", "-p", *where)
        first, *lines = self._session.desk.tmux(*words, socket=self._session.socket).split("\n")
        command, mode, dead = first.split("\t")
        shown = [line.rstrip() for line in lines if line.strip()][-_SHOWN:]
        pane = {"command": command, "inMode": mode == "1", "dead": dead == "1", "lines": shown}
        key = [command, mode, dead, [_RESTLESS.sub("", _COLOURS.sub("", line)).strip() for line in shown]]
        self._changed("pane", pane, key)

    # --- keeping --------------------------------------------------------------------------------------------

    def keep(self, name: str, folder: Path = FOLDER) -> None:
        """Written in order, without anything of this machine."""
        desk = self._session.desk
        numbers: dict[str, str] = {}
        lines = [json.dumps(line, ensure_ascii=False) for line in sorted(self._lines, key=lambda line: line["t"])]
        text = "\n".join(lines) + "\n"
        text = re.sub(r"projects/-[^/]*-work/", "projects/-test-work/", text.replace(str(desk.folder), "/test"))
        text = _UUID.sub(lambda m: numbers.setdefault(m[0], f"00000000-0000-4000-8000-{len(numbers) + 1:012d}"), text)
        text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8080", text)
        text = re.sub(r'"pid": \d+', '"pid": 4001', text)
        text = re.sub(r'"procStart": "\d+"', '"procStart": "1001"', text)
        text = re.sub(r'"tmux": "/test/tmux,\d+,', '"tmux": "/test/tmux,4000,', text)
        text = re.sub("─{24,}", "─" * 24, text)
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.ndjson").write_text(text, encoding="utf-8")


def _printed(pid: int) -> int:
    """What went into the file that its output goes to, if it is one."""
    try:
        return os.stat(f"/proc/{pid}/fd/1").st_size
    except OSError:
        return 0


def load(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / f"{name}.ndjson").read_text(encoding="utf-8").splitlines()]


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.ndjson"))


def passing(seconds: float) -> None:
    """Time that belongs to the recording: a hang that lasts, a draft that stands there."""
    time.sleep(seconds)
