"""What `unhang run` does while the job runs: signals go to the ladder, notices to stderr, keys to a terminal."""

from __future__ import annotations

import binascii
import os
import select
import signal

from unhang.core import events as ev
from unhang.store.reader import EventReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.faces.cli.talk import Talk
    from unhang.faces.cli.terminal import Terminal
    from unhang.jobs.launching import Launched

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Watching:
    def __init__(self, launched: Launched, talk: Talk, terminal: Terminal | None) -> None:
        self._owner = launched.owner
        self._events = launched.place.events
        self._reader: EventReader | None = None
        self._talk = talk
        self._terminal = terminal
        self._last: ev.Event | None = None
        self._interrupts = 0
        self._read_end, write_end = os.pipe()
        os.set_blocking(write_end, False)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        for number in _ENDING:
            # a shell that starts us in the background ignores SIGINT for us, nohup SIGHUP: that stays so
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, lambda *_: None)
        if terminal is not None:
            signal.signal(signal.SIGWINCH, lambda *_: None)

    def until_the_end(self) -> ev.Event | None:
        """The last event; None if there is none."""
        if self._terminal is None:
            self._watch()
        else:
            with self._terminal:
                self._watch()
        self._read_events()
        return self._last

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._owner.fileno(), select.POLLIN)
        poll.register(self._read_end, select.POLLIN)
        keys = self._terminal.fd if self._terminal is not None else -1
        if keys >= 0:
            poll.register(keys, select.POLLIN)
        while True:
            ready = dict(poll.poll())
            if self._read_end in ready:
                for number in os.read(self._read_end, 4096):
                    self._signalled(number)
            if keys in ready and not self._type(keys):
                poll.unregister(keys)
            if self._owner.fileno() in ready:
                if not self._owner.hear():
                    return
                self._read_events()

    def _signalled(self, number: int) -> None:
        if number == signal.SIGWINCH:
            size = self._terminal.size() if self._terminal is not None else None
            if size is not None:
                self._owner.ask(do="resize", rows=size[0], columns=size[1])
        elif number in _ENDING:
            self._interrupts += number == signal.SIGINT
            self._owner.cancel(signal.Signals(number).name, force=self._interrupts > 1)

    def _type(self, keys: int) -> bool:
        """Pass on what was typed. False: there will be no more."""
        try:
            data = os.read(keys, 1 << 14)
        except OSError:
            data = b""
        self._owner.ask(do="send", data=binascii.b2a_base64(data, newline=False).decode(), eof=not data)
        return bool(data)

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
