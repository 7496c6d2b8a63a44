"""How things are called on the server: machines, subjects, streams and buckets.

A machine's name is a part of every subject that it publishes on or answers on, so that a server can hold each machine
to its own.
"""

from __future__ import annotations

# The log of every job, one subject each.
EVENTS = "UNHANG_EVENTS"
# Buckets: the newest row of every job; who is there now (with a time to live); which home each name belongs to.
ROWS, PRESENCE, MACHINES = "unhang_rows", "unhang_presence", "unhang_machines"
ALL_EVENTS, ALL_LIVE = "unhang.ev.>", "unhang.live.>"
_LONGEST = 63
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


def requests_of(machine: str) -> str:
    """Return the subject on which a machine takes requests."""
    return f"unhang.do.{machine}"


def row_key(machine: str, job: str) -> str:
    """Return the key of a job's row."""
    return f"{machine}.{job}"


def split_key(key: str) -> tuple[str, str] | None:
    """Return the machine and the job of a row's key; None if it is none."""
    machine, dot, job = key.partition(".")
    return (machine, job) if dot and is_machine(machine) and job and "." not in job else None


def split_name(name: str) -> tuple[str, str] | None:
    """Return the job and the machine of `JOB@MACHINE`; None for the name of a job of this machine.

    `@last` is such a name, and `@last@build-3` is the newest job of that machine.
    """
    job, at, machine = name.rpartition("@")
    return (job, machine) if at and job and is_machine(machine) else None
