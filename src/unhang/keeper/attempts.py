"""The attempts of a job: one, or several where it timed out and more time may help. All in the same log and output."""

from __future__ import annotations

import fcntl
import os
import select

from unhang.core import events as ev
from unhang.core import outcome
from unhang.core.durations import human
from unhang.core.record import Record
from unhang.core.spec import AGENT, NULL, PIPE, JobSpec, agent_summary
from unhang.keeper.agent_channel import DESCRIPTOR, RECORD, VARIABLE, AgentChannel
from unhang.keeper.heartbeat import HeartbeatSocket
from unhang.keeper.loop import KeeperParts, Loop, StartedJob
from unhang.keeper.person import Person
from unhang.keeper.prefork.deadline_board import FINISH, LONGEST, Promise
from unhang.keeper.relay import Relay
from unhang.keeper.slow_notice import SlowNotice
from unhang.keeper.streams import InputStream, OutputStream
from unhang.procs import clock, markers, spawn
from unhang.store.layout import JobDir
from unhang.store.output import OutputStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from typing import Any

    from unhang.core.limits import Limits
    from unhang.core.policy.retry import Decision
    from unhang.keeper.journal import Journal
    from unhang.keeper.main import Ready
    from unhang.keeper.requests import RequestServer


# An agent is tried again if this part of its hard limit is left.
LEAST_ATTEMPT = 0.1


class Launch(Record):
    """A job to be kept, and the descriptors that go with it. `owner`: the caller's line to a foreground job.

    `told`: the caller tells of a background job as soon as it has started. If not, it waits for the end, and brings
    the record to the disk itself before it tells of the job; the events as well, should it do so before the end.
    """

    place: JobDir
    spec: JobSpec
    env: dict[str, str]
    stdin: int | None
    stdout: int | None
    stderr: int | None
    owner: socket | None
    told: bool = True


class Attempts:
    """Runs a job until its last attempt has ended."""

    def __init__(self, launch: Launch, ready: Ready, journal: Journal, requests: RequestServer) -> None:
        self._launch = launch
        self._tree = ready.tree
        self._board = ready.board
        self._buffer = ready.buffer
        self._journal = journal
        self._requests = requests
        self.heartbeats = HeartbeatSocket(launch.place.id, launch.place.notify)
        self._parts = KeeperParts(ready.tree, journal, self.heartbeats, requests, ready.signals, ready.board)
        self._outputs: list[OutputStream] = []
        self._agent: AgentChannel | None = None
        self._attempt = 1
        self._person = Person(launch.spec)
        # now, and not at a retry: by then the terminal in front is set to pass on every key; and a terminal that is not
        # ours is set to what its shell needs
        copies = launch.spec.pty and launch.spec.attended and launch.spec.in_front
        self._modes = spawn.modes_of(launch.stdout) if copies and launch.stdout is not None else None

    def run(self) -> outcome.Ended:
        """Run to the end of the last attempt. Raise SpawnError if the job cannot be started."""
        spec = self._launch.spec
        started = clock.monotonic()
        earlier: list[dict[str, Any]] = []
        while True:
            loop = self._start(spec)
            facts = loop.run()
            # what follows, up to the record of the end or the next start, may have to wait for a slow disk
            self._board.post(Promise(clock.monotonic() + LONGEST, FINISH))
            end = outcome.ended(facts)
            worth = self._worth_another(end, loop)
            longer = self._next_limits(worth, spec.limits, clock.monotonic() - started)
            for stream in self._outputs:
                stream.close()
            if longer is None:
                break
            earlier.append(outcome.of_attempt(self._attempt, end))
            self._attempt += 1
            spec = spec.replace(limits=longer, sources=_moved(spec.sources, longer))
        if spec.agent is not None:
            end = outcome.agent_failed(
                end,
                str(spec.agent.get("name") or "the agent"),
                self._launch.place.id,
                loop.failure,
                loop.last_words() if loop.failure else "",
            )
        fields = end.fields | self._account(end, loop)
        if worth is not None:
            fields["retryable"] = worth.again
        if self._attempt > 1:
            fields |= {"attempts": self._attempt, "totalMs": ev.ms(clock.monotonic() - started), "earlier": earlier}
        return end.replace(fields=fields)

    def _start(self, spec: JobSpec) -> Loop:
        spawned = self._spawn(spec)
        self._tree.spawned(spawned.pid)
        streams = spawned.streams
        outputs = [self._output(0, "stdout", streams.out, self._launch.stdout)]
        if streams.err is not None:
            outputs.append(self._output(1, "stderr", streams.err, self._launch.stderr))
        self._outputs = outputs
        into = None if streams.into is None else InputStream(streams.into, terminal=streams.terminal)
        if spec.pty and spec.stdin == NULL and into is not None:
            into.send(b"", eof=True)
        master = streams.out if streams.terminal else None
        slow_notice = SlowNotice(self._launch.place.home, spec, clock.monotonic())
        job = StartedJob(spawned.pid, outputs, into, master, self._agent)
        loop = Loop(spec, self._parts, job, slow_notice, self._person)
        loop.promise()  # before the caller is told: from then on anything may be done to us
        self._say_started(spawned.pid, spec)
        return loop

    def _say_started(self, pid: int, spec: JobSpec) -> None:
        agent = None if spec.agent is None else agent_summary(spec.agent)
        event = ev.started(pid, spec.command, spec.sources, agent)
        if self._attempt > 1:
            event |= {"attempt": self._attempt, "message": f"attempt {self._attempt}: {spec.command[:200]}"}
        self._journal.record(event)
        if spec.note and self._attempt == 1:
            self._journal.record(ev.watchdog("retry", spec.note))
        if self._launch.told and not spec.foreground:  # the caller tells of the job now: it must not be forgotten
            self._journal.make_durable()
        self._requests.poke(self._journal.seq)

    def _spawn(self, spec: JobSpec) -> spawn.Spawned:
        launch = self._launch
        spawn.enter(spec.cwd)
        env = launch.env | markers.environment(launch.place.id, launch.env)
        env |= self.heartbeats.environment(spec.limits.idle)
        stdin = launch.stdin
        if stdin is None and spec.stdin != PIPE:
            stdin = spawn.open_null()
        if spec.kind != AGENT or spec.pty:
            return spawn.spawn(spec.argv, env, stdin=stdin, terminal=spec.pty, size=spec.size, modes=self._modes)
        reads, writes = spawn.open_pipe()
        # not the number that it has in the job: to become itself would leave it closed there
        low, writes = writes, fcntl.fcntl(writes, fcntl.F_DUPFD_CLOEXEC, DESCRIPTOR + 1)
        os.close(low)
        self._agent = AgentChannel(reads)
        env |= {VARIABLE: str(DESCRIPTOR), RECORD: launch.place.job}
        try:
            also = {DESCRIPTOR: writes}
            return spawn.spawn(spec.argv, env, stdin=stdin, terminal=False, size=None, also=also)
        finally:
            os.close(writes)

    def _output(self, place: int, name: str, fd: int, relayed_to: int | None) -> OutputStream:
        """A further attempt writes where the one before it left off."""
        if place < len(self._outputs):
            before = self._outputs[place]
            stream = OutputStream(
                name, fd, before.store, before.relay, self._buffer, self._person.shown_by(before.relay)
            )
            stream.announced = before.announced
            return stream
        store = OutputStore(self._launch.place.stream(name), self._launch.spec.budget)
        relay = None if relayed_to is None else Relay(relayed_to)
        return OutputStream(name, fd, store, relay, self._buffer, self._person.shown_by(relay))

    def _worth_another(self, end: outcome.Ended, loop: Loop) -> Decision | None:
        """Whether another attempt may help: the one answer for what we do and for what the result says.

        None: it did not time out, so the question does not arise; or no descriptor is left to load the answer with.
        """
        if end.phase != "timed_out":
            return None
        try:
            from unhang.core.policy.retry import may_help
        except (ImportError, OSError):
            return None

        return may_help(end.fields["timeoutReason"], loop.diagnosis, self._journal.view.needs_input is not None)

    def _next_limits(self, worth: Decision | None, limits: Limits, elapsed: float) -> Limits | None:
        """The limits of another attempt, or None: this was the last. An agent's hard limit is that of all attempts."""
        spec = self._launch.spec
        if not spec.retry or worth is None:
            return None
        from unhang.core.policy.model import Bounds
        from unhang.core.policy.retry import decide, longer

        decision = decide(self._attempt, spec.retry, worth)
        if not decision.again:
            self._journal.record(ev.watchdog("retry", f"Not tried again: {decision.reason}."))
            return None
        more = longer(limits, Bounds(idle_max=spec.most_idle, hard_max=spec.most_hard))
        if spec.kind == AGENT and spec.limits.hard is not None:
            whole, left = spec.limits.hard, spec.limits.hard - elapsed
            if left < LEAST_ATTEMPT * whole:
                text = f"Not tried again: {human(max(0.0, left))} are left of its hard limit of {human(whole)}."
                self._journal.record(ev.watchdog("retry", text))
                return None
            more = more.replace(hard=left)
        shown = f"idle {_shown(more.idle)}, hard {_shown(more.hard)}"
        text = f"Attempt {self._attempt} timed out; trying again with longer limits ({shown}): {decision.reason}."
        moved = {"idleMs": None if more.idle is None else ev.ms(more.idle)}
        moved |= {"hardMs": None if more.hard is None else ev.ms(more.hard)}
        self._journal.record(ev.watchdog("retry", text, attempt=self._attempt + 1, limits=moved))
        return more

    def _account(self, end: outcome.Ended, loop: Loop) -> dict[str, Any]:
        fields: dict[str, Any] = {"bytes": {s.name: s.store.total for s in self._outputs}, "stalled": loop.stalled}
        unstored = sum(stream.store.unstored for stream in self._outputs)
        for stream in self._outputs:
            stream.store.finish(durable=not self._launch.spec.foreground)
        if unstored:
            fields["unstoredBytes"] = unstored
        if end.phase == "timed_out":
            fields |= loop.advice(end.fields["timeoutReason"])
        return fields

    def shown(self) -> dict[str, Any]:
        """Return how the terminal in front of the person looks, and what brings it back to what it was before."""
        return self._person.shown(at_the_end=True)

    def pass_on_the_rest(self) -> None:
        """Pass on the last words of a job that has ended and is recorded: a slow reader may still wait for them."""
        relays = [stream.relay for stream in self._outputs if stream.relay is not None]
        while blocked := [relay for relay in relays if relay.waiting and not relay.broken]:
            poll = select.poll()
            for relay in blocked:
                poll.register(relay.fd, select.POLLOUT)
            self._requests.register_owner(poll)
            ready = dict(poll.poll())
            for relay in blocked:
                if relay.fd in ready:
                    relay.flush()
            if self._requests.owner_left(ready):
                return


def _moved(sources: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """The limits of a further attempt, as they are shown: from where they came, and what they are now."""
    now = {"idleMs": limits.idle, "hardMs": limits.hard}
    values = {name: None if limit is None else ev.ms(limit) for name, limit in now.items()}
    return sources | {name: sources.get(name, {}) | {"value": value} for name, value in values.items()}


def _shown(limit: float | None) -> str:
    return "off" if limit is None else human(limit)
