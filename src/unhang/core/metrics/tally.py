"""What the events of one job add to the counters. Nothing is ever taken back, so the sum of all jobs only grows."""

from __future__ import annotations

from unhang.core import events as ev
from unhang.core import values
from unhang.core.metrics import series

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Totals = dict[str, float]

_ASKS = {"needs_input": "input", "needs_approval": "approval"}


class Tally:
    """The counts of one job up to an event, and what is needed to go on from there."""

    def __init__(self) -> None:
        self.counts: Totals = {}
        self.ended = False
        self._alive_at: float | None = None
        self._warned = ""  # the limit that a warning was about, while it holds
        self._extended = 0
        self._waits: tuple[str, float] | None = None  # for what a person is asked, and since when
        self._steps: list[str] = []

    def to_json(self) -> dict[str, Any]:
        """Return all of it; `from_json` reads it back."""
        return {
            "counts": self.counts,
            "aliveAt": self._alive_at,
            "warned": self._warned,
            "extended": self._extended,
            "waits": None if self._waits is None else list(self._waits),
            "steps": self._steps,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Tally:
        """Read a tally; a field that is not as it was written counts as missing."""
        tally = cls()
        tally.counts = totals(value.get("counts"))
        tally._alive_at = values.number(value.get("aliveAt"))
        tally._warned = values.text(value.get("warned")) or ""
        tally._extended = values.whole(value.get("extended")) or 0
        waits = value.get("waits")
        if isinstance(waits, list) and len(waits) == 2 and waits[0] in series.WAITS and values.number(waits[1]):
            tally._waits = (waits[0], waits[1])
        tally._steps = [step for step in values.texts(value.get("steps")) or [] if step in series.STEPS]
        return tally

    def apply(self, event: ev.Event) -> None:
        """Count one more event."""
        at = values.moment(event.get("ts"))
        match event.get("type"):
            case ev.STARTED:
                self._add(series.RETRIES if (event.get("attempt") or 1) > 1 else series.STARTS)
                self._steps = []
                self._live(at)
            case ev.OUTPUT | ev.HEARTBEAT:
                if event.get("alive", True):
                    self._live(at)
            case ev.AGENT:
                self._agent(str(event.get("phase")), event, at)
            case ev.WATCHDOG:
                self._watched(str(event.get("phase")), event, at)
            case ev.SIGNAL:
                step = event.get("step")
                if step in series.STEPS and step not in self._steps:
                    self._steps.append(step)
                    self._add(series.STOPPED, step)
            case ev.EXITED:
                self._exited(event, at)

    def saw_keeper(self, cpu: float) -> None:
        """Note that the keeper has used so many seconds of processor time up to now."""
        key = series.counted(series.KEEPER_CPU)
        self.counts[key] = max(cpu, self.counts.get(key, 0.0))

    def _add(self, metric: series.Metric, *labels: str, by: float = 1) -> None:
        key = series.counted(metric, *labels)
        self.counts[key] = self.counts.get(key, 0) + by

    def _observe(self, metric: series.Metric, seconds: float, *labels: str) -> None:
        add(self.counts, series.observed(metric, max(0.0, seconds), *labels))

    def _live(self, at: float | None) -> None:
        self._alive_at = at if at is not None else self._alive_at
        self._answered(at)
        if self._warned == "idle":
            self._warned = ""

    def _answered(self, at: float | None) -> None:
        if self._waits is not None and at is not None:
            kind, since = self._waits
            self._observe(series.WAITED, at - since, kind)
        self._waits = None

    def _asked(self, kind: str, at: float | None) -> None:
        if at is not None and self._waits is None:
            self._waits = (kind, at)

    def _noticed(self, notice: str, event: ev.Event, at: float | None) -> None:
        silent = values.number(event.get("stallMs"))
        since = values.moment(event.get("since")) or self._alive_at
        if silent is not None:
            self._observe(series.NOTICED, silent / 1000, notice)
        elif at is not None and since is not None:
            self._observe(series.NOTICED, at - since, notice)

    def _agent(self, phase: str, event: ev.Event, at: float | None) -> None:
        if phase == "stuck":
            self._noticed("stuck", event, at)
        if event.get("alive", True) or event.get("decision"):
            self._live(at)
        if phase in _ASKS and not event.get("decision"):
            self._asked(_ASKS[phase], at)

    def _watched(self, phase: str, event: ev.Event, at: float | None) -> None:
        match phase:
            case "stuck":
                self._noticed("stuck", event, at)
            case "needs_input":
                self._noticed("needs_input", event, at)
                self._asked("input", at)
            case "warning":
                self._add(series.WARNINGS)
                self._warned = "hard" if event.get("wallClockMs") is not None else "idle"
            case "extended":
                if self._warned:
                    self._add(series.EXTENDED)
                    self._extended += 1
                self._warned = ""
            case "resumed":
                self._live(at)

    def _exited(self, event: ev.Event, at: float | None) -> None:
        self._answered(at)
        self.ended = True
        status = event.get("status") or "error"
        self._add(series.ENDED, status, _reason(status, event))
        took = values.number(event.get("durationMs"))
        if took is not None:
            self._observe(series.DURATION, took / 1000)
        if status == "success" and self._extended:
            self._add(series.FALSE_ALARMS, by=self._extended)
        self.saw_keeper((values.number(event.get("keeperCpuMs")) or 0) / 1000)


def _reason(status: str, event: ev.Event) -> str:
    kind = (values.mapping(event.get("error")) or {}).get("kind")
    reason = kind or ("exit" if event.get("signal") is None else "signal")
    return reason if (status, reason) in series.ENDS else series.OTHER


def add(to: Totals, more: Totals) -> None:
    """Add every count of one to the other."""
    for key, value in more.items():
        to[key] = to.get(key, 0) + value


def totals(value: Any) -> Totals:
    """Return totals as they were stored, without what is no count."""
    found: Totals = values.table_of(values.number)(value) or {}
    return found
