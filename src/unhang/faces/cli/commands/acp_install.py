"""`unhang acp install zed`: an entry in the editor's settings, shown first, backed up, and taken out again."""

from __future__ import annotations

import argparse
import difflib
import os
import sys

from unhang.core import plain_text
from unhang.errors import SpawnError, UsageError
from unhang.installers import zed as settings
from unhang.jobs import executable
from unhang.procs.spawn import find_program
from unhang.store import user_file


def main(args: argparse.Namespace) -> int:
    path = args.settings or _settings_file()
    before = user_file.read(path)
    installs = args.acp_verb == "install"
    wanted = _wanted(args) if installs else None
    try:
        if wanted is not None:
            after = settings.installed(before or "", *wanted)
        else:
            after = settings.uninstalled(before or "", args.name)
    except UsageError as error:
        raise UsageError(f"{path} {error}") from None
    if after == (before or ""):
        print(f"{'there already' if installs else 'nothing of unhang in it'}: {path}")
        return 0
    _show(path, before or "", after)
    if args.dry_run:
        return 0
    if not args.yes and not _agreed():
        print("nothing was changed")
        return 1
    backup = user_file.write(path, before, after)
    print(f"written: {path}" + (f" (before: {backup})" if backup else ""))
    return 0


def _settings_file() -> str:
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.join(config, "zed", "settings.json")


def _wanted(args: argparse.Namespace) -> tuple[str, list[str]]:
    """The entry's name, and the words that the editor will start: the agent by its path, as the editor's PATH is
    not the shell's."""
    from unhang.faces.cli.commands.acp_proxy import clocks_of

    if not args.command:
        raise UsageError("no agent given (unhang acp install zed -- AGENT …)")
    clocks_of(args)  # a wrong duration is found here and not by the editor
    program, *words = args.command
    try:
        found = os.path.abspath(find_program(program, os.environ.get("PATH", os.defpath)))
    except SpawnError as error:
        raise SpawnError(f"{error}: install the agent first, or say where it is", error.exit_code) from None
    options: list[str] = []
    for option in ("stall", "idle", "tool", "hard", "start", "grace", "notices", "policy"):
        value = getattr(args, option)
        if value is not None:
            options += [f"--{option}", os.path.abspath(value) if option == "policy" else value]
    if args.terminals:
        options.append("--terminals")
    name = args.name or f"{os.path.basename(program)} (unhang)"
    return name, [*executable.command(), "acp", "proxy", *options, "--", found, *words]


def _show(path: str, before: str, after: str) -> None:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), path, path, lineterm="", n=2)
    for line in lines:
        print(plain_text.harmless(line))


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise UsageError("nobody to ask: say --yes to write this, --dry-run to see it only")
    print("Write this? [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
