"""Starts the job: its own session, its streams, its marks. Nothing here decides anything.

`posix_spawn` and not fork: it is faster (no copy of our page tables), reports a failed exec to us, and resets signal
dispositions on the way. What it cannot set (directory, limits) the keeper sets on itself first: it owns one job only.
With a terminal, the child opens it by name as its first descriptor: for a session leader without one that makes it
the controlling terminal, and Ctrl-C and background-read rules work as people expect.
"""

from __future__ import annotations

import errno
import os
import signal

from unhang.core.record import Record
from unhang.core.spec import quote
from unhang.errors import EXIT_FAILED, EXIT_NOT_EXECUTABLE, EXIT_NOT_FOUND, SpawnError

# Python ignores these two for itself; a job must not inherit that.
_RESTORE = (signal.SIGPIPE, signal.SIGXFSZ)
SHELL = "/bin/sh"
# What a keeper opens from here on: both ends of three pipes for a moment, then its own ends, the files for what the job
# prints and the way it is passed on. With less the job would run, but not be heard.
_NEEDED = 7


class JobStreams(Record):
    """Our ends. With a terminal, `out` is its master (both ways) and `err` is None."""

    out: int
    err: int | None
    into: int | None  # write end of the job's stdin, when it is a pipe or a terminal
    terminal: bool


class Spawned(Record):
    """The leader of a job, just started, and the keeper's ends of its streams."""

    pid: int
    streams: JobStreams


def find_program(name: str, path: str) -> str:
    """Find a program as the shell does. Raises SpawnError: the two ways to fail have two exit codes."""
    if "/" in name:
        return _checked(name, name)
    seen_unusable = ""
    for folder in path.split(os.pathsep):
        candidate = os.path.join(folder or ".", name)
        if os.path.isfile(candidate):
            if os.access(candidate, os.X_OK):
                return candidate
            seen_unusable = seen_unusable or candidate
    if seen_unusable:
        raise SpawnError(f"not executable: {seen_unusable}", EXIT_NOT_EXECUTABLE)
    raise SpawnError(f"command not found: {name}{_shell_hint(name)}", EXIT_NOT_FOUND)


def _checked(program: str, name: str) -> str:
    if not os.path.exists(program):
        raise SpawnError(f"command not found: {name}{_shell_hint(name)}", EXIT_NOT_FOUND)
    if os.path.isdir(program) or not os.access(program, os.X_OK):
        raise SpawnError(f"not executable: {name}", EXIT_NOT_EXECUTABLE)
    return program


def _shell_hint(name: str) -> str:
    """For a whole line where the name of a program is expected."""
    return f" (a shell line needs --shell: --shell {quote(name)})" if len(name.split()) > 1 else ""


def enter(cwd: str) -> None:
    """Change to the job's working directory. Raises SpawnError if that is not possible."""
    try:
        os.chdir(cwd)
    except OSError as error:
        raise SpawnError(f"cannot enter directory {cwd}: {error.strerror}", EXIT_FAILED) from None


def spawn(
    argv: list[str],
    env: dict[str, str],
    *,
    stdin: int | None,
    terminal: bool,
    size: tuple[int, int] | None,
    also: dict[int, int] | None = None,
) -> Spawned:
    """`stdin`: a descriptor to give, or None for a pipe of ours. With `terminal` stdin is the terminal.

    `also`: further descriptors that the job gets (its number there → ours).
    """
    program = find_program(argv[0], env.get("PATH", os.defpath))
    _check_descriptors()
    if terminal:
        return _on_terminal(program, argv, env, size)
    return _on_pipes(program, argv, env, stdin, also or {})


def _check_descriptors() -> None:
    taken: list[int] = []
    try:
        taken.extend(os.dup(2) for _ in range(_NEEDED))
    except OSError as error:
        raise _shortage(error) from None
    finally:
        for fd in taken:
            os.close(fd)


def _shortage(error: OSError) -> SpawnError:
    limit = os.sysconf("SC_OPEN_MAX")
    return SpawnError(f"too few file descriptors are left: {error.strerror} (ulimit -n is {limit})", EXIT_FAILED)


def open_null() -> int:
    """Open /dev/null for a job that reads nothing. Raises SpawnError."""
    try:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise SpawnError(f"cannot open {os.devnull}: {error.strerror}", EXIT_FAILED) from None


def open_pipe() -> tuple[int, int]:
    """Make a pipe. Raises SpawnError if there are too few descriptors."""
    try:
        return os.pipe()
    except OSError as error:
        raise _shortage(error) from None


def _start(program: str, argv: list[str], env: dict[str, str], actions: list[tuple[int, ...]]) -> int:
    try:
        return os.posix_spawn(program, argv, env, file_actions=actions, setsid=True, setsigmask=(), setsigdef=_RESTORE)
    except OSError as error:
        if error.errno == errno.ENOENT:  # there a moment ago: a script whose interpreter is missing
            raise SpawnError(f"command not found: {argv[0]} (or its interpreter)", EXIT_NOT_FOUND) from None
        if error.errno in (errno.EACCES, errno.ENOEXEC, errno.EISDIR):
            if error.errno == errno.ENOEXEC and program != SHELL:
                # a script without a first line: every shell runs it, so do we
                return _start(SHELL, [SHELL, program, *argv[1:]], env, actions)
            raise SpawnError(f"not executable: {argv[0]}", EXIT_NOT_EXECUTABLE) from None
        raise SpawnError(f"cannot start {argv[0]}: {error.strerror}", EXIT_FAILED) from None
    except ValueError as error:  # a NUL byte in an argument or the environment
        raise SpawnError(f"cannot start {argv[0]!r}: {error}", EXIT_FAILED) from None


def _on_pipes(program: str, argv: list[str], env: dict[str, str], stdin: int | None, also: dict[int, int]) -> Spawned:
    out_r, out_w = open_pipe()
    err_r, err_w = open_pipe()
    ours, theirs = [out_r, err_r], [out_w, err_w]
    into: int | None = None
    if stdin is None:
        stdin, into = open_pipe()
        ours.append(into)
        theirs.append(stdin)
    try:
        actions: list[tuple[int, ...]] = [
            (os.POSIX_SPAWN_DUP2, stdin, 0),
            (os.POSIX_SPAWN_DUP2, out_w, 1),
            (os.POSIX_SPAWN_DUP2, err_w, 2),
        ]
        actions += [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in also.items()]
        pid = _start(program, argv, env, actions)
    except SpawnError:
        for fd in ours:
            os.close(fd)
        raise
    finally:
        for fd in theirs:
            os.close(fd)
    for fd in ours:
        os.set_blocking(fd, False)
    return Spawned(pid, JobStreams(out_r, err_r, into, terminal=False))


def _on_terminal(program: str, argv: list[str], env: dict[str, str], size: tuple[int, int] | None) -> Spawned:
    try:
        master, slave = os.openpty()
    except OSError as error:  # none left: the kernel's limit of terminals, or ours of descriptors
        raise SpawnError(f"cannot get a terminal: {error.strerror}", EXIT_FAILED) from None
    try:
        if size is not None:
            set_size(master, size)
        # posix_spawn sets the session before it runs these: the open takes the terminal as controlling one
        opened = (os.POSIX_SPAWN_OPEN, 0, os.ttyname(slave), os.O_RDWR, 0)
        actions: list[tuple[int, ...]] = [opened, (os.POSIX_SPAWN_DUP2, 0, 1), (os.POSIX_SPAWN_DUP2, 0, 2)]  # type: ignore[list-item]
        pid = _start(program, argv, env, actions)
    except SpawnError:
        os.close(master)
        raise
    finally:
        os.close(slave)
    os.set_blocking(master, False)
    return Spawned(pid, JobStreams(master, None, master, terminal=True))


def terminal_state(master: int) -> dict[str, bool | int]:
    """What the terminal is set to, seen from our side: works even where the program at it cannot be looked into."""
    import fcntl
    import struct
    import termios

    flags = termios.tcgetattr(master)[3]
    group = struct.unpack("i", fcntl.ioctl(master, termios.TIOCGPGRP, b"\0" * 4))[0]
    echo, canonical = bool(flags & termios.ECHO), bool(flags & termios.ICANON)
    return {"echo": echo, "canonical": canonical, "foreground": group}


def set_size(master: int, size: tuple[int, int]) -> None:
    """Rows and columns; the kernel tells the foreground program (SIGWINCH)."""
    import fcntl
    import struct
    import termios

    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
