"""A person before a pane: a real client of tmux on a terminal of its own, with a hand on the keyboard."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import threading
from types import TracebackType

from tests.support.claude_sessions.harness import Desk
from tests.support.engine import wait_until


class Person:
    """Use it as a context. What tmux draws is read and thrown away."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._master, slave = pty.openpty()
        command = ["tmux", "-S", str(desk.socket), "attach"]
        self._client = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=desk.env)
        os.close(slave)
        self._stop = threading.Event()
        self._typing = threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._see, self._type)]

    def __enter__(self) -> Person:
        for thread in self._threads:
            thread.start()
        wait_until(lambda: self._desk.tmux("list-clients").strip(), "the client is attached")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._typing.set()
        self._client.terminate()
        self._client.wait()
        for thread in self._threads:
            thread.join()
        os.close(self._master)

    def type_on(self) -> None:
        """A letter now and then, until told to rest."""
        self._typing.set()

    def rest(self) -> None:
        self._typing.clear()

    def _see(self) -> None:
        while not self._stop.is_set():
            if select.select([self._master], [], [], 0.05)[0]:
                try:
                    os.read(self._master, 1 << 16)
                except OSError:
                    return

    def _type(self) -> None:
        while self._typing.wait() and not self._stop.wait(0.2):
            os.write(self._master, b"x")
