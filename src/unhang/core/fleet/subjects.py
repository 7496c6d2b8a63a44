"""How things are called on the server: machines, subjects, streams and buckets.

A machine's name is a part of every subject that it publishes on or answers on, so that a server can hold each machine
to its own. A queue's name is a part of every subject of that queue, likewise:

    unhang.queue.QUEUE.job.JOB        where a job of a queue stands; its submitter, workers of the queue
    unhang.queue.QUEUE.settings       whether it is paused, how many may run; operators
    unhang.queue-live.QUEUE.…         the same as the server stored it; the server alone
    unhang.task.QUEUE.JOB             what is to be run, in a stream of its own: viewers need not read it
    unhang.patch.QUEUE.JOB.ATTEMPT.N  a piece of what it has changed in its checkout; workers of the queue
    unhang.hold.QUEUE.JOB             a worker's word that its job lives; workers of the queue
    $KV.unhang_workers.QUEUE.MACHINE.WORKER  who takes jobs of a queue; the machine
    $KV.unhang_operators.KEY          whose signature a task needs; operators
"""

from __future__ import annotations

# The log of every job and session, one subject each: unhang.ev.MACHINE.JOB and unhang.ev.MACHINE.session.ID.
EVENTS = "UNHANG_EVENTS"
# Buckets: the newest row of every job and session, likewise; who is there now (with a time to live); which home each
# name belongs to.
ROWS, PRESENCE, MACHINES = "unhang_rows", "unhang_presence", "unhang_machines"
ALL_EVENTS, ALL_LIVE = "unhang.ev.>", "unhang.live.>"
# The queues: where each job stands, what it runs, the word of its worker; and the bucket of those who take jobs.
QUEUE, TASKS, HOLDS, WORKERS = "UNHANG_QUEUE", "UNHANG_TASKS", "UNHANG_HOLDS", "unhang_workers"
# What jobs have changed in their checkouts.
PATCHES, ALL_PATCHES = "UNHANG_PATCHES", "unhang.patch.>"
# The public keys of those whose tasks workers with credentials run.
OPERATORS = "unhang_operators"
ALL_QUEUES, ALL_QUEUES_LIVE = "unhang.queue.>", "unhang.queue-live.>"
ALL_TASKS, ALL_HOLDS = "unhang.task.>", "unhang.hold.>"
# On which the server says that a row is new; no user can publish there for it.
ALL_ROWS, ROWS_LIVE = f"$KV.{ROWS}.>", "unhang.rows.>"
_SESSION = "session."
_LONGEST = 63
# How such names are made, for people.
NAME_RULE = f"letters, digits, - and _, no dash first, at most {_LONGEST}"
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


def is_machine(name: str) -> bool:
    """Return whether this may be the name of a machine: letters, digits, - and _, at most 63, no dash first."""
    return 0 < len(name) <= _LONGEST and name[0] not in "-_" and all(letter in _LETTERS for letter in name)


def machine_from(host: str) -> str:
    """Return the name of a machine made from its host name: the first part of it, as far as a name may have that."""
    first = host.partition(".")[0]
    made = "".join(letter if letter in _LETTERS else "-" for letter in first).lstrip("-_")[:_LONGEST]
    return made or "machine"


def events_of(machine: str, job: str) -> str:
    """Return the subject of a job's log."""
    return f"unhang.ev.{machine}.{job}"


def live_of(machine: str, job: str) -> str:
    """Return the subject on which the server says that a job's log has grown."""
    return f"unhang.live.{machine}.{job}"


def session_part(session: str) -> str:
    """Return what stands for a session in the place of a job in subjects and keys."""
    return f"{_SESSION}{session}"


def session_in(part: str) -> str | None:
    """Return the session that this stands for; None if it stands for a job."""
    return part.removeprefix(_SESSION) if part.startswith(_SESSION) else None


def requests_of(machine: str) -> str:
    """Return the subject on which a machine takes requests that change something."""
    return f"unhang.do.{machine}"


def queued_of(queue: str, job: str) -> str:
    """Return the subject that says where a job of a queue stands (`*`: every queue, every job)."""
    return f"unhang.queue.{queue}.job.{job}"


def settings_of(queue: str) -> str:
    """Return the subject of a queue's settings."""
    return f"unhang.queue.{queue}.settings"


def queue_live(queue: str) -> str:
    """Return the subjects on which the server says what of a queue has changed."""
    return f"unhang.queue-live.{queue}.>"


def task_of(queue: str, job: str) -> str:
    """Return the subject of what a job of a queue is to run."""
    return f"unhang.task.{queue}.{job}"


def patch_of(queue: str, job: str, attempt: int | str, piece: str) -> str:
    """Return the subject of a piece of what an attempt of a job has changed."""
    return f"unhang.patch.{queue}.{job}.{attempt}.{piece}"


def hold_of(queue: str, job: str) -> str:
    """Return the subject of a worker's word that a job of a queue lives."""
    return f"unhang.hold.{queue}.{job}"


def worker_key(queue: str, machine: str, worker: str) -> str:
    """Return the key of a worker."""
    return f"{queue}.{machine}.{worker}"


def questions_of(machine: str) -> str:
    """Return the subject on which a machine takes requests that change nothing, so that a viewer may be held to it."""
    return f"unhang.ask.{machine}"


def row_key(machine: str, job: str) -> str:
    """Return the key of a job's row."""
    return f"{machine}.{job}"


def split_key(key: str) -> tuple[str, str] | None:
    """Return the machine of a row's key, and the job or what stands for a session; None if it is none."""
    machine, dot, part = key.partition(".")
    named = session_in(part) if session_in(part) is not None else part
    return (machine, part) if dot and is_machine(machine) and named and "." not in named else None


def split_name(name: str) -> tuple[str, str] | None:
    """Return the job and the machine of `JOB@MACHINE`; None for the name of a job of this machine.

    `@last` is such a name, and `@last@build-3` is the newest job of that machine.
    """
    job, at, machine = name.rpartition("@")
    return (job, machine) if at and job and is_machine(machine) else None
