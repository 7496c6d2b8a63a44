"""The keeper's loop: drain → tell → judge → act → record → sleep until the next deadline. One job, one thread.

No policy lives here: the watchdog decides, this file only hears, does and writes down. The order within a turn is the
promise: everything the world has to say is heard before the clock is asked.
"""

from __future__ import annotations

import os
import select

from unhang import plain_signal as signal
from unhang.core import events as ev
from unhang.core import interrupts, outcome
from unhang.core.durations import human
from unhang.core.outcome import CALLER_DIED
from unhang.core.plain_text import screen_of
from unhang.core.record import Record
from unhang.core.spec import AGENT
from unhang.core.tool_start import AgentStart, tool_began
from unhang.core.watchdog import actions as act
from unhang.core.watchdog import facts as fact
from unhang.core.watchdog import messages
from unhang.core.watchdog.clocks import NEVER
from unhang.core.watchdog.machine import ENDED, INTERRUPTING, KILLING, RUNNING, STOPPING, Watchdog
from unhang.keeper import agent_channel
from unhang.keeper.observer import Observer, Screen
from unhang.keeper.prefork.deadline_board import Promise
from unhang.keeper.stopper import Step, Stopper, exit_of
from unhang.procs import clock, identity, spawn
from unhang.procs.base import signal_group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.spec import JobSpec
    from unhang.keeper.agent_channel import AgentChannel
    from unhang.keeper.heartbeat import HeartbeatSocket
    from unhang.keeper.journal import Journal
    from unhang.keeper.person import Person
    from unhang.keeper.prefork.deadline_board import DeadlineBoard
    from unhang.keeper.requests import RequestServer
    from unhang.keeper.signals import SignalPipe
    from unhang.keeper.slow_notice import SlowNotice
    from unhang.keeper.streams import InputStream, OutputStream
    from unhang.procs.base import Tree

# Waking this much too late means that we did not run (stopped, starved, suspended), not that the job was silent.
PAUSE = 1.0
# Between two rounds of SIGKILL, when no exit wakes us sooner.
KILL_ROUND = 0.02
# How long after SIGTERM it is first looked whether all that is left ignores it; then after twice that time, and so on.
TERM_ROUND = 0.1
# A prompt is the last thing that was printed, or what comes when work stops: it is looked for then.
PROMPT_WITHIN = 5.0
# What a pipe holds is read in a few turns; more than that is a stranger's who holds it and floods.
_LAST_READS = 16
_LAST_WORDS, _LAST_LINES = 2000, 4
# A program that is done with its screen, or with a line, sets its terminal back a moment after its last output.
_SETTLED = 0.1
# The keys of a terminal that are signals.
_SIGNAL_KEYS = ("SIGINT", "SIGQUIT", "SIGTSTP")
_READABLE = select.POLLIN | select.POLLHUP | select.POLLERR


class KeeperParts(Record):
    """What lives as long as the keeper, through all attempts of its job."""

    tree: Tree
    journal: Journal
    heartbeats: HeartbeatSocket
    requests: RequestServer
    signals: SignalPipe
    board: DeadlineBoard


class StartedJob(Record):
    """One attempt that has been started: its first process, and our ends of its streams."""

    leader: int
    outputs: list[OutputStream]
    into: InputStream | None  # what it reads, where callers may write to it
    master: int | None  # of its terminal, if it has one
    agent: AgentChannel | None  # what the driver of an agent says


class Loop:
    """One attempt of a job, from its start to its settled end. It is what callers control (`JobControls`)."""

    def __init__(
        self, spec: JobSpec, parts: KeeperParts, job: StartedJob, slow_notice: SlowNotice, person: Person
    ) -> None:
        self.spec = spec
        self.leader = job.leader
        self.status: int | None = None  # the leader's, as waitpid gives it
        self.outputs = job.outputs
        self.into = job.into
        self.master = job.master
        self.agent = job.agent
        self.journal = parts.journal
        self.heartbeats = parts.heartbeats
        self.slow_notice = slow_notice
        self.stalled = False  # was it ever stuck? Such a run teaches nothing
        self.requests = parts.requests
        self.signals = parts.signals
        self.board = parts.board
        self.started = clock.monotonic()
        self._memory_kills = identity.memory_kills()
        self.dog = Watchdog(spec.limits, self.started, keep=spec.keep)
        self.stopper = Stopper(parts.tree)
        self.diagnosis: dict[str, Any] | None = None
        self.cancelled_by = ""
        self.failure = ""  # why the agent failed, as its driver says
        self._tree = parts.tree
        self._poll = select.poll()
        self._observer = Observer()
        self._ran_at = self.started  # when we were last seen to run
        self._life_at = clock.wall()
        self._settled: act.Settle | None = None
        self._tree_gone = self._pipes_closed = self._held = False
        self._prompted = self._told = False  # of a prompt; by the driver of an agent, why that is silent
        self._tool_since: float | None = None  # since when a tool of the agent is in flight
        self._agent_start = AgentStart()
        self._was_alive = True
        self._person = person
        self._asks = False  # it waits for input; also an event loop does that has timers beside it (node)
        self._paused: float | None = None  # since when the person has had it stopped
        self._stopped_by: int | None = None  # the signal that stopped it, until the caller is told
        self._away: tuple[str, ...] = ()  # the limits that stand still for the person
        self._answer_time: float | None = None  # the idle limit, while a person far away is asked
        # the person's own terminal follows the job's: whether the kernel edits lines there, and when to look again
        self._follows = job.master is not None and job.into is not None and spec.foreground
        self._lines: bool | None = None
        self._lines_due: float | None = None
        self._silence_then: float | None = None  # when a limit fired: what comes after is our doing
        self._reached: float | None = None  # how long it had run then
        self._term_check: float | None = None  # when to see whether SIGTERM is ignored
        self._term_round = TERM_ROUND

    # --- the turn -------------------------------------------------------------------------------------------

    def run(self) -> outcome.Facts:
        """Turn until the watchdog settles the end, and return what is known of it."""
        self._tell_lines()
        while self._settled is None:
            self.promise()
            planned = self._timeout(clock.monotonic())
            ready = self._sleep(planned)
            self._note_pause(planned)
            # a quiet job wakes us for its clock alone, and then the kernel has nothing to tell
            if told := bool(ready) or self.dog.phase != RUNNING or self.requests.due() is not None:
                self._serve(ready)
                self._reap()
            self._tell_person()
            self._judge(told)
            self._notice_slow_run()
            self._notice_interrupt()
            self.journal.flush_output(clock.monotonic())
            self.journal.keep_durable(clock.monotonic())
        return self._facts(self._settled)

    def promise(self) -> None:
        """Post the next deadline for the guard, which acts if we do not."""
        due, reason = self.dog.limit_due()
        limits = self.dog.limits
        self.board.post(
            Promise(
                due,
                reason,
                ending=self.dog.phase in (INTERRUPTING, STOPPING, KILLING),
                started=self.started,
                life=self.dog.clocks.life,
                idle=limits.idle,
                hard=limits.hard,
                budget=self.dog.clocks.budget,
                leader=self.leader,
                status=self.status,
                by=self.cancelled_by,
                pipes=[] if self.spec.pty else [[stream.name, stream.fd] for stream in self.outputs if stream.open],
            )
        )

    def _timeout(self, now: float) -> float | None:
        dues = [
            self.dog.wake_at(),
            self.journal.flush_due(),
            self.journal.sync_due(),
            self.requests.due(),
            self.heartbeats.due(),
            self._person.interrupts.due(),
            self._lines_due,
        ]
        dues.append(self.slow_notice.due() if self.dog.phase == RUNNING and not self._away else None)
        dues.append(now + KILL_ROUND if self.dog.phase == KILLING else None)
        dues.append(self._term_check if self.dog.phase == STOPPING else None)
        known = [due for due in dues if due is not None]
        return max(0.0, min(known) - now) if known else None

    def _sleep(self, seconds: float | None) -> dict[int, int]:
        poll = select.poll()
        wanted: dict[int, int] = {}
        for stream in self.outputs:
            if stream.blocked and stream.relay is not None:
                wanted[stream.relay.fd] = select.POLLOUT
            elif stream.open:
                wanted[stream.fd] = select.POLLIN
        if self.into is not None and self.into.waiting:  # a terminal is one descriptor, both ways
            wanted[self.into.fd] = wanted.get(self.into.fd, 0) | select.POLLOUT
        for fd, mask in wanted.items():
            poll.register(fd, mask)
        poll.register(self.signals.fd, select.POLLIN)
        if self.agent is not None and self.agent.open:
            poll.register(self.agent.fd, select.POLLIN)
        if self.heartbeats.fd >= 0:
            poll.register(self.heartbeats.fd, select.POLLIN)
        self.requests.register(poll)
        self._poll = poll
        return dict(poll.poll(None if seconds is None else seconds * 1000))

    def _note_pause(self, planned: float | None = 0.0) -> None:
        """We cannot know when since the last call we were stopped, so none of that time counts as silence of the job.

        Asked after every sleep and before every judgement: we may have been stopped at work (a look takes longest).
        """
        now = clock.monotonic()
        late = planned is not None and now - self._ran_at - planned > PAUSE
        if self.signals.continued() or late:
            self.dog.tell(fact.Paused(now - self._ran_at), now)
        self._ran_at = now

    def _serve(self, ready: dict[int, int]) -> None:
        for stream in self.outputs:
            if stream.blocked and stream.relay is not None and ready.get(stream.relay.fd):
                stream.relay.flush()
                self._note_broken(stream)
            if stream.open and ready.get(stream.fd, 0) & _READABLE:
                self._drain(stream)
        if self.into is not None and self.into.waiting:
            self.into.flush()
        if self.heartbeats.fd in ready:
            self._beat()
        if self.agent is not None and self.agent.open and self.agent.fd in ready:
            self._hear_agent(self.agent)
        for number in self.signals.take() if self.signals.fd in ready else ():
            self.stop(signal.name_of(number), force=False)
        self.requests.serve(ready, self)
        self._tell_held()

    def _drain(self, stream: OutputStream, *, rest: bool = False) -> None:
        if stream.drain(rest=rest):
            now = clock.monotonic()
            self._life_at = clock.wall()
            self._prompted = self._asks = False
            self._lines_due = now + _SETTLED if self._follows else None
            self.dog.tell(fact.Output(), now)
            self.journal.heard(stream, now)
        self._note_broken(stream)
        if not self._pipes_closed and not any(s.open for s in self.outputs):
            self._pipes_closed = True
            if self.spec.pty and self.into is not None:  # one descriptor, both ways
                self.into.close()
                self.master = None
            self.dog.tell(fact.PipesClosed(), clock.monotonic())

    def _note_broken(self, stream: OutputStream) -> None:
        if stream.relay is not None and stream.relay.broken:
            stream.relay = None
            self.stop("SIGPIPE", force=False)

    def _beat(self) -> None:
        beat = self.heartbeats.hear()
        now = clock.monotonic()
        if beat.alive:
            self._life_at = clock.wall()
            self.dog.tell(fact.Heartbeat(beat.extend), now)
        if (beat.alive or beat.status is not None) and self.journal.beat(beat.status, now):
            self.requests.poke(self.journal.seq)

    def _hear_agent(self, agent: AgentChannel) -> None:
        for said in agent.hear():
            now = clock.monotonic()
            if said["alive"]:
                self._life_at, self._told = clock.wall(), False
                if self.dog.phase == RUNNING:
                    self.diagnosis = None  # it goes on: why it did not is over
                self.dog.tell(fact.AgentMoved(), now)
            if "window" in said:
                idle, purpose = said["window"], said["windowFor"]
                self.dog.tell(fact.Window(idle, purpose), now)
                in_flight = idle is not None and purpose == fact.TOOL
                self._tool_since = (self._tool_since or now) if in_flight else None
                if not in_flight and self.dog.phase == RUNNING:  # one that is ended with its agent is still why
                    self._observer.forget_tool()
            self._agent_start.note(said.get("phase"), now)
            if (verdict := agent_channel.verdict_of(said)) is not None:
                verdict = said["diagnosis"] = self._with_tool(verdict)
                self._take_verdict(verdict, said.get("phase") == "stuck", now)
            event = agent_channel.event_of(said)
            if event is not None:
                if event["phase"] == "failed":
                    self.failure = event["message"]
                self._record(event)

    def _with_tool(self, verdict: dict[str, Any]) -> dict[str, Any]:
        """What its driver says of a silence, with what the kernel shows of the tool that it waits for."""
        tool = None if self._observer.stopped else self._observer.of_tool()
        if tool is None:
            return verdict
        from unhang.core.diagnosis.agents import with_tool

        return with_tool(verdict, tool)

    def _take_verdict(self, verdict: dict[str, Any], stuck: bool, now: float) -> None:
        """The driver's reason stands above what the kernel shows, which is an event loop."""
        self.diagnosis, self._told = verdict, True
        if not stuck:
            return
        self.stalled = True
        self.dog.tell(fact.AgentStuck(), now)
        hung = verdict["state"] == "hung" and verdict["cause"] != "input"
        if hung and self.dog.limits.on_hung == "end" and self.dog.phase == RUNNING:
            self.dog.tell(fact.HungVerdict(), now)

    def _tell_held(self) -> None:
        held = any(stream.blocked for stream in self.outputs)
        if held != self._held:
            self._held = held
            self.dog.tell(fact.Held(held), clock.monotonic())

    def _tell_person(self) -> None:
        """Which limits stand still, because the person has stopped the job or because the job waits for them."""
        self._note_stopped()
        self._tell_away()
        self._tell_lines()
        if self._person.left_screen():  # what was held back can be shown now
            self.requests.poke(self.journal.seq, self._person.shown())

    def _tell_lines(self) -> None:
        """Tell the owner whether its terminal may keep what is typed until the job reads a line (`wants_keys`)."""
        if not self._follows or self.master is None:
            return
        if self._lines_due is not None and clock.monotonic() >= self._lines_due:
            self._lines_due = None
        lines = spawn.takes_lines(self.master)
        if lines != self._lines:
            self._lines = lines
            self.requests.poke(self.journal.seq, {"lines": lines})

    def _tell_away(self) -> None:
        both = (act.IDLE, act.HARD)
        away = both if self._paused is not None else self._person.waited_for(self._asks)
        if away != self._away and self.dog.phase != ENDED:
            self._away = away
            self.dog.tell(fact.Away(away), clock.monotonic())
        # the person who can answer has to hear of it first
        time = self._person.time_to_answer() if self._prompted and self.into is not None else None
        if time != self._answer_time and self.dog.phase == RUNNING:
            self._answer_time = time
            self.dog.tell(fact.Window(time, fact.PERSON), clock.monotonic())

    def _note_stopped(self) -> None:
        """At a terminal the kernel stops the job (Ctrl-Z); its parent is told, as a shell would be."""
        if self.master is None or self.status is not None or self._paused is not None:
            return
        self._stopped_by = spawn.stopped_by(self.leader) or self._stopped_by
        if self._stopped_by is None:
            return
        if not self._person.attended or self.dog.phase != RUNNING:  # no person could continue it
            self._stopped_by = None
            self._signal_job(signal.SIGCONT)
        elif self._has_shown_all():
            number, self._stopped_by = self._stopped_by, None
            self._note_pause_of_job(signal.name_of(number))

    def _has_shown_all(self) -> bool:
        """Whether what a stopped job has printed is on the person's terminal, now that it is read to its end.

        An editor gives the screen back before it stops. The shell must not prompt before that has arrived: its prompt
        would be on the editor's screen, and gone with it.
        """
        for stream in self.outputs:
            self._drain_whole(stream)
        return not any(stream.blocked for stream in self.outputs)

    def _drain_whole(self, stream: OutputStream) -> None:
        """Read all that is there; what a pipe or a terminal holds takes a few reads."""
        for _ in range(_LAST_READS):
            before = stream.store.total
            if stream.open:
                self._drain(stream, rest=True)
            if stream.store.total == before:
                break

    def _note_pause_of_job(self, name: str) -> None:
        self._paused = clock.monotonic()
        self._record(ev.watchdog("paused", f"Stopped by {name} at the terminal; no limit runs meanwhile.", signal=name))

    def _signal_job(self, number: int) -> None:
        """Send a signal to the processes that a terminal would send it to: the leader's group, and the foreground's."""
        groups = {self.leader} if self.status is None else set()
        if self.master is not None:
            groups.add(int(spawn.terminal_state(self.master)["foreground"]))
        for group in groups - {0, os.getpgrp()}:
            signal_group(group, (number,))

    def _hear_everything(self) -> None:
        for stream in self.outputs:
            if stream.open:
                self._drain(stream)
        if self.agent is not None and self.agent.open:
            self._hear_agent(self.agent)
        self._reap()

    def _reap(self) -> None:
        reaped = self._tree.reap()
        if self.leader in reaped.exits:
            self.status = reaped.exits[self.leader]
            self.dog.tell(fact.LeaderExited(), clock.monotonic())
        if reaped.empty and self.status is not None and not self._tree_gone:
            self._tree_gone = True
            for stream in self.outputs:  # no process of the job is left to write: what is there is all there will be
                self._drain_whole(stream)
            for _ in range(_LAST_READS):  # the last words of a driver say how it went
                if self.agent is not None and self.agent.open:
                    self._hear_agent(self.agent)
            self.dog.tell(fact.TreeGone(), clock.monotonic())

    # --- judging and acting ---------------------------------------------------------------------------------

    def _judge(self, told: bool) -> None:
        due = self.dog.deadline()
        if due is not None and clock.monotonic() >= due:
            self._note_pause()
            if told or self._poll.poll(0):
                self._hear_everything()
        self._see_whether_ignored(clock.monotonic())
        looking = True
        while looking and self.dog.phase != ENDED:
            looking = False
            for action in self.dog.wake(clock.monotonic()):
                looking = self._perform(action) or looking
        if self.dog.phase == KILLING:
            self.stopper.kill()

    def _see_whether_ignored(self, now: float) -> None:
        """Tell the watchdog if a grace would be waited for in vain. Looks are few: a tree may have thousands."""
        if self.dog.phase != STOPPING or self._term_check is None or now < self._term_check:
            return
        self._term_round *= 2
        self._term_check = now + self._term_round
        if self.stopper.is_ignored():
            self.dog.tell(fact.TermIgnored(), now)

    def _perform(self, action: act.Action) -> bool:
        """True: the watchdog wants to be woken again at once."""
        match action:
            case act.Look(full):
                self._look(full)
                return True
            case act.Interrupt(reason):
                self.promise()
                self._record_step(self.stopper.interrupt(self.leader), reason)
            case act.Terminate(reason):
                self.promise()  # first: a guard that has to take over must not take what follows for the job's own end
                self._terminate(reason)
            case act.Kill(reason):
                self.promise()
                self._record_step(self.stopper.kill(), reason)
            case act.Settle():
                self._settled = action
            case _:
                self._notice(action)
        return False

    def _screen(self) -> Screen:
        text = screen_of([stream.unanswered(2048) for stream in reversed(self.outputs)])
        printed = sum(stream.store.total for stream in self.outputs)
        return Screen(text, self.master, self.leader, printed, " ".join(self.spec.argv))

    def _look(self, full: bool) -> None:
        own = self.spec.kind == AGENT  # the files and timers of an agent move whatever it does: only a tool counts
        since = self._tool_since if own else None
        if since is not None:
            since = tool_began(since, self._agent_start.ready_at)
        explains = True
        if not full:
            looked = self._observer.cheap(since)
        else:
            looked, diagnosis = self._observer.full(self._screen(), since)
            explains = diagnosis is not None or self.diagnosis is not None
            telling = not own or since is not None or self._observer.stopped
            if own and diagnosis is not None:
                diagnosis = self._observer.of_agent(self.journal.view.doing, self.silence())
            if telling:
                self.diagnosis = (None if self._told and not self._observer.stopped else diagnosis) or self.diagnosis
            if not own and not looked.alive and self._observer.moving:
                looked = fact.Looked(True, (self.diagnosis or {}).get("reason", ""))
            ends = self.dog.limits.on_hung == "end" and self.dog.phase == RUNNING
            if telling and self._observer.hung and ends:
                self.dog.tell(fact.HungVerdict(), clock.monotonic())
        if own and since is None:
            looked = fact.Looked(False, "", looked.still)
        elif not own and not self._prompted and self._may_ask(looked.alive, full):  # an agent's stdin is its driver's
            self._notice_prompt()
            self._tell_away()  # before it is judged
        self._was_alive = looked.alive
        self._note_pause()
        self.dog.tell(looked if explains else looked.replace(explains=False), clock.monotonic())

    def _may_ask(self, alive: bool, full: bool) -> bool:
        """Worth a closer look at who waits for input? Not at every look: a thousand quiet jobs must cost nothing."""
        if full:  # a limit is about to fire: the diagnosis has answered the question already
            return (self.diagnosis or {}).get("cause") == "input"
        just_spoke = clock.monotonic() - self.dog.clocks.spoke < PROMPT_WITHIN
        return not alive and (just_spoke or self._was_alive)

    def _notice_prompt(self) -> None:
        prompt = self._observer.prompt(self._screen(), attended=self._person.attended)
        if prompt is None or self._has_unread_output():
            return  # output from before the wait holds the question, and its event would take this one back
        self._prompted = True
        self._asks = True
        if self._person.waited_for(self._asks):
            return  # whom it asks sees it, and needs no notice
        since = clock.rfc3339(self._life_at)
        text = f"Waits for input{': ' + repr(prompt.prompt) if prompt.prompt else ''}."
        hint = f" Answer it: unhang send {self.journal.job_id} TEXT" if self.into is not None else ""
        fields = {"prompt": prompt.prompt, "password": prompt.password, "waitingPid": prompt.pid, "since": since}
        self._tell_away()
        if self._answer_time is not None:  # the end that was known so far has moved
            left = self._answer_time - self.silence()
            fields |= {"tier": act.IDLE, "willAbortInMs": ev.ms(max(0.0, left))}
        self._record(ev.watchdog("needs_input", text + hint, **fields))

    def _has_unread_output(self) -> bool:
        """Whether the job has printed something that this turn has not read; the next look comes after it."""
        poll = select.poll()
        for stream in self.outputs:
            if stream.open and not stream.blocked:
                poll.register(stream.fd, select.POLLIN)
        return any(mask & select.POLLIN for _, mask in poll.poll(0))

    def _notice_slow_run(self) -> None:
        counts = self.dog.phase == RUNNING and not self._away
        event = self.slow_notice.notice(clock.monotonic()) if counts else None
        if event is not None:
            self._record(event)

    def _notice(self, notice: act.Notice) -> None:
        self.stalled = self.stalled or isinstance(notice, act.Stuck)
        if isinstance(notice, act.LimitReached):
            self._silence_then = self.dog.silence(clock.monotonic())
            self._reached = clock.monotonic() - self.started
        since = clock.rfc3339(self._life_at)
        event = messages.event_of(notice, since=since, diagnosis=self.diagnosis, job_id=self.journal.job_id)
        if isinstance(notice, act.Extended):
            limits = {"idleMs": self.dog.clocks.own_idle, "hardMs": self.dog.limits.hard}
            event["limits"] = {name: None if given is None else ev.ms(given) for name, given in limits.items()}
        self._record(event)

    def _terminate(self, reason: str) -> None:
        if reason == act.LEAK:
            self.stopper.note_leftovers()
        # a driver knows gentler steps than a signal to its agent; what it leaves is ended after the grace
        driver = self.leader if self.spec.kind == AGENT and self.status is None else None
        self._record_step(self.stopper.terminate(only=driver), reason)
        self._term_check = clock.monotonic() + self._term_round

    def _record_step(self, step: Step, reason: str) -> None:
        self._record(ev.signal(step.name, step.signal, step.pids, reason, step.text()) | step.fields())

    def _record(self, event: ev.Event) -> None:
        self.journal.record(event)
        self.requests.poke(self.journal.seq, self._person.shown())

    # --- what callers may ask (requests.py) ---------------------------------------------------------------------

    def stop(self, by: str, *, force: bool, interrupt: bool = False) -> None:
        """Ask for the end of the job; `by` is recorded as who cancelled it. `interrupt`: by SIGINT first."""
        if self.dog.phase == ENDED:
            return
        self.cancelled_by = self.cancelled_by or by
        gently = interrupt and self.spec.kind != AGENT  # a driver knows gentler steps, and SIGTERM starts them
        self.dog.tell(fact.StopRequested(force, gently, hasty=by == CALLER_DIED), clock.monotonic())

    def typed(self, data: bytes) -> None:
        """Note what the person in front has typed. Their Ctrl-C has interrupted the job already: its terminal did."""
        if not self._person.attended or self.dog.phase == ENDED:
            return
        self._asks = self._prompted = False
        self._lines_due = clock.monotonic() + _SETTLED if self._follows else None
        self.dog.tell(fact.Typed(), clock.monotonic())
        control = self.master is not None and any(key < 0x20 for key in data)
        if control and self.master is not None and spawn.interrupts(self.master, data):
            self._pressed()
        else:
            self._person.interrupts.forget()

    def interrupt(self) -> None:
        """Pass on the Ctrl-C of a person whose terminal is not the job's: SIGINT first, then see `Interrupts`."""
        if self.spec.kind == AGENT or not self._person.attended:
            self.stop("SIGINT", force=self.dog.phase != RUNNING, interrupt=True)
            return
        self._pressed()
        self._signal_job(signal.SIGINT)

    def _pressed(self) -> None:
        match self._person.interrupts.press(clock.monotonic(), waits=self._waits_for_person()):
            case interrupts.END:
                self.stop("SIGINT", force=False)
            case interrupts.KILL:
                self.stop("SIGINT", force=True)

    def _waits_for_person(self) -> bool:
        return self._person.at_screen or self._observer.prompt(self._screen(), attended=True) is not None

    def _notice_interrupt(self) -> None:
        presses, now = self._person.interrupts, clock.monotonic()
        due = presses.due()
        if due is None or now < due or self.dog.phase != RUNNING:
            return
        if presses.ask_to_tell(now, waits=self._waits_for_person()):
            text = "Interrupted, and still running. Press Ctrl-C again to end it, a third time to kill it."
            self._record(ev.watchdog("interrupted", text))

    def pass_on(self, name: str) -> None:
        """Pass a signal of the caller's terminal on to the job: Ctrl-\\."""
        if name != "SIGQUIT":
            raise ValueError(f"not a signal that is passed on: {name[:20]!r}")
        self._signal_job(signal.SIGQUIT)

    def press(self, name: str) -> None:
        """Press the key of a signal at the job's terminal: the person did so at theirs."""
        if name not in _SIGNAL_KEYS:
            raise ValueError(f"not a signal of a key: {name[:20]!r}")
        key = None if self.master is None else spawn.key_of(self.master, name)
        if key is not None and self.into is not None and not self.into.waiting:
            self.into.send(key, eof=False)
            self.typed(key)
        elif name == "SIGINT":
            self.interrupt()
        else:
            self._signal_job(signal.number_of(name))

    def wants_keys(self) -> bool:
        """Return whether what the person has typed is for the job. Else it stays in their terminal, for their shell.

        A program that takes keys one by one gets each at once; one that takes lines, when it waits for one. A command
        that has exited, or that has closed its terminal, reads nothing any more.
        """
        if self.master is None or self.status is not None:
            return False
        if not spawn.takes_lines(self.master):
            return True
        return self._observer.reads_keys(self._screen())

    def pause(self, *, force: bool) -> None:
        """Stop the job, as Ctrl-Z does; `force`: with the signal that no process can catch, its whole tree."""
        if self.dog.phase != RUNNING:
            raise ValueError("the job is already ending")
        if not force:
            self._signal_job(signal.SIGTSTP)
            return
        self._tree.signal((signal.SIGSTOP,))
        if self._paused is None:
            self._note_pause_of_job("SIGSTOP")

    def go_on(self, *, here: bool) -> None:
        """Continue a job that was stopped. `here`: in the foreground, so that the person can answer what it asks."""
        self._person.here = self._person.attended and here
        if self._paused is None:
            return
        paused, self._paused = clock.monotonic() - self._paused, None
        if self.master is None:
            self._tree.signal((signal.SIGCONT,))
        self._signal_job(signal.SIGCONT)
        self._record(ev.watchdog("continued", f"Continued after {human(paused)}.", pausedMs=ev.ms(paused)))

    def extend(self, idle: float, hard: float) -> None:
        """Move the limits by so many seconds. ValueError: the job is ending, or has no such limit."""
        if self.dog.phase != RUNNING:
            raise ValueError("the job is already ending")
        for tier, more in (("idle", idle), ("hard", hard)):
            if more and getattr(self.dog.limits, tier) is None:
                raise ValueError(f"the job has no {tier} limit that could be extended")
        self.dog.tell(fact.Extend(idle, hard), clock.monotonic())
        for action in self.dog.notices():  # recorded before the caller is answered
            self._perform(action)

    def note_stall(self, silent: float, diagnosis: dict[str, Any]) -> None:
        """Record what the proxy of an agent knows: a turn is silent, for so long and for this reason.

        From now on what the agent prints is no sign of life, until the proxy has seen progress in it.
        """
        if self.dog.phase != RUNNING or self.journal.view.silent:
            return  # it is ending, or known to be silent: what it says next ends that
        text = f"A turn has made no progress for {human(silent)}. Why: {diagnosis['reason']}. No action taken yet."
        verdict = diagnosis | {"processes": []}
        since = clock.rfc3339(clock.wall() - silent)
        self._record(ev.watchdog("stuck", text, stallMs=ev.ms(silent), since=since, diagnosis=verdict))
        self.journal.output_is_life = False

    def note_progress(self, silent: float, text: str) -> None:
        """Record what became of a turn after so many seconds without progress: it goes on, or is over."""
        if self.journal.output_is_life:
            return
        self.journal.output_is_life = True
        if self.dog.phase == RUNNING:
            self._record(ev.watchdog("resumed", text or "The turn goes on.", idleMs=ev.ms(silent)))

    def answered(self) -> None:
        """Note that a caller has sent input: a prompt that was reported is answered, until the next look sees one."""
        if self.dog.phase != RUNNING:
            return
        if self.master is None:  # a terminal shows what was typed, and what fills it stays
            for stream in self.outputs:
                stream.note_answer()
        now = clock.monotonic()
        silent, self._life_at = self.dog.silence(now), clock.wall()
        reported = self._prompted and not self.dog.clocks.said  # otherwise the watchdog says that it is over
        self._asks = self._prompted = False
        self.dog.tell(fact.Typed(), now)
        if reported:
            self._record(ev.watchdog("resumed", "Input was sent.", idleMs=ev.ms(silent), asked=True))

    def silence(self) -> float:
        """Return the seconds since the last sign of life."""
        return self.dog.silence(clock.monotonic())

    def ends_in(self) -> tuple[float, str] | None:
        """Return the seconds until the next limit ends the job, as far as is known, and which limit that is.

        None: none will, or they rest.
        """
        due, limit = self.dog.limit_due()
        return None if due == NEVER else (max(0.0, due - clock.monotonic()), limit)

    @property
    def phase(self) -> str:
        """Return where the watchdog stands: running, terminating, killing, ended."""
        return self.dog.phase

    # --- the end --------------------------------------------------------------------------------------------

    def _facts(self, settled: act.Settle) -> outcome.Facts:
        now = clock.monotonic()
        exit_code, ended_by = exit_of(self.status)
        survivors = self.stopper.survivors() if settled.abandoned else []
        # a program that obeyed Ctrl-C has been cancelled by it, as if we had asked
        obeyed = settled.ending == act.EXITED and ended_by == signal.SIGINT and self._person.interrupts.ever
        return outcome.Facts(
            ending=act.CANCELLED if obeyed else settled.ending,
            exit_code=exit_code,
            signal=ended_by,
            leaked=settled.leaked,
            abandoned=settled.abandoned,
            mode=self.stopper.mode,
            duration=now - self.started,
            silence=self.dog.silence(now) if self._silence_then is None else self._silence_then,
            longest_silence=self.dog.clocks.longest_silence_at(now),
            pid=self.leader,
            cancelled_by="SIGINT" if obeyed else self.cancelled_by or "request",
            idle_limit=self.dog.limits.idle,
            budget=self.dog.clocks.budget,
            hard_limit=self.dog.limits.hard,
            leftovers=self.stopper.leftovers,
            survivors=survivors,
            unseen=self.stopper.unseen,
            interrupted=obeyed or self.stopper.interrupted,
            reached=self._reached,
            out_of_memory=exit_code != 0 and self._memory_kills != identity.memory_kills(),
        )

    def last_words(self) -> str:
        """Return the end of what an agent wrote to its stderr, on one line, without what its driver adds for people."""
        from unhang.core.plain_text import decode, end_on_one_line

        texts = [decode(stream.store.tail(_LAST_WORDS)) for stream in self.outputs if stream.name == "stderr"]
        lines = [line for text in texts for line in text.splitlines() if not line.startswith("unhang: ")]
        return end_on_one_line(" ".join(lines[-_LAST_LINES:]), 300)

    def advice(self, reason: str | None) -> dict[str, Any]:
        """Return the suggestions that follow from the diagnosis, for the last event."""
        if self.spec.kind == AGENT:  # its driver has said what can be done; of itself the kernel sees an event loop
            tool = self._observer.of_tool()
            if tool is None:
                return {}
            from unhang.core.diagnosis.suggest import suggestions_for_command_of_agent

            return {"suggestions": suggestions_for_command_of_agent(tool)}
        return {"suggestions": self._observer.suggestions(reason)}
