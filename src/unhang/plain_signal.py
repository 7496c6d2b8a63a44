"""Signals: numbers, names and calls, as plain as the kernel has them.

Python's `signal` wraps the module below it in enumerations, and loading those takes longer than a keeper takes to start
a job. Everything between `unhang run` and the end of its job uses this module instead.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from signal import (
        getsignal,
        pthread_sigmask,
        set_wakeup_fd,
        signal,
        sigtimedwait,
        sigwaitinfo,
        valid_signals,
    )

    SIG_DFL: int
    SIG_IGN: int
    SIG_BLOCK: int
    SIG_SETMASK: int
    SIG_UNBLOCK: int
    SIGCHLD: int
    SIGCONT: int
    SIGHUP: int
    SIGINT: int
    SIGKILL: int
    SIGPIPE: int
    SIGQUIT: int
    SIGSTOP: int
    SIGTERM: int
    SIGTSTP: int
    SIGTTIN: int
    SIGUSR1: int
    SIGUSR2: int
    SIGWINCH: int
    SIGXFSZ: int
else:
    import _signal
    from _signal import (
        SIG_BLOCK,
        SIG_DFL,
        SIG_IGN,
        SIG_SETMASK,
        SIG_UNBLOCK,
        SIGCHLD,
        SIGCONT,
        SIGHUP,
        SIGINT,
        SIGKILL,
        SIGPIPE,
        SIGQUIT,
        SIGSTOP,
        SIGTERM,
        SIGTSTP,
        SIGTTIN,
        SIGUSR1,
        SIGUSR2,
        SIGWINCH,
        SIGXFSZ,
        getsignal,
        pthread_sigmask,
        set_wakeup_fd,
        signal,
        sigtimedwait,
        sigwaitinfo,
        valid_signals,
    )

__all__ = [
    "SIGCHLD",
    "SIGCONT",
    "SIGHUP",
    "SIGINT",
    "SIGKILL",
    "SIGPIPE",
    "SIGQUIT",
    "SIGSTOP",
    "SIGTERM",
    "SIGTSTP",
    "SIGTTIN",
    "SIGUSR1",
    "SIGUSR2",
    "SIGWINCH",
    "SIGXFSZ",
    "SIG_BLOCK",
    "SIG_DFL",
    "SIG_IGN",
    "SIG_SETMASK",
    "SIG_UNBLOCK",
    "getsignal",
    "name_of",
    "number_of",
    "pthread_sigmask",
    "set_wakeup_fd",
    "signal",
    "sigtimedwait",
    "sigwaitinfo",
    "valid_signals",
]


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
