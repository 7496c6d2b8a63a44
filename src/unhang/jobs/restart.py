"""A job once more: the same command, directory, limits, labels and name, in the background."""

from __future__ import annotations

import os

from unhang.core.spec import AGENT, INHERIT, NULL, JobSpec
from unhang.errors import ControlError, StateError, UsageError
from unhang.jobs.request import Prepared, prepare
from unhang.store import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from unhang.jobs.handle import Job


def prepare_again(job: Job, env: Mapping[str, str]) -> Prepared:
    """Return the job to be started in the place of this one, which must have ended.

    Its environment is that of the caller.

    `env`: the variables that are added. Their values are not recorded, so those of the first start are needed again.
    """
    record = records.job(job.place)
    try:
        spec = JobSpec.from_json(record or {})
    except (KeyError, TypeError):
        raise StateError(f"the record of job {job.id} does not say what was started") from None
    missing = [name for name in spec.env_names if name not in env]
    if missing:
        raise UsageError(
            f"job {job.id} was started with --env {', '.join(missing)}: the values are not recorded, give them again"
        )
    stdin = NULL if spec.stdin == INHERIT else spec.stdin
    command = spec.argv if spec.shell is None or spec.kind == AGENT else spec.shell
    prepared = prepare(
        command, shell=isinstance(command, str), cwd=spec.cwd, env=env, stdin=stdin, pty=spec.pty, foreground=False
    )
    size = spec.size or ((24, 80) if spec.pty else None)
    changed = {
        "stdin": prepared.spec.stdin,
        "size": size,
        "foreground": False,
        "note": "",
        "shown": prepared.spec.shown,
    }
    return prepared.replace(spec=spec.replace(**changed, env_names=sorted(env)))


def end_first(job: Job) -> None:
    """End the job if it still runs; raise ControlError if something of it outlives that."""
    if job.ended():
        return
    result = job.cancel(by="unhang restart")
    left = (result.error or {}).get("survivors") or []
    if result.status == "running" or left:
        pids = ", ".join(str(process.get("pid")) for process in left)
        raise ControlError(f"job {job.id} cannot be ended{f': still there: {pids}' if pids else ''}; not started again")


def own_jobs() -> frozenset[str]:
    """Return the jobs that this process runs in: its own and those around that."""
    from unhang.procs import markers

    marks = os.environ
    return frozenset({marks.get(markers.JOB, ""), *marks.get(markers.PARENTS, "").split(":")} - {""})
