"""The trace of a tool call: what its client says in `_meta` becomes the parent of the job that the call starts."""

from __future__ import annotations

from unhang.core import trace
from unhang.faces.mcp.call import McpCall
from unhang.jobs.request import Prepared

# The most that other systems may say of a trace; W3C Trace Context asks for at least 512 characters.
_LONGEST_STATE = 4096


def in_trace_of(ctx: McpCall, prepared: Prepared, chosen: dict[str, str] | None = None) -> Prepared:
    """Put a job into the trace of the call that starts it; a call without a valid one leaves it as it is.

    `chosen`: the variables that the call itself gives to the job, which come first.
    """
    parent, state = ctx.meta.get("traceparent"), ctx.meta.get("tracestate")
    if not isinstance(parent, str) or trace.parse(parent) is None or trace.PARENT in (chosen or {}):
        return prepared
    # the server's own state is of another trace
    env = {name: value for name, value in prepared.env.items() if name != trace.STATE} | {trace.PARENT: parent}
    if isinstance(state, str) and len(state) <= _LONGEST_STATE and state.isprintable():
        env[trace.STATE] = state
    return prepared.replace(env=env)
