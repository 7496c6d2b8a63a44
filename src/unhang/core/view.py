"""Events → what is known of a job. One reducer; every face shows what it says, so all show the same truth."""

from __future__ import annotations

from unhang.core import events as ev

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KEPT_EVENTS = 50


class View:
    """Grows with every event. Read-only for everybody but `apply`."""

    def __init__(self) -> None:
        self.seq = 0
        self.phase = "starting"
        self.status = "running"
        self.pid: int | None = None
        self.started_at: str | None = None
        self.last_activity_at: str | None = None
        self.ended_at: str | None = None
        self.limits: dict[str, Any] = {}
        self.attempt = 1
        self.diagnosis: dict[str, Any] | None = None
        self.needs_input: dict[str, Any] | None = None
        self.agent: dict[str, Any] | None = None
        self.heartbeat: str | None = None
        self._stopping = False
        self.outcome: dict[str, Any] | None = None  # the last event, once there is one
        self.bytes = {"stdout": 0, "stderr": 0}
        self.last_events: list[ev.Event] = []

    @property
    def ended(self) -> bool:
        return self.outcome is not None

    def apply(self, event: ev.Event) -> None:
        self.seq = max(self.seq, int(event.get("seq", 0)))
        self.last_events.append(event)
        if len(self.last_events) > KEPT_EVENTS:
            del self.last_events[0]
        kind, phase, at = event.get("type"), str(event.get("phase", "")), str(event.get("ts", ""))
        if kind == ev.STARTED:
            self.phase, self.pid = "running", event.get("pid")
            self.started_at = self.started_at or at
            self._stopping = False
            self.last_activity_at = at
            self.limits = event.get("limits") or self.limits
            self.attempt = event.get("attempt") or self.attempt
        elif kind == ev.OUTPUT:
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
            self._live(at)
            self.agent, self.phase = event, phase
            # who drives an agent knows what it waits for; the kernel only sees an event loop
            self.diagnosis = event.get("diagnosis") or self.diagnosis
        elif kind == ev.SIGNAL:
            self._stopping = True
            self.phase = "stopping"
        elif kind == ev.EXITED:
            self.phase, self.ended_at = phase, at
            self.status = event.get("status") or "error"
            self.outcome = event
            self.bytes |= event.get("bytes") or {}

    def _live(self, at: str) -> None:
        if not self._stopping:  # what it says while it is being ended is no activity of its own
            self.last_activity_at = at
        self.needs_input = None
        if self.phase in ("stuck", "quiet", "needs_input", "warning"):
            self.phase = "running"

    def _watched(self, phase: str, event: ev.Event) -> None:
        if event.get("diagnosis"):
            self.diagnosis = event["diagnosis"]
        if phase == "needs_input":
            self.needs_input = {"prompt": event.get("prompt") or "", "since": event.get("since")}
        if phase == "resumed":
            self.needs_input = None
        for name, value in (event.get("limits") or {}).items():  # a limit that was moved keeps its source
            self.limits = self.limits | {name: self.limits.get(name, {}) | {"value": value}}
        if phase in ("slow", "retry"):
            return  # news, but it stands where it stood
        if phase == "extended":
            moved = event.get("reason") != "asked for"  # by its own progress, not by a caller
            self.phase = "quiet" if moved else ("running" if self.phase == "warning" else self.phase)
        else:
            self.phase = {"resumed": "running", "timeout": "stopping"}.get(phase, phase)


def fold(events: list[ev.Event]) -> View:
    view = View()
    for event in events:
        view.apply(event)
    return view
