"""What all calls of one server share: its settings, its threads, its bounds, and the pool of its jobs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from unhang.core.editors import ABSENT_EDITOR, NO_PAGER
from unhang.core.limit_request import LimitRequest
from unhang.core.policy.model import Policy
from unhang.errors import NoSuchJob, UsageError
from unhang.faces.mcp.access.check import check_access
from unhang.faces.mcp.arguments import folder_of
from unhang.faces.mcp.news import HandedOver
from unhang.faces.mcp.settings import BOUNDS, Settings
from unhang.faces.mcp.threads import LoopThreads, Threads, bind
from unhang.jobs.handle import Job, attach
from unhang.jobs.home import state_home
from unhang.jobs.policy import find_policy
from unhang.jobs.pool import JobPool
from unhang.jobs.progress import ReportTimes
from unhang.jobs.request import Prepared, prepare

_Answer = TypeVar("_Answer")


class Backend:
    """One server's hold on jobs."""

    def __init__(self, settings: Settings, threads: Threads | None = None) -> None:
        self.settings = settings
        self.threads: Threads = threads or LoopThreads()
        self.home = state_home()
        self.pool = JobPool(settings.max_jobs)
        self.report_times = ReportTimes(settings.first_progress, settings.progress_every)
        self.handed_over = HandedOver(self.home, self.in_thread)
        self._calls = 0

    async def in_thread(self, work: Callable[..., _Answer], /, *args: Any, **options: Any) -> _Answer:
        """Run work that is not abandoned when the call is cancelled: what was begun is known to be finished."""
        return await self.threads.finish(bind(work, args, options))

    async def in_loose_thread(self, work: Callable[..., _Answer], /, *args: Any) -> _Answer:
        """Run work that is abandoned when the call is cancelled: it only reads."""
        return await self.threads.loose(bind(work, args, {}))

    def job(self, name: str) -> Job:
        """Return the job with this id, unique prefix or "@last"."""
        try:
            return attach(self.home, name)
        except NoSuchJob as error:
            raise UsageError(f"{error}; the tool `list` shows the jobs that run, with all=true all") from None

    @contextlib.contextmanager
    def call(self) -> Iterator[None]:
        """Count a call that may take long. UsageError if there are as many already as the server takes."""
        if self._calls >= self.settings.max_calls:
            raise UsageError(f"{self._calls} calls are in flight, which is the most this server takes: wait for some")
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1

    def policy(self, cwd: str) -> Policy:
        """Return the policy that holds in this directory. Where it sets no bounds, a caller may ask for 1 s to 24 h."""
        found = find_policy(self.settings.policy, cwd)
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
        """Make a job that can be started of a command. Refuses what the lists of this server forbid."""
        folder = folder_of(cwd)
        check_access(self.settings, command, folder, env)
        return prepare(
            command,
            shell=isinstance(command, str),
            cwd=folder,
            env=(NO_PAGER if pty else ABSENT_EDITOR) | (env or {}),
            stdin=stdin,
            pty=pty,
            size=(24, 80) if pty else None,
            foreground=False,
            labels={"via": "mcp"} | labels,
            policy=self.policy(folder),
            asked=asked,
        )

    def close(self) -> None:
        """End the jobs that a call waits for; background jobs go on."""
        self.pool.close()
