"""One watched session: its files become facts, and what its machine asks for is carried out."""

from __future__ import annotations

from unhang.core import session_events
from unhang.core.alerts.kinds import is_news
from unhang.core.diagnosis.verdict import HUNG
from unhang.core.session_events import HOOK, WATCH
from unhang.core.values import id_of, mapping_of
from unhang.errors import StateError
from unhang.procs import clock, identity
from unhang.procs.sampler.connections import connections
from unhang.sessions import model_notes, notify, process_identity, process_trees, steps
from unhang.sessions.claude import fact_reader, hooks, status_file, transcript
from unhang.sessions.settings import WatchSettings
from unhang.sessions.state import actions, facts
from unhang.sessions.state.budget import Budget
from unhang.sessions.state.machine import Session
from unhang.sessions.state.traffic import ConnectionPeer
from unhang.sessions.tmux import panes
from unhang.sessions.tmux.client import Address, Tmux
from unhang.store import alert_news
from unhang.store.session_log import SessionLog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# A machine that keeps asking for the same thing would keep all other sessions waiting.
_MOST_ROUNDS = 20
# The wall clock was set if it and the monotonic clock differ by more than this since the last look.
_JUMP = 2.0
# A hook that seems older than this when it arrives was stamped by another clock.
_LATE = 10.0
# The end of a long stream: enough to know the open calls and the steps of the last hour.
_PAST = 4 << 20
_MOST_SAMPLES = 200
_MOST_PEERS = 100
# How often the transcript of a busy session is read that has no hooks.
_WITHOUT_HOOKS = 20.0


class Subject:
    """A process of an agent and its session. `tell` is called with every recorded event of the watcher's."""

    def __init__(
        self,
        pid: int,
        start: str,
        session_id: str,
        config: str,
        *,
        home: str,
        settings: WatchSettings,
        machine_budget: Budget,
        tmux: Tmux,
        tell: Callable[[dict[str, Any]], None],
    ) -> None:
        self.pid = pid
        self.start = start
        self.config = config
        self.session_id = session_id
        self.cwd = ""
        self.name = ""
        self.entrypoint = ""
        self.log = SessionLog(session_id, home)
        self._home = home
        self._settings = settings
        self._tmux = tmux
        self._tell = tell
        self._born = clock.monotonic() - max(0.0, identity.age(start))
        self.session = Session(settings.limits, machine_budget, self._born)
        self.has_status = False
        self._transcript = transcript.Transcript()
        self._offset = clock.wall() - clock.monotonic()
        self._looked_at = clock.monotonic()
        self._samples: dict[str, process_trees.Sample] = {}
        self._calls_are_hooked = False  # the hooks tell which calls are open
        self.address = self._where()
        self.acts = True  # False: listed, but not judged (headless: its own runner watches it)

    def _where(self) -> Address | None:
        found = process_identity.environment(self.pid)
        return Address.of(found.get("TMUX", ""), found.get("TMUX_PANE", ""))

    # --- facts ------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Read everything that happened before the watcher came."""
        status = status_file.read(self.config, self.pid)
        if status is not None and status.start == self.start:
            self._take_over(status)
        else:
            status = None
        events = self._new_events()
        for fact in fact_reader.facts_so_far([each for each in events if each["type"] == HOOK], status, self._born):
            self.session.tell(fact)
        for at in fact_reader.steps([each for each in events if each["type"] == WATCH]):
            self.session.spent(at)
        self._find_transcript()
        self._transcript.grew()

    def _find_transcript(self) -> None:
        """Claude Code writes it from the first prompt on; without hooks nothing else says where it is."""
        if not self._transcript.path:
            self._transcript.follow(transcript.locate(self.config, self.session_id))

    def _take_over(self, status: status_file.StatusFile) -> None:
        self.has_status = True
        self.cwd, self.name, self.entrypoint = status.cwd, status.name, status.entrypoint
        self.acts = status.entrypoint in ("", "cli")

    def read_status(self) -> None:
        """Read the status file and tell the machine; a file that is missing or being written is ignored."""
        status = status_file.read(self.config, self.pid)
        if status is None or status.start != self.start:
            return  # being written; or removed, and then its process is about to end
        self._take_over(status)
        if status.session_id != self.session_id:
            self._rename(status.session_id)
        self.session.tell(facts.Status(status.status, status.stamp, clock.monotonic(), status.waiting_for))

    def _rename(self, session_id: str) -> None:
        try:
            log = SessionLog(session_id, self._home)
        except StateError:
            return
        self.session_id, self.log = session_id, log
        self._samples.clear()
        self._transcript.follow(transcript.locate(self.config, session_id))
        self.session.tell(facts.Renamed())

    def read_hooks(self) -> None:
        """Tell the machine of the hooks that have been recorded since the last call."""
        now, wall = clock.monotonic(), clock.wall()
        for event in self._new_events():
            if event["type"] == HOOK:
                late = wall - fact_reader.wall_of(event)  # on a busy machine a hook is read after its command has begun
                self.session.tell(fact_reader.hook(event, now - late if 0 < late < _LATE else now))

    def _new_events(self) -> list[dict[str, Any]]:
        """The new hooks of this process, and the new events of any watcher."""
        found: list[dict[str, Any]] = []
        for event in self.log.news(_PAST):
            if event["type"] == WATCH:
                found.append(event)
            if event["type"] != HOOK or not self._is_mine(event):
                continue
            found.append(event)
            self._calls_are_hooked = self._calls_are_hooked or event.get("method") == "PreToolUse"
            if not event.get("agentId"):
                self._transcript.follow(status_file.path_of(event, "transcriptPath"))
        return found

    def _is_mine(self, event: dict[str, Any]) -> bool:
        """Whether this process wrote it: a resumed session is another process, without the open calls of the first."""
        mine = event.get("procStart") is None or id_of(event, "procStart") == self.start
        return mine and event.get("pid") in (None, self.pid)

    def read_transcript(self) -> None:
        """Read how the transcript has grown, by the file's own time stamp unless the wall clock was set since the last
        look.
        """
        now, wall = clock.monotonic(), clock.wall()
        self._find_transcript()
        grew, changed = self._transcript.grew()
        jumped = abs((wall - now) - self._offset) > _JUMP
        if grew:
            at = now if jumped else min(now, max(self._looked_at, now - (wall - changed)))
            self.session.tell(facts.Grew(at))
        for call in self._transcript.answered([each.id for each in self.session.known.calls.main()]):
            self.session.tell(facts.Hook("PostToolUse", now, tool_use_id=call))
        if not self._calls_are_hooked:
            self._read_calls(now, wall, jumped=jumped)
        self._offset, self._looked_at = wall - now, now

    @property
    def _since(self) -> float:
        return max(self._born, self.session.known.since)

    def _read_calls(self, now: float, wall: float, *, jumped: bool) -> None:
        """Without hooks only the transcript tells which calls are open."""
        if self.session.known.status not in (facts.BUSY, facts.WAITING):
            return
        for call in self._transcript.open_calls():
            if self.session.known.calls.get(call.id) is None:
                # what was written before a person answered a dialog counts from that answer
                at = now if jumped or not call.wall else min(now, max(self._since, now - (wall - call.wall)))
                given = mapping_of(hooks.shortened(call.tool_input))
                self.session.tell(facts.Hook("PreToolUse", at, call.tool_name, call.id, given))

    # --- judgement --------------------------------------------------------------------------------------------

    def turn(self) -> None:
        """Judge, and carry out what is asked for, until nothing is left to do now."""
        for _ in range(_MOST_ROUNDS):
            now = clock.monotonic()
            due = self.session.deadline()
            if (due is not None and now >= due) or self._is_unhooked(now):
                self.read_transcript()
            wanted = self.session.wake(now)
            if not wanted:
                return
            for action in wanted:
                self._do(action)

    def use(self, settings: WatchSettings) -> None:
        """Judge by other settings from now on."""
        self._settings = settings
        self.session.use(settings.limits)

    def deadline(self) -> float | None:
        """Return when `turn` must be called at the latest; None: only a change of its files matters."""
        due = self.session.deadline()
        return due if due is None or self._calls_are_hooked else min(due, self._looked_at + _WITHOUT_HOOKS)

    def _is_unhooked(self, now: float) -> bool:
        return not self._calls_are_hooked and now >= self._looked_at + _WITHOUT_HOOKS

    def _do(self, action: actions.Action) -> None:
        if isinstance(action, actions.Say):
            self._say(action)
        elif not self.acts:
            self._decline(action)
        elif isinstance(action, actions.LookAtPane):
            self.read_status()
            self.session.tell(self._with_connections(self._look().fact))
        elif isinstance(action, actions.LookAtTree):
            self.session.tell(self._look_at_tree(action.call))
        elif isinstance(action, actions.TellModel):
            model_notes.leave(self.log.folder, action.call, action.text, action.agent_id)
        else:
            root = self._root(action.call)
            if action.step == actions.CONTINUE and action.text:  # it is typed, and so told
                model_notes.take(self.log.folder, "")
            self.session.tell(steps.take(self._tmux, action, self._target(), self._hands_off, root))

    def _decline(self, action: actions.Action) -> None:
        if isinstance(action, actions.LookAtPane):
            self.session.tell(facts.Pane(refused="the agent runs without a terminal", final=True))
        elif isinstance(action, actions.LookAtTree):
            self.session.tell(facts.CallTree(action.call, 0))

    @property
    def _hands_off(self) -> float:
        return self._settings.limits.hands_off

    def _look(self) -> panes.PaneLook:
        return panes.look(self._tmux, self.address, self.pid, self.start, self._hands_off)

    def _with_connections(self, pane: facts.Pane) -> facts.Pane:
        """With what has come in on the connections of its own process."""
        found = connections(self.pid, alone=True)
        wire = {
            link: (seen.received, seen.segments)
            for link, seen in found.items()
            if seen.received is not None and seen.segments is not None
        }
        peers = [
            ConnectionPeer(seen.remote, seen.state, seen.received, seen.since_receive)
            for seen in found.values()
            if seen.family == "tcp"
        ]
        return pane.replace(wire=wire, peers=tuple(peers[:_MOST_PEERS]))

    def _root(self, call_id: str) -> Any:
        call = self.session.known.calls.get(call_id)
        if call is None:
            return None
        found = process_trees.roots(self.pid, list(self.session.known.calls), call)
        return found[0] if found else None

    def _look_at_tree(self, call_id: str) -> facts.CallTree:
        root = self._root(call_id)
        if root is None:
            return facts.CallTree(call_id, 0)
        after = process_trees.sample(root)
        before = self._samples.get(call_id)
        count = len(after.counters.processes)
        if before is None or after.counters.at - before.counters.at < 0.5:
            self._samples[call_id] = before or after
            while len(self._samples) > _MOST_SAMPLES:
                del self._samples[next(iter(self._samples))]
            return facts.CallTree(call_id, count)
        moved, reason = process_trees.compare(before, after)
        if moved:
            self._samples[call_id] = after
            return facts.CallTree(call_id, count, moved, reason)
        found = process_trees.diagnose(before, after)
        return facts.CallTree(call_id, count, moved, reason, found.reason, found.state == HUNG)

    def _target(self) -> steps.StepTarget:
        known = self.session.known
        return steps.StepTarget(
            self.pid,
            self.start,
            self.session_id,
            self.config,
            self.address,
            known.status if self.has_status else None,
            known.stamp,
            self._transcript.path,
            self.log.folder,
        )

    # --- telling ----------------------------------------------------------------------------------------------

    def _say(self, said: actions.Say) -> None:
        if not self.acts and said.phase not in ("idle", "busy", "waiting", "gone"):
            return
        event = session_events.watch(said.phase, said.message, self.session_id, pid=self.pid) | said.fields
        try:
            event["seq"] = self.log.append(event)
        except (OSError, StateError):
            pass  # a full disk, a stopped writer, no stream: a step must not depend on its record
        if is_news(event):
            # in this order: a deliverer that is about to leave looks once more for marks
            alert_news.tell(self._home, alert_news.SESSION + self.session_id)
            alert_news.expect(self._home)
        self._tell({"ts": clock.now()} | event | {"aloud": said.aloud})
        if said.aloud:
            notify.show(self._tmux, self.address, self.name or self.session_id[:8], said.message)

    def say(self, phase: str, message: str, **fields: Any) -> None:
        """Record an event of the watcher, and tell the listener."""
        self._say(actions.Say(phase, message, fields))

    def view(self) -> dict[str, Any]:
        """Return the session as `unhang watch --once --json` shows it."""
        place = None if self.address is None else {"socket": self.address.socket, "pane": self.address.pane}
        return {
            "sessionId": self.session_id,
            "pid": self.pid,
            "name": self.name or None,
            "cwd": self.cwd or None,
            "configDir": self.config,
            "tmux": place,
            "transcriptPath": self._transcript.path or None,
            "watched": self.acts,
        } | self.session.view(clock.monotonic())
