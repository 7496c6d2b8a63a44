"""Looks at the quiet tree for the watchdog, and says why it is quiet.

Explaining is worth nothing if it can hurt: whatever goes wrong in here is an answer of "I could not tell", never an
end of the keeper. The explainer is imported when it is first needed: most jobs never go quiet.
"""

from __future__ import annotations

import os
import time

from unhang.core.record import Record
from unhang.core.watchdog.facts import Looked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.diagnosis.counters import CheapSample
    from unhang.core.diagnosis.prompt import NeedsInput
    from unhang.core.diagnosis.samples import FullSample
    from unhang.core.diagnosis.verdict import Diagnosis
    from unhang.procs.sampler.cheap import TreeSampler


# A tree in which nothing at all happened for this long is most likely to stay so until the next look, in seconds.
STILL_FOR = 5.0
# How long a job must look as if it might read its terminal, where that cannot be seen, in seconds.
READS_AFTER = {"unseen": 0.3, "naps": 1.0}
# Looks that are further apart than this do not add up.
_APART = 2.0


class Screen(Record):
    """What a person would see: the end of the output, the terminal if there is one, the pid of the leader, and what was
    started as that.
    """

    text: bytes
    master: int | None
    leader: int
    printed: int = 0  # bytes so far
    command: str = ""


class Observer:
    """Looks at the tree of one attempt: cheaply at each look, fully when a limit is near."""

    def __init__(self) -> None:
        self._sampler: TreeSampler | None = None
        self._cheap: CheapSample | None = None
        self._full: FullSample | None = None
        self._asked: FullSample | None = None  # the one in which a prompt was last looked for
        self._verdict: Diagnosis | None = None
        self._of_tool: Diagnosis | None = None  # of the processes alone that a tool of an agent has started
        self._terminal = ""  # its path
        self._rests_until = 0.0  # until when it is not looked at who reads it
        self._reading = "", 0.0, 0.0  # how the job stands to its terminal, since when, and when that was last seen
        self._no_sockets: float | None = None  # asked for the stillness that began then

    def cheap(self, since: float | None = None) -> Looked:
        """Compare the counters of the tree with those of the last look; `since`: only of processes begun after that."""
        try:
            from unhang.core.diagnosis.progress import begun_since, progressed
            from unhang.procs.sampler.cheap import TreeSampler

            self._sampler = self._sampler or TreeSampler(os.getpid())
            before, after = self._cheap, self._sampler.look()
            if before is None:
                self._cheap = after
                return Looked(False, "")
            if after.at - before.at >= 0.2:  # else too close to tell; keep the older one to compare with
                self._cheap = after
            still = self._still() is not None
            if since is not None:
                before, after = begun_since(before, since), begun_since(after, since)
            return Looked(*progressed(before, after), still)
        except Exception:  # see the top of this file
            self._cheap = self._sampler = None
            return Looked(False, "")

    def _still(self) -> float | None:
        """Since when no process of the tree has run, if that is long and nothing else can have moved there."""
        sampler, now = self._sampler, self._cheap
        if sampler is None or now is None or sampler.still_since is None or now.at - sampler.still_since < STILL_FOR:
            return None
        if self._no_sockets != sampler.still_since:  # a process that does not run opens nothing: one look is enough
            if _has_sockets(now):
                return None
            self._no_sockets = sampler.still_since
        return sampler.still_since

    def of_agent(self, doing: dict[str, Any] | None, silent: float) -> dict[str, Any] | None:
        """Return the last verdict as one of an agent: its own event loop is no reason, what its tool has started is.

        `doing`: the event that says what it is at; `silent`: for so many seconds.
        """
        if self._verdict is None:
            return None
        try:
            from unhang.core.diagnosis.agents import of_driven_agent

            return of_driven_agent(self._verdict, None, doing, silent, tool=self._of_tool).to_record()
        except Exception:  # see the top of this file
            return self._verdict.to_record()

    def of_tool(self) -> dict[str, Any] | None:
        """Return the last verdict on what a tool of an agent has started, as of now; None: it has no process, or has
        ended.
        """
        if self._of_tool is None or self._full is None:
            return None
        from unhang.core.diagnosis.time_left import at_age

        return at_age(self._of_tool.to_record(), time.monotonic() - self._full.at)

    def forget_tool(self) -> None:
        """Note that no tool of the agent is in flight."""
        self._of_tool = None

    @property
    def moving(self) -> bool:
        """Return whether the last full look saw bytes arrive over the network, which counters do not show."""
        return self._verdict is not None and self._verdict.state == "alive" and self._verdict.cause == "progress"

    @property
    def hung(self) -> bool:
        """Return whether the last full look found that the job is hung, or what a tool of the agent has started."""
        found = self._of_tool or self._verdict
        return found is not None and found.state == "hung"

    @property
    def stopped(self) -> bool:
        """Return whether the last full look found that a signal has stopped the job."""
        return self._verdict is not None and (self._verdict.state, self._verdict.cause) == ("hung", "stopped")

    def full(self, screen: Screen, since: float | None = None) -> tuple[Looked, dict[str, Any] | None]:
        """Return whether the tree moved, and the diagnosis so far as JSON; None after only one sample.

        `since`: when a tool of an agent was started, as for `cheap`.
        """
        looked, tool_since = self.cheap(since), since
        try:
            from unhang.core.diagnosis.rules import diagnose
            from unhang.core.diagnosis.standstill import as_it_was

            since, before = self._still(), self._full
            after = self._unchanged(since) or _full(screen, since)
            if before is None and since is not None:
                before = as_it_was(after, since)
            self._full = after
            if before is None or not after.processes:  # the tree is not empty (we would know): it cannot be seen
                return looked, None
            self._verdict = diagnose(before, after)
            self._of_tool = None
            if tool_since is not None:
                from unhang.core.diagnosis.part import diagnose_part

                self._of_tool = diagnose_part(before, after, tool_since)
            return looked, self._verdict.to_record()
        except Exception:  # see the top of this file
            return looked, None

    def _unchanged(self, since: float | None) -> FullSample | None:
        """The sample in which a prompt was looked for, if no process has run since. Those outside that hold a lock may
        have."""
        from unhang.core.diagnosis.standstill import as_it_is

        asked = self._asked
        if since is None or asked is None or asked.at < since or asked.others:
            return None
        return as_it_is(asked, time.monotonic())

    def suggestions(self, timeout_reason: str | None) -> list[str]:
        """Return what a caller may do about the last verdict."""
        try:
            from unhang.core.diagnosis.suggest import suggestions

            return [] if self._verdict is None else suggestions(self._verdict.to_json(), timeout_reason)
        except Exception:  # see the top of this file
            return []

    def prompt(self, screen: Screen, *, attended: bool = False) -> NeedsInput | None:
        """Return who in the tree waits for input, if a process does. `attended`: see `waits_for_input`."""
        try:
            from unhang.core.diagnosis.prompt import waits_for_input

            self._asked = _full(screen, network=False)
            return waits_for_input(self._asked, attended=attended)
        except Exception:  # see the top of this file
            return None

    def reads_keys(self, screen: Screen) -> bool:
        """Return whether a process of the tree waits for a line at the terminal, or may where that cannot be seen."""
        try:
            from unhang.core.diagnosis.terminal_reader import READS, reading_of
            from unhang.procs.spawn import has_unread_line

            if time.monotonic() < self._rests_until:
                return False
            # before the look: a reader that has taken the last line and sleeps again asks for the next one
            if self._terminal and has_unread_line(self._terminal):
                return False
            sample = _full(screen, network=False)
            self._terminal = sample.terminal.path if sample.terminal is not None else ""
            reading, now = reading_of(sample), time.monotonic()
            self._rests_until = now + sample.took  # any process of the user may ask, and again and again
            same = reading == self._reading[0] and now - self._reading[2] < _APART
            since = self._reading[1] if same else now
            self._reading = reading, since, now
            return reading == READS or now - since >= READS_AFTER.get(reading, float("inf"))
        except Exception:  # see the top of this file
            return True


def _full(screen: Screen, still_since: float | None = None, *, network: bool = True) -> FullSample:
    from unhang.procs.sampler.full import full

    still = None if still_since is None else time.monotonic() - still_since
    sample = full(
        os.getpid(), screen=screen.text, pty_master=screen.master, leader=screen.leader, network=network, still=still
    )
    return sample._replace(printed=screen.printed, command=screen.command)


def _has_sockets(sample: CheapSample) -> bool:
    """Whether a process of the tree has a socket: bytes may arrive there while no process runs."""
    from unhang.procs import descriptors

    for pid in sample.processes:
        seen = descriptors.targets(pid)
        if seen is None or any(target.startswith("socket:") for target in seen[0].values()):
            return True
    return False
