"""What the page asks for and does: every answer comes from the same functions that the command line uses.

Reading files and asking keepers blocks, so it is done in threads; what an answer holds is bounded.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from unhang.agents import registry
from unhang.core import plain_text, values
from unhang.core.spec import command_line
from unhang.core.timeline import Timeline
from unhang.errors import AmbiguousJob, NoSuchJob, UnhangError, UsageError
from unhang.jobs import history, restart, sessions
from unhang.jobs.diagnose import diagnose_job
from unhang.jobs.handle import Job, attach
from unhang.jobs.output_rows import OutputRows
from unhang.jobs.start import start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.requests import Request

_STREAMS = ("stdout", "stderr")
# Of one answer.
MOST_EVENTS = 1000
_MOST_EXCERPT = 1 << 16
# Jobs whose output is numbered, and whose picture is kept, at once: those that people look at.
_KEPT = 32
# The two looks of a diagnosis: shorter than on the command line, since a person waits and may ask again.
_WINDOW = 1.0


class Desk:
    """Answers the questions of the page about the jobs of one home."""

    def __init__(self, home: str) -> None:
        self.home = home
        self._rows: OrderedDict[tuple[str, str], OutputRows] = OrderedDict()
        self._timelines: OrderedDict[str, Timeline] = OrderedDict()
        self._lock = threading.Lock()

    # --- reading --------------------------------------------------------------------------------------------

    def job(self, job_id: str) -> dict[str, Any]:
        """`unhang status --json`, with excerpts of the output in the place of all of it."""
        job = attach(self.home, job_id)
        status = registry.with_agent_report(job, job.status())
        for stream in _STREAMS:
            status[stream] = status[stream][-_MOST_EXCERPT:]
        spec = job.spec
        asked = {name: spec.get(name) for name in ("cwd", "labels", "stdin", "pty", "kind", "category", "createdAt")}
        return status | asked | {"command": command_line(spec)}

    def events(self, job_id: str, after: int, limit: int) -> list[dict[str, Any]]:
        """The events of a job after a number."""
        return attach(self.home, job_id).events(after_seq=after, limit=min(limit, MOST_EVENTS))

    def timeline(self, job_id: str) -> dict[str, Any]:
        """The life of a job as a picture; of one that is asked for again, only what is new is read."""
        job = attach(self.home, job_id)
        with self._lock:
            found: Timeline = _kept(self._timelines, job.id, Timeline)
            while events := job.events(after_seq=found.seq, limit=MOST_EVENTS):
                for event in events:
                    found.apply(event)
            return found.to_json()

    def rows(self, job_id: str, stream: str, first: int, count: int, at: int | None) -> dict[str, Any]:
        """Rows of the output by number; `at`: those around a byte of the stream. A negative `first`: from the end."""
        with self._lock:
            rows = self._rows_of(job_id, stream)
            around = None if at is None else rows.row_at(at)
            if around is not None:
                first = max(0, around - count // 2)
            elif first < 0:
                first = max(0, rows.total + first)
            found = rows.read(first, count)
            return {
                "first": first,
                "total": rows.total,
                "bytes": rows.end,
                "at": around,
                "rows": [[row.offset, row.text, row.left_out] for row in found],
            }

    def search(self, job_id: str, stream: str, text: str) -> dict[str, Any]:
        """The numbers of the rows that hold a text."""
        with self._lock:
            rows = self._rows_of(job_id, stream)
            return {"total": rows.total, "found": rows.search(text[:200])}

    def _rows_of(self, job_id: str, stream: str) -> OutputRows:
        job = attach(self.home, job_id)
        rows: OutputRows = _kept(self._rows, (job.id, stream), lambda: OutputRows(job, stream))
        rows.refresh()
        return rows

    def tree(self, job_id: str) -> dict[str, Any]:
        """The processes of a job and what each waits for, looked at now."""
        return diagnose_job(job_id, _WINDOW).to_json()

    def history(self, text: str | None) -> list[dict[str, Any]]:
        """The commands that ran last."""
        return [_summary(each) for each in history.summaries(self.home, text or None, None, 200)]

    def runs(self, command: str, directory: str) -> dict[str, Any]:
        """The runs of one command in one directory, and what they would teach."""
        return history.runs_of(self.home, command, directory)

    def session(self, session: str) -> dict[str, Any]:
        """What is known of a session that a person sits at."""
        return sessions.session_of(self.home, session)

    # --- doing ----------------------------------------------------------------------------------------------

    def do(self, job_id: str, what: str, asked: dict[str, Any]) -> dict[str, Any]:
        """Do one of the things that the buttons stand for; what came of it."""
        job = attach(self.home, job_id)
        match what:
            case "extend":
                job.extend(idle=_duration(asked, "idle"), hard=_duration(asked, "hard"))
            case "send":
                text = asked.get("text")
                if not isinstance(text, str):
                    raise UsageError("text: what is to be sent")
                job.send(text if asked.get("raw") else text + "\n", eof=asked.get("eof") is True)
            case "cancel":
                job.cancel(force=asked.get("force") is True, wait=False, by="unhang web")
            case "restart":
                prepared = restart.again(job, {})
                restart.end_first(job)
                return {"jobId": start(prepared).id}
            case _:
                raise UsageError(f"no such action: {what!r}")
        return {"jobId": job.id}


def _summary(found: history.Summary) -> dict[str, Any]:
    return {
        "command": found.command,
        "cwd": found.directory,
        "runs": found.runs,
        "succeeded": found.succeeded,
        "failed": found.failed,
        "medianMs": None if found.median is None else round(found.median * 1000),
        "p95Ms": None if found.p95 is None else round(found.p95 * 1000),
        "longestMs": round(found.longest * 1000),
        "longestSilenceMs": round(found.longest_silence * 1000),
        "idleTimeouts": found.idle_timeouts,
        "hardTimeouts": found.hard_timeouts,
        "lastAtMs": round(found.last_at * 1000),
        "recentMs": [round(seconds * 1000) for seconds in found.recent],
    }


def _duration(asked: dict[str, Any], name: str) -> str | float | None:
    given = asked.get(name)
    if given is None or isinstance(given, str | int | float):
        return given
    raise UsageError(f"{name}: not a duration")


def _kept(store: OrderedDict[Any, Any], key: Any, make: Callable[[], Any]) -> Any:
    """The value of a key, made if need be; the one that was not asked for longest is let go."""
    if key not in store:
        store[key] = make()
    store.move_to_end(key)
    while len(store) > _KEPT:
        store.popitem(last=False)
    return store[key]


# --- requests → answers ---------------------------------------------------------------------------------------


class Answers:
    """The handlers of the routes below /api."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def job(self, request: Request) -> Response:
        """GET /api/jobs/ID."""
        return await _answer(self._desk.job, request.path_params["job"])

    async def events(self, request: Request) -> Response:
        """GET /api/jobs/ID/events."""
        after, limit = _number(request, "after", 0), _number(request, "limit", MOST_EVENTS)
        return await _answer(self._desk.events, request.path_params["job"], after, limit)

    async def timeline(self, request: Request) -> Response:
        """GET /api/jobs/ID/timeline."""
        return await _answer(self._desk.timeline, request.path_params["job"])

    async def rows(self, request: Request) -> Response:
        """GET /api/jobs/ID/rows."""
        first, count = _number(request, "first", 0, least=-1_000_000), _number(request, "count", 200)
        at = _number(request, "at", 0) if "at" in request.query_params else None
        return await _answer(self._desk.rows, request.path_params["job"], _stream(request), first, count, at)

    async def search(self, request: Request) -> Response:
        """GET /api/jobs/ID/search."""
        text = request.query_params.get("text", "")
        return await _answer(self._desk.search, request.path_params["job"], _stream(request), text)

    async def tree(self, request: Request) -> Response:
        """GET /api/jobs/ID/tree."""
        return await _answer(self._desk.tree, request.path_params["job"])

    async def download(self, request: Request) -> Response:
        """GET /api/jobs/ID/download."""
        stream = _stream(request)
        try:
            job = await run_in_threadpool(attach, self._desk.home, request.path_params["job"])
        except UnhangError as error:
            return _error(error)
        name = f"{job.id}.{stream}.txt"
        headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
        return StreamingResponse(_pieces(job, stream), media_type="application/octet-stream", headers=headers)

    async def history(self, request: Request) -> Response:
        """GET /api/history."""
        return await _answer(self._desk.history, request.query_params.get("text"))

    async def runs(self, request: Request) -> Response:
        """GET /api/runs."""
        command, directory = request.query_params.get("command", ""), request.query_params.get("directory", "")
        return await _answer(self._desk.runs, command, directory)

    async def session(self, request: Request) -> Response:
        """GET /api/sessions/ID."""
        return await _answer(self._desk.session, request.path_params["session"])

    async def do(self, request: Request) -> Response:
        """POST /api/jobs/ID/ACTION."""
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return written({"error": "the body must be JSON"}, 415)
        try:
            asked = json.loads(await request.body() or b"{}")
        except (ValueError, RecursionError):
            asked = None
        if not isinstance(asked, dict):
            return written({"error": "the body must be a JSON object"}, 400)
        return await _answer(self._desk.do, request.path_params["job"], request.path_params["action"], asked)


def _pieces(job: Job, stream: str) -> Iterator[bytes]:
    at = 0
    while True:
        piece = job.output(stream, at)
        if not piece.data:
            return
        if piece.offset > at:
            yield f"\n[unhang: {piece.offset - at} bytes left out here]\n".encode()
        yield piece.data
        at = piece.next


async def _answer(work: Callable[..., Any], *args: Any) -> Response:
    try:
        return written(await run_in_threadpool(work, *args))
    except UnhangError as error:
        return _error(error)
    except OSError as error:
        return written({"error": plain_text.one_line(str(error), 300)}, 500)


def _error(error: UnhangError) -> Response:
    status = 404 if isinstance(error, NoSuchJob | AmbiguousJob) else 400 if isinstance(error, UsageError) else 409
    return written({"error": plain_text.one_line(str(error), 300)}, status)


def written(value: Any, status: int = 200) -> Response:
    """An answer as JSON that is not kept."""
    return Response(
        values.dump(value, compact=True), status, {"Cache-Control": "no-store"}, media_type="application/json"
    )


def _number(request: Request, name: str, default: int, least: int = 0) -> int:
    given = request.query_params.get(name)
    if given is None:
        return default
    try:
        number = int(given) if len(given) < 18 else least - 1
    except ValueError:
        number = least - 1
    if number < least:
        raise HTTPException(400, f"{name}: not a number that can be used")
    return number


def _stream(request: Request) -> str:
    given = request.query_params.get("stream", "stdout")
    if given not in _STREAMS:
        raise HTTPException(400, "stream: stdout or stderr")
    return given
