"""`unhang watch install` and `uninstall`."""

from __future__ import annotations

import argparse
import os

from unhang.installers import flow, watch_service
from unhang.jobs.home import state_home
from unhang.sessions.lock import holder

# what is passed on to the watcher, as it was given
_VALUES = [
    *("config", "turn", "total", "api", "warn", "hands_off", "cooldown", "verify"),
    *("budget", "machine_budget", "clear_after", "notify", "ping", "ping_every"),
]
_SWITCHES = {"allow_clear": "--allow-clear", "allow_restart": "--allow-restart", "go_on": "--continue"}


def main(args: argparse.Namespace) -> int:
    """Show the change and, once agreed to, make it; return 0 even if it was declined."""
    home = state_home()
    change: flow.PlannedChange
    if args.watch_verb == "install":
        change = watch_service.plan_install(home, options(args), os.environ, job=args.job)
        who = holder(home)
        if who is not None:
            print(f"a watcher is running (pid {who.get('pid', '?')}); the new one takes over when that one ends")
    else:
        change = watch_service.plan_uninstall(home, os.environ)
    flow.carry_out([change], yes=args.yes, dry_run=args.show_only)
    return 0


def options(args: argparse.Namespace) -> list[str]:
    """Return the options for the watcher that were given to `install`, after checking them."""
    from unhang.faces.cli.commands.watch import settings_of

    settings_of(args)
    words: list[str] = []
    for name in _VALUES:
        if getattr(args, name) is not None:
            value = getattr(args, name)
            words += [_option(name), os.path.abspath(value) if name == "config" else str(value)]
    for pattern in args.limit:
        words += ["--limit", pattern]
    return words + [option for name, option in _SWITCHES.items() if getattr(args, name)]


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
