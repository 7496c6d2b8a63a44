"""Who watches the watcher: signs of life that it sends from its own loop, so that a loop that hangs sends none.

- To systemd, where a unit with `WatchdogSec=` has started this very process: `WATCHDOG=1`, twice as often as it asks.
- To an address of the user's (a dead-man's switch such as healthchecks.io): a GET every so many minutes, as long as
  all is well. When it stops coming, that service tells a person, and `unhang watch status` says why. A child sends it:
  a server that never answers holds up no session.
"""

from __future__ import annotations

import os
import signal

from unhang.core import plain_text
from unhang.procs import clock
from unhang.procs.inherited import close_all_but

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PING_EVERY = 300.0
# After a ping that failed, the next one comes sooner.
_AGAIN = 30.0
_LONGEST = 30.0
_TIMEOUT = 15.0


class SystemdWatchdog:
    """The manager of the unit that started this process. Does nothing where there is none.

    `WATCHDOG_PID` must name this process: in any other the socket is another program's, or that of a job's keeper,
    which would take the watcher's signs of life for the job's.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        ours = environ.get("WATCHDOG_PID") == str(os.getpid())
        address = environ.get("NOTIFY_SOCKET", "") if ours else ""
        usec = environ.get("WATCHDOG_USEC", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._every = int(usec) / 2e6 if usec.isdecimal() and len(usec) < 16 else 0.0
        self._next = 0.0

    def due(self) -> float | None:
        """Return when the next sign of life must be sent; None: never."""
        return self._next if self._address and self._every > 0 else None

    def beat(self) -> None:
        """Send a sign of life if it is time to."""
        due = self.due()
        if due is not None and clock.monotonic() >= due:
            self._next = clock.monotonic() + self._every
            self.send("WATCHDOG=1")

    def send(self, message: str) -> None:
        """Send a message of the notify protocol. A manager that does not listen changes nothing here."""
        if not self._address:
            return
        import socket

        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as line:
            line.setblocking(False)
            try:
                line.sendto(message.encode(), self._address)
            except OSError:
                pass


class DeadManPing:
    """The user's own address. `changed` is called with why a ping failed or is not sent, and with "" when one arrives.

    It is called once for a trouble, whatever its reasons are until a ping arrives again.
    """

    def __init__(self, changed: Callable[[str], None]) -> None:
        self._changed = changed
        self._next = 0.0
        self._child: tuple[int, int, float] | None = None  # pid, its pipe, when it is too late
        self._failed = False

    def due(self, url: str) -> float | None:
        """Return when to call `turn` again; None: no address is set."""
        if self._child is not None:
            return min(self._child[2], clock.monotonic() + 1.0)
        return self._next if url else None

    def turn(self, url: str, every: float, *, trouble: str) -> None:
        """Collect the ping that was sent, and send the next one if it is time to. `trouble`: why all is not well."""
        now = clock.monotonic()
        if self._child is not None:
            self._reap(now)
        if not url or self._child is not None or now < self._next:
            return
        if trouble:
            self._next = now + min(every, _AGAIN)
            self._fail(f"no ping is sent: {trouble}")
        else:
            self._next = now + every
            self._child = (*_send(url), now + _LONGEST)

    def close(self) -> None:
        """End a ping that is under way."""
        if self._child is not None:
            os.kill(self._child[0], signal.SIGKILL)
            self._collect()

    def _reap(self, now: float) -> None:
        assert self._child is not None
        pid, pipe, late = self._child
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if now < late:
                return
            os.kill(pid, signal.SIGKILL)
        said = _read(pipe) or "no answer"
        self._collect()
        if said != "ok":
            self._next = min(self._next, now + _AGAIN)
            self._fail(f"the ping did not arrive: {said}")
        elif self._failed:
            self._failed = False
            self._changed("")

    def _fail(self, why: str) -> None:
        if not self._failed:
            self._failed = True
            self._changed(why)

    def _collect(self) -> None:
        assert self._child is not None
        pid, pipe, _ = self._child
        self._child = None
        os.close(pipe)
        os.waitpid(pid, 0)


def _read(pipe: int) -> str:
    try:
        return os.read(pipe, 1000).decode(errors="replace")
    except BlockingIOError:
        return ""


def _send(url: str) -> tuple[int, int]:
    """Start the child that sends one ping; its pid, and the pipe on which it says how that went."""
    reading, writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        signal.alarm(int(_LONGEST))  # a watcher that was killed cannot end it
        # above all the lock: with it here, a watcher that was killed would seem to run
        close_all_but({writing})
        os.write(writing, _get(url).encode()[:900])
    finally:
        os._exit(0)


def _get(url: str) -> str:
    import urllib.error
    import urllib.request

    try:
        request = urllib.request.Request(url, headers={"User-Agent": "unhang"})
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
            answer.read(1 << 12)
        return "ok"
    except urllib.error.HTTPError as error:
        return f"the receiver answered {error.code}"
    except Exception as error:
        return plain_text.one_line(str(getattr(error, "reason", None) or error), 200) or type(error).__name__
