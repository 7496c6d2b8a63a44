"""What is known of a job, built from its events. Every face shows this view, so all faces say the same."""

from __future__ import annotations

from unhang.core import events as ev
from unhang.core import notices, values
from unhang.core.diagnosis.time_left import at_age, ends_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KEPT_EVENTS = 50
# The phase of a job after each watchdog event; "" leaves it unchanged. The other types need no table: an agent's event
# and the last event set the phase to their own.
PHASE_AFTER = {
    "stuck": "stuck",
    "needs_input": "needs_input",
    "quiet": "quiet",
    "warning": "warning",
    "extended": "quiet",  # by progress; not where a caller has asked for it
    "resumed": "running",
    "timeout": "stopping",
    "slow": "",
    "retry": "",
    "interrupted": "",
    "paused": "paused",
    "continued": "running",
}
# The phases of a job that a sign of life ends.
_SILENT = frozenset(phase for phase, after in PHASE_AFTER.items() if phase == after)
# Those of them in which the job is not known to work.
_IN_DOUBT = frozenset(phase for phase in _SILENT if notices.audience_of(ev.WATCHDOG, phase).client)

# The phases of an agent that say what it is at. One that is told again without a sign of life is nothing new.
_DOES = ev.agent_phases(ev.BEGINS, ev.THINKS, ev.WORKS, ev.RESTS)
# What an agent's own notices say of the job, however silent it is.
_TELLING = ev.agent_phases(ev.ASKS, ev.STALLS, ev.STOPS, ev.ENDS)


class View:
    """What the events so far say of a job. Only `apply` changes it."""

    def __init__(self) -> None:
        self.seq = 0
        self.phase = "starting"
        self.status = "running"
        self.pid: int | None = None
        self.started_at: str | None = None
        self.attempt_at: str | None = None  # when the attempt that runs was started
        self.last_activity_at: str | None = None
        self.ended_at: str | None = None
        self.limits: dict[str, Any] = {}
        self.attempt = 1
        self.diagnosis: dict[str, Any] | None = None
        self._diagnosed_at = ""
        self.needs_input: dict[str, Any] | None = None
        self.warning: ev.Event | None = None  # of a limit that is still near
        self.agent: dict[str, Any] | None = None  # its newest event
        self.doing: dict[str, Any] | None = None  # its newest event that says what it is at
        self.heartbeat: str | None = None
        self._stopping = False
        self.outcome: dict[str, Any] | None = None  # the last event, once there is one
        self.bytes = {"stdout": 0, "stderr": 0}
        self.last_events: list[ev.Event] = []
        self.last_of_agent: list[ev.Event] = []  # what an agent did, without the steps by which it is ended

    @property
    def ended(self) -> bool:
        """Return whether the last event of the job is known."""
        return self.outcome is not None

    @property
    def ending(self) -> str | None:
        """Return how the job ended, in one sentence; None: it has not."""
        return None if self.outcome is None else str(self.outcome.get("message") or "")

    @property
    def silent(self) -> bool:
        """Return whether the watchdog has noticed a silence that still lasts."""
        return self.phase in _SILENT

    @property
    def in_doubt(self) -> bool:
        """Return whether the job is silent and not known to work."""
        return self.phase in _IN_DOUBT

    def diagnosis_at(self, now: float | None) -> dict[str, Any] | None:
        """Return the diagnosis with the time that is left at `now` (seconds since 1970).

        None for `now`: for readers at any time, so it names no time. Of a job that has ended: as it was recorded.
        """
        if self.diagnosis is None or self.ended:
            return self.diagnosis
        made = values.moment(self._diagnosed_at)
        return at_age(self.diagnosis, None if now is None or made is None else now - made)

    def reason_at(self, now: float | None) -> str:
        """Return why the job is quiet, in one sentence, as `diagnosis_at` does; empty: it is not known."""
        return str((self.diagnosis_at(now) or {}).get("reason") or "")

    @property
    def wakes_at(self) -> float | None:
        """Return when what `reason_at` names ends by itself, in seconds since 1970; None: it is not known."""
        made = values.moment(self._diagnosed_at)
        return None if self.diagnosis is None or made is None or self.ended else ends_at(self.diagnosis, made)

    @property
    def cause(self) -> str | None:
        """Return the cause of a silence that the watchdog has noticed, and that still lasts; None: it is not known."""
        return values.text((self.diagnosis or {}).get("cause")) if self.silent else None

    def summary(self) -> dict[str, Any]:
        """Return the phase, the process and the times of the job, as status.json and `unhang status` show them."""
        return {
            "phase": self.phase,
            "pid": self.pid,
            "startedAt": self.started_at,
            "lastActivityAt": self.last_activity_at,
            "endedAt": self.ended_at,
            "seq": self.seq,
        }

    def apply(self, event: ev.Event) -> None:
        """Take one more event into account."""
        self.seq = max(self.seq, int(event.get("seq", 0)))
        self.last_events.append(event)
        if len(self.last_events) > KEPT_EVENTS:
            del self.last_events[0]
        kind, phase, at = event.get("type"), str(event.get("phase", "")), str(event.get("ts", ""))
        if kind == ev.AGENT or self.agent is not None:
            self._keep_for_model(event)
        if kind == ev.STARTED:
            self.phase, self.pid = "running", event.get("pid")
            self.started_at = self.started_at or at
            self.attempt_at = at
            self._stopping = False
            self.last_activity_at = at
            self.limits = event.get("limits") or self.limits
            self.attempt = event.get("attempt") or self.attempt
            # those of an earlier attempt say nothing of this one
            self.diagnosis = self.needs_input = self.warning = None
        elif kind == ev.OUTPUT:
            if event.get("alive", True):
                self._live(at)
            stream = str(event.get("stream"))
            end = (event.get("offset") or 0) + (event.get("bytes") or 0)
            self.bytes[stream] = max(self.bytes.get(stream, 0), end)
        elif kind == ev.HEARTBEAT:
            self._live(at)
            self.heartbeat = event.get("status")
        elif kind == ev.WATCHDOG:
            self._watched(phase, event)
        elif kind == ev.AGENT:
            self._agent_said(phase, event, at)
        elif kind == ev.SIGNAL:
            self._stopping = True
            self.phase = "stopping"
        elif kind == ev.EXITED:
            self.phase, self.ended_at = phase, at
            self.status = event.get("status") or "error"
            self.outcome, self.warning = event, None
            self.bytes |= event.get("bytes") or {}

    def _keep_for_model(self, event: ev.Event) -> None:
        """Of an agent's job a model reads what it did: output and the steps of its ending would push that out."""
        if event.get("type") == ev.SIGNAL or "step" in event or not notices.audience(event).model:
            return
        self.last_of_agent.append(event)
        if len(self.last_of_agent) > KEPT_EVENTS:
            del self.last_of_agent[0]

    def _agent_said(self, phase: str, event: ev.Event, at: str) -> None:
        """A notice about an agent is no activity of it. Events of version 1.0 do not say which they are."""
        self.agent = event
        if phase in _DOES and (event.get("alive", True) or phase != (self.doing or {}).get("phase")):
            self.doing = event
        if event.get("decision"):
            self.needs_input = None
        # the driver of an agent knows what it waits for; the kernel only shows an event loop
        self._diagnose(event)
        if event.get("alive", True):
            if not (self._stopping or event.get("diagnosis")):
                self.diagnosis = None  # it goes on: why it did not is over
            self._live(at)
        elif self.silent and phase not in _TELLING:
            return  # it says something, and is as silent as before
        if phase != "metering":  # what it has used says nothing of what it does
            self.phase = phase
        if phase == "needs_approval" and event.get("request"):
            # an answer that was not understood leaves the same question
            asked = self.needs_input or {}
            since = asked["since"] if asked.get("prompt") == event["request"] else at
            self.needs_input = {"prompt": event["request"], "since": since, "answers": event.get("answers")}

    def _live(self, at: str) -> None:
        if not self._stopping:  # output of a job that is being ended is not its own activity
            self.last_activity_at = at
        self.needs_input = None
        self._moved_away("idle")
        if self.silent:
            self.phase = "running"

    def _diagnose(self, event: ev.Event) -> None:
        if event.get("diagnosis"):
            self.diagnosis, self._diagnosed_at = event["diagnosis"], str(event.get("ts", ""))

    def _moved_away(self, limit: str) -> None:
        """A warning about this limit does not hold any more."""
        if self.warning is not None and ("wallClockMs" in self.warning) == (limit == "hard"):
            self.warning = None

    def _watched(self, phase: str, event: ev.Event) -> None:
        self._diagnose(event)
        if phase == "needs_input":
            self.needs_input = {"prompt": event.get("prompt") or "", "since": event.get("since")}
            self.needs_input |= {"password": True} if event.get("password") else {}
        if phase == "resumed":
            if not self._stopping:
                self.last_activity_at = str(event.get("ts") or self.last_activity_at or "")
            self.needs_input = None
            self._moved_away("idle")
        if phase == "warning":
            self.warning = event
        elif phase == "extended":
            self._moved_away(str(event.get("tier")))
            if not _asked(event):
                self.diagnosis = None  # its tree moves: what it waited for is over
        elif phase == "timeout":
            self.warning = None
        for name, value in (event.get("limits") or {}).items():  # a limit that was moved keeps its source
            self.limits = self.limits | {name: self.limits.get(name, {}) | {"value": value}}
        if phase == "extended" and _asked(event):
            after = "running" if self.phase == "warning" else ""
        else:
            after = "quiet" if ev.goes_on_by_itself(event) else PHASE_AFTER.get(phase, phase)
        self.phase = after or self.phase


def _asked(event: ev.Event) -> bool:
    """Whether a caller moved the limit, and not the progress of the tree. Logs of version 1 have no field for it."""
    asked = event.get("asked")
    return event.get("reason") == "asked for" if asked is None else bool(asked)
