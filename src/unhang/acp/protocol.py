"""ACP terminals without input and output: their states, what a request means, what is shown of the output.

A terminal is one command of an agent's. Every change of its state is made by `TerminalMachine`, and nowhere else:

    starting → running → finished | killed | timed_out → released

It may be released at any time; from then on its id is unknown. An end is recorded once: a caller that waits, kills or
reads afterwards gets the same one.
"""

from __future__ import annotations

from unhang.agents.base.jsonrpc_message import INVALID_PARAMS
from unhang.agents.base.update import preview
from unhang.core import plain_text
from unhang.core.events import ELOST, error_code
from unhang.core.limit_request import read_duration
from unhang.core.record import Record
from unhang.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

STARTING, RUNNING, FINISHED, KILLED, TIMED_OUT, RELEASED = STATES = (
    "starting",
    "running",
    "finished",
    "killed",
    "timed_out",
    "released",
)
ENDED = frozenset({FINISHED, KILLED, TIMED_OUT})
_NEXT = {
    STARTING: frozenset({RUNNING, FINISHED, KILLED, TIMED_OUT, RELEASED}),
    RUNNING: frozenset({FINISHED, KILLED, TIMED_OUT, RELEASED}),
    FINISHED: frozenset({RELEASED}),
    KILLED: frozenset({RELEASED}),
    TIMED_OUT: frozenset({RELEASED}),
    RELEASED: frozenset(),
}

# What a client keeps of one terminal at most, whatever an agent asks for.
MOST_OUTPUT = 64 << 20
# What the kernel takes as one word of a command line, and about what it takes in all.
LONGEST_WORD, LONGEST_LINE = 128 << 10, 2 << 20
# A terminal without a limit of its own.
DEFAULT_OUTPUT = 1 << 20
# Under this name an agent may say more in `_meta` than the protocol has words for, and is told more.
META = "unhang"


class Refused(Exception):
    """Raised to answer a request with an error: a JSON-RPC code, and one line that says why."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class IllegalTransition(Exception):
    """Raised for a state that cannot follow the present one; nothing has been changed."""


class Exit(Record):
    """How the command ended. The wire has room for code and signal; the rest goes to `_meta`."""

    state: str
    code: int | None
    signal: str | None
    reason: str | None = None  # why a limit ended it: exec_timeout, no_output_timeout
    message: str = ""
    left: tuple[str, ...] = ()  # what it left running, which was ended, too: "sleep 63 [4711]"
    survived: tuple[str, ...] = ()  # what could not be ended

    def to_json(self) -> dict[str, Any]:
        """Return the exit status as the protocol has it."""
        return {"exitCode": self.code, "signal": self.signal}


# The exit status of a command that still runs when a wait with a timeout is answered.
NO_EXIT: dict[str, Any] = {"exitCode": None, "signal": None}


class TerminalMachine:
    """The state of one terminal. Told what happened; an impossible step raises and changes nothing."""

    def __init__(self) -> None:
        self.state = STARTING
        self.exit: Exit | None = None
        self.kill_asked = False

    def _go(self, state: str) -> None:
        if state not in _NEXT[self.state]:
            raise IllegalTransition(f"{self.state} → {state}")
        self.state = state

    def started(self) -> None:
        """Record that the command runs."""
        self._go(RUNNING)

    def asked_to_end(self) -> bool:
        """Record a request to kill it; return True for the first one, if there is still something to kill."""
        first = not self.kill_asked and self.exit is None
        self.kill_asked = True
        return first

    def ended(self, exit: Exit) -> None:
        """Record its end, even of a terminal that was released while it ran: callers still wait for it."""
        if self.exit is not None:
            raise IllegalTransition(f"ended twice: {self.exit.state}, {exit.state}")
        if exit.state not in ENDED:
            raise IllegalTransition(f"{exit.state} is no end")
        if self.state != RELEASED:
            self._go(exit.state)
        self.exit = exit

    def released(self) -> None:
        """Record that the agent has released the terminal."""
        self._go(RELEASED)


def exit_of(outcome: Mapping[str, Any], *, timer: bool = False) -> Exit:
    """Return how a job ended, from its last event; `timer`: it was cancelled by a timer of ours, not by a request."""
    status = outcome.get("status")
    state = FINISHED
    if status == "timeout" or (status == "cancelled" and timer):
        state = TIMED_OUT
    elif status == "cancelled":
        state = KILLED
    code, signal = outcome.get("exitCode"), outcome.get("signal")
    if code is None and signal is None and error_code(outcome) == ELOST:
        signal = "SIGKILL"  # its keeper was killed, and what was left of it has been
    reason = outcome.get("timeoutReason") or ("exec_timeout" if state == TIMED_OUT else None)
    left = _named(outcome.get("leftovers")) if outcome.get("leaked") else ()
    survived = _named((outcome.get("error") or {}).get("survivors"))
    return Exit(state, code, signal, reason, str(outcome.get("message") or ""), left, survived)


def _named(processes: Any) -> tuple[str, ...]:
    """Return the processes of an event for a line of output."""
    return tuple(f"{plain_text.one_line(str(one.get('command')), 80)} [{one.get('pid')}]" for one in processes or ())


class ShownOutput(Record):
    """What of an output is shown: never more than the limit, whole characters, the end of it."""

    text: str
    truncated: bool


def cut_output(data: bytes, limit: int, *, cut: bool = False, running: bool = False) -> ShownOutput:
    """Return the last `limit` bytes of `data` as text. `cut`: bytes before `data` are gone already."""
    part = data[max(0, len(data) - limit - 4) :]  # what is no UTF-8 only grows when it becomes text
    cut = cut or len(part) < len(data)
    if cut:
        part = plain_text.whole_start(part)
    if running:
        part = plain_text.whole_end(part)  # the rest of the character is on its way
    text = plain_text.decode(part)
    encoded = text.encode()
    if len(encoded) > limit:
        encoded = plain_text.whole_start(encoded[len(encoded) - limit :])
        return ShownOutput(encoded.decode(), truncated=True)
    return ShownOutput(text, truncated=cut)


class TerminalRequest(Record):
    """A `terminal/create` request, checked."""

    session: str
    command: str
    args: list[str]
    env: dict[str, str]
    cwd: str | None
    limit: int
    wishes: dict[str, Any]  # limits for this one terminal, from `_meta`


_DURATIONS, _WORDS = ("idle", "hard", "stall", "warn", "grace"), ("category", "liveness")


def request_of(params: Any, default_limit: int = DEFAULT_OUTPUT) -> TerminalRequest:
    """Return the checked `terminal/create` request; raise Refused with what is wrong."""
    given = _table(params, "params")
    command = given.get("command")
    if not isinstance(command, str) or not command.strip():
        raise Refused(INVALID_PARAMS, "command: a command is a text that is not empty")
    args = given.get("args") or []
    if not isinstance(args, list) or not all(isinstance(word, str) for word in args):
        raise Refused(INVALID_PARAMS, "args: a list of texts")
    if max(map(len, (command, *args))) > LONGEST_WORD or sum(map(len, args)) > LONGEST_LINE:
        raise Refused(INVALID_PARAMS, "command: longer than a command line can be")
    cwd = given.get("cwd")
    if cwd is not None and (not isinstance(cwd, str) or not cwd.startswith("/")):
        raise Refused(INVALID_PARAMS, "cwd: an absolute path")
    return TerminalRequest(
        session=name_of(given, "sessionId"),
        command=command,
        args=list(args),
        env=_env(given.get("env") or []),
        cwd=cwd,
        limit=_limit(given.get("outputByteLimit"), default_limit),
        wishes=wishes_of(given.get("_meta")),
    )


def name_of(params: Any, key: str) -> str:
    """Return a field of the request that must be a text; raise Refused if it is not."""
    value = _table(params, "params").get(key)
    if not isinstance(value, str):
        raise Refused(INVALID_PARAMS, f"{key}: a text")
    return value


def _table(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Refused(INVALID_PARAMS, f"{what}: an object")
    return value


def _env(entries: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    if not isinstance(entries, list):
        raise Refused(INVALID_PARAMS, "env: a list of {name, value}")
    for entry in entries:
        name, value = (entry.get("name"), entry.get("value")) if isinstance(entry, dict) else (None, None)
        if not isinstance(name, str) or not isinstance(value, str):
            raise Refused(INVALID_PARAMS, "env: a list of {name, value}")
        found[name] = value
    return found


def _limit(asked: Any, default: int) -> int:
    if asked is None:
        return default
    if isinstance(asked, bool) or not isinstance(asked, int) or asked < 0:
        raise Refused(INVALID_PARAMS, "outputByteLimit: a number of bytes")
    return min(asked, MOST_OUTPUT)


def wishes_of(meta: Any) -> dict[str, Any]:
    """Return the limits for this one terminal: `_meta: {"unhang": {"hard": "2m"}}`."""
    said = meta.get(META) if isinstance(meta, dict) else None
    if said is None:
        return {}
    for name, value in _table(said, f"_meta.{META}").items():
        if name not in _DURATIONS + _WORDS:
            raise Refused(INVALID_PARAMS, f"_meta.{META}: unknown: {preview(name, 60)}")
        if isinstance(value, bool) or not isinstance(value, str if name in _WORDS else str | int | float):
            raise Refused(INVALID_PARAMS, f"_meta.{META}.{name}: {'a text' if name in _WORDS else 'a duration'}")
    return dict(said)


# The signals by which a kill may begin; whichever it is, the whole tree is ended in the end.
SIGNALS = ("SIGTERM", "SIGINT", "SIGKILL")


def timeout_of(params: Any) -> float | None:
    """Return how long a wait may take, `_meta: {"unhang": {"timeout": "30s"}}`; None: until the command has ended."""
    given = _said(params, "timeout")
    try:
        return read_duration(f"_meta.{META}.timeout", given, off=False)
    except UsageError as error:
        raise Refused(INVALID_PARAMS, str(error)) from None


def signal_of(params: Any) -> str:
    """Return the signal that a kill begins with: `_meta: {"unhang": {"signal": "SIGINT"}}`."""
    given = _said(params, "signal")
    if given is None:
        return SIGNALS[0]
    if given not in SIGNALS:
        raise Refused(INVALID_PARAMS, f"_meta.{META}.signal: one of {', '.join(SIGNALS)}")
    return str(given)


def _said(params: Any, name: str) -> Any:
    """The one thing that a request may say in `_meta`, and None if it does not."""
    meta = _table(params, "params").get("_meta")
    said = meta.get(META) if isinstance(meta, dict) else None
    if said is None:
        return None
    for given in _table(said, f"_meta.{META}"):
        if given != name:
            raise Refused(INVALID_PARAMS, f"_meta.{META}: unknown: {preview(given, 60)}")
    value = said.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, str | int | float)):
        raise Refused(INVALID_PARAMS, f"_meta.{META}.{name}: a text or a number")
    return value


def is_line(command: str, args: Sequence[str], runs: Callable[[str], bool]) -> bool:
    """Return whether `command` is a whole shell line: it has no arguments and names no program by itself."""
    return not args and not runs(command)


# Both streams in one, in the order in which they were written, as on a terminal; and still no terminal, at which
# programs would wait for keys.
MERGED = 'exec "$@" 2>&1'


def merged(argv: Sequence[str], shell: str) -> list[str]:
    """Return the command line that runs `argv` with its stderr going to its stdout."""
    return [shell, "-c", MERGED, shell, *argv]


def budget_for(limit: int) -> int:
    """Return what a job must keep so that the last `limit` bytes can be read at any moment: three quarters of half of
    it.
    """
    return max(8 << 20, -(-(limit + 4096) * 8 // 3))
