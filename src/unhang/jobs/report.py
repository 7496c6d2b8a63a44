"""What a CI report says of jobs, from their records."""

from __future__ import annotations

from unhang.core import mask, wording
from unhang.core.ci import JobReport
from unhang.core.spec import command_line, name_of
from unhang.errors import UsageError
from unhang.jobs.handle import Job
from unhang.jobs.listing import list_jobs
from unhang.store import user_file
from unhang.store.layout import JobDir


def report_of(job: Job) -> JobReport:
    """Return what is to be said of one job."""
    result, record, view = job.result(), job.spec, job.view()
    last = result.outcome
    return JobReport(
        job_id=job.id,
        name=name_of(record.get("labels")),
        command=command_line(record),
        status=result.status,
        state=wording.state(result.status, view.phase, exit_code=result.exit_code, signal=result.signal),
        exit_code=result.exit_code,
        message=mask.line(str((result.error or {}).get("message") or last.get("message") or "")),
        started=view.started_at,
        duration_ms=None if result.duration is None else result.duration * 1000,
        reason=mask.line(str((result.diagnosis or {}).get("reason") or "")) if result.status != "success" else "",
        suggestions=[mask.line(hint) for hint in result.suggestions],
        stdout=result.stdout,
        stderr=result.stderr,
    )


def write_report(path: str, text: str, *, append: bool) -> None:
    """Write a report to a file of a person's own, or add it. Raises UsageError if that is not possible."""
    file = user_file.open_to_write(path, append=append)
    try:
        with file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"cannot write {path!r}: {error.strerror}") from None


def select(home: str, labels: dict[str, str]) -> list[Job]:
    """Return the jobs that have all of these labels, in the order in which they were started."""
    return [Job(JobDir(home, row.id)) for row in reversed(list_jobs(home, labels=labels))]
