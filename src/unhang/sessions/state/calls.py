"""The tool calls that are open, by what the hooks said.

No hook fires when a call is interrupted, so what closes a call is often something else: the batch is over, the turn is
over, the session is idle. A call that may have been interrupted unseen (the status changed and changed back between
two looks) is *doubtful*: its own limit holds no longer, but while it may be running nobody calls it the API's silence.
"""

from __future__ import annotations

from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# More than this many open calls are records of ours that nobody closed.
MOST = 200


class Call(Record):
    id: str
    tool: str
    given: dict[str, Any]
    agent: str  # "": the main loop's
    at: float  # since when it runs, as far as its limit goes
    opened: float
    doubtful: bool = False


class Calls:
    def __init__(self) -> None:
        self._open: dict[str, Call] = {}

    def open(self, call: Call) -> None:
        while len(self._open) >= MOST:
            del self._open[next(iter(self._open))]
        self._open[call.id] = call

    def close(self, call_id: str) -> bool:
        return self._open.pop(call_id, None) is not None

    def close_of(self, agent: str) -> None:
        self._open = {call.id: call for call in self._open.values() if call.agent != agent}

    def close_before(self, at: float) -> None:
        self._open = {call.id: call for call in self._open.values() if call.opened >= at}

    def close_doubtful(self) -> None:
        self._open = {call.id: call for call in self._open.values() if not call.doubtful}

    def close_all(self) -> None:
        self._open.clear()

    def doubt(self) -> None:
        """The main loop's may have been interrupted; an agent's own calls are not touched by that."""
        self._open = {i: call if call.agent else call.replace(doubtful=True) for i, call in self._open.items()}

    def begin_again(self, at: float) -> None:
        """The time until now was spent waiting for a person: none of it was the tool's."""
        self._open = {i: call.replace(at=max(call.at, at)) for i, call in self._open.items()}

    def get(self, call_id: str) -> Call | None:
        return self._open.get(call_id)

    def main(self) -> list[Call]:
        return [call for call in self._open.values() if not call.agent]

    def of_agents(self) -> list[Call]:
        return [call for call in self._open.values() if call.agent]

    def __iter__(self) -> Any:
        return iter(list(self._open.values()))

    def __len__(self) -> int:
        return len(self._open)
