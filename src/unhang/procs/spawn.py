"""Starts the job: its own session, its streams, its marks. Nothing here decides anything.

`posix_spawn` and not fork: it is faster (no copy of our page tables), reports a failed exec to us, and resets signal
dispositions on the way. What it cannot set (directory, limits) the keeper sets on itself first: it owns one job only.
With a terminal, the keeper begins a session at it and the job is its foreground group, as a shell's job is: the kernel
stops a job by Ctrl-Z only if a process of the same session is there to continue it. The job must be that group before
its first instruction, or the kernel stops a program such as `top` as it starts: for this it is forked.
"""

from __future__ import annotations

import errno
import os

from unhang import plain_signal as signal
from unhang.core.record import Record
from unhang.core.spec import quote
from unhang.errors import EXIT_FAILED, EXIT_NOT_EXECUTABLE, EXIT_NOT_FOUND, SpawnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

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


_WORDS_OF_SHELLS = (
    *(".", "alias", "bg", "case", "cd", "declare", "eval", "exec", "exit", "export", "fg", "for", "function", "if"),
    *("jobs", "local", "popd", "pushd", "read", "set", "shopt", "source", "trap", "type", "ulimit", "umask", "unset"),
    *("until", "while"),
)


def _shell_hint(name: str) -> str:
    """For what only a shell understands, where the name of a program is expected."""
    if len(name.split()) > 1:
        return f" (a shell line needs --shell: --shell {quote(name)})"
    if name in _WORDS_OF_SHELLS:
        return f" (a word of the shell needs --shell: --shell '{name} …')"
    variable, equals, _ = name.partition("=")
    return f" (a variable needs --env: --env {quote(name)} …)" if equals and variable.isidentifier() else ""


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
    modes: list[Any] | None = None,
) -> Spawned:
    """Start the job's command; `stdin`: a descriptor to give, or None for a pipe of ours.

    With `terminal` stdin is the terminal.

    `modes`: what the terminal is set to, as termios has it. `also`: further descriptors that the job gets (its number
    there → ours).
    """
    program = find_program(argv[0], env.get("PATH", os.defpath))
    _check_descriptors()
    if terminal:
        return _on_terminal(program, argv, env, size, modes)
    return _on_pipes(program, argv, env, stdin, also or {})


def rehearse() -> None:
    """Go through the motions of a start, of something that cannot be executed."""
    try:
        find_program("sh", os.defpath)
        _check_descriptors()
        stdin = open_null()
        try:
            _on_pipes("/", ["/"], dict(os.environ), stdin, {})
        finally:
            os.close(stdin)
    except SpawnError:
        pass


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


def _start(program: str, argv: list[str], begin: Callable[[str, list[str]], int]) -> int:
    """Start a program by `begin`, which raises OSError where the program cannot be executed."""
    try:
        return begin(program, argv)
    except OSError as error:
        if error.errno == errno.ENOENT:  # there a moment ago: a script whose interpreter is missing
            raise SpawnError(f"command not found: {argv[0]} (or its interpreter)", EXIT_NOT_FOUND) from None
        if error.errno in (errno.EACCES, errno.ENOEXEC, errno.EISDIR):
            if error.errno == errno.ENOEXEC and program != SHELL:
                # a script without a first line: every shell runs it, so do we
                return _start(SHELL, [SHELL, program, *argv[1:]], begin)
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

        def begin(program: str, argv: list[str]) -> int:
            return os.posix_spawn(
                program, argv, env, file_actions=actions, setsid=True, setsigmask=(), setsigdef=_RESTORE
            )

        pid = _start(program, argv, begin)
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


def _on_terminal(
    program: str, argv: list[str], env: dict[str, str], size: tuple[int, int] | None, modes: list[Any] | None
) -> Spawned:
    try:
        master, slave = os.openpty()
    except OSError as error:  # none left: the kernel's limit of terminals, or ours of descriptors
        raise SpawnError(f"cannot get a terminal: {error.strerror}", EXIT_FAILED) from None
    try:
        if size is not None:
            set_size(master, size)
        if modes is not None:
            _set_modes(slave, modes)
        _sit_down_at(slave)
        pid = _start(program, argv, lambda program, argv: _in_front(program, argv, env, slave))
    except SpawnError:
        os.close(master)
        raise
    finally:
        os.close(slave)
    os.set_blocking(master, False)
    return Spawned(pid, JobStreams(master, None, master, terminal=True))


def _set_modes(slave: int, modes: list[Any]) -> None:
    import termios

    try:
        termios.tcsetattr(slave, termios.TCSANOW, modes)
    except (termios.error, TypeError, ValueError):
        pass  # the kernel's own are as good


def _sit_down_at(slave: int) -> None:
    """Make this the terminal of the keeper's session. The hang-up of an earlier one (a retry) is not for the keeper."""
    import fcntl
    import termios

    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        os.setsid()
    except PermissionError:
        pass  # it leads one already, since the attempt before this one
    try:
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    except OSError as error:
        raise SpawnError(f"cannot take a terminal: {error.strerror}", EXIT_FAILED) from None


def _in_front(program: str, argv: list[str], env: dict[str, str], slave: int) -> int:
    """Start a program that is the foreground group of its terminal from its first instruction on. Raises OSError."""
    failed_r, failed_w = open_pipe()
    with os.fdopen(failed_r, "rb") as failed:
        # until its exec the child has the keeper's handlers: what is sent to it must not be taken for the keeper's
        before = signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
        try:
            pid = os.fork()
            if pid == 0:
                _become(program, argv, env, slave, failed_w)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            os.close(failed_w)
        report = failed.read()  # ends by the exec, which closes the other side
    if report:
        os.waitpid(pid, 0)
        number, _, said = report.decode().partition(" ")
        raise OSError(int(number), said) if int(number) else ValueError(said)
    return pid


def _become(program: str, argv: list[str], env: dict[str, str], slave: int, failed: int) -> NoReturn:
    """The child's side: take the terminal, restore the signals, become the program; or say why not, and end."""
    try:
        os.setpgid(0, 0)
        os.tcsetpgrp(slave, os.getpid())  # allowed from behind while SIGTTOU is blocked
        for fd in range(3):
            os.dup2(slave, fd)
        for number in signal.valid_signals():
            if number in (*_RESTORE, signal.SIGHUP) or callable(signal.getsignal(number)):
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.execve(program, argv, env)
    except OSError as error:
        os.write(failed, f"{error.errno} {error.strerror}".encode())
    except ValueError as error:
        os.write(failed, f"0 {error}".encode())
    finally:
        os._exit(EXIT_FAILED)


def stopped_by(pid: int) -> int | None:
    """Return the signal that has stopped a child of ours since the last call; None: none has.

    Its exit is not collected.
    """
    if not hasattr(
        os, "waitid"
    ):  # macOS, before Python 3.13: Ctrl-Z stops the job, and its caller does not learn of it
        return None
    try:
        found = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG)
    except ChildProcessError:
        return None
    return None if found is None else found.si_status


def terminal_state(master: int) -> dict[str, bool | int]:
    """Return what the terminal is set to, seen from our side, even where its program cannot be looked into."""
    import fcntl
    import struct
    import termios

    flags = termios.tcgetattr(master)[3]
    group = struct.unpack("i", fcntl.ioctl(master, termios.TIOCGPGRP, b"\0" * 4))[0]
    echo, canonical = bool(flags & termios.ECHO), bool(flags & termios.ICANON)
    return {"echo": echo, "canonical": canonical, "foreground": group}


def modes_of(fd: int) -> list[Any] | None:
    """Return what a terminal is set to; None: this is none."""
    import termios

    try:
        return list(termios.tcgetattr(fd))
    except (termios.error, OSError):
        return None


def interrupts(master: int, data: bytes) -> bool:
    """Return whether one of these bytes, typed at the terminal, is its Ctrl-C.

    A program that takes all keys has none.
    """
    import termios

    modes = modes_of(master)
    return modes is not None and bool(modes[3] & termios.ISIG) and modes[6][termios.VINTR] in data


def takes_lines(master: int) -> bool:
    """Return whether the kernel edits lines at the terminal and turns its keys into signals, as at a shell's plain
    command.
    """
    import termios

    modes = modes_of(master)
    return modes is not None and modes[3] & (termios.ICANON | termios.ISIG) == termios.ICANON | termios.ISIG


def key_of(master: int, name: str) -> bytes | None:
    """Return the key that sends a signal at the terminal; None: its program has switched that off."""
    import termios

    places = {"SIGINT": termios.VINTR, "SIGQUIT": termios.VQUIT, "SIGTSTP": termios.VSUSP}
    modes = modes_of(master)
    if modes is None or not modes[3] & termios.ISIG:
        return None
    key = bytes(modes[6][places[name]])
    return None if key == b"\0" else key


def has_unread_line(path: str) -> bool:
    """Return whether a line that was typed at the terminal has not been read yet. False where it cannot be asked."""
    import select

    try:  # not to become its controlling process, not to wait for a modem
        slave = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        poll = select.poll()
        poll.register(slave, select.POLLIN)
        # asking makes the kernel hand over what is still on its way from the master
        return any(mask & select.POLLIN for _, mask in poll.poll(0))
    finally:
        os.close(slave)


def set_size(master: int, size: tuple[int, int]) -> None:
    """Set rows and columns; the kernel tells the foreground program (SIGWINCH)."""
    import fcntl
    import struct
    import termios

    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
