"""`unhang acp install zed` and `uninstall zed`."""

from __future__ import annotations

import argparse
import os

from unhang.errors import UsageError
from unhang.installers import flow, zed


def main(args: argparse.Namespace) -> int:
    """Show the change of the editor's settings and, once agreed to, write it; return 1 if it was declined."""
    path = args.settings or zed.settings_file(os.environ)
    if args.acp_verb == "install":
        options = _proxy_options(args)
        change = zed.plan_install(path, args.name, options, args.command, os.environ.get("PATH", os.defpath))
    else:
        change = zed.plan_uninstall(path, args.name)
    return 0 if flow.carry_out([change], yes=args.yes, dry_run=args.dry_run) else 1


def _proxy_options(args: argparse.Namespace) -> list[str]:
    """The options of `unhang acp proxy` that were given here, checked now and not when the editor starts it."""
    from unhang.faces.cli.commands.acp_proxy import turn_limits

    if not args.command:
        raise UsageError("no agent given (unhang acp install zed -- AGENT …)")
    turn_limits(args)
    options: list[str] = []
    for option in ("stall", "idle", "tool", "hard", "repeat", "start", "grace", "notices", "policy"):
        value = getattr(args, option)
        if value is not None:
            options += [f"--{option}", os.path.abspath(value) if option == "policy" else value]
    if args.terminals:
        options.append("--terminals")
    return options
