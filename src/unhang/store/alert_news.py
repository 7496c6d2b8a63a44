"""The first step of an alert: who records an event that a person may want to hear of leaves a mark for the deliverer.

    alerts/news/<id>   an empty file: there is news of this job or session
    alerts/taken/<id>  the same mark while it is read, until what was read is in state.json
    alerts/lock        held by the deliverer that runs, with its pid and start time in it
    alerts/state.json  how far each stream was read, what is held back, what is tried again
    alerts/sent.ndjson what became of each message

A keeper spends one `stat` on it when its user has no alerts.toml. Whatever fails here fails silently: an alert must
never delay or fail a job.
"""

from __future__ import annotations

import os

from unhang import plain_signal as signal
from unhang.store import file_lock, files
from unhang.store import home as homes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = "alerts"
FILE = "alerts.toml"
_MARKS = ("news", "taken")
SESSION = "session-"  # before the id of a session, in the name of its mark
# Who asks whether there is a deliverer holds the lock for a moment: one that begins just then tries again.
_PROBES = 10
_PROBE = 0.02
_SIGNED = 64  # the most that is read of what a deliverer writes into its lock
# What the deliverer takes over of the environment it is started in: enough for notify-send, proxies and its own files.
_PASSED_ON = (
    "HOME",
    "PATH",
    "LANG",
    "TZ",
    "TMPDIR",
    "UNHANG_HOME",
    "UNHANG_ALERTS",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
)


def settings_file(environ: Mapping[str, str]) -> str | None:
    """Return the user's own alerts.toml, if there is one that only they can write. Never a project's."""
    return homes.first_trusted(_places(environ))


def untrusted_file(environ: Mapping[str, str]) -> str | None:
    """Return an alerts.toml that is there and is not believed: it is another user's, or others may write to it."""
    return homes.untrusted(_places(environ))


def _places(environ: Mapping[str, str]) -> list[str]:
    given = environ.get("UNHANG_ALERTS")
    return [given] if given else homes.settings(environ, (FILE,))


def expect(home: str, *, wanted: bool = False) -> None:
    """See that a deliverer runs for a job that begins, where there are rules.

    `wanted`: the job names targets of its own.

    Not left to the keeper that has the news: whatever it starts is below its guard, and would be a part of the job.
    """
    if not wanted and settings_file(os.environ) is None:
        return
    try:
        if not is_delivering(home):
            _start(home)
        else:
            wake(home)
    except Exception:  # a job that runs on without its alert is what its caller wants
        return


def tell(home: str, subject: str, *, wanted: bool = False) -> None:
    """Leave a mark for the deliverer: there is news of a job or session."""
    if not wanted and settings_file(os.environ) is None:
        return
    try:
        mark(home, subject)
        wake(home)
    except Exception:  # as above
        return


def mark(home: str, subject: str) -> None:
    """Leave a mark that there is news of this subject, on the disk: a machine that goes down now tells it later."""
    _make_folders(home)
    folder = f"{home}/{FOLDER}/news"
    try:
        os.close(files.open_plain(f"{folder}/{subject}", os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    files.sync_path(folder)


def marks(home: str) -> list[str]:
    """Return the subjects that there is news of, with those that a deliverer had begun to read."""
    found: set[str] = set()
    for folder in _MARKS:
        try:
            found.update(_files_in(f"{home}/{FOLDER}/{folder}"))
        except FileNotFoundError:
            continue
    return sorted(found)


def take(home: str, subject: str) -> None:
    """Lay a mark aside; to be done before the news is read, so that none is overlooked."""
    news, taken = (f"{home}/{FOLDER}/{folder}/{subject}" for folder in _MARKS)
    try:
        os.rename(news, taken)
    except OSError:
        pass  # it was taken before; or it stays, and is read again


def drop_taken(home: str) -> None:
    """Take the marks away that were laid aside: what was read is on the disk."""
    folder = f"{home}/{FOLDER}/{_MARKS[1]}"
    for subject in _files_in(folder):
        os.unlink(f"{folder}/{subject}")


def _files_in(folder: str) -> list[str]:
    """The names in a folder, without those of folders: these are no marks, and no unlink removes them."""
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries if not entry.is_dir(follow_symlinks=False)]


def sweep(folder: str, age: float) -> None:
    """Remove the files of a folder that were not touched for so many seconds."""
    from time import time

    for name in _files_in(folder):
        path = f"{folder}/{name}"
        try:
            if time() - os.lstat(path).st_mtime > age:
                os.unlink(path)
        except FileNotFoundError:
            continue  # another process was first


def lock(home: str) -> int | None:
    """Be the deliverer of this home, until the descriptor is closed; None: there is one."""
    from time import sleep

    for _ in range(_PROBES):
        fd = _lock(home)
        if fd is not None:
            _sign(fd)
            return fd
        sleep(_PROBE)
    return None


def _sign(fd: int) -> None:
    from unhang.procs import identity

    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()} {identity.start_time(os.getpid())}".encode(), 0)
    except OSError:
        pass  # a full disk: only that it is stopped could not be seen


def is_delivering(home: str) -> bool:
    """Return whether a deliverer runs.

    One that is about to leave looks for marks and jobs once more when it has left.
    """
    fd = _lock(home, shared=True)
    if fd is None:
        return True
    os.close(fd)
    return False


def stopped(home: str) -> int | None:
    """Return the pid of the deliverer if it is stopped (SIGSTOP): it holds its lock and sends nothing.

    None also where this process has a /proc of another PID namespace: there the number is another process's.
    """
    from unhang.procs import identity

    if not identity.sees_own_namespace():
        return None
    try:
        fd = files.open_plain(f"{home}/{FOLDER}/lock", os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        pid, _, start = os.pread(fd, _SIGNED, 0).decode("ascii", "replace").partition(" ")
    finally:
        os.close(fd)
    found = identity.find(int(pid)) if pid.isdecimal() and len(pid) < 12 else None
    return int(pid) if found is not None and found.start == start and found.state in "Tt" else None


def wake(home: str) -> None:
    """Let a deliverer that is stopped go on. It has lost nothing; another in its place would tell some things twice."""
    pid = stopped(home)
    if pid is not None:
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass  # it was killed meanwhile


def _make_folders(home: str) -> None:
    for folder in (home, f"{home}/{FOLDER}", *(f"{home}/{FOLDER}/{each}" for each in _MARKS)):
        homes.make(folder)


def _lock(home: str, *, shared: bool = False) -> int | None:
    _make_folders(home)
    return file_lock.open_locked(f"{home}/{FOLDER}/lock", shared=shared)


def _start(home: str) -> None:
    """Start the deliverer. A shell stands between, so that it is no child of a program that would have to reap it."""
    from unhang.procs import executable

    words = ["/bin/sh", "-c", '"$@" &', "sh", *executable.command_line("alerts", "deliver")]
    environ = {name: value for name, value in os.environ.items() if name in _PASSED_ON or name.startswith("LC_")}
    environ |= {"UNHANG_HOME": home}
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        same = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in range(3)]
        pid = os.posix_spawn(words[0], words, environ, file_actions=same, setsid=True)
        os.waitpid(pid, 0)
    finally:
        os.close(null)
