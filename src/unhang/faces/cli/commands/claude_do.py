"""What `unhang claude run`, `resume` and `status` do: words → a plan → a job; or a look at what is installed."""

from __future__ import annotations

import argparse
import os

from unhang.agents.base.task_input import read_task
from unhang.agents.claude import job
from unhang.agents.claude.plan import ClaudePlan
from unhang.core.limit_request import read_positive
from unhang.errors import UsageError
from unhang.faces.cli.agent_start import begin, options_of
from unhang.faces.cli.options import asked_of

# they are the driver's own: Claude would answer in another way, or without a way to interrupt it
_OURS = frozenset({"-p", "--print", "--output-format", "--input-format", "--resume", "-r", "--continue", "-c", "--bg"})


def main(args: argparse.Namespace) -> int:
    if args.claude_verb == "status":
        from unhang.faces.cli.commands import claude_status

        return claude_status.main(args)
    prepared = job.prepare(_plan(args), asked_of(args), options_of(args, args.cd))
    return begin(args, prepared, job.with_agent_report)


def _plan(args: argparse.Namespace) -> ClaudePlan:
    more = tuple(getattr(args, "command", None) or ())
    refused = [name for word in more if (name := word.partition("=")[0]) in _OURS]
    if refused:
        raise UsageError(f"{refused[0]} cannot be passed on to claude: unhang sets it itself")
    return ClaudePlan(
        task=read_task(args.task),
        claude=job.PROGRAM.find(args.claude),
        session=job.session_of(args.resume) if args.resume else None,
        model=args.model,
        effort=args.effort,
        permission_mode=args.permission_mode,
        allowed_tools=tuple(args.allowed_tools),
        mcp_config=tuple(_absolute(entry) for entry in args.mcp_config),
        tool_limit=read_positive("--tool-limit", args.tool_limit),
        linger=read_positive("--linger", args.linger) or 10.0,
        record=None if args.record is None else os.path.abspath(args.record),
        more=more,
    )


def _absolute(config: str) -> str:
    """A file as seen from here; JSON stays as it is."""
    return config if config.lstrip().startswith("{") else os.path.abspath(os.path.expanduser(config))
