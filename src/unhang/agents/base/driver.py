"""What every driver does: read its plan, work until it is done or told to stop, and say why nothing moves."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from unhang.agents.base.child import Child
from unhang.agents.base.jsonrpc import Recorder
from unhang.agents.base.keeper_channel import KeeperChannel, complain
from unhang.agents.base.plan import AgentPlan
from unhang.agents.base.update import StallReason, preview
from unhang.core.diagnosis.agents import stopped_reason
from unhang.core.policy import builtin
from unhang.core.policy.model import Policy
from unhang.core.spec import job_record
from unhang.core.values import mapping_of
from unhang.errors import (
    EXIT_FAILED,
    EXIT_NOT_EXECUTABLE,
    EXIT_NOT_FOUND,
    EXIT_SIGNAL_BASE,
    StateError,
    UnhangError,
)
from unhang.keeper.agent_channel import RECORD
from unhang.procs import identity, tree
from unhang.store import files, policy_file, reader
from unhang.store.layout import EVENTS

_TROUBLES = 5
_FRESH = 1.1


class Driver(ABC):
    """The leader of an agent's job."""

    def __init__(self, channel: KeeperChannel, stall: float, recorder: Recorder) -> None:
        """`stall`: the seconds without a sign of life after which the driver says why nothing moves."""
        self._channel = channel
        self._stall = stall
        self._recorder = recorder
        self._child: Child | None = None  # the agent, once it has been started
        self._stop = asyncio.Event()
        self._working: asyncio.Future[int] | None = None
        self._troubles = 0

    @abstractmethod
    async def _work(self) -> int:
        """Carry out the plan. The exit code, or an exception that `_finish` knows."""

    @abstractmethod
    async def _finish(self, work: asyncio.Future[int]) -> int:
        """After the work, however it went: the exit code."""

    @abstractmethod
    async def _end_agent(self) -> None:
        """Asked to stop while the work goes on: say why, and end the agent. Then the work is given up."""

    @abstractmethod
    def _silence(self, now: float) -> float:
        """Seconds without a sign of life; 0.0: silence is to be expected now."""

    @abstractmethod
    def _stall_reason(self, now: float) -> StallReason:
        """Why nothing moves."""

    def _known(self, now: float) -> dict[str, Any]:
        """What else the event of a stall says."""
        del now
        return {}

    def _patience(self) -> float:
        """Seconds without a sign of life that are explained now."""
        return self._stall

    def _close(self) -> None:
        """Close what is open, as the last thing."""
        self._recorder.close()

    async def run(self) -> int:
        """Work from the start to the end, and return the exit code of the job."""
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
            await self._end_agent()
            return EXIT_SIGNAL_BASE + signal.SIGTERM
        finally:
            await self._give_up()
            stop.cancel()
            watch.cancel()
            self._close()

    async def _surely_finished(self, work: asyncio.Future[int]) -> int:
        """Finish. A defect of our own is one line and a failed turn, not a traceback in the job's output."""
        try:
            return await self._finish(work)
        except Exception as error:
            if os.environ.get("UNHANG_DEBUG"):
                traceback.print_exc()
            text = preview(f"the driver failed: {type(error).__name__}: {error}", 500)
            return self._fail(text, EXIT_FAILED)

    def _fail(self, text: str, code: int = 1, *, error_code: int | None = None, **fields: Any) -> int:
        """Record that the task has failed, and say so to people; the exit code."""
        error = {"message": text} if error_code is None else {"message": text, "code": error_code}
        self._channel.tell("failed", text, error=error, **fields)
        complain(text)
        return code

    def _fail_to_start(self, program: str, error: OSError, hint: str, **fields: Any) -> int:
        """As `_fail`, for a program that cannot be started."""
        if isinstance(error, FileNotFoundError):
            return self._fail(f"there is no {program!r}: {hint}", EXIT_NOT_FOUND, **fields)
        return self._fail(f"cannot start {program!r}: {error.strerror}", EXIT_NOT_EXECUTABLE, **fields)

    def _tell_stuck(self, why: StallReason, **fields: Any) -> None:
        """Say why there is no sign of life."""
        why = self._stopped() or why
        fields |= {"cause": why.reason, "diagnosis": why.diagnosis()}
        self._channel.tell("stuck", f"{why.reason[0].upper()}{why.reason[1:]}.", **fields)

    def _tell_stopping(self, why: StallReason, text: str = "", **fields: Any) -> None:
        """Say what the agent was doing when it was to be ended. `text`: in other words than the reason's."""
        if stopped := self._stopped():  # to continue it comes too late now: what else can be done stands
            why, text = stopped.replace(suggestions=why.suggestions, hints=why.hints), ""
        fields |= {"cause": why.reason, "diagnosis": why.diagnosis()}
        fields |= {"suggestions": why.suggestions or None, "hints": why.hints or None}
        self._channel.tell("stopping", f"Asked to stop: {text or why.reason}.", **fields)
        complain(why.reason)

    def _stopped(self) -> StallReason | None:
        """A process of the agent that a signal has stopped: whatever else it waits for, that is why nothing moves."""
        if self._child is None:
            return None
        pid = self._child.process.pid
        found = [one for one in (identity.find(pid), *tree.descendants(pid)) if one is not None and one.state == "T"]
        if not found:
            return None
        reason = stopped_reason([(one.name, one.pid) for one in found])
        return StallReason("stopped", reason, [f"kill -CONT {found[0].pid}"])

    def _trouble(self, text: str, raw: str) -> None:
        """A message of the agent was passed over. The first few are worth an event each."""
        self._troubles += 1
        if self._troubles <= _TROUBLES:
            self._channel.tell("warning", text, raw=raw)

    async def _give_up(self) -> None:
        if self._working is not None:
            self._working.cancel()
            await asyncio.gather(self._working, return_exceptions=True)

    async def _watch(self) -> None:
        """Announce a silence after `stall` seconds, once: it is over at the next sign of life. This ends nothing.

        What the keeper says later, at a limit, has a reason that is not much older than that.
        """
        due = 0.0
        while True:
            await asyncio.sleep(min(1.0, self._patience() / 4))
            now = time.monotonic()
            silent = self._silence(now)
            if silent < self._patience():
                due = 0.0
            elif not due:
                due = _FRESH * silent
                self._tell_stuck(self._stall_reason(now), **self._known(now))
            elif silent >= due:
                due = _FRESH * silent
                self._channel.refresh_verdict((self._stopped() or self._stall_reason(now)).diagnosis())


P = TypeVar("P", bound=AgentPlan)


def main(kind: type[P], make: Callable[[P, KeeperChannel, Policy], Driver]) -> None:
    """Be the process of a driver from its start to its end.

    The channel is opened first: no child may have its descriptor.
    """
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
    plan = kind.from_json(mapping_of(job_record(files.read_json(path) or {}), "agent", "plan"))
    before = _earlier_attempts(path)
    return plan.after(before) if before else plan


def _earlier_attempts(record: str) -> list[dict[str, Any]]:
    """The events of our job up to the last attempt before this one; empty: this is the first."""
    events = reader.read_all(f"{os.path.dirname(record)}/{EVENTS}")
    last = max((at for at, event in enumerate(events) if event["phase"] == "retry" and event.get("attempt")), default=0)
    return events[:last]


def _read_policy(plan: AgentPlan, channel: KeeperChannel) -> Policy:
    """The policy by which the commands of the agent's tools have their limits: the one that holds for the job."""
    try:
        return policy_file.find(plan.policy, os.getcwd(), os.environ)
    except (OSError, UnhangError) as error:  # it was readable when the job was made
        channel.tell("warning", f"The built-in policy holds for the agent's tools: {error}")
        return builtin.policy()
