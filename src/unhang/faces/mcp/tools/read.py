"""The tools that only read: events, output, the list of jobs, the policy."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

from unhang.core import plain_text
from unhang.core.durations import human
from unhang.core.limit_request import LimitRequest, read_limits
from unhang.core.plural import several
from unhang.core.spec import AGENT
from unhang.faces.mcp.arguments import JobId, command_of, folder_of, seconds_to_wait
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.call import ToolResult
from unhang.faces.mcp.output_schemas import EventsResult, ExplainResult, ListResult, OutputResult
from unhang.faces.mcp.result import agent_part
from unhang.faces.mcp.schema import Arg
from unhang.faces.mcp.text import fenced, in_tool_words, readable, text_of_event
from unhang.faces.mcp.tool_results import tool_result, with_readable_errors
from unhang.faces.mcp.toolbox import READS, Toolbox
from unhang.jobs import listing
from unhang.jobs.async_wait import Changes
from unhang.jobs.handle import Job, attach
from unhang.jobs.outlook import states_of
from unhang.jobs.request import prepare

EVENTS = """What has happened to a job, from a cursor: started, output, warnings, diagnoses, signals, its end.

Pass the lastSeq of the last answer as afterSeq to get only what is new. With wait_sec it waits for something new."""
OUTPUT = """Read what a job has printed, by byte offset; nextOffset is where to read on. tail reads the last bytes."""
LIST = "The jobs of this user, newest first: those that run, or with all=true those that have ended, too."
EXPLAIN = "Which limits would this command get, and why? Runs nothing."

_MOST_EVENTS = 200
_MOST_BYTES = 100_000


def register(tools: Toolbox, backend: Backend) -> None:
    """Offer the tools of this file."""

    @with_readable_errors
    async def events(
        job_id: JobId,
        afterSeq: Annotated[int | None, Arg(description="Only events after this number.", ge=0)] = None,  # noqa: N803
        since: Annotated[str, Arg(description="Only events after this time (RFC 3339).")] = "",
        limit: Annotated[int, Arg(description="At most this many.", ge=1, le=_MOST_EVENTS)] = 50,
        wait_sec: Annotated[float, Arg(description="Wait this long for something new.", ge=0)] = 0,
    ) -> Annotated[ToolResult, EventsResult]:
        job = backend.job(job_id)
        with backend.call():
            found = await _events(
                backend, job, afterSeq, since or None, limit, seconds_to_wait(backend.settings, wait_sec)
            )
        shown = [in_tool_words(event, job.id) for event in found[:limit]]
        view = job.view()
        last = int(shown[-1]["seq"]) if shown else max(afterSeq or 0, view.seq if afterSeq is None else 0)
        structured = {
            "jobId": job.id,
            "status": view.status,
            "events": shown,
            "lastSeq": last,
            "more": len(found) > limit,
        }
        structured |= await backend.in_thread(agent_part, job)
        text = "\n".join(text_of_event(event) for event in shown) or "nothing new"
        return tool_result(structured, f"{text}\njob {job.id} is {view.status}; next: afterSeq={last}")

    @with_readable_errors
    async def output(
        job_id: JobId,
        stream: Literal["stdout", "stderr"] = "stdout",
        offset: Annotated[int, Arg(description="First byte to read.", ge=0)] = 0,
        limit: Annotated[int, Arg(description="At most this many bytes.", ge=1, le=_MOST_BYTES)] = 20_000,
        tail: Annotated[int | None, Arg(description="Instead: the last bytes.", ge=1, le=_MOST_BYTES)] = None,
    ) -> Annotated[ToolResult, OutputResult]:
        job = backend.job(job_id)
        structured = await backend.in_thread(_output, job, stream, offset, limit, tail)
        printed = readable(structured["text"])
        so_far = " so far" if structured["status"] == "running" else ""
        nothing = f"(nothing there: {stream} has {several(structured['totalBytes'], 'byte')}{so_far})"
        text = fenced(stream, printed.removesuffix("\n")) if printed else nothing
        dropped = structured["dropped"]
        if dropped is not None:
            text = (
                f"Bytes {dropped['from']} to {dropped['to']} of {structured['totalBytes']} were dropped: of a flood "
                f"the beginning and the end are kept. What follows begins at {dropped['to']}.\n{text}"
            )
        if structured["nextOffset"] < structured["totalBytes"]:
            text += f"\nread on: offset={structured['nextOffset']} of {structured['totalBytes']}"
        return tool_result(structured, text)

    @with_readable_errors
    async def list_jobs(
        all: Annotated[bool, Arg(description="Those that have ended, too.")] = False,
        limit: Annotated[int, Arg(ge=1, le=500)] = 50,
        labels: Annotated[dict[str, str] | None, Arg(description="Only jobs with these labels.")] = None,
    ) -> Annotated[ToolResult, ListResult]:
        rows = await backend.in_thread(listing.list_jobs, backend.home, running_only=not all, labels=labels)
        jobs = await backend.in_thread(_listed, backend.home, rows[:limit])
        states = await backend.in_thread(states_of, backend.home, rows[:limit])
        lines = [
            f"{row.id} {plain_text.one_line(state, 40)} {plain_text.quoted(row.command, 100)}"
            for row, state in zip(rows[:limit], states, strict=True)
        ]
        left = max(0, len(rows) - limit)
        if left:
            lines.append(f"… and {left} more")
        return tool_result({"jobs": jobs, "leftOut": left}, "\n".join(lines) or "no jobs")

    @with_readable_errors
    async def explain_policy(
        command: Annotated[str, Arg(description="A shell line. Give this or argv.")] = "",
        argv: Annotated[list[str] | None, Arg(description="The words of a command.")] = None,
        cwd: str = "",
        category: str = "",
        timeout_sec: Annotated[float | None, Arg(gt=0)] = None,
    ) -> Annotated[ToolResult, ExplainResult]:
        asked = read_limits({"category": category, "timeout_sec": timeout_sec})
        structured = await backend.in_thread(_explained, backend, command_of(command, argv), cwd, asked)
        # the names of categories may come from a project's own file
        category = plain_text.quoted(structured["category"], 60)
        lines = [f"category {category}" + (", never ends" if structured["neverEnding"] else "")]
        for name, limit in structured["limits"].items():
            value = "off" if limit["value"] is None else human(limit["value"] / 1000)
            lines.append(f"{name[:-2]}: {value} ({plain_text.quoted(limit['source'], 100)})")
        return tool_result(structured, "\n".join(lines))

    tools.add(events, title="Events of a job", description=EVENTS, annotations=READS)
    tools.add(output, title="Output of a job", description=OUTPUT, annotations=READS)
    tools.add(list_jobs, name="list", title="List jobs", description=LIST, annotations=READS)
    tools.add(explain_policy, title="Explain the limits", description=EXPLAIN, annotations=READS)


def _listed(home: str, rows: list[listing.Row]) -> list[dict[str, Any]]:
    """A model is shown the beginning of a command, without its control characters."""
    found = []
    for row in rows:
        shown = listing.row_json(home, row)
        shown["command"] = plain_text.one_line(shown["command"], 300)
        found.append(shown | (agent_part(attach(home, row.id)) if row.kind == AGENT else {}))
    return found


async def _events(
    backend: Backend, job: Job, after: int | None, since: str | None, limit: int, seconds: float
) -> list[dict[str, Any]]:
    """Return one event more than asked for, so that the caller knows whether there are more."""
    deadline = time.monotonic() + seconds
    async with Changes([job]) as changes:
        while True:
            found = await backend.in_thread(job.events, after_seq=after, since=since, limit=limit + 1)
            left = deadline - time.monotonic()
            if found or left <= 0 or job.ended():
                return found or await backend.in_thread(job.events, after_seq=after, since=since, limit=limit + 1)
            await changes.wait(left)


def _output(job: Job, stream: str, offset: int, limit: int, tail: int | None) -> dict[str, Any]:
    view = job.view()
    total = int(view.bytes.get(stream, 0)) if view.ended else job.printed(stream)
    asked = max(0, total - tail) if tail is not None else offset
    found = job.output(stream, asked, tail if tail is not None else limit)
    data = found.data
    dropped = {"from": asked, "to": found.offset} if data and found.offset > asked else None
    if found.next < total:  # a character that is cut in two belongs to the next part
        data = plain_text.whole_end(data) or data
    return {
        "jobId": job.id,
        "stream": stream,
        "offset": found.offset if data else min(offset, total),
        "nextOffset": found.offset + len(data) if data else min(max(offset, 0), total),
        "totalBytes": max(total, found.offset + len(data) if data else 0),
        "text": plain_text.decode(plain_text.whole_start(data) if tail is not None else data),
        "status": view.status,
        "dropped": dropped,
    }


def _explained(backend: Backend, command: str | list[str], cwd: str, asked: LimitRequest) -> dict[str, Any]:
    folder = folder_of(cwd)
    prepared = prepare(
        command, shell=isinstance(command, str), cwd=folder, stdin="null", policy=backend.policy(folder), asked=asked
    )
    return prepared.resolution.to_json()
