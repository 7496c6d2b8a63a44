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

from unhang.agents.job_look import look_at
from unhang.alerts import presence
from unhang.core import plain_text, values, wording
from unhang.core.timeline import Timeline
from unhang.errors import AmbiguousJob, ControlError, NoSuchJob, UnhangError, UsageError
from unhang.jobs import history, restart, sessions
from unhang.jobs.diagnose import diagnose_job
from unhang.jobs.handle import attach
from unhang.jobs.output_viewer import OutputViewer, get_or_make, whole_output
from unhang.jobs.start import start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.requests import Request

_STREAMS = ("stdout", "stderr")
# Of one answer.
MOST_EVENTS = 1000
# Jobs whose picture is kept at once: those that people look at.
_KEPT = 32
# What a download holds of an output while its reader takes nothing.
_PIECE = 1 << 16
# The two looks of a diagnosis: shorter than on the command line, since a person waits and may ask again.
_WINDOW = 1.0


class Desk:
    """Answers the questions of the page about the jobs of one home."""

    def __init__(self, home: str) -> None:
        self.home = home
        self._output = OutputViewer(home)
        self._timelines: OrderedDict[str, Timeline] = OrderedDict()
        self._lock = threading.Lock()

    # --- reading --------------------------------------------------------------------------------------------

    def job(self, job_id: str) -> dict[str, Any]:
        """Return what `unhang status --json` prints, with excerpts of the output in the place of all of it."""
        return look_at(attach(self.home, job_id))

    def events(self, job_id: str, after: int, limit: int) -> list[dict[str, Any]]:
        """Return the events of a job after a number."""
        return attach(self.home, job_id).events(after_seq=after, limit=min(limit, MOST_EVENTS))

    def timeline(self, job_id: str) -> dict[str, Any]:
        """Return the life of a job as a picture; of one that is asked for again, only what is new is read."""
        job = attach(self.home, job_id)
        with self._lock:
            found: Timeline = get_or_make(self._timelines, job.id, Timeline, _KEPT)
            while events := job.events(after_seq=found.seq, limit=MOST_EVENTS):
                for event in events:
                    found.apply(event)
            return found.to_json()

    def rows(self, job_id: str, stream: str, first: int, count: int, at: int | None) -> dict[str, Any]:
        """Return rows of the output by number; `at`: those around a byte of the stream.

        A negative `first`: from the end.
        """
        return self._output.rows(job_id, stream, first, count, at)

    def search(self, job_id: str, stream: str, text: str) -> dict[str, Any]:
        """Return the numbers of the rows that hold a text."""
        return self._output.search(job_id, stream, text)

    def download(self, job_id: str, stream: str) -> tuple[str, Iterator[bytes]]:
        """Return the id of a job, and everything that is kept of a stream."""
        job = attach(self.home, job_id)
        return job.id, whole_output(lambda at: job.output(stream, at, _PIECE))

    def tree(self, job_id: str) -> dict[str, Any]:
        """Return the processes of a job and what each waits for, looked at now."""
        return diagnose_job(job_id, _WINDOW).to_json()

    def history(self, text: str | None) -> list[dict[str, Any]]:
        """Return the commands that ran last."""
        return [_summary(each) for each in history.summaries(self.home, text or None, None, 200)]

    def runs(self, command: str, directory: str) -> dict[str, Any]:
        """Return the runs of one command in one directory, and what they would teach."""
        return history.runs_of(self.home, command, directory)

    def session(self, session: str) -> dict[str, Any]:
        """Return what is known of a session that a person sits at."""
        return sessions.session_of(self.home, session)

    def find(self, job_id: str) -> str:
        """Return the id of a job that a person may have named otherwise. Raises NoSuchJob or AmbiguousJob."""
        return attach(self.home, job_id).id

    # --- doing ----------------------------------------------------------------------------------------------

    def do(self, job_id: str, what: str, asked: dict[str, Any]) -> dict[str, Any]:
        """Do one of the things that the buttons stand for; what came of it."""
        job = attach(self.home, job_id)
        match what:
            case "extend":
                job.extend(idle=duration_of(asked, "idle"), hard=duration_of(asked, "hard"))
            case "send":
                check_question(asked, lambda: job.view().needs_input)
                job.send(text_of(asked), eof=asked.get("eof") is True)
            case "cancel":
                job.cancel(force=asked.get("force") is True, wait=False, by="unhang web")
            case "seen":
                presence.see(self.home, job.id)
                job.note_seen()
            case "restart":
                prepared = restart.prepare_again(job, {})
                restart.end_first(job)
                return {"jobId": start(prepared).id}
            case _:
                raise UsageError(f"no such action: {what!r}")
        return {"jobId": job.id}


def check_question(asked: dict[str, Any], waits: Callable[[], dict[str, Any] | None]) -> None:
    """Refuse an answer that names a question (by its `since`) which the job does not ask now.

    Without this, a late yes to one approval would be a yes to the next one, which its sender has not seen.
    """
    question = asked.get("question")
    if question is not None and (waits() or {}).get("since") != question:
        raise ControlError("the job does not ask this any more; nothing was sent")


def _summary(found: history.Summary) -> dict[str, Any]:
    return {
        "command": found.command,
        "task": found.task,
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


def text_of(asked: dict[str, Any]) -> str:
    """Return what is to be sent, with the end of its line unless it is `raw`."""
    text = asked.get("text")
    if not isinstance(text, str):
        raise UsageError("text: what is to be sent")
    return text if asked.get("raw") else text + "\n"


def duration_of(asked: dict[str, Any], name: str) -> str | float | None:
    """Return a duration that was asked for, as it was written."""
    given = asked.get(name)
    if given is None or isinstance(given, str | int | float):
        return given
    raise UsageError(f"{name}: not a duration")


# --- requests → answers ---------------------------------------------------------------------------------------


class Answers:
    """The handlers of the routes below /api."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def job(self, request: Request) -> Response:
        """GET /api/jobs/ID."""
        return await _answer(self._job, request.path_params["job"])

    def _job(self, job_id: str) -> dict[str, Any]:
        """The status of a job, with its state in the words of every list."""
        found = self._desk.job(job_id)
        needs = values.text((found.get("needs") or {}).get("kind"))
        state = wording.state(
            found["status"],
            found["phase"],
            needs=needs,
            exit_code=found["exitCode"],
            signal=found["signal"],
            cause=values.text((found.get("diagnosis") or {}).get("cause")),
        )
        return found | {"state": state}

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
            job_id, pieces = await run_in_threadpool(self._desk.download, request.path_params["job"], stream)
        except UnhangError as error:
            return _error(error)
        name = f"{job_id}.{stream}.txt"
        headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
        return StreamingResponse(pieces, media_type="application/octet-stream", headers=headers)

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
            return json_response({"error": "the body must be JSON"}, 415)
        try:
            asked = json.loads(await request.body() or b"{}")
        except (ValueError, RecursionError):
            asked = None
        if not isinstance(asked, dict):
            return json_response({"error": "the body must be a JSON object"}, 400)
        return await _answer(self._desk.do, request.path_params["job"], request.path_params["action"], asked)


async def _answer(work: Callable[..., Any], *args: Any) -> Response:
    try:
        return json_response(await run_in_threadpool(work, *args))
    except UnhangError as error:
        return _error(error)
    except OSError as error:
        return json_response({"error": plain_text.one_line(str(error), 300)}, 500)


def _error(error: UnhangError) -> Response:
    status = 404 if isinstance(error, NoSuchJob | AmbiguousJob) else 400 if isinstance(error, UsageError) else 409
    return json_response({"error": plain_text.one_line(str(error), 300)}, status)


def json_response(value: Any, status: int = 200) -> Response:
    """Return an answer as JSON that is not kept."""
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
