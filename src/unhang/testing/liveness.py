"""Proof of life and death by the kernel, for tests of anything that ends processes.

A *roll call* is a FIFO. Every process whose death matters opens it for writing, says its name, and keeps it open; its
children inherit it. End of file on the reading side therefore means that none of them is left, wherever they went
(another session, another group, another parent). Each one that calls is also held by a handle from then on, so that its
own death can be waited for and a recycled pid is never mistaken for it.

    roll = RollCall(tmp_path / "roll")               # in the test
    liveness.call(sys.argv[1], "worker")             # in the process under test
    worker = roll.wait_for("worker")
    assert worker.is_alive()
    ...
    assert roll.is_empty()                           # no process that called, and no child of one, is left
"""

from __future__ import annotations

import os
import select
import time

from unhang.procs.process_handle import open_process, signal_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

# Far more than a loaded machine needs: a wait this long means that what is waited for does not come.
PATIENCE = 30.0


def call(path: str | os.PathLike[str], name: str, *, inheritable: bool = True) -> int:
    """Answer the roll call at `path` as `name` and return the descriptor that is held open as proof of life.

    `inheritable`: programs that this process executes hold it too.
    """
    fd = os.open(path, os.O_WRONLY)
    os.set_inheritable(fd, inheritable)
    os.write(fd, f"{os.getpid()} {name}\n".encode())
    return fd


class Process:
    """One process, held by a handle: it is never confused with another that got its number."""

    def __init__(self, pid: int, name: str = "") -> None:
        self.pid = pid
        self.name = name
        try:
            self._fd = open_process(pid)
        except ProcessLookupError:
            self._fd = -1  # gone already, and its pid may be another process's

    def wait_gone(self, timeout: float = PATIENCE) -> bool:
        """Wait for its end. False: it still lives after `timeout` seconds."""
        if self._fd < 0:
            return True
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        return bool(poll.poll(timeout * 1000))

    def is_alive(self) -> bool:
        """Return whether it runs at this moment."""
        return not self.wait_gone(0)

    def send(self, number: int) -> bool:
        """Send a signal to exactly this process; False: it is gone."""
        if self._fd < 0:
            return False
        try:
            signal_process(self._fd, number)
        except ProcessLookupError:
            return False
        return True

    def close(self) -> None:
        """Let go of it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        """Let go of it with the last reference: a run of many tests must not use up its descriptors."""
        if hasattr(self, "_fd"):
            self.close()

    def __repr__(self) -> str:
        return f"Process({self.pid}, {self.name!r}, {'alive' if self.is_alive() else 'gone'})"


class RollCall:
    """The reading side of a roll call. Close it, or use it as a context."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        os.mkfifo(self.path, 0o600)
        self._fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._rest = b""
        self.called: list[Process] = []

    def wait_for(self, name: str, count: int = 1, timeout: float = PATIENCE) -> Process:
        """Return the `count`-th process that calls itself `name`; raise TimeoutError if it does not come."""
        deadline = time.monotonic() + timeout
        while True:
            named = [process for process in self.called if process.name == name]
            if len(named) >= count:
                return named[count - 1]
            if not self._hear(deadline - time.monotonic()):
                heard = sorted({process.name for process in self.called})
                raise TimeoutError(f"{len(named)} of {count} called {name!r} within {timeout} s; heard: {heard}")

    def wait_empty(self, timeout: float = PATIENCE) -> bool:
        """Wait until no process that called (and no child of one) is left. False: one lives on."""
        deadline = time.monotonic() + timeout
        while True:
            poll = select.poll()
            poll.register(self._fd, select.POLLIN)
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                return False
            if not self._read():
                return True

    def is_empty(self) -> bool:
        """Return whether none is left, at this very moment."""
        return self.wait_empty(0)

    def alive(self) -> list[Process]:
        """Return those that called and still live."""
        self._hear(0)
        return [process for process in self.called if process.is_alive()]

    def _hear(self, timeout: float) -> bool:
        """Wait for a process to call. False: none did."""
        before = len(self.called)
        deadline = time.monotonic() + timeout
        while len(self.called) == before:
            poll = select.poll()
            poll.register(self._fd, select.POLLIN)
            left = deadline - time.monotonic()
            if not poll.poll(max(0.0, left) * 1000):
                return False
            # end of file: all who called so far are gone, others may still come
            if not self._read():
                if left <= 0:
                    return False
                time.sleep(0.005)
        return True

    def _read(self) -> bool:
        """False: end of file."""
        try:
            data = os.read(self._fd, 1 << 16)
        except BlockingIOError:
            return True
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            pid, _, name = line.decode().partition(" ")
            self.called.append(Process(int(pid), name))
        return bool(data)

    def close(self) -> None:
        """Let go of all of them."""
        os.close(self._fd)
        for process in self.called:
            process.close()

    def __enter__(self) -> RollCall:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.close()
