"""What every driver does: its work until it is done or told to stop, and a word about why nothing moves."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

from unhang.agents.base.keeper_channel import KeeperChannel, complain
from unhang.agents.base.plan import AgentPlan
from unhang.agents.base.update import one_line
from unhang.core.policy import builtin
from unhang.core.policy.model import Policy
from unhang.core.spec import job_record
from unhang.core.values import mapping_of
from unhang.errors import EXIT_FAILED, EXIT_SIGNAL_BASE, StateError, UnhangError
from unhang.keeper.agent_channel import RECORD
from unhang.store import files, policy_file

_TROUBLES = 5


class Driver(ABC):
    def __init__(self, channel: KeeperChannel, stall: float) -> None:
        """`stall`: after this long it is said why nothing moves."""
        self._channel = channel
        self._stall = stall
        self._stop = asyncio.Event()
        self._working: asyncio.Future[int] | None = None
        self._troubles = 0

    @abstractmethod
    async def _work(self) -> int:
        """All of it. The exit code, or an exception that `_finished` knows."""

    @abstractmethod
    async def _finished(self, work: asyncio.Future[int]) -> int:
        """After the work, however it went: the exit code."""

    @abstractmethod
    async def _stopped(self) -> None:
        """Asked to stop while the work goes on: says why, and ends the agent. Then the work is given up."""

    @abstractmethod
    def _silent(self, now: float) -> float:
        """Seconds without a sign of life; 0.0: silence is no wonder now."""

    @abstractmethod
    def _stuck(self, now: float) -> None:
        """Says why."""

    def _close(self) -> None:  # noqa: B027 - not every driver has something to close
        """The last thing."""

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._stop.set)
        self._working = work = asyncio.ensure_future(self._work())
        stop = asyncio.ensure_future(self._stop.wait())
        watch = asyncio.ensure_future(self._watch())
        try:
            await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return await self._surely_finished(work)
            watch.cancel()  # from now on the steps are told
            await self._stopped()
            return EXIT_SIGNAL_BASE + signal.SIGTERM
        finally:
            await self._give_up()
            stop.cancel()
            watch.cancel()
            self._close()

    async def _surely_finished(self, work: asyncio.Future[int]) -> int:
        """A defect of ours is one line and a failed turn, not a traceback in the job's output."""
        try:
            return await self._finished(work)
        except Exception as error:
            if os.environ.get("UNHANG_DEBUG"):
                traceback.print_exc()
            text = one_line(f"the driver failed: {type(error).__name__}: {error}", 500)
            self._channel.tell("failed", text, error={"message": text})
            complain(text)
            return EXIT_FAILED

    def _trouble(self, text: str, raw: str) -> None:
        """A message of the agent's was passed over. The first few are worth an event each."""
        self._troubles += 1
        if self._troubles <= _TROUBLES:
            self._channel.tell("warning", text, raw=raw)

    async def _give_up(self) -> None:
        if self._working is not None:
            self._working.cancel()
            await asyncio.gather(self._working, return_exceptions=True)

    async def _watch(self) -> None:
        """Once after `stall`, then at growing distances. Ends nothing."""
        due = self._stall
        while True:
            await asyncio.sleep(min(1.0, self._stall / 4))
            now = time.monotonic()
            silent = self._silent(now)
            if silent < self._stall:
                due = self._stall
            elif silent >= due:
                due *= 2
                self._stuck(now)


P = TypeVar("P", bound=AgentPlan)


def main(kind: type[P], make: Callable[[P, KeeperChannel, Policy], Driver]) -> None:
    """The whole life of a driver's process. The channel comes first: no child may have its descriptor."""
    channel = KeeperChannel()
    try:
        plan = _read_plan(kind)
    except (OSError, TypeError, UnhangError) as error:
        complain(f"the driver has no plan: {error}")
        sys.exit(EXIT_FAILED)

    async def drive() -> int:
        return await make(plan, channel, _read_policy(plan, channel)).run()

    try:
        code = asyncio.run(drive())
    except OSError as error:  # not even an event loop: no descriptors, no memory
        complain(f"the driver cannot run: {error.strerror or error}")
        code = EXIT_FAILED
    sys.exit(code)


def _read_plan(kind: type[P]) -> P:
    """The plan in the record of our job, which the keeper has named."""
    path = os.environ.pop(RECORD, "")
    if not path:
        raise StateError(f"{RECORD} is not set (a driver is started by its keeper)")
    return kind.from_json(mapping_of(job_record(files.read_json(path) or {}), "agent", "plan"))


def _read_policy(plan: AgentPlan, channel: KeeperChannel) -> Policy:
    """The policy by which the commands of the agent's tools have their limits: the one that holds for the job."""
    try:
        return policy_file.find(plan.policy, os.getcwd(), os.environ)
    except (OSError, UnhangError) as error:  # it was readable when the job was made
        channel.tell("warning", f"The built-in policy holds for the agent's tools: {error}")
        return builtin.policy()
