"""Signals: numbers, names and calls, as plain as the kernel has them.

Python's `signal` wraps the module below it in enumerations, and loading those takes longer than a keeper takes to start
a job. Everything between `unhang run` and the end of its job uses this module instead.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal

SIG_BLOCK: int = _signal.SIG_BLOCK
SIG_DFL: int = _signal.SIG_DFL
SIG_IGN: int = _signal.SIG_IGN
SIG_SETMASK: int = _signal.SIG_SETMASK
SIG_UNBLOCK: int = _signal.SIG_UNBLOCK
SIGCHLD: int = _signal.SIGCHLD
SIGCONT: int = _signal.SIGCONT
SIGHUP: int = _signal.SIGHUP
SIGINT: int = _signal.SIGINT
SIGKILL: int = _signal.SIGKILL
SIGPIPE: int = _signal.SIGPIPE
SIGQUIT: int = _signal.SIGQUIT
SIGSTOP: int = _signal.SIGSTOP
SIGTERM: int = _signal.SIGTERM
SIGTSTP: int = _signal.SIGTSTP
SIGTTIN: int = _signal.SIGTTIN
SIGUSR1: int = _signal.SIGUSR1
SIGUSR2: int = _signal.SIGUSR2
SIGWINCH: int = _signal.SIGWINCH
SIGXFSZ: int = _signal.SIGXFSZ

getsignal = _signal.getsignal
pthread_sigmask = _signal.pthread_sigmask
set_wakeup_fd = _signal.set_wakeup_fd
signal = _signal.signal
sigtimedwait = _signal.sigtimedwait
sigwaitinfo = _signal.sigwaitinfo
valid_signals = _signal.valid_signals


def _named() -> dict[str, int]:
    """In the order of the alphabet: of two names for one signal the first is the one that `signal` shows."""
    return {
        name: number
        for name, number in sorted(vars(_signal).items())
        if name.startswith("SIG") and not name.startswith("SIG_")
    }


def name_of(number: int) -> str:
    """Return the name of a signal, such as SIGTERM; raise ValueError if it has none."""
    for name, known in _named().items():
        if known == number:
            return name
    raise ValueError(f"{number} is no signal with a name")


def number_of(name: str) -> int:
    """Return the number of the signal of this name, such as SIGTERM; raise KeyError if there is none."""
    return _named()[name]
