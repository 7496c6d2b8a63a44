"""Follows a job in the foreground: signals cancel it, notices go to stderr, keys go to the job."""

from __future__ import annotations

import binascii
import os
import select
import signal

from unhang.core import events as ev

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.faces.cli.stderr import StderrReporter
    from unhang.faces.cli.terminal import UserTerminal
    from unhang.jobs.connection import Connection

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# How soon keys are offered again to a job that did not read them.
_OFFER_AGAIN = 0.05


class CaughtSignals:
    """Catches the signals that end a job, from before it is started, so that none is lost.

    They wait in a pipe (`fd`) until there is a job to tell.
    """

    def __init__(self, *, resizes: bool) -> None:
        self.fd, write_end = os.pipe()
        os.set_blocking(write_end, False)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        for number in _ENDING:
            # a shell starts a background process with SIGINT ignored, nohup with SIGHUP: they stay ignored
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _caught)
        if resizes:
            signal.signal(signal.SIGWINCH, _caught)

    def take(self) -> bytes:
        """Return the numbers of the signals caught since the last call; call it when `fd` is readable."""
        return os.read(self.fd, 4096)


def _caught(_number: int, _frame: object) -> None:
    """Do nothing: the number of the signal is in the wake-up pipe."""


class JobMonitor:
    """Follows a job in the foreground: reports its events, passes signals and keys on to its keeper."""

    def __init__(
        self, connection: Connection, reporter: StderrReporter, signals: CaughtSignals, terminal: UserTerminal | None
    ) -> None:
        self._connection = connection
        self._reporter = reporter
        self._signals = signals
        self._terminal = terminal
        self._last: ev.Event | None = None
        self._interrupts = 0
        self._typed: bytes | None = None  # offered to the keeper, not yet accepted

    def wait_for_end(self) -> ev.Event | None:
        """Follow the job to its end; return its last event, or None if the keeper recorded none."""
        if self._terminal is None:
            self._watch(-1)
        else:
            with self._terminal:
                self._watch(self._terminal.fd)
        self._read_events()
        return self._last

    def _watch(self, keys: int) -> None:
        while True:
            poll = select.poll()
            poll.register(self._connection.fileno(), select.POLLIN)
            poll.register(self._signals.fd, select.POLLIN)
            if keys >= 0 and self._typed is None:
                poll.register(keys, select.POLLIN)
            refused = self._typed is not None and self._connection.refused
            ready = dict(poll.poll(self._timeout(refused)))
            self._connection.insist()
            if self._connection.closed:
                return
            if self._signals.fd in ready:
                for number in self._signals.take():
                    self._signalled(number)
            if keys >= 0 and keys in ready:
                self._typed = self._read_keys(keys)
                self._offer()
            elif refused and not ready:
                self._offer()
            if self._connection.fileno() in ready:
                if not self._connection.hear():
                    return
                self._read_events()
                if self._typed is not None and self._connection.answered and not self._connection.refused:
                    keys = keys if self._typed else -1  # that was the end of the input
                    self._typed = None

    def _timeout(self, refused: bool) -> float | None:
        """Return the time until the next step, in milliseconds as poll takes it; None: no step is due."""
        waits = [wait for wait in (_OFFER_AGAIN if refused else None, self._connection.patience()) if wait is not None]
        return min(waits) * 1000 if waits else None

    def _signalled(self, number: int) -> None:
        if number == signal.SIGWINCH:
            size = self._terminal.size() if self._terminal is not None else None
            if size is not None:
                self._connection.ask(do="resize", rows=size[0], columns=size[1])
        elif number in _ENDING:
            self._interrupts += number == signal.SIGINT
            self._connection.cancel(signal.Signals(number).name, force=self._interrupts > 1)

    def _read_keys(self, keys: int) -> bytes:
        """Read what was typed; empty: the input has ended."""
        try:
            return os.read(keys, 1 << 14)
        except OSError:
            return b""

    def _offer(self) -> None:
        """Offer the typed bytes to the keeper, one piece at a time, so that no more is read than the job reads."""
        data = self._typed or b""
        self._connection.offer(binascii.b2a_base64(data, newline=False).decode(), eof=not data)

    def _read_events(self) -> None:
        for event in self._connection.new_events():
            if event["type"] == ev.EXITED:
                self._last = event
            else:
                self._reporter.event(event)
