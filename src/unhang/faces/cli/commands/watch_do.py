"""Running the watcher, and showing what it sees."""

from __future__ import annotations

import argparse
import os
import sys

from unhang.core.durations import human
from unhang.core.values import text_of
from unhang.errors import UsageError
from unhang.faces.cli import output
from unhang.installers import watch_service
from unhang.jobs.home import state_home
from unhang.sessions.claude import status_file
from unhang.sessions.lock import WATCHING, WatcherLock, described, holder
from unhang.sessions.recorded_events import find_session, session_events
from unhang.sessions.settings import WatchSettings, load
from unhang.sessions.state.limits import duration, tool_limit
from unhang.sessions.subject import Subject
from unhang.sessions.watcher import Watcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LINGER = 120.0


def main(args: argparse.Namespace) -> int:
    if args.watch_verb == "status":
        return _status(args)
    if args.watch_verb == "events":
        return _events(args)
    settings = settings_of(args)
    home = state_home()
    if args.once:
        return _once(args, home, settings)
    return _watch(args, home, settings)


def settings_of(args: argparse.Namespace) -> WatchSettings:
    """The file, then what was asked for on the command line."""
    found = load(os.environ, args.config)
    changes: dict[str, Any] = {}
    for name in ("turn", "total", "api", "warn"):
        if getattr(args, name) is not None:
            changes[name] = duration(getattr(args, name), f"--{name}")
    for name in ("hands_off", "cooldown", "verify"):
        if getattr(args, name) is not None:
            changes[name] = duration(getattr(args, name), f"--{name.replace('_', '-')}") or 0.0
    for option, name in (("budget", "per_session"), ("machine_budget", "per_machine"), ("clear_after", "clear_after")):
        if getattr(args, option) is not None:
            if getattr(args, option) < 0:
                raise UsageError(f"--{option.replace('_', '-')} must be 0 or greater")
            changes[name] = getattr(args, option)
    for name in ("allow_clear", "allow_restart", "dry_run"):
        if getattr(args, name, None):
            changes[name] = True
    if args.limit:
        changes["tools"] = (*(tool_limit(text) for text in args.limit), *found.limits.tools)
    limits = found.limits.replace(**changes)
    return found.replace(limits=limits, notify=args.notify if args.notify is not None else found.notify)


def _wanted(args: argparse.Namespace) -> Any:
    panes, sessions = args.pane, args.session

    def wanted(subject: Subject) -> bool:
        if panes and (subject.address is None or subject.address.pane not in panes):
            return False
        return not sessions or any(subject.session_id.startswith(each) for each in sessions)

    return wanted


def _configs(args: argparse.Namespace, settings: WatchSettings) -> list[str]:
    return status_file.config_dirs(os.environ, [*args.config_dir, *settings.config_dirs])


def _watch(args: argparse.Namespace, home: str, settings: WatchSettings) -> int:
    lock = WatcherLock(home)
    if not lock.take(wait=args.take_over):
        who = holder(home) or {}
        print(f"unhang: a watcher runs already (pid {who.get('pid') or '?'})", file=sys.stderr)
        return 0
    linger = None if args.linger is None else duration(args.linger, "--linger")
    if args.background:
        linger = LINGER if args.linger is None else linger
        _detach(lock)
    import gc

    gc.enable()  # __main__ switches it off for short lives; this is a long one
    watcher = Watcher(
        home,
        settings,
        _configs(args, settings),
        wanted=_wanted(args),
        tell=None if args.background else _teller(args),
        lock=lock,
        linger=linger,
    )
    if not args.background and not args.json:
        what = " (dry run)" if settings.limits.dry_run else ""
        print(f"unhang: watching{what}; settings: {settings.source}", file=sys.stderr)
    try:
        watcher.run()
        if not lock.is_there() and not args.background:
            print("unhang: another watcher has taken the place of this one, or the state is gone", file=sys.stderr)
    finally:
        watcher.close()
        lock.close()
    return 0


def _teller(args: argparse.Namespace) -> Any:
    def tell(event: dict[str, Any]) -> None:
        if args.json:
            output.print_json(event)
        else:
            line = f"{event['sessionId'][:8]}  {event['phase']:<10} {event['message']}"
            output.print_line(line)
        sys.stdout.flush()

    return tell


def _detach(lock: WatcherLock) -> None:
    """Into the background, away from whoever started us: nothing of theirs is kept open.

    The first process leaves when the last one has put its name on the lock, so that nobody reads a dead one's there.
    """
    signed, sign = os.pipe()
    if os.fork():
        os.close(sign)
        os.read(signed, 1)
        os._exit(0)
    os.close(signed)
    os.setsid()
    if os.fork():
        os._exit(0)
    lock.sign()
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    if null > 2:
        os.close(null)
    os.close(sign)


# --- looking --------------------------------------------------------------------------------------------------


def _once(args: argparse.Namespace, home: str, settings: WatchSettings) -> int:
    for view in _views(home, settings, _configs(args, settings), _wanted(args)):
        if args.json:
            output.print_json(view)
        else:
            output.print_line(_line(view))
    return 0


def _views(home: str, settings: WatchSettings, configs: list[str], wanted: Any) -> list[dict[str, Any]]:
    watcher = Watcher(home, settings, configs, wanted=wanted)
    try:
        watcher.scan()
        return [subject.view() for subject in watcher.subjects.values()]
    finally:
        watcher.close()


def _line(view: dict[str, Any]) -> str:
    place = view["tmux"]["pane"] if view["tmux"] else "-"
    words = [view["sessionId"][:8], f"pid {view['pid']}", place, view["state"]]
    if view["waitingFor"]:
        words.append(f"({view['waitingFor']})")
    words += [f"{call['toolName']} for {human(call['ageMs'] / 1000)}" for call in view["calls"]]
    if view["next"]:
        words.append(f"limit ({view['next']['limit']}) in {human(view['next']['inMs'] / 1000)}")
    return "  ".join([*words, view["cwd"] or ""])


def _status(args: argparse.Namespace) -> int:
    home = state_home()
    settings = load(os.environ)
    who = holder(home)
    views = _views(home, settings, _configs(args, settings), lambda _: True)
    if args.json:
        installed = watch_service.installed(home)
        running = who is not None and who["state"] == WATCHING
        output.print_json({"running": running, "watcher": who, "installed": installed, "sessions": views})
        return 0
    output.print_line(described(who) if who is not None else "no watcher runs: unhang watch")
    installed = watch_service.installed(home)
    how = f"{installed['how']} ({installed['path']})" if installed else "no (unhang watch install)"
    output.print_line(f"installed: {how}")
    for view in views:
        output.print_line(_line(view))
    return 0


def _events(args: argparse.Namespace) -> int:
    home = state_home()
    session = find_session(args.session, home)
    if args.follow:
        output.leave_with_reader()
    for event in session_events(session, home, after_seq=args.after_seq, hooks=args.all, follow=args.follow):
        _show(event, as_json=args.json)
        if args.follow:
            sys.stdout.flush()
    return 0


def _show(event: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        output.print_json(event)
        return
    kind = f"{text_of(event, 'type', most=40)}/{text_of(event, 'phase', most=40)}"
    at, message = text_of(event, "ts")[11:23], text_of(event, "message")
    output.print_line(f"{event['seq']:>5}  {at}  {kind:<18} {message}")
