"""Follows a job in the foreground: its notices go to stderr, the person's signals and keys go to the job.

Job control is the shell's: a job that Ctrl-Z has stopped stops this process and its group, too, so that the shell takes
the terminal back; when the shell continues us, we continue the job.
"""

from __future__ import annotations

import binascii
import os
import select
import time

from unhang import plain_signal as signal
from unhang.core import events as ev

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.faces.cli.stderr import StderrReporter
    from unhang.faces.cli.terminal import UserTerminal
    from unhang.jobs.connection import JobConnection

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# What a terminal sends besides: Ctrl-\ and Ctrl-Z.
_PASSED_ON = (signal.SIGQUIT, signal.SIGTSTP)
_KEYS = (signal.SIGINT, *_PASSED_ON)
# How soon keys are offered again to a job that did not read them.
_OFFER_AGAIN = 0.05
# How soon it is asked again whether the job wants what was typed: first, and at most.
_ASK_AGAIN, _ASK_SELDOM = 0.005, 0.5
# How often a terminal that another program uses is looked at: a shell does not tell a running job that it is back.
_IS_IT_OURS = 0.5
# How long a job may take to stop by the signal that it can catch, and by the one that it cannot.
_TO_STOP, _TO_BE_STOPPED = 0.2, 2.0
# How late a job may stop by a Ctrl-Z that the shell has taken back already.
_STOPS_LATE = 5.0


class CaughtSignals:
    """Catches the signals that concern a job, from before it is started, so that none is lost.

    They wait in a pipe (`fd`) until there is a job to tell. `passes_on`: also those of Ctrl-\\ and Ctrl-Z, and `fg`.
    """

    def __init__(self, *, resizes: bool, passes_on: bool = False) -> None:
        self.fd, write_end = os.pipe()
        os.set_blocking(write_end, False)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        for number in (*_ENDING, *((*_PASSED_ON, signal.SIGCONT) if passes_on else ())):
            # a shell starts a background process with SIGINT ignored, nohup with SIGHUP: they stay ignored
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _caught)
        if resizes:
            signal.signal(signal.SIGWINCH, _caught)

    def take(self) -> bytes:
        """Return the numbers of the signals caught since the last call; call it when `fd` is readable."""
        return os.read(self.fd, 4096)

    def take_now(self) -> bytes:
        """Do as `take`, and return nothing where no signal was caught."""
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        return self.take() if poll.poll(0) else b""


def _caught(_number: int, _frame: object) -> None:
    """Do nothing: the number of the signal is in the wake-up pipe."""


def _stop(who: int, number: int) -> None:
    """Stop a process (0: our group) as the terminal does; return when the shell continues us.

    Where no shell could (an orphaned group), the kernel passes over the signal, and we go on at once.
    """
    before = signal.signal(number, signal.SIG_DFL)
    try:
        os.kill(who, number)
    finally:
        signal.signal(number, before)


class JobMonitor:
    """Follows a job in the foreground: reports its events, passes signals and keys on to its keeper."""

    def __init__(
        self,
        connection: JobConnection,
        reporter: StderrReporter,
        signals: CaughtSignals,
        terminal: UserTerminal | None,
        *,
        attended: bool = False,
    ) -> None:
        """`terminal`: the one whose keys are the job's. `attended`: a person sees what the job asks."""
        self._connection = connection
        self._reporter = reporter
        self._signals = signals
        self._terminal = terminal
        self._attended = attended
        self._last: ev.Event | None = None
        self._typed: bytes | None = None  # offered to the keeper, not yet accepted
        self._more = terminal is not None  # keys may come
        self._asking = False  # whether the job wants what waits in the terminal
        self._ask_after, self._ask_at = _ASK_AGAIN, 0.0
        self._stop_by: float | None = None  # the job was asked to stop: until when it may take
        self._forced = False
        self._stopping = False  # Ctrl-Z has reached our group, and we have not stopped yet
        self._stays_until = 0.0  # the shell has continued our group meanwhile: until when that counts
        self._stop_as = signal.SIGTSTP
        self._told_late = False
        self._told_held = False
        self._was_away = False  # another program had the terminal

    def wait_for_end(self) -> ev.Event | None:
        """Follow the job to its end; return its last event, or None if the keeper recorded none."""
        try:
            self._watch()
        finally:
            if self._terminal is not None:
                self._terminal.leave()
        self._read_events()
        return self._last

    def _watch(self) -> None:
        while True:
            keys = self._keys()
            poll = select.poll()
            poll.register(self._connection.fileno(), select.POLLIN)
            poll.register(self._signals.fd, select.POLLIN)
            if keys >= 0 and self._typed is None and not self._asking and time.monotonic() >= self._ask_at:
                poll.register(keys, select.POLLIN)
            refused = self._typed is not None and self._connection.refused
            ready = dict(poll.poll(self._timeout(refused)))
            self._connection.insist()
            if self._connection.closed:
                return
            if self._connection.held and not self._told_held:
                self._told_held = True
                self._reporter.line("a debugger holds its keeper and its guard: no limit ends it before they go on")
            if self._signals.fd in ready:
                for number in self._signals.take():
                    self._signalled(number)
            if keys >= 0 and keys in ready:
                self._hear_keys(keys, ready[keys])
            elif refused and not ready:
                self._offer()
            if self._connection.fileno() in ready:
                if not self._connection.hear():
                    return
                self._read_events()
                if self._typed is not None and self._connection.answered and not self._connection.refused:
                    self._more = bool(self._typed)  # empty: that was the end of the input
                    self._typed = None
                self._hear_whether_wanted()
            self._insist_on_stop()

    def _keys(self) -> int:
        """Return the descriptor that keys come from, or -1: none may be read now."""
        terminal = self._terminal
        if terminal is None or not self._connection.started:
            return -1  # the keeper looks at how the terminal is set before that is changed
        lines = self._connection.shown.get("lines")
        if lines is None:
            return -1  # what is in it already may be for the shell
        if terminal.entered:
            terminal.follow(lines=lines)
        else:
            if not terminal.ours:
                self._was_away = True
                return -1
            terminal.enter(lines=lines)
            self._reporter.raw = terminal.is_tty
            if self._was_away:
                self._connection.ask(do="continue", here=True)
                self._was_away = False
        return terminal.fd if self._more else -1

    def _timeout(self, refused: bool) -> float | None:
        """Return the time until the next step, in milliseconds as poll takes it; None: no step is due."""
        waits = [wait for wait in (_OFFER_AGAIN if refused else None, self._connection.patience()) if wait is not None]
        if self._terminal is not None and not self._terminal.entered:
            waits.append(_IS_IT_OURS)
        if self._ask_at:
            waits.append(max(0.0, self._ask_at - time.monotonic()))
        if self._stop_by is not None:
            waits.append(max(0.0, self._stop_by - time.monotonic()))
        return min(waits) * 1000 if waits else None

    def _signalled(self, number: int) -> None:
        if number == signal.SIGTSTP:
            self._stopping, self._stays_until = True, 0.0
        if number == signal.SIGWINCH:
            self._resize()
        elif number == signal.SIGCONT:
            if self._stopping:
                self._stays_until = time.monotonic() + _STOPS_LATE
        elif number in _KEYS and self._terminal is not None and self._terminal.lines:
            self._connection.ask(do="press", signal=signal.name_of(number))
        elif number == signal.SIGINT and self._attended:
            self._reporter.echoed()
            self._connection.ask(do="interrupt")
        elif number in _ENDING:
            # a second SIGINT of a program that sends them means it; a person is told what the next one does
            again = number == signal.SIGINT and self._connection.cancelled
            self._connection.cancel(signal.name_of(number), force=again, interrupt=number == signal.SIGINT)
        elif number == signal.SIGQUIT:
            self._connection.ask(do="signal", signal="SIGQUIT")
        elif number == signal.SIGTSTP:
            self._stop_by, self._forced = time.monotonic() + _TO_STOP, False
            self._connection.ask(do="pause")

    def _resize(self) -> None:
        size = self._terminal.size() if self._terminal is not None else None
        if size is not None:
            self._connection.ask(do="resize", rows=size[0], columns=size[1])

    # --- stopping with the job ------------------------------------------------------------------------------

    def _insist_on_stop(self) -> None:
        """A job that does not stop by the signal that it may catch is stopped by the other; then we stop, too."""
        if self._stop_by is None or time.monotonic() < self._stop_by:
            return
        if self._forced:
            self._told_late = True  # of the pause that we have obeyed already
            self._stop_too()
        else:
            self._stop_by, self._forced = time.monotonic() + _TO_BE_STOPPED, True
            self._connection.ask(do="pause", force=True)

    def _stop_too(self) -> None:
        """The job has stopped: stop with it until the shell continues us, then continue it."""
        asked, self._stop_by = self._stop_by is not None, None
        if self._terminal is not None:
            self._terminal.leave()
        self._reporter.raw = False
        for number in self._signals.take_now():
            self._signalled(number)
        # Below make or a script the shell sees that one stop, at once, and may have continued us all before the job has
        # stopped. It would not do so again.
        if time.monotonic() >= self._stays_until:
            # what sent the signal to us has sent it to our group; a key that stopped the job has not
            _stop(os.getpid() if asked else 0, self._stop_as)
        self._stopping, self._stays_until, self._stop_as = False, 0.0, signal.SIGTSTP
        here = self._terminal is None or self._terminal.ours
        self._connection.ask(do="continue", here=here)
        self._resize()

    # --- keys and events ------------------------------------------------------------------------------------

    def _hear_keys(self, keys: int, mask: int) -> None:
        """Keys have come. They are the job's, unless it takes lines and may not read this one."""
        assert self._terminal is not None
        self._ask_at = 0.0
        if self._terminal.lines and not mask & (select.POLLHUP | select.POLLERR):
            self._asking = True
            self._connection.ask_for_keys()
            return
        self._typed = self._read_keys(keys)
        self._offer()

    def _hear_whether_wanted(self) -> None:
        """Offer the line that waits in the terminal if the job wants it; else leave it there and ask again later."""
        if not self._asking or self._connection.wanted is None:
            return
        self._asking = False
        if self._last is not None:  # it has ended since it was asked
            return
        if not self._connection.wanted:
            self._ask_at = time.monotonic() + self._ask_after
            self._ask_after = min(self._ask_after * 2, _ASK_SELDOM)
            return
        self._ask_after = _ASK_AGAIN
        if self._terminal is not None and self._terminal.entered and self._terminal.ours:
            self._typed = self._terminal.take_line()
            if self._typed is not None:
                self._offer()

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
        shown, paused = self._connection.shown, False
        self._reporter.place(fresh=bool(shown.get("fresh", True)), screen=bool(shown.get("screen")))
        for event in self._connection.new_events():
            if event["type"] == ev.EXITED:
                self._last = event
                paused = False
            elif event["type"] == ev.WATCHDOG and event["phase"] == "paused":
                paused, self._told_late = not self._told_late, False
            elif event["type"] == ev.WATCHDOG and event["phase"] == "continued":
                paused = self._told_late = False
            elif event["type"] == ev.WATCHDOG and event["phase"] == "needs_input" and self._attended:
                self._asked()
            else:
                self._reporter.event(event, self._connection.place.id)
        if paused:
            self._stop_too()

    def _asked(self) -> None:
        """The job waits for input, and the person sees it; in the background it is stopped until it is in front."""
        if self._terminal is not None and self._terminal.is_tty and not self._terminal.ours:
            self._stop_as = signal.SIGTTIN
            self._connection.ask(do="pause")
