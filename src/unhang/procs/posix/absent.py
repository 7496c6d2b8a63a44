"""What a plain Unix cannot do for us: each function says so in the way its callers expect, and they do without.

Without file watches a short sleep takes their place; without process handles, polling; without a sampler a job is
judged by its output alone, and no hang is explained.
"""

from __future__ import annotations

import errno
import os
import time

from unhang.core.diagnosis.counters import CheapSample

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable
    from socket import socket

    from unhang.core.diagnosis.samples import FullSample, Socket
    from unhang.core.overview import Usage
    from unhang.procs.base import Stack


def _refusal(what: str) -> OSError:
    return OSError(errno.ENOTSUP, f"this system has no {what}")


class AbsentFileWatch:
    """A watch that sees nothing: `fd` is -1."""

    fd = -1

    def add(self, path: str, events: int) -> int | None:  # noqa: ARG002 - the interface's
        """Return None: nothing can be watched."""
        return None

    def remove(self, watch: int) -> None:
        """Do nothing."""

    def read(self) -> list[tuple[int, int, str]]:
        """Return nothing."""
        return []

    def close(self) -> None:
        """Do nothing."""


def open_process(pid: int) -> int:  # noqa: ARG001 - the interface's
    """Raise OSError."""
    raise _refusal("descriptors of processes")


def signal_process(fd: int, number: int) -> None:  # noqa: ARG001 - the interface's
    """Raise OSError."""
    raise _refusal("descriptors of processes")


def reopen(fd: int, flags: int) -> int:  # noqa: ARG001 - the interface's
    """Raise OSError: /dev/fd duplicates a descriptor here, and its flags with it."""
    raise _refusal("way to open a descriptor anew")


def open_of(pid: int, number: int, flags: int) -> int:  # noqa: ARG001 - the interface's
    """Raise OSError."""
    raise _refusal("way to open another process's descriptor")


def target(pid: int, number: int) -> str:  # noqa: ARG001 - the interface's
    """Return nothing: unknown."""
    return ""


def targets(pid: int, most: int = 1024) -> tuple[dict[int, str], int] | None:  # noqa: ARG001 - the interface's
    """Return None: it cannot be looked into."""
    return None


def open_numbers() -> list[int]:
    """Return the numbers of our open descriptors, by trying each."""
    found: list[int] = []
    for number in range(min(os.sysconf("SC_OPEN_MAX"), 4096)):
        try:
            os.fstat(number)
        except OSError:
            continue
        found.append(number)
    return found


def path_in(folder: int, path: str) -> str:  # noqa: ARG001 - the interface's
    """Return the path itself."""
    return path


def change_mode(handle: int, mode: int) -> None:
    """Change the mode of an open file or folder."""
    os.chmod(handle, mode)


def mount_of(fd: int) -> str | int:
    """Return the file system, which is all that can be known."""
    return os.fstat(fd).st_dev


def cheap(root: int, *, include_root: bool = False) -> CheapSample:  # noqa: ARG001 - the interface's
    """Return a sample without processes."""
    return CheapSample(time.monotonic(), os.sysconf("SC_CLK_TCK"), {})


class AbsentTreeSampler:
    """Looks at the same tree again and again, and never sees that it stands still."""

    still_since: float | None = None

    def __init__(self, root: int) -> None:
        self._root = root

    def look(self) -> CheapSample:
        """Return a sample without processes."""
        return cheap(self._root)


def full(
    root: int,  # noqa: ARG001 - the interface's
    *,
    include_root: bool = False,  # noqa: ARG001 - the interface's
    screen: bytes = b"",
    pty_master: int | None = None,  # noqa: ARG001
    network: bool = True,  # noqa: ARG001
    leader: int | None = None,
    still: float | None = None,  # noqa: ARG001
) -> FullSample:
    """Return a sample that holds the screen, and a note why it holds nothing else."""
    from unhang.core.diagnosis.samples import FullSample

    return FullSample(
        at=time.monotonic(),
        hz=os.sysconf("SC_CLK_TCK"),
        processes={},
        screen=screen.decode("utf-8", "replace"),
        leader=leader,
        notes=("this system shows nothing of other processes",),
    )


def connections(pid: int, *, alone: bool = False) -> dict[str, Socket]:  # noqa: ARG001 - the interface's
    """Return nothing: unknown."""
    return {}


def listening(roots: list[int]) -> dict[int, list[str]]:  # noqa: ARG001 - the interface's
    """Return nothing: unknown."""
    return {}


def stacks(pids: list[int]) -> list[Stack]:  # noqa: ARG001 - the interface's
    """Return nothing: no tool is known here."""
    return []


def usage_below(roots: Iterable[int]) -> dict[int, Usage]:  # noqa: ARG001 - the interface's
    """Return nothing: unknown."""
    return {}


def usage_of(pids: Iterable[int]) -> dict[int, Usage]:  # noqa: ARG001 - the interface's
    """Return nothing: unknown."""
    return {}


def user_of_peer(ours: socket) -> int | None:  # noqa: ARG001 - the interface's
    """Return nothing: unknown."""
    return None


def readers_of(paths: Container[str], but: Container[int] = ()) -> int:  # noqa: ARG001 - the interface's
    """Return 0: unknown."""
    return 0
