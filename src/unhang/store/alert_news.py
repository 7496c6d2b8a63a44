"""The first step of an alert: who records an event that a person may want to hear of leaves a mark for the deliverer.

    alerts/news/<id>   an empty file: there is news of this job or session
    alerts/lock        held by the deliverer that runs
    alerts/state.json  how far each stream was read, what is held back, what is tried again
    alerts/sent.ndjson what became of each message

A keeper spends one `stat` on it when its user has no alerts.toml. Whatever fails here fails silently: an alert must
never delay or fail a job.
"""

from __future__ import annotations

import fcntl
import os

from unhang.store import files
from unhang.store import home as homes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = "alerts"
FILE = "alerts.toml"
SESSION = "session-"  # before the id of a session, in the name of its mark
# Who asks whether there is a deliverer holds the lock for a moment: one that begins just then tries again.
_PROBES = 10
_PROBE = 0.02
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
)


def settings_file(environ: Mapping[str, str]) -> str | None:
    """The user's own alerts.toml, if there is one that only they can write. Never a project's."""
    given = environ.get("UNHANG_ALERTS")
    return homes.first_trusted([given] if given else homes.settings(environ, (FILE,)))


def expect(home: str, *, wanted: bool = False) -> None:
    """A job begins: see that a deliverer runs, where there are rules. `wanted`: the job names targets of its own.

    Not left to the keeper that has the news: whatever it starts is below its guard, and would be a part of the job.
    """
    if not wanted and settings_file(os.environ) is None:
        return
    try:
        if not is_delivering(home):
            _start(home)
    except Exception:  # a job that runs on without its alert is what its caller wants
        return


def tell(home: str, subject: str, *, wanted: bool = False) -> None:
    """There is news of a job or session: leave a mark for the deliverer."""
    if not wanted and settings_file(os.environ) is None:
        return
    try:
        mark(home, subject)
    except Exception:  # as above
        return


def mark(home: str, subject: str) -> None:
    """Leave a mark that there is news of this subject."""
    for folder in (home, f"{home}/{FOLDER}", f"{home}/{FOLDER}/news"):
        homes.make(folder)
    os.close(files.open_plain(f"{home}/{FOLDER}/news/{subject}", os.O_WRONLY | os.O_CREAT))


def marks(home: str) -> list[str]:
    """The subjects that there is news of."""
    try:
        return sorted(os.listdir(f"{home}/{FOLDER}/news"))
    except FileNotFoundError:
        return []


def unmark(home: str, subject: str) -> None:
    """Take a mark away; to be done before the news is read, so that none is overlooked."""
    try:
        os.unlink(f"{home}/{FOLDER}/news/{subject}")
    except FileNotFoundError:
        pass


def lock(home: str) -> int | None:
    """Be the deliverer of this home, until the descriptor is closed; None: there is one."""
    from time import sleep

    for _ in range(_PROBES):
        fd = _lock(home, fcntl.LOCK_EX)
        if fd is not None:
            return fd
        sleep(_PROBE)
    return None


def is_delivering(home: str) -> bool:
    """Whether a deliverer runs. One that is about to leave looks for marks and jobs once more when it has left."""
    fd = _lock(home, fcntl.LOCK_SH)
    if fd is None:
        return True
    os.close(fd)
    return False


def _lock(home: str, kind: int) -> int | None:
    for folder in (home, f"{home}/{FOLDER}", f"{home}/{FOLDER}/news"):
        homes.make(folder)
    fd = files.open_plain(f"{home}/{FOLDER}/lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd


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
