"""A job of a queue: where it stands, who may take it, in which order, and why it waits.

    queued ──claimed──▶ running ──ended──▶ ended
       ▲                   │
       └─────given back────┘        (its worker is gone, and it may run twice)

Every change is one message on the job's own subject, which the server stores only behind the message that the writer
has seen. So of two that would take a job one does, and of a job that was taken from a worker nothing that this worker
says is stored any more. `attempt` counts the claims: the higher one holds.

No clock is compared: the order is that of the server's numbers.
"""

from __future__ import annotations

from unhang.core import values
from unhang.core.fleet.subjects import is_machine
from unhang.core.record import Record
from unhang.core.sizes import human_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

QUEUED, RUNNING, ENDED = "queued", "running", "ended"
FAIL, RETRY = "fail", "retry"
ON_LOST = (FAIL, RETRY)
# A job that has cost so many workers is the reason for it, as a rule.
MOST_ATTEMPTS = 5
HIGHEST = 1000
MOST_NEEDS = 20

_FIELDS: dict[str, values.Reading] = {
    "queue": values.text,
    "jobId": values.text,
    "state": values.one_of(QUEUED, RUNNING, ENDED),
    "attempt": values.whole,
    "order": values.whole,
    "priority": lambda value: values.whole(value, -HIGHEST, HIGHEST),
    "needs": values.texts,
    "memory": values.whole,
    "onLost": values.one_of(*ON_LOST),
    "hold": values.number,
    "command": values.text,
    "name": values.text,
    "cwd": values.text,
    "labels": values.table_of(values.text),
    "kind": values.text,
    "createdAt": values.text,
    "machine": values.text,
    "worker": values.text,
    "ranAs": values.text,
    "status": values.text,
    "phase": values.text,
    "exitCode": values.integer,
    "endedAt": values.text,
    "why": values.text,
    "checkout": values.text,
    "patch": values.object_of({"bytes": values.whole, "sha256": values.text, "why": values.text}),
}


class QueuedJob(Record):
    """A job of a queue as the server has it. `place`: the number of the message that says so."""

    queue: str
    id: str
    state: str = QUEUED
    attempt: int = 0
    order: int = 0  # the server's number of its submission
    priority: int = 0
    needs: list[str] = []  # noqa: RUF012 - a Record is frozen; no code writes to it
    memory: int = 0
    on_lost: str = FAIL
    hold: float = 60.0  # how long its worker may be silent
    command: str = ""
    name: str = ""
    cwd: str = ""
    labels: dict[str, str] = {}  # noqa: RUF012 - as needs
    kind: str = "command"
    created: str = ""
    machine: str = ""
    worker: str = ""
    ran_as: str = ""  # its id on that machine
    status: str = ""
    phase: str = ""
    exit_code: int | None = None
    ended_at: str = ""
    why: str = ""
    checkout: str = ""  # the revision that it runs in, as REPO@REV
    patch: dict[str, Any] = {}  # noqa: RUF012 - as needs; what it has changed there: bytes and sha256, or why not
    place: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the job as the server stores it, and as lists print it."""
        found = self.to_dict()
        renamed = {
            "id": "jobId",
            "on_lost": "onLost",
            "created": "createdAt",
            "ran_as": "ranAs",
            "exit_code": "exitCode",
            "ended_at": "endedAt",
        }
        return {renamed.get(name, name): value for name, value in found.items() if name != "place"}

    def to_bytes(self) -> bytes:
        """Return the job as a message."""
        return values.dump(self.to_json(), compact=True).encode()

    # --- what may become of it --------------------------------------------------------------------------------

    def claimed(self, machine: str, worker: str) -> QueuedJob:
        """Return the job as a worker has taken it, for a new attempt."""
        assert self.state == QUEUED
        return self.replace(state=RUNNING, attempt=self.attempt + 1, machine=machine, worker=worker, why="", ran_as="")

    def finished(self, ran_as: str, status: str, phase: str, exit_code: int | None, at: str, why: str) -> QueuedJob:
        """Return the job as it has ended, by what its keeper recorded."""
        assert self.state == RUNNING
        ended: dict[str, Any] = {"state": ENDED, "status": status, "phase": phase, "exit_code": exit_code}
        return self.replace(**ended, ran_as=ran_as, ended_at=at, why=why)

    def given_back(self, why: str) -> QueuedJob:
        """Return the job, taken and not run, as the next worker may take it, at its old place."""
        assert self.state == RUNNING
        return self.replace(state=QUEUED, machine="", worker="", ran_as="", why=why)

    def lost(self, at: str, why: str, ran_as: str = "") -> QueuedJob:
        """Return the job without its worker, of which nothing runs any more: it is run again, or has failed."""
        assert self.state == RUNNING
        if self.on_lost == RETRY and self.attempt < MOST_ATTEMPTS:
            return self.given_back(f"run again: {why}")
        more = f" (after {self.attempt} attempts)" if self.attempt > 1 else ""
        return self.finished(ran_as, "error", "lost", None, at, why + more)

    def cancelled(self, at: str, by: str) -> QueuedJob:
        """Return the job as one that is not to run, or not any more: the worker that had it is fenced."""
        assert self.state != ENDED
        return self.replace(state=ENDED, status="cancelled", phase="cancelled", ended_at=at, why=f"cancelled by {by}")

    def is_of(self, worker: str, attempt: int) -> bool:
        """Return whether this attempt of this worker still holds it."""
        return self.state == RUNNING and self.worker == worker and self.attempt == attempt


def read_job(data: bytes, place: int) -> QueuedJob | None:
    """Read a message of a queue; None if it is none."""
    value = values.parse_object(data)
    if value is None:
        return None
    given = values.with_types(value, _FIELDS)
    names = {
        "jobId": "id",
        "onLost": "on_lost",
        "createdAt": "created",
        "ranAs": "ran_as",
        "exitCode": "exit_code",
        "endedAt": "ended_at",
    }
    known = {names.get(name, name): given[name] for name in _FIELDS if given.get(name) is not None}
    if not (is_queue(str(known.get("queue", ""))) and known.get("id") and known.get("state")):
        return None
    if known["state"] == RUNNING and not (known.get("machine") and known.get("worker")):
        return None
    return QueuedJob(**known, place=place)


def is_queue(name: str) -> bool:
    """Return whether this may be the name of a queue; it has the letters of a machine's."""
    return is_machine(name)


# --- the settings of a queue ------------------------------------------------------------------------------------


class QueueSettings(Record):
    """What holds for a whole queue. `max_running`: None is any number. `place`: of the message that says so."""

    paused: bool = False
    max_running: int | None = None
    place: int = 0

    def to_bytes(self) -> bytes:
        """Return the settings as a message."""
        return values.dump({"paused": self.paused, "maxRunning": self.max_running}, compact=True).encode()


def read_settings(data: bytes, place: int) -> QueueSettings:
    """Read a queue's settings; what cannot be read is as if it had not been set."""
    value = values.parse_object(data) or {}
    return QueueSettings(values.flag(value.get("paused")) or False, values.whole(value.get("maxRunning")), place)


# --- workers ----------------------------------------------------------------------------------------------------

_WORKER: dict[str, values.Reading] = {
    "slots": values.whole,
    "memory": values.whole,
    "labels": values.texts,
    "onlyLabel": values.flag,
    "draining": values.flag,
    "busy": values.whole,
    "memoryTaken": values.whole,
    "since": values.text,
}


class Worker(Record):
    """Who takes jobs of a queue, and what it has room for. `memory`: bytes."""

    queue: str
    machine: str
    id: str
    slots: int = 1
    memory: int = 0
    labels: list[str] = []  # noqa: RUF012 - a Record is frozen; no code writes to it
    only_label: bool = False
    draining: bool = False
    busy: int = 0
    memory_taken: int = 0
    since: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the worker as it says it, and as lists print it."""
        return {
            "queue": self.queue,
            "machine": self.machine,
            "worker": self.id,
            "slots": self.slots,
            "memory": self.memory,
            "labels": self.labels,
            "onlyLabel": self.only_label,
            "draining": self.draining,
            "busy": self.busy,
            "memoryTaken": self.memory_taken,
            "since": self.since,
        }

    def suits(self, job: QueuedJob) -> bool:
        """Return whether it would ever take this job, if nothing else ran there."""
        if self.draining or set(job.needs) - set(self.labels) or job.memory > self.memory:
            return False
        return not self.only_label or bool(set(job.needs) & set(self.labels))

    def has_room(self, job: QueuedJob) -> bool:
        """Return whether a job that suits it fits beside what runs there now."""
        return self.busy < self.slots and self.memory_taken + job.memory <= self.memory

    def with_one_more(self, job: QueuedJob) -> Worker:
        """Return the same worker with this job running."""
        return self.replace(busy=self.busy + 1, memory_taken=self.memory_taken + job.memory)


def read_worker(key: str, data: bytes) -> Worker | None:
    """Read a worker's word; None if it is none."""
    parts = key.split(".")
    if len(parts) != 3 or not all(map(is_machine, parts)):
        return None
    try:
        value = values.mapping(values.parse(data)) or {}
    except ValueError:
        return None
    given = values.with_types(value, _WORKER)
    names = {"onlyLabel": "only_label", "memoryTaken": "memory_taken"}
    known = {names.get(name, name): given[name] for name in _WORKER if given.get(name) is not None}
    queue, machine, worker = parts
    return Worker(queue, machine, worker, **known)


# --- who takes what ---------------------------------------------------------------------------------------------


def in_order(jobs: Iterable[QueuedJob]) -> list[QueuedJob]:
    """Return the jobs that wait, the one first that is to run first: by priority, then as they were submitted."""
    waiting = [job for job in jobs if job.state == QUEUED]
    return sorted(waiting, key=lambda job: (-job.priority, job.order, job.id))


def to_take(worker: Worker, jobs: Iterable[QueuedJob], settings: QueueSettings) -> list[QueuedJob]:
    """Return the jobs that a worker takes now, all of which fit beside each other.

    A job that has to wait for room does not hold up a smaller one behind it.
    """
    known = list(jobs)
    if worker.draining or settings.paused:
        return []
    running = sum(job.state == RUNNING for job in known)
    left = None if settings.max_running is None else settings.max_running - running
    taken: list[QueuedJob] = []
    for job in in_order(known):
        if worker.busy >= worker.slots or (left is not None and len(taken) >= left):
            break
        if worker.suits(job) and worker.has_room(job):
            taken.append(job)
            worker = worker.with_one_more(job)
    return taken


def may_stay(job: QueuedJob, jobs: Iterable[QueuedJob], settings: QueueSettings) -> bool:
    """Return whether a job that was just claimed may run, by the queue's limit: the earlier claims go first.

    Two workers may each take the last place at the same time. Each looks again when its claim is stored; `jobs` must
    hold that claim, and so all that were stored before.
    """
    if settings.max_running is None:
        return True
    before = sum(other.state == RUNNING and other.place < job.place for other in jobs if other.id != job.id)
    return before < settings.max_running


def place_of(job: QueuedJob, jobs: Iterable[QueuedJob]) -> int:
    """Return how many jobs of its queue are to run before this one."""
    return [each.id for each in in_order(each for each in jobs if each.queue == job.queue)].index(job.id)


# What a job waits for that waits for nothing.
TAKEN_AT_ONCE = "about to be taken"


def why_it_waits(job: QueuedJob, jobs: Sequence[QueuedJob], settings: QueueSettings, workers: Iterable[Worker]) -> str:
    """Return in a few words why a job has not been taken yet; `jobs` and `workers` of its queue."""
    there = [worker for worker in workers if worker.queue == job.queue]
    ours = [each for each in jobs if each.queue == job.queue]
    if settings.paused:
        return f"queue {job.queue} is paused"
    if not there:
        return f"no worker of queue {job.queue} is there"
    if all(worker.draining for worker in there):
        return "its workers take no more (draining)"
    suitable = [worker for worker in there if worker.suits(job)]
    if not suitable:
        return _unsuitable(job, [worker for worker in there if not worker.draining])
    running = sum(each.state == RUNNING for each in ours)
    if settings.max_running is not None and running >= settings.max_running:
        return f"the queue runs {running} at a time at most"
    slots = sum(worker.slots for worker in suitable)
    if all(worker.busy >= worker.slots for worker in suitable):
        return f"all {slots} slots are taken" if slots != 1 else "the only slot is taken"
    if not any(worker.has_room(job) for worker in suitable):
        return f"no worker has {human_size(job.memory)} of memory left"
    return TAKEN_AT_ONCE


def _unsuitable(job: QueuedJob, workers: Sequence[Worker]) -> str:
    missing = [label for label in job.needs if not any(label in worker.labels for worker in workers)]
    if missing:
        return f"no worker has the label {missing[0]}"
    labelled = [worker for worker in workers if not set(job.needs) - set(worker.labels)]
    if job.needs and not labelled:
        return f"no worker has the labels {', '.join(job.needs)} together"
    most = max((worker.memory for worker in labelled), default=0)
    if most < job.memory:
        return f"needs {human_size(job.memory)} of memory, and the largest worker has {human_size(most)}"
    return "its workers take only jobs that need their labels"


def found_by_name(jobs: Mapping[str, QueuedJob], name: str) -> list[QueuedJob]:
    """Return the jobs that a person may mean: the one of this id or the newest of this name, else those it begins."""
    if name in jobs:
        return [jobs[name]]
    named = [job for job in jobs.values() if job.name == name]
    live = [job for job in named if job.state != ENDED]
    if named and len(live) <= 1:
        return live or [max(named, key=lambda job: job.order)]
    return live or [job for job in jobs.values() if job.id.startswith(name)]


def submitted_last(jobs: Mapping[str, QueuedJob], rows: Iterable[Mapping[str, object]]) -> list[QueuedJob]:
    """Return the newest job if no machine has published a newer one (`rows`): it waits, or was taken just now."""
    newest = max((str(row.get("createdAt") or "") for row in rows), default="")
    in_time = sorted(jobs.values(), key=lambda job: (job.created, job.order))
    return [job for job in in_time[-1:] if job.created > newest]
