"""`unhang watch install` and `uninstall`: shows what will change, asks, does it, and can undo it."""

from __future__ import annotations

import argparse
import os
import shlex
import sys

from unhang.errors import UnhangError, UsageError
from unhang.sessions import service
from unhang.sessions.lock import holder
from unhang.store import home as homes

# what is passed on to the watcher, as it was given
_VALUES = [
    *("config", "turn", "total", "api", "warn", "hands_off", "cooldown", "verify"),
    *("budget", "machine_budget", "clear_after", "notify"),
]
_SWITCHES = ("allow_clear", "allow_restart")


def main(args: argparse.Namespace) -> int:
    home = homes.locate(os.environ)
    return _install(args, home) if args.watch_verb == "install" else _uninstall(args, home)


def options(args: argparse.Namespace) -> list[str]:
    """The watcher's own words, out of ours; they have been checked already."""
    from unhang.faces.cli.commands.watch_do import settings_of

    settings_of(args)
    words: list[str] = []
    for name in _VALUES:
        if getattr(args, name) is not None:
            value = getattr(args, name)
            words += [_option(name), os.path.abspath(value) if name == "config" else str(value)]
    for pattern in args.limit:
        words += ["--limit", pattern]
    return words + [_option(name) for name in _SWITCHES if getattr(args, name)]


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _install(args: argparse.Namespace, home: str) -> int:
    there = service.installed(home)
    if there is not None:
        raise UsageError(f"installed already ({there['how']}: {there['path']}); first: unhang watch uninstall")
    planned = service.plan(home, options(args), os.environ, job=args.job)
    if planned.how == service.SYSTEMD:
        print(f"will write {planned.path}:")
        print("".join(f"    {line}\n" for line in planned.text.splitlines()), end="")
        if planned.before is not None and planned.before != planned.text:
            print("the file that is there is kept beside it and comes back with uninstall")
        print(f"will run: systemctl --user daemon-reload; systemctl --user enable --now {service.UNIT}")
    else:
        print(f"will start a background job (until the next restart of this machine): {shlex.join(planned.command)}")
    who = holder(home)
    if who is not None:
        print(f"a watcher runs already (pid {who.get('pid', '?')}): the new one takes over when that one has ended")
    if args.show_only or not _agreed(args):
        return 0
    done = service.install(planned, home, os.environ)
    print(f"done: job {done['jobId']}" if done["how"] == service.JOB else f"done: {service.UNIT} is enabled and runs")
    return 0


def _uninstall(args: argparse.Namespace, home: str) -> int:
    there = service.installed(home)
    if there is None:
        raise UnhangError("nothing was installed by `unhang watch install`")
    if there["how"] == service.JOB:
        print(f"will cancel the job {there.get('jobId')}")
    else:
        back = there.get("backup")
        print(f"will run: systemctl --user disable --now {service.UNIT}")
        print(f"will put {back} back as {there['path']}" if back else f"will remove {there['path']}")
    if args.show_only or not _agreed(args):
        return 0
    service.uninstall(home, os.environ)
    print("done")
    return 0


def _agreed(args: argparse.Namespace) -> bool:
    if args.yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError("nobody can be asked here; --yes agrees, --dry-run only shows")
    sys.stdout.write("go ahead? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
