"""What a look at the tree of an agent's job is worth beside what its driver, or its proxy, knows.

The kernel shows an event loop with sockets, timers and files of its own, which move whatever the model does: that an
agent listens, or writes to its database, says nothing. That a signal has stopped it does, and so does what a tool of it
waits for.
"""

from __future__ import annotations

from unhang.core.diagnosis import causes
from unhang.core.diagnosis.verdict import HUNG, UNSURE, Diagnosis
from unhang.core.durations import human
from unhang.core.events import AT_WORK
from unhang.core.values import mapping_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What an agent's own event loop looks like, whatever a tool of it does that has no process of its own.
_OWN = frozenset(
    cause.name
    for cause in (
        causes.LISTENING,
        causes.INPUT,
        causes.IDLE,
        causes.TIMER,
        causes.POLL,
        causes.PROGRESS,
        causes.BUSY,
        causes.UNKNOWN,
    )
)


def stopped_reason(processes: list[tuple[str, int]]) -> str:
    """Return the sentence about processes of an agent, by name and pid, that a signal has stopped."""
    return "the agent is stopped by a signal: " + ", ".join(f"{name} [{pid}]" for name, pid in processes[:3])


def as_stopped(seen: Diagnosis) -> Diagnosis | None:
    """Return the diagnosis of an agent of which a signal has stopped a process; None: it has not.

    Whatever else moves there, its driver or a launcher above it, the agent itself does not go on.
    """
    if seen.state == HUNG and seen.cause == causes.STOPPED.name:
        return seen
    found = [(line.comm, line.pid) for line in seen.processes if line.state == "T"]
    if not found:
        return None
    return seen._replace(
        state=HUNG, cause=causes.STOPPED.name, reason=stopped_reason(found), evidence={"pid": found[0][1]}
    )


def _as_told(seen: Diagnosis, told: dict[str, Any]) -> Diagnosis:
    """Return the tree as the kernel shows it, with the reason that the driver or the proxy has told."""
    state, cause, reason = (str(told.get(name) or "") for name in ("state", "cause", "reason"))
    evidence = mapping_of(told, "evidence")
    return seen._replace(state=state or UNSURE, cause=cause or causes.UNKNOWN.name, reason=reason, evidence=evidence)


def of_driven_agent(
    seen: Diagnosis,
    told: dict[str, Any] | None,
    doing: dict[str, Any] | None,
    silent: float,
    *,
    tool: Diagnosis | None = None,
    asks: str = "",
) -> Diagnosis:
    """Return the diagnosis of an agent with a driver.

    `told`: why it is silent, if its driver has said so. `doing`: the event that says what it is at. `silent`: seconds
    since its last sign of life. `tool`: what the kernel shows of the processes that its tool has started; None: there
    are none. `asks`: the question that it has put to a person, and that is open.
    """
    if (stopped := as_stopped(seen)) is not None:
        return stopped
    if asks:
        return seen._replace(
            state=HUNG, cause=causes.INPUT.name, reason=f"it waits for an answer of a person: {asks}", evidence={}
        )
    if told is not None:
        return _as_told(seen, told)
    phase = str((doing or {}).get("phase"))
    if phase in AT_WORK and tool is not None:
        return _of_tool(tool, _called(doing))
    if phase in AT_WORK and seen.cause not in _OWN:
        return seen
    since = f"no sign of life for {human(silent)}"
    if phase in AT_WORK:
        reason = f"a tool call, {since}: {_called(doing)}"
        return seen._replace(state=UNSURE, cause=causes.UNKNOWN.name, reason=reason, evidence={})
    reason = f"the agent is {phase or 'starting'}, {since}"
    return seen._replace(state=UNSURE, cause=causes.NETWORK.name, reason=reason, evidence={})


def _called(doing: dict[str, Any] | None) -> str:
    """What people call the tool that is in flight."""
    event = doing or {}
    return str(event.get("command") or event.get("title") or event.get("message") or "a tool").removesuffix(".")


def _of_tool(tool: Diagnosis, name: str) -> Diagnosis:
    """What the processes of a tool wait for, with the tool's name."""
    return tool._replace(reason=f"{name}: {tool.reason}")


def with_tool(told: dict[str, Any], tool: dict[str, Any] | None) -> dict[str, Any]:
    """Return why an agent is silent, as its driver says, and what its tool waits for, as the kernel shows it.

    `tool`: the diagnosis of the processes that its tool has started; None: it has none, and the driver's word stands.
    """
    if tool is None:
        return told
    reason = f"{told.get('reason')}; {tool['reason']}" if told.get("reason") else tool["reason"]
    return tool | {"reason": reason, "evidence": mapping_of(told, "evidence") | mapping_of(tool, "evidence")}


def of_proxied_agent(seen: Diagnosis, told: dict[str, Any] | None = None) -> Diagnosis:
    """Return the diagnosis of an agent behind the proxy. `told`: why its turn is silent, if the proxy has said so."""
    if (stopped := as_stopped(seen)) is not None:
        return stopped
    if told is not None:
        return _as_told(seen, told)
    reason = f"an agent behind the proxy, which judges its turns and tells the editor; its processes: {seen.reason}"
    return seen._replace(state=UNSURE, cause=causes.UNKNOWN.name, reason=reason, evidence={})


def of_silent_turn(seen: Diagnosis, *, busy: bool, tool: Diagnosis | None = None) -> Diagnosis:
    """Return why a turn behind a proxy is silent. An empty reason: it is not known.

    `busy`: a tool runs. `tool`: what the kernel shows of the processes that it has started; None: there are none.
    """
    if (stopped := as_stopped(seen)) is not None:
        return stopped
    if busy:
        nothing = seen._replace(state=UNSURE, cause=causes.UNKNOWN.name, reason="", evidence={})
        return nothing if tool is None else tool
    peer = f" ({seen.reason})" if seen.cause == causes.NETWORK.name else ""
    reason = f"no tool is running, and its model has sent nothing{peer}"
    return seen._replace(state=HUNG, cause=causes.NETWORK.name, reason=reason, evidence={})
