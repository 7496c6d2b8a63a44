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
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Stage:
    """Made in the process above the job's keeper: what it starts, as a thread or a process, is outside of the tree."""

    def __init__(self, directory: Path) -> None:
        self.dir = directory
        self.python = sys.executable
        self.outsiders: list[list[str]] = []
        self._sockets: list[socket.socket] = []

    def write(self, name: str, text: str) -> str:
        path = self.dir / name
        path.write_text(text)
        return str(path)

    def cc(self, source: str, *flags: str) -> str:
        path = self.write("actor.c", source)
        binary = str(self.dir / "actor")
        subprocess.run(["cc", "-O0", "-o", binary, path, "-lpthread", *flags], check=True, capture_output=True)
        return binary

    def java(self, name: str, source: str) -> list[str]:
        self.write(f"{name}.java", source)
        flags = ["-XX:TieredStopAtLevel=1", "-Xshare:auto"]
        subprocess.run(["javac", "-d", str(self.dir), str(self.dir / f"{name}.java")], check=True, capture_output=True)
        return ["java", *flags, "-cp", str(self.dir), name]

    def py(self, source: str) -> list[str]:
        return [self.python, "-u", "-c", source]

    def node(self, source: str) -> list[str]:
        return ["node", "-e", source]

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
        beat: 6 bytes a second. full: accepts nobody, its backlog is used up. mute_http: half of a header."""
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
            if behaviour in ("drip", "beat", "mute_http"):
                threading.Thread(target=_talk, args=(peer, behaviour), daemon=True).start()


def _talk(peer: socket.socket, behaviour: str) -> None:
    try:
        if behaviour == "mute_http":
            peer.recv(4096)
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nbeginning")
            return
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

    def missing(self) -> list[str]:
        lacking = [program for program in self.needs if shutil.which(program) is None]
        if self.nobody and os.getuid() == 0 and not os.access("/proc/self/setgroups", os.W_OK):
            lacking.append("the right to become another user")
        return lacking
