"""What one animal of the zoo is, and the stage it is put on.

A scenario is a real command with a truth that a person gave it: `hung`, `alive`, or `ambiguous` where no
outside observer can know (a silent server and a slow one look the same). `causes` are the answers that are
right. The stage gives it a directory, compilers, peers to talk to, and processes outside of its own tree.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.zoo.toolchains import Toolchains, found


class Stage(Toolchains):
    """Made in the process above the job's keeper: what it starts, as a thread or a process, is outside of the tree."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.outsiders: list[list[str]] = []
        self.endings: list[Callable[[], object]] = []  # called once the job is gone, the last one first
        self._sockets: list[socket.socket] = []

    def scratch(self) -> Path:
        """A directory for a scenario that runs as nobody, whose own one is closed to it."""
        made = Path(tempfile.mkdtemp(prefix="zoo-", dir="/tmp"))
        self.endings.append(lambda: shutil.rmtree(made, ignore_errors=True))
        return made

    def outsider(self, script: str, *args: str) -> str:
        """Shell outside of the tree; returns the words with which the job's shell awaits its `touch $UP`."""
        up = self.dir / f"up{len(self.outsiders)}"
        self.outsiders.append(["sh", "-c", f"UP={up}\n{script}", "outsider", *args])
        return f"until [ -e {up} ]; do sleep 0.02; done"

    def git(self) -> Path:
        """A repository with some history."""
        repo = self.dir / "repo"
        repo.mkdir()
        for args in (
            ["init", "-q", "-b", "main"],
            ["config", "user.email", "zoo@example.invalid"],
            ["config", "user.name", "zoo"],
            *(["commit", "-q", "--allow-empty", "-m", f"change {n}\n\n" + "body\n" * 5] for n in range(12)),
        ):
            subprocess.run(["git", "-C", str(repo), *args], check=True, capture_output=True)
        return repo

    def server(self, behaviour: str, *, backlog: int = 8) -> int:
        """A TCP peer outside of the tree. silent: accepts, says nothing. drip: 600 bytes five times a second.
        beat: 6 bytes a second. bulk: as fast as it is read. full: accepts nobody, its backlog is used up.
        mute_http: half of a header."""
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        self._sockets.append(listener)
        port: int = listener.getsockname()[1]
        if behaviour == "full":
            listener.listen(0)
            for _ in range(4):
                filler = socket.socket()
                filler.setblocking(False)
                filler.connect_ex(("127.0.0.1", port))
                self._sockets.append(filler)
            return port
        listener.listen(backlog)
        threading.Thread(target=self._serve, args=(listener, behaviour), daemon=True).start()
        return port

    def _serve(self, listener: socket.socket, behaviour: str) -> None:
        while True:
            peer, _ = listener.accept()
            self._sockets.append(peer)
            if behaviour in ("drip", "beat", "bulk", "mute_http"):
                threading.Thread(target=_talk, args=(peer, behaviour), daemon=True).start()


def _talk(peer: socket.socket, behaviour: str) -> None:
    try:
        if behaviour == "mute_http":
            peer.recv(4096)
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nbeginning")
            return
        while behaviour == "bulk":
            peer.sendall(b"x" * 4096)
        while True:
            peer.sendall(b"x" * 600 if behaviour == "drip" else b"beat!\n")
            time.sleep(0.2 if behaviour == "drip" else 1.0)
    except OSError:
        pass


class Scenario(NamedTuple):
    name: str
    truth: str  # "hung", "alive", "ambiguous"
    causes: tuple[str, ...]
    build: Callable[[Stage], list[str]]
    io: str = "null"  # "pty"; "pipe" or "socket": a stdin that nobody ever writes to; "null"
    ready: bytes = b""  # on its output before the first look
    settle: float = 0.6  # seconds of further quiet before the first look
    needs: tuple[str, ...] = ()
    nobody: bool = False  # must run without privileges, as another user where we are root
    prompt: str = ""  # must be part of the reason
    never: str = ""  # must be no part of it

    def missing(self) -> list[str]:
        lacking = [program for program in self.needs if found(program) is None]
        if self.nobody and os.getuid() == 0 and not os.access("/proc/self/setgroups", os.W_OK):
            lacking.append("the right to become another user")
        return lacking
