"""Every metric that there is: its name, its help, its labels and all of their values."""

from __future__ import annotations

from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OTHER = "other"
# What the phase of a running job is counted as; every other phase counts as `running`.
STATES = (
    "running",
    "quiet",
    "stuck",
    "warning",
    "needs_input",
    "needs_approval",
    "paused",
    "stopping",
    "elsewhere",
)
# Status and reason of an end. A reason that is not here, from a newer version say, is `other`.
ENDS = (
    ("success", "exit"),
    ("error", "exit"),
    ("error", "signal"),
    ("error", "spawn"),
    ("error", "agent"),
    ("error", "lost"),
    ("error", OTHER),
    ("timeout", "inactivity"),
    ("timeout", "deadline"),
    ("timeout", OTHER),
    ("cancelled", "cancelled"),
    ("cancelled", OTHER),
)
STEPS = ("interrupt", "terminate", "kill")
NOTICES = ("stuck", "needs_input")
WAITS = ("input", "approval")
DELIVERIES = ("sent", "retry", "failed")


class Metric(Record):
    """One metric. `sets`: every combination of values that its labels can have. `bounds`: those of a histogram.

    `key`: what its values are kept by in totals, where it is counted from events.
    """

    name: str
    kind: str
    help: str
    key: str = ""
    labels: tuple[str, ...] = ()
    sets: Sequence[tuple[str, ...]] = ((),)
    bounds: tuple[float, ...] = ()


def _each(words: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    return tuple((word,) for word in words)


DURATION = Metric(
    "unhang_job_duration_seconds",
    "histogram",
    "How long jobs ran that have ended, the last attempt of each.",
    "duration",
    bounds=(1, 10, 60, 300, 1800, 7200, 36000),
)
NOTICED = Metric(
    "unhang_time_to_notice_seconds",
    "histogram",
    "From the last sign of life of a job to the notice that it is stuck, or waits for input.",
    "noticed",
    ("notice",),
    _each(NOTICES),
    (5, 15, 30, 60, 120, 300, 900, 3600),
)
WAITED = Metric(
    "unhang_needs_input_wait_seconds",
    "histogram",
    "How long jobs waited for a person: for input at a prompt, or for an approval.",
    "waited",
    ("kind",),
    _each(WAITS),
    (10, 60, 300, 900, 3600, 14400),
)
STARTS = Metric("unhang_job_starts_total", "counter", "Jobs that were started.", "starts")
RETRIES = Metric("unhang_job_retries_total", "counter", "Further attempts after a timeout.", "retries")
ENDED = Metric(
    "unhang_job_ends_total",
    "counter",
    "Jobs that have ended, by status and reason.",
    "ends",
    ("status", "reason"),
    ENDS,
)
WARNINGS = Metric("unhang_warnings_total", "counter", "Warnings that a limit would end a job.", "warnings")
EXTENDED = Metric(
    "unhang_warnings_extended_total",
    "counter",
    "Warnings after which the limit was moved, by a caller or by the job's own progress.",
    "extended",
)
FALSE_ALARMS = Metric(
    "unhang_false_alarms_total",
    "counter",
    "Warnings that were extended, of jobs that then ended well.",
    "false_alarms",
)
STOPPED = Metric(
    "unhang_stop_steps_total",
    "counter",
    "Steps that were taken to end a job, each once an attempt: SIGINT, SIGTERM, SIGKILL.",
    "steps",
    ("step",),
    _each(STEPS),
)
KEEPER_CPU = Metric(
    "unhang_keeper_cpu_seconds_total", "counter", "Processor time of keepers, those of ended jobs included.", "cpu"
)
DELIVERED = Metric(
    "unhang_alert_deliveries_total",
    "counter",
    "Attempts to deliver an alert: sent, to be tried again, failed for good.",
    "deliveries",
    ("outcome",),
    _each(DELIVERIES),
)
JOBS = Metric("unhang_jobs", "gauge", "Jobs that run now, by state.", "jobs", ("state",), _each(STATES))
FOLLOWERS = Metric("unhang_followers", "gauge", "Processes that follow the events of a running job.", "followers")
KEEPERS = Metric("unhang_keepers", "gauge", "Keepers that run on this machine.", "keepers")
KEEPER_MEMORY = Metric(
    "unhang_keeper_resident_memory_bytes", "gauge", "Resident memory of all keepers that run.", "memory"
)
UNCOUNTED = Metric(
    "unhang_uncounted_jobs",
    "gauge",
    "Records of jobs that the totals do not hold yet; the next scrapes count them.",
    "uncounted",
)

METRICS = (
    JOBS,
    STARTS,
    RETRIES,
    ENDED,
    DURATION,
    NOTICED,
    WAITED,
    WARNINGS,
    EXTENDED,
    FALSE_ALARMS,
    STOPPED,
    KEEPERS,
    KEEPER_CPU,
    KEEPER_MEMORY,
    FOLLOWERS,
    DELIVERED,
    UNCOUNTED,
)


# Counted from the logs of all jobs.
TOTALS = (STARTS, RETRIES, ENDED, DURATION, NOTICED, WAITED, WARNINGS, EXTENDED, FALSE_ALARMS, STOPPED, KEEPER_CPU)


def counted(metric: Metric, *values: str) -> str:
    """Return the key of one series of a counter or gauge in totals."""
    return " ".join((metric.key, *values))


def observed(metric: Metric, value: float, *values: str) -> dict[str, float]:
    """Return what one observation adds to the totals of a histogram: to one bucket, and to the sum."""
    bucket = next((i for i, bound in enumerate(metric.bounds) if value <= bound), len(metric.bounds))
    key = counted(metric, *values)
    return {f"{key} {bucket}": 1, f"{key} sum": value}
