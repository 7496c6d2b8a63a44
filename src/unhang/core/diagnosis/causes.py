"""Every cause that a diagnosis can name, once: whether another attempt may help, why not, and what to do about it.

This is the only table. The keeper's decision to try a job again, the `retryable` field of a result and the
suggestions all come from its rows (`core.policy.retry`, `core.diagnosis.suggest`), so they cannot contradict each
other. A rule names a row itself (`causes.LOCK`), so it cannot name a cause that has none.

The texts of `advice` are templates. `{start}` and the like stand for what a face calls these things; `{limit}` for the
limit that fired; `{peer}` and `{holder}` for what the diagnosis found; see `suggest.py`.

A caller's result needs this table, so nothing here imports `typing` or `re`.
"""

from __future__ import annotations

from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# What the command line calls the things that advice speaks of. Another face passes a table of its own.
COMMAND_LINE: dict[str, str] = {
    "idle": "--idle",
    "hard": "--hard",
    "stdin": "--stdin",
    "shell": "--shell",
    "keep": "`--keep`",
    "start": "`unhang start`",
    "send": "`unhang send`",
    "beat": "`unhang beat`",
    "look": "`unhang diagnose --pid`",
    "deep": "`unhang diagnose --deep`",
}


class Cause(Record):
    """A reason for silence.

    `retryable` says whether the same command, run again unchanged, may end well; `why_not` why it may not. A finding
    can be certain that a retryable cause would be met again (`evidence.repeats`): such a cause has a `why_not` too,
    and `advice_if_repeated`. `advice_if_printing` holds for a job that printed while it was looked at.
    """

    name: str
    retryable: bool
    advice: tuple[str, ...]
    why_not: str = ""
    advice_if_repeated: tuple[str, ...] = ()
    advice_if_printing: tuple[str, ...] = ()


INPUT = Cause(
    "input",
    retryable=False,
    why_not="it waits for input, and would again",
    advice=("find the option that makes it not ask (`--yes`, `--batch`, `CI=true`)",),
)
NETWORK = Cause(
    "network",
    retryable=True,
    advice=(
        "check that {peer} answers (`curl -m 5`, its log, the proxy settings)",
        "give the client a timeout of its own, so that it fails with an error that names the peer",
    ),
)
LOCK = Cause(
    "lock",
    retryable=True,
    why_not="the process that holds its lock waits for ever itself",
    advice=(
        "end {holder} or wait for it, then run this again; {look} tells what it does",
        "do not run two of these at once on the same directory",
    ),
    advice_if_repeated=(
        "end {holder}, which waits for ever itself, then run this again; {look} tells what it does",
        "do not run two of these at once on the same directory",
    ),
)
DEADLOCK = Cause(
    "deadlock",
    retryable=True,
    why_not="it waits for what only it could give, and would again",
    advice=(
        "running it again may get through: which thread comes first is chance",
        "{deep} shows where each thread stands; take locks in one order everywhere",
    ),
    advice_if_repeated=("it waits for what only it could give, and will do so again: look where with {deep}",),
)
PIPE_CYCLE = Cause(
    "pipe_cycle",
    retryable=False,
    why_not="its processes wait for each other's pipes, and would again",
    advice=(
        "read a child's output while writing to it (`communicate()`), or send the output to a file",
        "close the ends of a pipe that a process does not use: an open write end means no end of file",
    ),
)
STOPPED = Cause(
    "stopped",
    retryable=False,
    why_not="it was stopped by a signal",
    advice=(
        "a background job that uses the terminal is stopped: give it `< /dev/null`, or run it in the foreground",
        "`kill -CONT PID` continues it",
    ),
)
LEAK = Cause(
    "leak",
    retryable=False,
    why_not="the command had ended; what it left running kept its output open",
    advice=(
        "start what should stay with {start}, or keep it with {keep}",
        "wait for background jobs before the script ends (`wait`), and give them `> log 2>&1 < /dev/null`",
    ),
)
IDLE = Cause(
    "idle",
    retryable=False,
    why_not="it waits for nothing that could still happen",
    advice=("it waits for nothing that could still happen: look for a missing signal, message or `await`",),
)
TIMER = Cause(
    "timer",
    retryable=True,
    advice=("it sleeps on purpose: shorten the pause, or raise {limit} above it",),
)
POLL = Cause(
    "poll",
    retryable=True,
    advice=("what it polls for has not come: check that condition, and bound the loop",),
)
BUSY = Cause(
    "busy",
    retryable=True,
    advice=(
        "look where it spins with {deep} (py-spy, eu-stack, jstack)",
        "if it is a long computation, let it print progress and raise {limit}",
    ),
)
LISTENING = Cause(
    "listening",
    retryable=False,
    why_not="it is a server, which does not end",
    advice=(
        "it is a server or a watcher and will not end by itself: run it with {start}",
        "pass the option that makes it run once (`--run`, `--watch=false`, `CI=true`)",
    ),
)
PROGRESS = Cause(
    "progress",
    retryable=True,
    advice=("it works without printing: a verbose option would show how far it is",),
    advice_if_printing=(
        "it prints all the time: bound what it does (a count, `| head`), or send its output to a file",
    ),
)
UNKNOWN = Cause(
    "unknown",
    retryable=True,
    advice=("{deep} shows the stacks, where they can be read",),
)

# every row above
TABLE: dict[str, Cause] = {row.name: row for row in tuple(globals().values()) if isinstance(row, Cause)}


def cause_of(diagnosis: dict[str, Any] | None) -> Cause:
    """Return the row of a diagnosis in its JSON shape; UNKNOWN where there is none, or one of a newer unhang."""
    return TABLE.get(str((diagnosis or {}).get("cause")), UNKNOWN)


def repeats(diagnosis: dict[str, Any] | None) -> bool:
    """Return whether the diagnosis is certain that another run would meet the same cause."""
    evidence = (diagnosis or {}).get("evidence")
    return isinstance(evidence, dict) and evidence.get("repeats") is True


def why_not_again(diagnosis: dict[str, Any] | None, needs_input: bool = False) -> str:
    """Return why another attempt cannot help; empty where it may.

    `needs_input`: a prompt is open, whatever else was found.
    """
    if needs_input:
        return INPUT.why_not
    cause = cause_of(diagnosis)
    return cause.why_not if not cause.retryable or repeats(diagnosis) else ""


# A silence of these may end by itself, unless it is proved to be a hang.
_MAY_END = (NETWORK, POLL, PROGRESS, UNKNOWN)


def may_be_quiet(diagnosis: dict[str, Any], timeout_reason: str | None) -> bool:
    """Return whether a job that its idle limit ended may only have been quiet, and no known wait says otherwise."""
    idle = timeout_reason == "no_output_timeout"
    return idle and diagnosis.get("state") != "hung" and cause_of(diagnosis) in _MAY_END


def was_working(diagnosis: dict[str, Any], timeout_reason: str | None) -> bool:
    """Return whether a job that its hard limit ended was seen to work."""
    return timeout_reason == "exec_timeout" and diagnosis.get("state") == "alive" and cause_of(diagnosis) is PROGRESS


def may_be_slow(diagnosis: dict[str, Any] | None, timeout_reason: str | None) -> bool:
    """Return whether the general advice, a larger limit, adds to what is advised about this diagnosis.

    It contradicts a proof that the job hangs, and says again what the advice of some causes says.
    """
    if diagnosis is None:
        return True
    named = any("{limit}" in line for line in cause_of(diagnosis).advice)
    said = named or may_be_quiet(diagnosis, timeout_reason) or was_working(diagnosis, timeout_reason)
    return diagnosis.get("state") != "hung" and not said
