"""`unhang claude install`, `uninstall`: the hooks without the plugin. Shows what will change, asks, keeps a backup."""

from __future__ import annotations

import argparse
import difflib
import os
import shlex
import sys
from dataclasses import dataclass

from unhang.core import plain_text
from unhang.errors import UsageError
from unhang.installers import claude_code
from unhang.jobs import executable
from unhang.store import user_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Change:
    """`after` None: the file goes, because we had made it."""

    path: str
    before: str | None
    after: str | None

    @property
    def any(self) -> bool:
        return self.before != self.after


def main(args: argparse.Namespace) -> int:
    installs = args.claude_verb == "install"
    changes = [_hooks(_settings_file(args.project), installs=installs)]
    if args.mcp:
        changes.append(_server(project=args.project, installs=installs))
    wanted = [change for change in changes if change.any]
    for change in changes:
        if not change.any:
            print(f"{'there already' if installs else 'nothing of unhang in it'}: {change.path}")
    if installs and claude_code.uses_plugin(changes[0].before):
        print("unhang: the plugin is enabled, and brings the same hooks: one of the two is enough", file=sys.stderr)
    for change in wanted:
        _show(change)
    if not wanted or args.dry_run:
        return 0
    if not args.yes and not _agreed():
        print("nothing was changed")
        return 1
    for change in wanted:
        backup = user_file.write(change.path, change.before, change.after)
        done = "removed" if change.after is None else "written"
        print(f"{done}: {change.path}" + (f" (before: {backup})" if backup else ""))
        if change.after is None:
            _tidy(os.path.dirname(change.path))
    return 0


def states() -> dict[str, str]:
    """Settings file → whether the hooks are in it; for `unhang claude status`."""
    found: dict[str, str] = {}
    for project in (False, True):
        path = ".claude/settings.json"
        try:
            path = _settings_file(project)
            text = user_file.read(path)
            found[path] = claude_code.state(text, command()) if text is not None or not project else ""
        except UsageError as error:
            found[path] = str(error)
    return {path: state for path, state in found.items() if state}


def command() -> str:
    """By an absolute path, because Claude's PATH need not be the shell's."""
    return shlex.join([*executable.command(), "hook"])


def _settings_file(project: bool) -> str:
    if project:
        return user_file.in_project(os.getcwd(), ".claude/settings.json")
    folder = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")
    return os.path.join(os.path.abspath(folder), "settings.json")


def _hooks(path: str, *, installs: bool) -> Change:
    def with_ours(text: str | None) -> str:
        return claude_code.with_hooks(text, command())

    return _planned(path, with_ours, claude_code.without_hooks, installs=installs)


def _server(*, project: bool, installs: bool) -> Change:
    # as for `unhang mcp`: this command is the way into the other face
    from unhang.installers import mcp_clients, mcp_entry

    client = mcp_entry.client_of("claude-code", dict(os.environ))
    path = user_file.in_project(os.getcwd(), client.project or "") if project else client.path

    def with_ours(text: str | None) -> str:
        after = mcp_entry.planned(client, text or "", mcp_clients.command())
        return (text or "") if after is None else after

    def without(text: str | None) -> str | None:
        return mcp_entry.without(client, text)

    return _planned(path, with_ours, without, installs=installs)


def _planned(
    path: str,
    with_ours: Callable[[str | None], str],
    without: Callable[[str | None], str | None],
    *,
    installs: bool,
) -> Change:
    before = user_file.read(path)
    try:
        if installs:
            after: str | None = with_ours(before)
            return Change(path, before, before if before is None and not after else after)
        after = without(before)
        if after != before:
            # where nobody has changed it since we did, it becomes what it was, byte for byte
            for old in [*(user_file.read(name) for name in user_file.backups(path)), None]:
                if _same(old, with_ours, before):
                    return Change(path, before, old)
    except UsageError as error:
        raise UsageError(f"{path} {error}") from None
    return Change(path, before, after)


def _same(old: str | None, with_ours: Callable[[str | None], str], now: str | None) -> bool:
    try:
        return with_ours(old) == now and old != now
    except UsageError:
        return False


def _show(change: Change) -> None:
    lines = difflib.unified_diff(
        (change.before or "").splitlines(),
        (change.after or "").splitlines(),
        change.path if change.before is not None else "/dev/null",
        change.path if change.after is not None else "/dev/null",
        lineterm="",
    )
    for line in lines:
        print(plain_text.harmless(line))


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise UsageError("there is nobody to ask: give --yes to do it, or --dry-run to look only")
    sys.stdout.flush()
    print("Change it? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _tidy(folder: str) -> None:
    """A project's folder that we had made, if it is empty again."""
    if os.path.basename(folder) == ".claude":
        try:
            os.rmdir(folder)
        except OSError:
            pass
