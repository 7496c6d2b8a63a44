"""What `unhang run` does while the job runs: signals go to the ladder, notices to stderr, keys to a terminal."""

from __future__ import annotations

import binascii
import os
import select
import signal

from unhang.core import events as ev
from unhang.procs import clock, identity
from unhang.store.reader import EventReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.faces.cli.stderr import Talk
    from unhang.faces.cli.terminal import Terminal
    from unhang.jobs.launcher import Launched

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# how often our guard is looked at: stopped (a job can do that), it would never let us go
_LOOK = 5.0
# a job that does not read its keys: how soon the next are offered again
_OFFER_AGAIN = 0.05


class Signals:
    """Caught from before the job is started, so that none is lost in between; read when there is somebody to tell."""

    def __init__(self, *, resizes: bool) -> None:
        self.fd, write_end = os.pipe()
        os.set_blocking(write_end, False)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        for number in _ENDING:
            # a shell that starts us in the background ignores SIGINT for us, nohup SIGHUP: that stays so
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _caught)
        if resizes:
            signal.signal(signal.SIGWINCH, _caught)

    def take(self) -> bytes:
        return os.read(self.fd, 4096)


def _caught(_number: int, _frame: object) -> None:
    """The wake-up pipe carries the news."""


class Watching:
    def __init__(self, launched: Launched, talk: Talk, signals: Signals, terminal: Terminal | None) -> None:
        self._owner = launched.owner
        self._guard = launched.guard
        self._looked = clock.monotonic()
        self._events = launched.place.events
        self._reader: EventReader | None = None
        self._talk = talk
        self._signals = signals
        self._terminal = terminal
        self._last: ev.Event | None = None
        self._interrupts = 0
        self._typed: bytes | None = None  # offered to the keeper, which has not taken it yet

    def until_the_end(self) -> ev.Event | None:
        """The last event; None if there is none."""
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
            poll.register(self._owner.fileno(), select.POLLIN)
            poll.register(self._signals.fd, select.POLLIN)
            if keys >= 0 and self._typed is None:
                poll.register(keys, select.POLLIN)
            refused = self._typed is not None and self._owner.refused
            ready = dict(poll.poll(self._timeout(refused)))
            self._owner.insist()
            self._wake_guard()
            if self._owner.closed:
                return
            if self._signals.fd in ready:
                for number in self._signals.take():
                    self._signalled(number)
            if keys >= 0 and keys in ready:
                self._typed = self._read_keys(keys)
                self._offer()
            elif refused and not ready:
                self._offer()
            if self._owner.fileno() in ready:
                if not self._owner.hear():
                    return
                self._read_events()
                if self._typed is not None and self._owner.answered and not self._owner.refused:
                    keys = keys if self._typed else -1  # the end of our input was the last of it
                    self._typed = None

    def _wake_guard(self) -> None:
        now = clock.monotonic()
        if self._guard is None or now < self._looked + _LOOK:
            return
        self._looked = now
        found = identity.find(self._guard)
        if found is not None and found.state == "T":
            os.kill(self._guard, signal.SIGCONT)  # our own child, not waited for yet

    def _timeout(self, refused: bool) -> float:
        """In milliseconds, as poll wants it."""
        waits = [_OFFER_AGAIN if refused else _LOOK]
        patience = self._owner.patience()
        waits += [] if patience is None else [patience]
        return min(waits) * 1000

    def _signalled(self, number: int) -> None:
        if number == signal.SIGWINCH:
            size = self._terminal.size() if self._terminal is not None else None
            if size is not None:
                self._owner.ask(do="resize", rows=size[0], columns=size[1])
        elif number in _ENDING:
            self._interrupts += number == signal.SIGINT
            self._owner.cancel(signal.Signals(number).name, force=self._interrupts > 1)

    def _read_keys(self, keys: int) -> bytes:
        """Empty: there will be no more."""
        try:
            return os.read(keys, 1 << 14)
        except OSError:
            return b""

    def _offer(self) -> None:
        """To the keeper. One piece at a time: when the job does not read, we do not either."""
        data = self._typed or b""
        self._owner.offer(binascii.b2a_base64(data, newline=False).decode(), eof=not data)

    def _read_events(self) -> None:
        if self._reader is None:
            try:
                self._reader = EventReader(self._events)
            except FileNotFoundError:
                return
        for event in self._reader.read_new():
            if event["type"] == ev.EXITED:
                self._last = event
            else:
                self._talk.event(event)
