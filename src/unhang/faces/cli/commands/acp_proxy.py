"""`unhang acp proxy`: the agent as a job of its own, and the loop that forwards between it and the editor."""

from __future__ import annotations

import argparse
import os

from unhang.errors import UsageError
from unhang.jobs.launcher import CallerStreams, ForkingLauncher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.acp.proxy.turn_clocks import TurnLimits

# What is kept of the conversation, for `unhang logs`.
_BUDGET = 1 << 20


def main(args: argparse.Namespace) -> int:
    """Run the agent as a job until it or its editor ends; return the agent's exit code."""
    if not args.command:
        raise UsageError("no agent given (unhang acp proxy -- AGENT …)")
    launcher = ForkingLauncher()  # gets ready while the rest is imported
    try:
        return _run(args, launcher)
    finally:
        launcher.close()


def turn_limits(args: argparse.Namespace) -> TurnLimits:
    """Return the limits of a turn that the options ask for; 0 switches one off, except the grace."""
    from unhang.acp.proxy.turn_clocks import TurnLimits
    from unhang.core.limit_request import read_duration
    from unhang.jobs.policy import stall_of_environment

    clocks = TurnLimits()
    for name in ("stall", "idle", "tool", "hard", "repeat", "start", "grace"):
        value = read_duration(f"--{name}", getattr(args, name))
        if value is None and name == "stall":
            value = stall_of_environment()
        if value is not None:
            clocks = clocks.replace(**{name: value if value or name == "grace" else None})
    return clocks


def _run(args: argparse.Namespace, launcher: ForkingLauncher) -> int:
    from unhang.acp.proxy.messages import Notice
    from unhang.acp.proxy.proxy import Proxy
    from unhang.acp.proxy.turn_clocks import Conversation
    from unhang.core.limit_request import LimitRequest
    from unhang.core.limits import DEFAULT_GRACE
    from unhang.core.outcome import exit_code
    from unhang.core.policy import builtin
    from unhang.faces.cli.job_monitor import CaughtSignals
    from unhang.jobs import cleanup
    from unhang.jobs.home import state_home
    from unhang.jobs.request import prepare
    from unhang.jobs.start import check_started

    conversation = Conversation(turn_limits(args), Notice(args.notices or "thought"))
    prepared = prepare(
        args.command,
        labels={"acp": "proxy"},
        policy=builtin.policy(),  # an agent lives as long as its editor; its turns have limits, not it
        asked=LimitRequest(category="session", grace=min(DEFAULT_GRACE, conversation.clocks.grace)),
        budget=_BUDGET,
    )
    signals = CaughtSignals(resizes=False)
    reads, agent_in = os.pipe2(os.O_CLOEXEC)
    agent_out, writes = os.pipe2(os.O_CLOEXEC)
    home = state_home()
    try:
        connection = launcher.launch(home, prepared, CallerStreams(reads, writes, 2))
    finally:
        os.close(reads)
        os.close(writes)
    cleanup.in_a_child(home)
    terminals = {"policy": args.policy} if args.terminals else None
    last = Proxy(
        connection,
        conversation,
        agent_in=agent_in,
        agent_out=agent_out,
        signals=signals.fd,
        terminals=terminals,
        agent=os.path.basename(args.command[0]),
    ).run()
    check_started(connection)
    return exit_code(last)
