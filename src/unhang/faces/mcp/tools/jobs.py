"""The tools that act on a job that exists: wait, send, extend, cancel, diagnose."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from unhang.core import plain_text
from unhang.core.durations import human
from unhang.core.plural import several
from unhang.errors import UsageError
from unhang.faces.mcp.arguments import JobId, WaitSec, seconds_to_wait
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.call import McpCall, ToolResult
from unhang.faces.mcp.job_call import end_editor, wait_for_end
from unhang.faces.mcp.notifications import Notifications
from unhang.faces.mcp.output_schemas import DiagnoseResult, JobResult, RequestResult, WaitResult
from unhang.faces.mcp.result import Seen, result_of, shown_time_left, takes_input
from unhang.faces.mcp.schema import Arg
from unhang.faces.mcp.text import MOST_LINES, advice_of, quoted, text_of_result, text_of_several, text_of_time_left
from unhang.faces.mcp.tool_results import job_tool_result, tool_result, with_readable_errors
from unhang.faces.mcp.toolbox import CHANGES, ENDS, READS, Toolbox
from unhang.jobs.async_wait import wait_until
from unhang.jobs.diagnose import diagnose_job
from unhang.jobs.early_look import EarlyLook
from unhang.jobs.handle import Job
from unhang.jobs.late_diagnosis import LateDiagnosis
from unhang.jobs.progress import time_left
from unhang.jobs.results import view_with_limits

WAIT = """Wait until a job has ended and return its result; of several, until the first (with all=true: every one) has.

It answers within wait_sec, or as soon as there is something to decide (a prompt, a certain hang, a warning); status
"running" means: not ended, do what the answer's Next says. Neither it nor cancelling it ends a job."""
SEND = """Answer a job that waits for input (started with interactive or pty).

Enter is added unless newline=false; an empty text is Enter alone."""
EXTEND = "Give a running job more time: seconds added to its idle limit, its hard limit, or both."
CANCEL = "End a job: asked politely, then killed, with everything it started. Returns its result. Safe to repeat."
DIAGNOSE = "Why is this job quiet? Looks at its processes for two seconds; changes nothing."


def register(tools: Toolbox, backend: Backend) -> None:
    """Offer the tools of this file."""

    @with_readable_errors
    async def wait(
        ctx: McpCall,
        job_id: Annotated[str | list[str], Arg(description="A jobId, or a list of them.")],
        all: Annotated[bool, Arg(description="Of several: wait for every one, not for the first.")] = False,
        wait_sec: WaitSec = None,
    ) -> Annotated[ToolResult, WaitResult]:
        names = [job_id] if isinstance(job_id, str) else job_id
        if not names:
            raise UsageError("job_id: the list is empty; name at least one job")
        jobs = list({job.id: job for job in [backend.job(name) for name in names]}.values())
        seconds = seconds_to_wait(backend.settings, wait_sec)
        with backend.call(), backend.handed_over.attending(jobs):
            enough = len(jobs) if all else 1
            alone = jobs[0] if len(jobs) == 1 else None
            why = LateDiagnosis(alone, seconds, backend.in_loose_thread) if alone is not None else None
            # a job of the command line may have a person in front of it, and their editor
            ours = alone is not None and (alone.spec.get("labels") or {}).get("via") == "mcp"
            early = EarlyLook(alone, backend.in_loose_thread) if alone is not None and ours else None
            ended = await wait_until(
                jobs,
                lambda found: len(found) >= enough,
                seconds,
                in_thread=backend.in_thread,
                listener=Notifications(ctx),
                times=backend.report_times,
                diagnosis=why,
                early=early,
                until_decision=True,
            )
            seen = Seen(diagnosis=why.found if why is not None else None)
            if alone is not None and early is not None:
                found = seen.diagnosis or (None if early.serves else early.diagnosis)
                seen = Seen(diagnosis=found, editors=early.seen.editors)
                if early.seen.editors and not ended:
                    await end_editor(backend, alone)
                    ended = {alone.id}
        shown = [await backend.in_thread(result_of, job, backend.settings, seen) for job in jobs]
        for result in shown:
            if result["status"] != "running":
                backend.pool.forget(backend.job(result["jobId"]))
            else:
                backend.handed_over.follow(ctx.client, backend.job(result["jobId"]), result["seq"])
        return _waited(shown, ended, enough)

    @with_readable_errors
    async def send(
        job_id: JobId,
        text: Annotated[str, Arg(description="What to type; empty: only Enter.")] = "",
        newline: bool = True,
        eof: Annotated[bool, Arg(description="End of file after it.")] = False,
    ) -> Annotated[ToolResult, RequestResult]:
        job = backend.job(job_id)
        await backend.in_thread(_refuse_ended, job)
        if not takes_input(job):
            raise UsageError(
                "nothing can be sent to this job, its stdin is closed: cancel it, then run it with interactive=true "
                "(or pty=true, for programs that want a terminal), or with what it asks for as stdin"
            )
        enter = newline and (bool(text) or not eof)
        data = text.encode("utf-8", "surrogatepass") + (b"\n" if enter else b"")
        if not (data or eof):
            raise UsageError("nothing to send: give text, or eof=true, or leave newline out for Enter alone")
        await backend.in_thread(job.send, data, eof=eof)
        typed = "Enter" if data == b"\n" else several(len(data), "byte") if data else ""
        sent = " and ".join(filter(None, (typed, "end of file" if eof else "")))
        return _done(job, f"sent: {sent}", f'wait(job_id="{job.id}") waits for what it does next')

    @with_readable_errors
    async def extend(
        job_id: JobId,
        idle_sec: Annotated[float, Arg(description="Seconds added to the idle limit.", ge=0)] = 0,
        hard_sec: Annotated[float, Arg(description="Seconds added to the hard limit.", ge=0)] = 0,
    ) -> Annotated[ToolResult, RequestResult]:
        if not (idle_sec or hard_sec):
            raise UsageError("say how much: idle_sec, hard_sec or both")
        job = backend.job(job_id)
        await backend.in_thread(_refuse_ended, job)
        more = {"idle": idle_sec, "hard": hard_sec}
        limits = await backend.in_thread(_limits, job)
        for tier, seconds in more.items():
            if seconds and (limits.get(f"{tier}Ms") or {}).get("value") is None:
                raise UsageError(f"{tier}_sec: this job has no {tier} limit; {_which_has(limits)}")
        await backend.in_thread(job.extend, idle=idle_sec, hard=hard_sec)
        message = "extended: " + ", ".join(f"{tier} +{human(seconds)}" for tier, seconds in more.items() if seconds)
        left, limits = await backend.in_thread(_time_left, job)
        step = f'wait(job_id="{job.id}") waits for its end'
        return _done(job, message, step, text_of_time_left(job.id, left, limits), {"timeLeft": left})

    @with_readable_errors
    async def cancel(
        job_id: JobId,
        force: Annotated[bool, Arg(description="Kill at once, without asking first.")] = False,
    ) -> Annotated[ToolResult, JobResult]:
        job = backend.job(job_id)
        insist = f'cancel(job_id="{job.id}", force=true)'
        await backend.in_thread(job.cancel, force=force, wait=False, by="an agent", by_force=insist)
        # stopping is finite (grace, then SIGKILL); the result names the processes that survive it
        await wait_for_end(backend, job)
        backend.pool.forget(job)
        shown = await backend.in_thread(result_of, job, backend.settings)
        return tool_result(shown, text_of_result(shown))

    @with_readable_errors
    async def diagnose(job_id: JobId) -> Annotated[ToolResult, DiagnoseResult]:
        job = backend.job(job_id)
        await backend.in_thread(_refuse_ended, job)
        found = (await backend.in_thread(diagnose_job, job.id)).to_json()
        lines = [f"{found['state']} ({found['cause']}): {quoted(found['reason'])}"]
        for line in found["processes"][:8]:
            command = plain_text.quoted(line["cmd"] or line["comm"], 100)
            lines.append(f"- {line['pid']} {command}: {plain_text.quoted(line['waits'], 150)}")
        shown = await backend.in_thread(result_of, job, backend.settings, Seen(diagnosis=found))
        lines += advice_of(shown, MOST_LINES - len(lines))
        return tool_result({"jobId": job.id} | found | {"next": shown["next"]}, "\n".join(lines))

    tools.add(wait, title="Wait for jobs", description=WAIT, annotations=READS)
    tools.add(send, title="Send input to a job", description=SEND, annotations=CHANGES)
    tools.add(extend, title="Give a job more time", description=EXTEND, annotations=CHANGES)
    tools.add(cancel, title="End a job", description=CANCEL, annotations=ENDS)
    tools.add(diagnose, title="Diagnose a job", description=DIAGNOSE, annotations=READS)


def _waited(shown: list[dict[str, Any]], ended: set[str], enough: int) -> ToolResult:
    """Return one job's own result, which may be an error. For several jobs the call itself has succeeded."""
    status: Literal["ended", "running"] = "ended" if len(ended) >= enough else "running"
    structured: dict[str, Any] = {"status": status, "ended": sorted(ended), "jobs": shown}
    if len(shown) == 1:
        alone = job_tool_result(shown[0])
        return alone.replace(structured={**structured, "jobs": [alone.structured]})
    return tool_result(structured, text_of_several(shown))


def _done(job: Job, message: str, step: str, line: str = "", more: dict[str, Any] | None = None) -> ToolResult:
    shown = {"jobId": job.id, "ok": True, "message": message, "next": [step]} | (more or {})
    return tool_result(shown, "\n".join(filter(None, (f"{message} (job {job.id})", line, f"Next: {step}"))))


def _refuse_ended(job: Job) -> None:
    """Raise UsageError for a job that has ended: how, and where its result is.

    Of one whose keeper was killed what is left is ended first: no event loop can wait for that.
    """
    if job.ended():
        raise UsageError(f'job {job.id} has ended: {job.view().ending}; wait(job_id="{job.id}") returns its result')


def _limits(job: Job) -> dict[str, Any]:
    return view_with_limits(job.place).limits


def _time_left(job: Job) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """What is left of the limits of a job, and the limits."""
    view = view_with_limits(job.place)
    return shown_time_left(time_left(job, view), view), view.limits


def _which_has(limits: dict[str, Any]) -> str:
    has = [tier for tier in ("idle", "hard") if (limits.get(f"{tier}Ms") or {}).get("value") is not None]
    return f"its only limit is the {has[0]} one, {has[0]}_sec moves it" if has else "no limit ends it"
