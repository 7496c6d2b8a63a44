"""A model of a session and its pane, in virtual time: what is true, what the machine is told, what steps do."""

from __future__ import annotations

from typing import Any

from unhang.sessions.state import actions, facts, screen
from unhang.sessions.state.budget import Budget
from unhang.sessions.state.limits import SessionLimits
from unhang.sessions.state.machine import Session
from unhang.sessions.state.traffic import ConnectionPeer


class World:
    def __init__(self, limits: SessionLimits, *, status: bool = True, machine: Budget | None = None) -> None:
        self.now = 1000.0
        self.limits = limits
        self.machine_budget = machine or Budget(limits.per_machine)
        self.session = Session(limits, self.machine_budget, self.now)
        self.with_status = status
        # the truth
        self.state = facts.IDLE
        self.main_busy = False
        self.agents: list[str] = []
        self.calls: dict[str, str] = {}  # call → agent
        self.stamp = 1
        # the pane
        self.refused = ""
        self.final = False
        self.human = False
        self.in_mode = False
        self.insert = False
        self.dialog = False
        self.draft = ""
        self.shell = False
        self.synchronized = False
        self.wire: dict[str, tuple[int, int]] = {}  # what came in on the agent's connections
        self.live_wire: tuple[str, int, int] | None = None  # connection, and bytes and pieces that come every 0.1 s
        self.peers: tuple[ConnectionPeer, ...] = ()
        self.typed = ""
        self.shows_background = True  # Claude says so where only agents in the background run
        # what steps do
        self.escape_works = True
        self.saves_in = ""  # where the state of a session that is cleared is saved
        self.tree: tuple[int, bool] = (1, False)  # processes, do they move?
        self.tree_hangs = False  # that its command waits without an end can be proved
        self.tree_dies_of = actions.END_TREE
        self.queue = 0
        # what was seen
        self.said: list[tuple[float, actions.Say]] = []
        self.taken: list[tuple[float, str]] = []
        self.notes: dict[str, str] = {}  # call → what the model is told
        self.looked: facts.Pane | facts.CallTree | None = None  # since the last step
        self.tree_asked = False
        self.bash: set[str] = set()  # calls of the main loop
        self._unhooked: dict[str, str] = {}  # calls that no hook has told of → tool
        self._count = 0
        self._status(facts.IDLE)
        self.wake()

    # --- telling ----------------------------------------------------------------------------------------------

    def tell(self, fact: facts.Fact) -> None:
        self.session.tell(fact)

    def hook(self, method: str, **more: Any) -> None:
        self.tell(facts.Hook(method, self.now, **more))

    def _status(self, status: str) -> None:
        self.state = status
        self.stamp += 1
        if self.with_status:
            self.tell(facts.Status(status, self.stamp, self.now))

    # --- what happens -----------------------------------------------------------------------------------------

    def prompt(self) -> None:
        if self.main_busy:
            self.queue += 1
        else:
            self.main_busy = True
            self._status(facts.BUSY)
        self.hook("UserPromptSubmit")
        self.wake()

    def tool(self, name: str, agent: str = "", **given: Any) -> str:
        self._count += 1
        call = f"toolu_{self._count}"
        self.calls[call] = agent
        self.bash |= {call} if name == "Bash" and not agent else set()
        self.hook("PreToolUse", tool_name=name, tool_use_id=call, agent_id=agent, tool_input=given)
        self.wake()
        return call

    def unhooked(self, name: str) -> str:
        """A call that only the transcript shows."""
        self._count += 1
        call = f"toolu_{self._count}"
        self.calls[call] = ""
        self.bash |= {call} if name == "Bash" else set()
        self._unhooked[call] = name
        return call

    def _read_transcript(self) -> None:
        """As the watcher does before it judges."""
        for call, name in self._unhooked.items():
            if call in self.calls and self.session.known.calls.get(call) is None:
                self.hook("PreToolUse", tool_name=name, tool_use_id=call)
        self._unhooked = {call: name for call, name in self._unhooked.items() if call in self.calls}

    def lives(self) -> bool:
        """Whether a command of the main loop is open and works."""
        return bool(self.bash & set(self.calls)) and self.tree[0] > 0 and self.tree[1]

    def tool_ends(self, call: str) -> None:
        self.hook("PostToolUse", tool_use_id=call, agent_id=self.calls.pop(call))
        self.wake()

    def agent_starts(self) -> None:
        self._count += 1
        self.agents.append(f"agent{self._count}")
        self.hook("SubagentStart", agent_id=self.agents[-1])
        self.wake()

    def agent_stops(self) -> None:
        agent = self.agents.pop()
        self.calls = {call: whose for call, whose in self.calls.items() if whose != agent}
        self.hook("SubagentStop", agent_id=agent)
        if not self.agents and not self.main_busy and self.state == facts.BUSY:
            self._status(facts.IDLE)
        self.wake()

    def stop(self) -> None:
        self._close_main()
        self.hook("Stop", background_tasks=len(self.agents))
        self._after_turn()
        self.wake()

    def dialog_opens(self) -> None:
        self.dialog = True
        self._status(facts.WAITING)
        self.wake()

    def dialog_closes(self) -> None:
        self.dialog = False
        self._status(facts.BUSY)
        self.wake()

    def interrupted(self) -> None:
        """By a person or by us: no hook says so."""
        self._close_main()
        self._after_turn(stopped=False)

    def _close_main(self) -> None:
        self.main_busy = False
        self.calls = {call: whose for call, whose in self.calls.items() if whose}

    def _after_turn(self, *, stopped: bool = True) -> None:
        if self.queue:
            self.queue = 0
            self.main_busy = True
            if not stopped:
                self.stamp += 1  # idle for a moment that nobody sees
            self._status(facts.BUSY)
        elif not self.agents:
            self._status(facts.IDLE)

    # --- time -------------------------------------------------------------------------------------------------

    def advance(self, seconds: float, late: float = 0.0) -> None:
        """Every deadline on the way is met, `late` seconds late."""
        target = self.now + seconds
        for _ in range(10_000):
            due = self.session.deadline()
            if due is None or max(due, self.now) + late > target:
                break
            self.now = max(due, self.now) + late
            self._read_transcript()
            self.wake()
        else:
            raise AssertionError("the machine asks to be woken for ever")
        self.now = target

    def wake(self) -> None:
        for _ in range(200):
            wanted = self.session.wake(self.now)
            if not wanted:
                return
            for action in wanted:
                self._do(action)
        raise AssertionError("the machine never comes to rest")

    def _do(self, action: actions.Action) -> None:
        if isinstance(action, actions.Say):
            self.said.append((self.now, action))
        elif isinstance(action, actions.LookAtPane):
            self.looked = self.pane()
            self.tell(self.looked)
        elif isinstance(action, actions.LookAtTree):
            count, moves = self.tree if action.call in self.calls else (0, False)
            hung = self.tree_hangs and self.tree_asked and not moves and count > 0
            fact = facts.CallTree(action.call, count, moves if self.tree_asked else None, hung=hung)
            self.tree_asked = True
            self.looked = fact
            self.tell(fact)
        elif isinstance(action, actions.TellModel):
            self.notes[action.call] = action.text
        else:
            self.check(action)
            self.taken.append((self.now, action.step))
            self.looked = None
            self.tell(facts.Done(action.step, sent=True, saved=self.saves_in if action.step == actions.CLEAR else ""))
            self._effect(action)

    def check(self, action: actions.Take) -> None:
        """What must hold whenever a step is taken; a test may add to it."""

    def pane(self) -> facts.Pane:
        if self.refused:
            return facts.Pane(refused=self.refused, final=self.final)
        if self.synchronized:
            return facts.Pane(refused="synchronize-panes is on", synchronized=True)
        free = not self.main_busy and bool(self.agents)
        shown = screen.AgentScreen(
            kind=screen.DIALOG if self.dialog else screen.PROMPT,
            busy=self.main_busy and not self.draft and not self.insert,
            background=free and self.shows_background,
            insert=self.insert,
            draft=self.draft,
            shell=self.shell,
        )
        return facts.Pane(in_mode=self.in_mode, human=self.human, screen=shown, wire=self._came_in(), peers=self.peers)

    def _came_in(self) -> dict[str, tuple[int, int]]:
        if self.live_wire is None:
            return dict(self.wire)
        link, size, pieces = self.live_wire
        times = round(self.now * 10)
        return self.wire | {link: (size * times, pieces * times)}

    def _effect(self, action: actions.Take) -> None:
        if action.step == actions.LEAVE_MODE:
            self.in_mode = False
        elif action.step == actions.ESCAPE and self.insert:
            self.insert = False
        elif action.step == actions.ESCAPE and self.escape_works:
            self.interrupted()
        elif action.step in (actions.END_TREE, actions.KILL_TREE) and action.step == self.tree_dies_of:
            agent = self.calls.pop(action.call, None)
            if agent is not None:
                self.hook("PostToolUseFailure", tool_use_id=action.call, agent_id=agent)
        elif action.step == actions.CONTINUE:
            self.draft, self.typed = "", action.text
            self.main_busy = True
            self._status(facts.BUSY)
            self.hook("UserPromptSubmit")
        elif action.step == actions.CLEAR:
            self.draft = ""
            self.tell(facts.Renamed())
        elif action.step == actions.RESTART:
            self.tell(facts.Died())

    # --- asking -----------------------------------------------------------------------------------------------

    def phases(self) -> list[str]:
        return [said.phase for _, said in self.said]

    def steps(self) -> list[str]:
        return [step for _, step in self.taken]

    def last(self, phase: str) -> actions.Say:
        return next(said for _, said in reversed(self.said) if said.phase == phase)


def world(**changes: Any) -> World:
    return World(SessionLimits(**changes))


def busy(**changes: Any) -> World:
    found = world(**changes)
    found.prompt()
    return found
