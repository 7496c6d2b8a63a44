"""Where a process stands, and so which other processes it can judge.

A pid means something within one PID namespace of one boot of one machine, and a start time within one time namespace:
the kernel moves it by that namespace's offset. A keeper therefore writes down all of them beside its pid and start
time, and a reader that stands elsewhere (in a container, on the host of one, on another machine that shares the home
directory, without /proc) does not judge the keeper's life: it says where the job runs.
"""

from __future__ import annotations

import os

from unhang.core.once import once
from unhang.core.record import Record
from unhang.procs import identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The keeper can be seen from here · it cannot · it belongs to an earlier boot of this very machine.
HERE, ELSEWHERE, EARLIER_BOOT = "here", "elsewhere", "earlier boot"


class Vantage(Record):
    """Where a process stands. An empty text means unknown, as without /proc."""

    boot: str
    pids: str  # the PID namespace, as the kernel writes it: "pid:[4026531836]"
    sees: bool  # /proc is there, and shows that namespace
    host: str
    machine: str  # the machine id; two machines may have one name, and two names may be one machine's
    times: str = ""  # the time namespace, as the kernel writes it: "time:[4026531834]"


class Sight(Record):
    """Whether a keeper can be judged from here, and if not, where it runs (for people)."""

    kind: str
    where: str = ""


@once
def here() -> Vantage:
    """Return where this process stands. Nothing of it changes while the process lives, but for the host's name."""
    pids = identity.pid_namespace()
    sees = bool(pids) and identity.sees_own_namespace() and identity.start_time(os.getpid()) is not None
    return Vantage(identity.boot_id(), pids, sees, os.uname().nodename, _machine_id(), identity.time_namespace())


def _machine_id() -> str:
    try:
        with open("/etc/machine-id", "rb", buffering=0) as file:
            return (file.read(64) or b"").decode("ascii", "replace").strip()
    except OSError:
        return ""


def record(stands: Vantage) -> dict[str, str]:
    """Return what the keeper writes into its entry of job.json."""
    return bounds(stands) | {"host": stands.host, "machine": stands.machine}


def bounds(stands: Vantage) -> dict[str, str]:
    """Return what a pid and a start time are written down with: where they name a process."""
    return {"boot": stands.boot, "pidNamespace": stands.pids, "timeNamespace": stands.times}


def sight(keeper: dict[str, Any], stands: Vantage) -> Sight:
    """Return whether the process that `keeper` names can be judged by one that stands here."""
    boot = _text(keeper, "boot")
    host, machine = _text(keeper, "host"), _text(keeper, "machine")
    name = f"host {host}" if host else "an unknown host"
    if not stands.boot or not stands.sees:
        return Sight(ELSEWHERE, f"{name}; this process has no /proc of its own and so cannot tell")
    if boot == stands.boot:
        if not _shares_pids(keeper, stands):
            return Sight(ELSEWHERE, f"another PID namespace ({_text(keeper, 'pidNamespace')}) of {name}")
        if not shares_start_times(keeper, stands):
            return Sight(ELSEWHERE, f"another time namespace ({_text(keeper, 'timeNamespace')}) of {name}")
        return Sight(HERE)
    same_name = host in ("", stands.host)
    same_machine = not machine or not stands.machine or machine == stands.machine
    if same_name and same_machine:
        return Sight(EARLIER_BOOT, f"an earlier boot of {name}")
    return Sight(ELSEWHERE, name)


def shares_numbers(found: dict[str, Any], stands: Vantage) -> bool:
    """Return whether the pid and start time that `found` names, of this boot, mean the same process here."""
    return _shares_pids(found, stands) and shares_start_times(found, stands)


def shares_start_times(found: dict[str, Any], stands: Vantage) -> bool:
    """Return whether the start time that `found` names, of this boot, is the same moment here."""
    return _text(found, "timeNamespace") in ("", stands.times)


def _shares_pids(found: dict[str, Any], stands: Vantage) -> bool:
    """A namespace that is not known was written by an older version, which knew one only."""
    return _text(found, "pidNamespace") in ("", stands.pids)


def _text(keeper: dict[str, Any], field: str) -> str:
    value = keeper.get(field)
    return value if isinstance(value, str) else ""
