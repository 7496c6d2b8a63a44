"""Which tools of Codex are in flight, and how long they may be silent.

While a command runs it is the command that must show life, by its own limit: a build is not the model thinking. But
Codex lets a command go on in the background after some seconds and asks the model again; from the model's next
word on, such a command is no sign of life any more, or a chatty server would hide a model that hangs.
"""

from __future__ import annotations

from unhang.agents.base.commands import MOST_CALLS, CommandLimits
from unhang.agents.codex.protocol import items
from unhang.core.limits import DEFAULT_IDLE
from unhang.core.values import id_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.policy.model import Policy
    from unhang.core.values import Message

# More than a tool said of itself, so that the end of a sleep is not its timeout.
_SLACK = 30.0
# A sleep that says a larger number has no limit of its own; the hard limit ends it.
_LONGEST_SLEEP = 30 * 86400.0


class CodexTools:
    """The calls in flight. `limit`: for every tool; None: as the policy has it for the command."""

    def __init__(self, limit: float | None, policy: Policy | None = None) -> None:
        self._limit = limit
        self._commands = CommandLimits(policy)
        self._running: dict[str, float] = {}  # item → its limit
        self.names: dict[str, str] = {}  # item → the command, also of those in the background
        self.about: dict[str, str] = {}  # item → what it does, in words: a question names only the item

    @property
    def window(self) -> float | None:
        """Return the limit that stands in the place of the idle limit; None: nothing is in flight."""
        return max(self._running.values(), default=None)

    def begin(self, item: Message) -> bool:
        """Note that a call has begun; return whether the window has changed."""
        kind = items.kind_of(item)
        if kind not in items.TOOLS:
            return False
        name = id_of(item, "id")
        self._running[name] = self._limit_of(item)
        self.about[name] = items.describe_start(item)
        if kind == "commandExecution":
            self.names[name] = items.command_of(item)
        for kept in (self._running, self.names, self.about):
            while len(kept) > MOST_CALLS:
                del kept[next(iter(kept))]
        return True

    def end(self, item: Message) -> bool:
        """Note that a call has ended; return whether the window has changed."""
        name = id_of(item, "id")
        self.names.pop(name, None)
        self.about.pop(name, None)
        return self._running.pop(name, None) is not None

    def typed_at(self, item_id: str) -> bool:
        """Note that the model looks at a command in the background again: it waits for it once more."""
        if item_id not in self.names or item_id in self._running:
            return False
        self._running[item_id] = self._limit if self._limit is not None else DEFAULT_IDLE
        return True

    def model_spoke(self) -> bool:
        """Note that what still runs does so in the background. True: the window has changed."""
        changed = bool(self._running)
        self._running.clear()
        return changed

    def waited_for(self, item_id: str) -> bool:
        """Return whether the model waits for this call."""
        return item_id in self._running

    def _limit_of(self, item: Message) -> float:
        length = items.tool_length(item)
        if length is not None:
            return min(length, _LONGEST_SLEEP) + _SLACK
        if self._limit is not None:
            return self._limit
        if items.kind_of(item) != "commandExecution":
            return DEFAULT_IDLE
        return self._commands.idle_of(items.command_of(item))
