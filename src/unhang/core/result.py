"""The result of a job, as every face gives it: finished or still running."""

from __future__ import annotations

from unhang import errors
from unhang.core import outcome
from unhang.core.advice import advise
from unhang.core.plain_text import one_line
from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.view import View

# of the output, in the message of an exception
_LAST_LINES = 10
_LONGEST_LINE = 500


class Result(Record):
    """`status`: success, error, timeout, cancelled or running. Durations are seconds here, milliseconds in JSON."""

    job_id: str
    status: str
    exit_code: int | None
    signal: str | None
    timeout_reason: str | None
    termination_mode: str | None
    duration: float | None
    stdout: str
    stderr: str
    truncated: bool
    leaked: bool
    limits: dict[str, Any]
    error: dict[str, Any] | None
    partial: dict[str, Any] | None
    diagnosis: dict[str, Any] | None
    recovery: dict[str, Any] | None
    outcome: dict[str, Any]
    command: str = ""  # one line for people, without secrets

    def __repr__(self) -> str:
        how = self.outcome.get("message") or self.status
        command = f"{one_line(self.command, 60)}: " if self.command else ""
        return f"<Result {self.status}: {command}{one_line(str(how), 100)} (job {self.job_id})>"

    @property
    def ok(self) -> bool:
        """Return whether the status is "success"."""
        return self.status == "success"

    @property
    def shell_code(self) -> int:
        """Return what `unhang run` exits with."""
        return outcome.exit_code(self.outcome)

    @property
    def suggestions(self) -> list[str]:
        """Return what the caller could do next, in sentences; empty if nothing is known."""
        return list((self.recovery or {}).get("suggestions", []))

    def check(self) -> Result:
        """Return this result if the job succeeded; else raises TimedOut, Cancelled or Failed with `.result`."""
        if self.ok:
            return self
        how = (self.error or {}).get("message") or self.outcome.get("message") or f"the job is {self.status}"
        message = f"{one_line(self.command, 200)}: {how}" if self.command else str(how)
        kinds: dict[str, type[errors.JobError]] = {"timeout": errors.TimedOut, "cancelled": errors.Cancelled}
        raise kinds.get(self.status, errors.Failed)(f"{message} (job {self.job_id}){self._last_words()}", self)

    def _last_words(self) -> str:
        """The last lines of its output, for the message of an exception."""
        text = self.stderr.rstrip() or self.stdout.rstrip()
        lines = [one_line(line, _LONGEST_LINE) for line in text[-_LONGEST_LINE * _LAST_LINES :].splitlines()]
        return "".join(f"\n    {line}" for line in lines[-_LAST_LINES:])

    @property
    def attempts(self) -> list[dict[str, Any]]:
        """Return how each attempt ended, in their order; empty if there was only one."""
        return outcome.attempts_of(self.outcome)

    @property
    def total(self) -> float | None:
        """Return how many seconds all attempts took together."""
        total = self.outcome.get("totalMs")
        return self.duration if total is None else float(total) / 1000

    def to_json(self) -> dict[str, Any]:
        """Return the result as every face prints it, durations in milliseconds."""
        more: dict[str, Any] = {}
        if self.attempts:
            total = None if self.total is None else round(self.total * 1000)
            more = {"attempts": len(self.attempts), "totalMs": total, "attemptEnds": self.attempts}
        return more | {
            "jobId": self.job_id,
            "status": self.status,
            "exitCode": self.exit_code,
            "signal": self.signal,
            "timeoutReason": self.timeout_reason,
            "terminationMode": self.termination_mode,
            "durationMs": None if self.duration is None else round(self.duration * 1000),
            "stdout": self.stdout,
            "stderr": self.stderr,
            "truncated": self.truncated,
            "leaked": self.leaked,
            "limits": self.limits,
            "error": self.error,
            "partial": self.partial,
            "diagnosis": self.diagnosis,
            "recovery": self.recovery,
        }


class Printed(Record):
    """What of one stream is there: all that was kept, and its last 64 KiB."""

    text: str
    tail: str
    truncated: bool


def build(
    job_id: str, view: View, stdout: Printed, stderr: Printed, elapsed: float | None, command: str = ""
) -> Result:
    """Build the result of a job from its events and its output; `elapsed` stands in while it has no duration yet.

    `command`: one line for people.
    """
    last: dict[str, Any] = view.outcome or {}
    duration = last["durationMs"] / 1000 if last.get("durationMs") is not None else elapsed
    succeeded = view.status == "success"
    partial = None
    if not succeeded:
        partial = {
            "lastEvents": view.last_events,
            "stdoutTail": stdout.tail,
            "stderrTail": stderr.tail,
            "lastActivityAt": view.last_activity_at,
            "eventsCount": view.seq,
        }
    return Result(
        job_id=job_id,
        status=view.status,
        exit_code=last.get("exitCode"),
        signal=last.get("signal"),
        timeout_reason=last.get("timeoutReason"),
        termination_mode=last.get("terminationMode"),
        duration=duration,
        stdout=stdout.text,
        stderr=stderr.text,
        truncated=stdout.truncated or stderr.truncated,
        leaked=bool(last.get("leaked", False)),
        limits=view.limits,
        error=last.get("error"),
        partial=partial,
        diagnosis=None if succeeded else view.diagnosis,
        recovery=advise(
            view.status,
            last | {"suggestions": [*suggested_by_agent(view), *(last.get("suggestions") or [])]},
            view.diagnosis,
            job_id,
            view.needs_input is not None,
            agent=view.agent is not None,
        ),
        outcome=last,
        command=command,
    )


def suggested_by_agent(view: View) -> list[str]:
    """Return what the driver of an agent suggests; it comes before what follows from the end alone."""
    for event in reversed(view.last_events):
        if event.get("type") == "agent" and event.get("suggestions"):
            return list(event["suggestions"])
    return []
