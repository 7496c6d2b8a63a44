"""What the keeper writes down: events, the newest view, the bounded account of output; and when it is on the disk."""

from __future__ import annotations

from unhang.core import events as ev
from unhang.core.alerts.kinds import is_news
from unhang.core.view import View
from unhang.keeper.durability import Durability
from unhang.keeper.heartbeat import BEAT_EVERY, STATUS_EVERY
from unhang.procs import clock
from unhang.store import alert_news, files
from unhang.store.event_log import EventLog
from unhang.store.output_order import OrderWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from unhang.keeper.streams import OutputStream
    from unhang.store.layout import JobDir

# A chatty job gets one output event a stream in this time; the bytes themselves are in the files at once.
COALESCE = 1.0
# A shorter story is read as fast as its view, and writing that costs a quiet job more than anything else it does.
SHORT = 10


class Journal:
    """Records everything about one job: appends events, keeps the view up to date, writes status.json."""

    def __init__(
        self,
        place: JobDir,
        allocate: Callable[[int, int, int], None] | None,
        *,
        alerts_wanted: bool = False,
        fd: int | None = None,
    ) -> None:
        """`alerts_wanted`: the job names targets of its own for its alerts. `fd`: see `EventLog`."""
        self.job_id = place.id
        self.view = View()
        self._place = place
        self._log = EventLog(place.events, clock.now, begin=True, allocate=allocate, fd=fd)
        self._durability = Durability(place)
        self._order = OrderWriter(place.order)
        self._alerts_wanted = alerts_wanted
        self._streams: dict[str, OutputStream] = {}
        self._pending: dict[str, OutputStream] = {}
        self._beat_text, self._beat_at = "", float("-inf")
        self.output_is_life = True  # False: a reader who understands it has said that it is no progress

    @property
    def seq(self) -> int:
        """Return the number of the last event that was recorded."""
        return self._log.seq

    def heard(self, stream: OutputStream, now: float) -> None:
        """Note that a stream has printed; its event is written now, or soon together with what follows."""
        self._streams[stream.name] = stream
        self._order.note(stream.name, stream.store.total, clock.wall())
        self._durability.wrote_output(now)
        if now - stream.said_at >= COALESCE:
            self._say(stream, now)
        else:
            self._pending[stream.name] = stream

    def flush_due(self) -> float | None:
        """Return when output that was noted must become an event; None if none waits."""
        if not self._pending:
            return None
        return min(s.said_at + COALESCE for s in self._pending.values())

    def flush_output(self, now: float) -> bool:
        """Say what is due; True if anything was said."""
        if not self._pending:
            return False
        due = [s for s in self._pending.values() if now >= s.said_at + COALESCE]
        for stream in due:
            self._say(stream, now)
        return bool(due)

    def _say(self, stream: OutputStream, now: float) -> None:
        self._pending.pop(stream.name, None)
        stream.said_at = now
        count = stream.store.total - stream.announced
        if count:
            self._append(ev.output(stream.name, count, stream.announced, alive=self.output_is_life))
            stream.announced = stream.store.total

    def beat(self, status: str | None, now: float) -> bool:
        """Take a heartbeat; it is recorded when it says something new (once a second at most), or now and then."""
        text = self._beat_text if status is None else status
        due = self._beat_at + (STATUS_EVERY if text != self._beat_text else BEAT_EVERY)
        if now < due:
            return False
        self._beat_text, self._beat_at = text, now
        self.record(ev.heartbeat(text))
        return True

    def record(self, event: ev.Event) -> None:
        """Record anything but output; the output so far comes first, so that the order is the true one."""
        now = clock.monotonic()
        for stream in list(self._pending.values()):
            self._say(stream, now)
        self._append(event)
        self._tell(event)
        if self.seq > SHORT:
            self.write_status()

    def _append(self, event: ev.Event) -> None:
        written = self._log.append(event)
        if written is not None:
            self.view.apply(written)
            if ev.is_promise(written):
                self._durability.now(self._log.sync)
            else:
                self._durability.wrote_event(clock.monotonic())

    def make_durable(self) -> None:
        """Make the job's record and its events so far survive a power cut once this returns."""
        self._durability.now(self._log.sync)

    def make_durable_by_name(self) -> None:
        """Make the job's record and the names of its files survive a power cut, as its synced events do."""
        self._durability.sync_names()

    def sync_due(self) -> float | None:
        """Return when the next sync to disk is to begin; None if everything is on the disk."""
        return self._durability.due()

    def keep_durable(self, now: float) -> None:
        """Bring what was written some seconds ago to the disk."""
        due = self._durability.due()
        if due is not None and now >= due:
            self._durability.later([stream.store.sync for stream in self._streams.values()], now)

    def sync_output(self) -> None:
        """Bring what the job has printed to the disk before this returns."""
        self._durability.sync_output([stream.store.sync for stream in self._streams.values()])

    def record_last(self, event: ev.Event) -> None:
        """Record the event that ends the log, after all output; room for it on the disk was kept."""
        for stream in list(self._pending.values()):
            self._say(stream, clock.monotonic())
        written = self._log.append_last(event)
        if written is not None:
            self.view.apply(written)
        self._tell(event)

    def close(self) -> None:
        """Close the log."""
        self._log.close()

    def give_back(self) -> None:
        """Give back the room that was kept for the last event."""
        self._log.give_back()

    def _tell(self, event: ev.Event) -> None:
        """Leave a mark for the deliverer of alerts, if the event is worth one, or is the last they wait for."""
        if is_news(event):
            alert_news.tell(self._place.home, self._place.id, wanted=self._alerts_wanted)

    def write_status(self) -> None:
        """Replace status.json by the newest view; a full disk leaves the old one."""
        status = {"jobId": self.job_id, "status": self.view.status} | self.view.summary()
        try:
            files.write_json(self._place.status, status)
        except OSError:
            pass  # a cache on a full disk
