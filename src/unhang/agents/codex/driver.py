"""`python -m unhang.agents.codex.driver`: the leader of a Codex job."""

from __future__ import annotations

from unhang.agents.base.driver import Driver, main
from unhang.agents.base.keeper_channel import KeeperChannel
from unhang.agents.codex.plan import EXEC, CodexPlan
from unhang.core.policy.model import Policy


def make(plan: CodexPlan, channel: KeeperChannel, policy: Policy) -> Driver:
    """Return the driver of the program that the plan names: `codex exec` or the app server."""
    if plan.verb == EXEC:
        from unhang.agents.codex.exec import ExecDriver

        return ExecDriver(plan, channel, policy)
    from unhang.agents.codex.app_server import AppServerDriver

    return AppServerDriver(plan, channel, policy)


if __name__ == "__main__":
    main(CodexPlan, make)
