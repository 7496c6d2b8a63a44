"""One job, by its id: what every face does with it. Everything is read from disk, or asked of the job's keeper."""

from __future__ import annotations

import binascii

from unhang.core import plain_text
from unhang.core.limit_request import read_duration
from unhang.errors import ControlError, StateError, UsageError
from unhang.jobs import control_client, reconcile
from unhang.jobs.follow import EventStream, wait_for_all
from unhang.jobs.reconcile import ELSEWHERE
from unhang.jobs.results import pieces_of, result_of, view_of
from unhang.procs import clock
from unhang.store import output, output_reader, records
from unhang.store.reader import EventReader, last_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from typing import Any

    from unhang.core.events import Event
    from unhang.core.limit_request import Duration
    from unhang.core.result import Result
    from unhang.core.view import View
    from unhang.store.layout import JobDir
    from unhang.store.output import OutputPiece


# How long a job that is ended by force may take before it is ended without its keeper.
_FORCED = 15.0


class Job:
    """A handle; making one starts nothing and costs nothing. Any number may point to the same job."""

    def __init__(self, place: JobDir) -> None:
        self.place = place
        self._record: dict[str, Any] = {}  # it is written once, before the job is started

    def __repr__(self) -> str:
        return f"Job({self.id!r})"

    def __eq__(self, other: object) -> bool:
        """Whether both are handles of one job."""
        return isinstance(other, Job) and other.place == self.place

    def __hash__(self) -> int:
        return hash(self.place)

    @property
    def id(self) -> str:
        """Return the id that `unhang start` prints."""
        return self.place.id

    @property
    def spec(self) -> dict[str, Any]:
        """Return the job's own record (job.json): the command, its directory, limits and labels."""
        if not self._record:
            self._record = records.job(self.place) or {}
        return self._record

    # --- looking --------------------------------------------------------------------------------------------

    def ended(self) -> bool:
        """Return whether it has ended. Looking makes its record true (see jobs/reconcile.py)."""
        return reconcile.settle(self.place)

    def view(self) -> View:
        """Return what its events say so far."""
        reconcile.settle(self.place)
        return view_of(self.place)

    def result(self) -> Result:
        """Return the result; of a running job what is known so far (status "running")."""
        view = self.view()
        self.note_seen(view)
        return result_of(self.place, view)

    def note_seen(self, view: View | None = None) -> None:
        """Note that its end, if it has one, is shown to a person or an agent: it needs no look any more.

        `view`: if known.
        """
        from unhang.jobs import unseen_ends

        view = view or self.view()
        if view.ended:
            unseen_ends.note(self.place, view.status, view.ended_at)

    def status(self) -> dict[str, Any]:
        """Return the result so far, with the phase, the process and the times of the job."""
        view = self.view()
        shown = result_of(self.place, view).to_json()
        shown |= view.summary()
        shown |= {"needsInput": view.needs_input, "heartbeat": view.heartbeat, "attempt": view.attempt}
        shown |= {"ending": view.ending}
        shown |= self._at_a_glance(view)
        if not view.ended and (where := reconcile.whereabouts(self.place)):
            shown |= {"phase": ELSEWHERE, "where": where}
        return shown

    def _at_a_glance(self, view: View) -> dict[str, Any]:
        """What a person asks first: what it is, what it needs, when it ends, where it listens."""
        from unhang.core.spec import command_line, name_of
        from unhang.jobs.end_time import ends_at
        from unhang.jobs.needs import need_of
        from unhang.jobs.outlook import ports_of

        spec = self.spec
        labels = spec.get("labels") or {}
        need = None if view.ended else need_of(self.place, view)
        ends = None if view.ended else ends_at(self.place, view, always_ask=True)
        return {
            "name": name_of(labels) or None,
            "command": command_line(spec),
            "cwd": spec.get("cwd"),
            "labels": labels,
            "needs": None if need is None else need.to_json(),
            "endsInMs": None if ends is None else max(0, round((ends - clock.wall()) * 1000)),
            "ports": [] if view.ended else ports_of(self.place.home, [self.id]).get(self.id, []),
        }

    def events(self, after_seq: int | None = None, since: str | None = None, limit: int | None = None) -> list[Event]:
        """Return the events so far. `after_seq` wins over `since` (an RFC 3339 time: events later than it)."""
        reconcile.settle(self.place)
        try:
            reader = EventReader(self.place.events, after_seq=after_seq or 0)
        except FileNotFoundError:
            return []
        with reader:
            if after_seq is not None or since is None:
                return reader.read_new(limit)
            since = log_time(since)
            later = [event for event in reader.read_new() if str(event.get("ts", "")) > since]
            return later if limit is None else later[:limit]

    def last_seq(self) -> int:
        """Return the number of its last event; 0 if there is none.

        It costs one read, whatever the length of the log.
        """
        return int((last_event(self.place.events) or {}).get("seq", 0))

    def follow(self, after_seq: int = 0, timeout: Duration = None) -> EventStream:
        """Return events as they come, until the last one or until the time is over: for `for` and for `async for`."""
        return EventStream(self.place, after_seq=after_seq, timeout=read_duration("timeout", timeout))

    def watch(self, after_seq: int = 0, timeout: Duration = None) -> Iterator[Event]:
        """Return the same as `follow`, for `for` alone."""
        return self.follow(after_seq, timeout)

    def lines(self, stream: str | None = None, timeout: Duration = None) -> Iterator[str]:
        """Return its lines as it prints them, until it ends or the time is over; without `stream` those of both
        streams.

        A line that has no end yet is held back until it has, or until the job has ended.
        """
        from unhang.jobs.output_lines import follow_lines

        return follow_lines(self, stream, read_duration("timeout", timeout))

    def alines(self, stream: str | None = None, timeout: Duration = None) -> AsyncIterator[str]:
        """Do what `lines` does, for `async for`."""
        from unhang.jobs.output_lines import follow_lines_async

        return follow_lines_async(self, stream, read_duration("timeout", timeout))

    def output(self, stream: str = "stdout", offset: int = 0, limit: int = 1 << 20) -> output_reader.Slice:
        """Return bytes of a stream by position; what is gone (the middle of a flood) is skipped."""
        return output_reader.read(self._laid_out(stream), offset, limit)

    def printed(self, stream: str = "stdout") -> int:
        """Return how many bytes it has printed so far."""
        return max((part.position + part.length for part in self._laid_out(stream)), default=0)

    def _laid_out(self, stream: str) -> list[OutputPiece]:
        return pieces_of(self, view_of(self.place), stream)

    def kept(self, stream: str = "stdout") -> bytes:
        """Return everything that is kept of a stream; a line says how much is missing in the middle of a flood."""
        return output.read_kept(self.place.stream(stream))[0]

    def tail(self, stream: str = "stdout", size: int = 64 << 10) -> str:
        """Return the last `size` bytes of a stream, as text."""
        data = self.kept(stream)
        return plain_text.decode(plain_text.whole_start(data[-size:]) if len(data) > size else data)

    # --- waiting --------------------------------------------------------------------------------------------

    def wait(self, timeout: Duration = None) -> Result:
        """Return the result when it has ended; after `timeout` what is known so far (status "running")."""
        wait_for_all([self.place], read_duration("timeout", timeout))
        return self.result()

    async def wait_async(self, timeout: Duration = None) -> Result:
        """Do what `wait` does, without blocking the event loop."""
        import asyncio

        return await asyncio.to_thread(self.wait, timeout)

    # --- asking ---------------------------------------------------------------------------------------------

    def send(self, text: str | bytes = b"", *, eof: bool = False) -> None:
        """Send input to a job that was started with stdin="pipe" or on a terminal, 1 MiB at most at once."""
        from unhang.core.spec import INPUT_LIMIT

        try:
            data = text.encode(errors="surrogateescape") if isinstance(text, str) else text
        except UnicodeEncodeError:
            raise UsageError("the text holds half of a surrogate pair, which no encoding has") from None
        if len(data) > INPUT_LIMIT:
            raise ControlError(f"{len(data)} bytes are more than a job takes at once (1 MiB): send them in pieces")
        self._ask(do="send", data=binascii.b2a_base64(data, newline=False).decode(), eof=eof)

    def extend(self, *, idle: Duration = None, hard: Duration = None) -> None:
        """Extend the idle or the hard limit by so much."""
        self._ask(do="extend", idle=read_duration("idle", idle) or 0.0, hard=read_duration("hard", hard) or 0.0)

    def resize(self, rows: int, columns: int) -> None:
        """Change the size of the job's terminal."""
        self._ask(do="resize", rows=rows, columns=columns)

    def cancel(
        self, *, force: bool = False, wait: bool = True, by: str = "request", by_force: str | None = None
    ) -> Result:
        """End the job: SIGTERM, the grace, SIGKILL (`force`: SIGKILL at once). Of an ended job: its result.

        `by_force`: how the caller asks for `force`, for the error that recommends it.

        With `force` a job whose keeper does not answer is ended by its guard, or by this process. A job that runs
        elsewhere can only be asked.
        """
        try:
            control_client.ask(self.place, do="cancel", force=force, by=by)
        except (control_client.JobHasEnded, StateError):  # no socket to ask through
            self._cancel_without_socket(force)
        except ControlError as error:
            if not force:
                how = by_force or f"unhang cancel --force {self.id}"
                raise ControlError(f"{error}; to end it all the same: {how}") from None
            reconcile.end_without_keeper(self.place)
        if not wait:
            return self.result()
        result = self.wait(_FORCED if force else None)
        if result.status == "running" and reconcile.end_without_keeper(self.place):
            result = self.result()
        return result

    def _cancel_without_socket(self, force: bool) -> None:
        if reconcile.settle(self.place):
            return
        where = reconcile.whereabouts(self.place)
        if where and force and reconcile.give_up(self.place, where):
            return
        if where:
            raise ControlError(f"job {self.id} runs elsewhere ({where}): cancel it there")
        if not reconcile.stop_keeper(self.place):
            raise ControlError(f"job {self.id} is only just being started")

    def _ask(self, **request: Any) -> dict[str, Any]:
        if reconcile.settle(self.place):
            raise control_client.JobHasEnded(f"job {self.id} has ended")
        try:
            return control_client.ask(self.place, **request)
        except control_client.JobHasEnded:
            if reconcile.settle(self.place):
                raise
            where = reconcile.whereabouts(self.place)
            why = f"runs elsewhere ({where}): ask it there" if where else "runs, but has no control socket"
            raise ControlError(f"job {self.id} {why}") from None

    def ping(self) -> dict[str, Any]:
        """Ask the keeper whether it answers. Raises ControlError if it does not."""
        return self._ask(do="ping")


def log_time(text: str) -> str:
    """Return an RFC 3339 time in the form of the log, so that times compare as text. Raises UsageError."""
    try:
        return clock.rfc3339(clock.parse(text))
    except ValueError:
        raise UsageError(f"since: not an RFC 3339 time: {text!r} (as 2026-01-02T03:04:05Z)") from None


def attach(home: str, name: str) -> Job:
    """Return the job with this id, name or unique prefix, or the newest (`@last`). Raises NoSuchJob or AmbiguousJob."""
    from unhang.jobs.names import find_job

    return Job(find_job(home, name))
