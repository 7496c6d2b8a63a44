"""Everything unhang raises, and the exit codes of its command line.

    UnhangError                  base; the message is one line for people
    ├── UsageError               what was asked for makes no sense             exit 2
    ├── SpawnError               the command could not be started              exit 126 / 127 / 125
    ├── NoSuchJob, AmbiguousJob  the job named is not there, or is several     exit 125
    ├── StateError               the state directory cannot be trusted or read exit 125
    ├── ControlError             a live keeper refused or did not answer       exit 125
    └── JobError                 a job did not succeed (raised by .check())
        ├── TimedOut             idle or hard limit                            exit 124
        ├── Failed               exit code other than 0, or a signal
        └── Cancelled            its end was asked for                         exit 130

An illegal call on the watchdog is not among them: that is a bug of ours and is its own exception there.
"""

from __future__ import annotations

TYPE_CHECKING = False  # the real constant lives in `typing`, whose import costs start-up time
if TYPE_CHECKING:
    from unhang.core.result import Result

EXIT_USAGE = 2
EXIT_TIMEOUT = 124
EXIT_FAILED = 125
EXIT_NOT_EXECUTABLE = 126
EXIT_NOT_FOUND = 127
EXIT_SIGNAL_BASE = 128
EXIT_INTERRUPTED = 130


def os_error_text(error: OSError) -> str:
    """Return an error of the system as one line: what is wrong, and with which file."""
    return f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}"


class UnhangError(Exception):
    """One line that says what is wrong and what to do."""

    exit_code = EXIT_FAILED


class UsageError(UnhangError):
    """What was asked for makes no sense; nothing was done."""

    exit_code = EXIT_USAGE


class SpawnError(UnhangError):
    """The command never ran. `exit_code` follows the shell: 127 not found, 126 not executable."""

    def __init__(self, message: str, exit_code: int = EXIT_FAILED) -> None:
        super().__init__(message)
        self.exit_code = exit_code

    def __reduce__(self) -> tuple[type[SpawnError], tuple[str, int]]:
        return type(self), (str(self), self.exit_code)


class NoSuchJob(UnhangError):
    """No job has this id or prefix."""


class AmbiguousJob(UnhangError):
    """Several jobs have this prefix; `candidates` are their ids."""

    def __init__(self, message: str, candidates: list[str]) -> None:
        super().__init__(message)
        self.candidates = candidates

    def __reduce__(self) -> tuple[type[AmbiguousJob], tuple[str, list[str]]]:
        return type(self), (str(self), self.candidates)


class StateError(UnhangError):
    """The state directory cannot be trusted, read or written."""


class ControlError(UnhangError):
    """The keeper of a running job refused a request or did not answer."""


class JobError(UnhangError):
    """A job that did not succeed; the whole story is in `.result`."""

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> tuple[type[JobError], tuple[str, Result]]:
        # by default only the message is passed on, and a process pool hangs on an exception that it cannot rebuild
        return type(self), (str(self), self.result)


class TimedOut(JobError):
    """The idle or the hard limit ended the job."""

    exit_code = EXIT_TIMEOUT


class Failed(JobError):
    """The job exited with a code other than 0, died of a signal, was lost, or could not be started."""


class Cancelled(JobError):
    """A caller asked for the end of the job, or the caller exited."""

    exit_code = EXIT_INTERRUPTED
