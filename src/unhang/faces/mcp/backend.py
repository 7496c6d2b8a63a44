"""What all calls of one server share: its settings, the caps, and the lease on jobs that somebody waits for."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from unhang.core.limit_request import LimitRequest
from unhang.core.policy.model import Policy
from unhang.errors import UsageError
from unhang.faces.mcp.access.check import check_access
from unhang.faces.mcp.settings import BOUNDS, Settings
from unhang.jobs import reconcile, start
from unhang.jobs.connection import Connection
from unhang.jobs.handle import Job, attach
from unhang.jobs.lease import Lease
from unhang.jobs.progress import ReportTimes
from unhang.jobs.request import Prepared, prepare
from unhang.store import home as homes
from unhang.store import policy_file
from unhang.store.layout import JobDir

_Answer = TypeVar("_Answer")
# Short work on files and sockets; fifty calls at once must not wait for each other's.
_THREADS = 64


class Backend:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.home = homes.locate(os.environ)
        self.lease = Lease()
        self.report_times = ReportTimes(settings.first_progress, settings.progress_every)
        self._threads: anyio.CapacityLimiter | None = None
        self._started: dict[str, JobDir] = {}
        self._calls = 0

    async def in_thread(self, work: Callable[..., _Answer], /, *args: Any, **options: Any) -> _Answer:
        """Run work that is not abandoned when the call is cancelled: what was begun is known to be finished."""
        if self._threads is None:
            self._threads = anyio.CapacityLimiter(_THREADS)
        return await anyio.to_thread.run_sync(partial(work, *args, **options), limiter=self._threads)

    async def in_loose_thread(self, work: Callable[..., _Answer], /, *args: Any) -> _Answer:
        """Run work that is abandoned when the call is cancelled: it only reads."""
        return await anyio.to_thread.run_sync(partial(work, *args), abandon_on_cancel=True)

    def job(self, name: str) -> Job:
        return attach(self.home, name)

    # --- caps -----------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def call(self) -> Iterator[None]:
        if self._calls >= self.settings.max_calls:
            raise UsageError(f"{self._calls} calls are in flight, which is the most this server takes: wait for some")
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1

    def _make_room(self) -> None:
        if len(self._started) < self.settings.max_jobs:
            return
        self._started = {name: place for name, place in self._started.items() if not reconcile.settle(place)}
        if len(self._started) >= self.settings.max_jobs:
            raise UsageError(
                f"{len(self._started)} jobs of this server are running, which is the most it may have at once: "
                "wait for some (`list`, `wait`) or end them (`cancel`)"
            )

    # --- starting -------------------------------------------------------------------------------------------

    def policy(self, cwd: str) -> Policy:
        """The one that holds in this directory. Where it bounds nothing, nobody may ask for < 1 s or for ever."""
        found = policy_file.find(self.settings.policy, cwd, os.environ)
        return found if found.bounds is not None else found.replace(bounds=BOUNDS)

    def prepare(
        self,
        command: str | list[str],
        *,
        cwd: str,
        env: dict[str, str] | None,
        stdin: str,
        pty: bool,
        asked: LimitRequest,
        labels: dict[str, str],
    ) -> Prepared:
        folder = os.path.abspath(os.path.expanduser(cwd)) if cwd else os.getcwd()
        check_access(self.settings, command, folder, env)
        return prepare(
            command,
            shell=isinstance(command, str),
            cwd=folder,
            env=env,
            stdin=stdin,
            pty=pty,
            size=(24, 80) if pty else None,
            foreground=False,
            labels={"via": "mcp"} | labels,
            policy=self.policy(folder),
            asked=asked,
        )

    def launch(self, prepared: Prepared, data: bytes | None, *, hold: bool) -> Connection:
        """Returns when it has been started; `hold`: it ends with this server. The owner's line stays open."""
        self._make_room()
        if hold:
            self.lease.ready()
        connection = start.launch(prepared, data)
        if hold:
            self.lease.hold(connection.place)
        self._started[connection.place.id] = connection.place
        try:
            connection.wait_until_started()
        except BaseException:
            self.lease.release(connection.place)
            self._started.pop(connection.place.id, None)
            connection.close()
            raise
        return connection

    def ended(self, place: JobDir) -> None:
        self._started.pop(place.id, None)

    def close(self) -> None:
        """Foreground jobs end now; background ones go on."""
        self.lease.close()
