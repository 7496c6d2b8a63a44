"""`unhang watch`: interactive agents in tmux, watched; what hangs is ended by the gentlest step that works."""

from __future__ import annotations

import argparse
import os
import sys

from unhang.core import mask
from unhang.errors import UsageError
from unhang.faces.cli import output
from unhang.faces.cli.parser import add_verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.sessions.lock import WatcherLock
    from unhang.sessions.settings import WatchSettings
    from unhang.sessions.state.limits import SessionLimits

SUMMARY = "watch Claude Code in tmux; end hung tool calls by the gentlest step that works"
# How long a watcher in the background stays without a session.
LINGER = 120.0
VERBS = ("status", "events", "stop", "reload", "install", "uninstall")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options and verbs of `unhang watch`."""
    _add_which(parser)
    _add_limits(parser)
    parser.add_argument("--once", action="store_true", help="print the sessions and exit; do nothing")
    output.add_fleet(parser, "with --once: print the sessions of all machines of the fleet")
    output.add_json(parser, "one JSON object a line: with --once the sessions, else every event of the watcher")
    parser.add_argument("--dry-run", action="store_true", default=None, help="say what would be done, and do nothing")
    parser.add_argument(
        "--background", action="store_true", help="run in the background; exits when no sessions are left"
    )
    parser.add_argument("--take-over", action="store_true", help="if a watcher runs already, wait until it has ended")
    parser.add_argument("--linger", metavar="D", help="exit when there was no session for this long")
    verbs = parser.add_subparsers(dest="watch_verb", metavar="|".join(VERBS))
    status = add_verb(verbs, "status", "Show whether a watcher runs, and the sessions as it sees them.")
    output.add_json(status)
    status.add_argument(
        "--config-dir", metavar="DIR", action="append", default=[], help="a further state directory of Claude Code"
    )
    events = add_verb(verbs, "events", "Show what happened in a session: its hooks, and what the watcher saw and did.")
    events.add_argument("session", nargs="?", metavar="SESSION", help="its id or a unique prefix; default: the newest")
    output.add_fleet(events, "the session may be on any machine of the fleet; SESSION@MACHINE says which")
    events.add_argument("--after-seq", type=int, default=0, metavar="N", help="only events after this number")
    events.add_argument("--follow", "-f", action="store_true", help="wait for further events")
    events.add_argument("--all", action="store_true", help="show the hooks, too, not only the events of the watcher")
    output.add_json(events, "print one JSON object a line, as recorded")
    add_verb(verbs, "stop", "End the running watcher. The next hook of a session starts another.")
    add_verb(verbs, "reload", "Have the running watcher read its settings again; it does so by itself within 20s.")
    for name, text in (
        ("install", "Keep a watcher running: as a systemd user unit where possible, else as a background job."),
        ("uninstall", "Undo what install did."),
    ):
        below = add_verb(verbs, name, text)
        below.add_argument("--yes", "-y", action="store_true", help="do not ask")
        below.add_argument("--dry-run", dest="show_only", action="store_true", help="show what would be changed")
        if name == "install":
            below.add_argument(
                "--job", action="store_true", help="use a plain background job, even where systemd is available"
            )
            _add_limits(below)


def _add_which(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pane", metavar="%N", action="append", default=[], help="watch only this tmux pane")
    parser.add_argument(
        "--session", metavar="ID", action="append", default=[], help="watch only this session (its id or a prefix)"
    )
    parser.add_argument(
        "--config-dir",
        metavar="DIR",
        action="append",
        default=[],
        help="a state directory of Claude Code, besides ~/.claude, $CLAUDE_CONFIG_DIR and what its hooks name",
    )


def _add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE", help="settings; default: ~/.config/unhang/watch.toml")
    parser.add_argument(
        "--limit",
        metavar="PATTERN=D",
        action="append",
        default=[],
        help="how long a tool may take, as 'mcp__slow__*=5m' (defaults: WebFetch 3m, WebSearch 10m, mcp__* 30m, "
        "Bash its own timeout + 1m)",
    )
    parser.add_argument("--turn", metavar="D", help="how long a turn may be busy without a finished step (30m)")
    parser.add_argument("--total", metavar="D", help="how long a turn may be busy at all (off)")
    parser.add_argument("--api", metavar="D", help="how long the API may be silent (10m)")
    parser.add_argument("--warn", metavar="D", help="how long before a limit to warn (a fifth of it)")
    parser.add_argument("--hands-off", metavar="D", help="how long to do nothing after a person typed (30s)")
    parser.add_argument(
        "--cooldown", metavar="D", help="how long to wait between two steps, and before another try (15s)"
    )
    parser.add_argument("--verify", metavar="D", help="how long a step may take to show its effect (6s)")
    parser.add_argument("--budget", metavar="N", type=int, help="at most this many steps an hour for one session (8)")
    parser.add_argument(
        "--machine-budget", metavar="N", type=int, help="at most this many steps an hour for the machine (40)"
    )
    parser.add_argument(
        "--allow-clear",
        action="store_true",
        default=None,
        help="send /clear after repeated hangs; the state is saved first",
    )
    parser.add_argument("--clear-after", metavar="N", type=int, help="send /clear after this many hangs in a row (2)")
    parser.add_argument(
        "--allow-restart", action="store_true", default=None, help="restart with --resume where Escape has no effect"
    )
    parser.add_argument(
        "--continue",
        dest="go_on",
        action="store_true",
        default=None,
        help="after Escape, let an unattended session go on: a restored prompt is sent, or one that says what happened",
    )
    parser.add_argument(
        "--on-hung",
        choices=("wait", "end"),
        help="a command that is proved to wait without an end: wait for its limit (default), or end it after a warning",
    )
    parser.add_argument("--notify", metavar="CMD", help="a shell line to run for warnings (event on stdin)")
    parser.add_argument(
        "--ping",
        metavar="URL",
        help="GET this address regularly while all is well: a dead-man's switch tells you if not",
    )
    parser.add_argument("--ping-every", metavar="D", help="how long between two pings (5m)")


def main(args: argparse.Namespace) -> int:
    """Watch until stopped, or run one verb; return the exit code."""
    from unhang.jobs.home import state_home

    if args.watch_verb in ("install", "uninstall"):
        from unhang.faces.cli.commands import watch_install

        return watch_install.main(args)
    if args.watch_verb == "status":
        return _status(args)
    if args.watch_verb == "events":
        return _events(args)
    if args.watch_verb in ("stop", "reload"):
        return _signal(args.watch_verb)
    settings = settings_of(args)
    home = state_home()
    if args.fleet:
        from unhang.faces.cli import fleet_sessions

        if not args.once:
            raise UsageError("--fleet needs --once: a watcher watches the sessions of its own machine")
        return fleet_sessions.print_sessions(home, as_json=args.json)
    if args.once:
        return _once(args, home, settings)
    return _watch(args, home, settings)


def settings_of(args: argparse.Namespace) -> WatchSettings:
    """Return the settings of the file, overridden by those of the command line."""
    from unhang.sessions.settings import load, ping_address, ping_pause
    from unhang.sessions.state.limits import duration, tool_limit

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
    for name in ("allow_clear", "allow_restart", "dry_run", "go_on"):
        if getattr(args, name, None):
            changes[name] = True
    if args.on_hung is not None:
        changes["on_hung"] = args.on_hung
    if args.limit:
        changes["tools"] = (*(tool_limit(text) for text in args.limit), *found.limits.tools)
    limits = found.limits.replace(**changes)
    if args.ping is not None:
        found = found.replace(ping=ping_address(args.ping, "--ping"))
    if args.ping_every is not None:
        found = found.replace(ping_every=ping_pause(duration(args.ping_every, "--ping-every"), "--ping-every"))
    return found.replace(limits=limits, notify=args.notify if args.notify is not None else found.notify)


def _wanted(args: argparse.Namespace) -> Any:
    from unhang.sessions.subject import Subject

    panes, sessions = args.pane, args.session

    def wanted(subject: Subject) -> bool:
        if panes and (subject.address is None or subject.address.pane not in panes):
            return False
        return not sessions or any(subject.session_id.startswith(each) for each in sessions)

    return wanted


def _configs(args: argparse.Namespace, settings: WatchSettings) -> list[str]:
    from unhang.sessions.claude import status_file

    return status_file.config_dirs(os.environ, [*args.config_dir, *settings.config_dirs])


def _watch(args: argparse.Namespace, home: str, settings: WatchSettings) -> int:
    from unhang.sessions.lock import WatcherLock, holder
    from unhang.sessions.state.limits import duration
    from unhang.sessions.vital_signs import SystemdWatchdog
    from unhang.sessions.watcher import Watcher

    lock, systemd = WatcherLock(home), SystemdWatchdog(os.environ)
    if not lock.take(wait=args.take_over, waiting=systemd.beat):
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
        load=lambda: settings_of(args),
        systemd=systemd,
    )
    if not args.background and not args.json:
        what = " (dry run)" if settings.limits.dry_run else ""
        print(f"unhang: watching{what}; settings: {settings.source}", file=sys.stderr)
        if settings.complaint:
            print(f"unhang: {settings.complaint}", file=sys.stderr)
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
            output.print_wrapped(mask.line(event["message"]), f"{event['sessionId'][:8]}  {event['phase']:<10} ")
        sys.stdout.flush()

    return tell


def _detach(lock: WatcherLock) -> None:
    """Go to the background, and keep nothing open of the process that started us.

    The first process leaves when the last one has put its name on the lock, so that no reader finds a dead one.
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


def _once(args: argparse.Namespace, home: str, settings: WatchSettings) -> int:
    for view in _views(home, settings, _configs(args, settings), _wanted(args)):
        if args.json:
            output.print_json(view)
        else:
            output.print_line(_line(view))
    return 0


def _views(home: str, settings: WatchSettings, configs: list[str], wanted: Any) -> list[dict[str, Any]]:
    from unhang.sessions.watcher import Watcher

    watcher = Watcher(home, settings, configs, wanted=wanted)
    try:
        watcher.scan()
        return [subject.view() for subject in watcher.subjects.values()]
    finally:
        watcher.close()


def _line(view: dict[str, Any]) -> str:
    from unhang.core.durations import human

    place = view["tmux"]["pane"] if view["tmux"] else "-"
    words = [view["sessionId"][:8], f"pid {view['pid']}", place, view["state"]]
    if view["waitingFor"]:
        words.append(f"({view['waitingFor']})")
    words += [f"{call['toolName']} for {human(call['ageMs'] / 1000)}" for call in view["calls"]]
    if view["next"]:
        words.append(f"limit ({view['next']['limit']}) in {human(view['next']['inMs'] / 1000)}")
    return "  ".join([*words, view["cwd"] or ""])


def _signal(verb: str) -> int:
    """End the watcher that runs, or have it read its settings; return 1 if there is none."""
    import signal

    from unhang.jobs.home import state_home
    from unhang.sessions import lock

    who = lock.holder(state_home())
    if who is None:
        print("unhang: no watcher runs", file=sys.stderr)
        return 1
    if not lock.send(who, signal.SIGTERM if verb == "stop" else signal.SIGUSR1, wait=verb == "stop"):
        where = f": it runs in {who['where']}" if who["where"] else ""
        print(f"unhang: the watcher (pid {who['pid'] or '?'}) could not be reached{where}", file=sys.stderr)
        return 1
    output.print_line(f"the watcher (pid {who['pid']}) {'has ended' if verb == 'stop' else 'reads its settings again'}")
    return 0


def _status(args: argparse.Namespace) -> int:
    from unhang.installers import watch_service
    from unhang.jobs.home import state_home
    from unhang.sessions import watcher_record
    from unhang.sessions.lock import WATCHING, describe_holder, holder
    from unhang.sessions.settings import load

    home = state_home()
    who = holder(home)
    theirs, ping = watcher_record.settings_of(home, who), watcher_record.ping_of(home, who)
    own = load(os.environ)
    settings = own if theirs is None else theirs.replace(config_dirs=own.config_dirs)
    views = _views(home, settings, _configs(args, settings), lambda _: True)
    installed = watch_service.installed(home)
    watching = who is not None and who["state"] == WATCHING
    needed = who is not None or installed is not None or any(view["watched"] for view in views)
    code = 0 if watching or not needed else 1
    if args.json:
        limits = None if theirs is None else theirs.limits.to_dict() | {"source": theirs.source}
        output.print_json(
            {
                "running": watching,
                "watcher": who,
                "limits": limits,
                "ping": ping,
                "notBelieved": own.untrusted or None,
                "installed": installed,
                "sessions": views,
            }
        )
        return code
    output.print_line(describe_holder(who) if who is not None else "no watcher runs: unhang watch")
    if theirs is not None:
        output.print_line(f"settings: {theirs.source}; {_said_limits(theirs.limits)}")
    if own.complaint:
        output.print_line(f"settings: {own.complaint}")
    if ping is not None:
        output.print_line(f"ping: {ping['trouble'] or 'sent while all is well'}")
    how = f"{installed['how']} ({installed['path']})" if installed else "no (unhang watch install)"
    output.print_line(f"installed: {how}")
    for view in views:
        output.print_line(_line(view))
    return code


def _said_limits(limits: SessionLimits) -> str:
    """The limits of the running watcher, in one line."""
    from unhang.core.durations import human

    named = [("turn", limits.turn), ("total", limits.total), ("api", limits.api), *limits.tools]
    words = [f"{name} {'off' if seconds is None else human(seconds)}" for name, seconds in named]
    words += [
        name
        for name, on in (
            ("dry run", limits.dry_run),
            ("--continue", limits.go_on),
            ("--on-hung end", limits.on_hung == "end"),
        )
        if on
    ]
    return ", ".join(words)


def _events(args: argparse.Namespace) -> int:
    from unhang.jobs.home import state_home
    from unhang.sessions.recorded_events import find_session, session_events

    home = state_home()
    if args.fleet or "@" in (args.session or ""):
        from unhang.faces.cli import fleet_sessions

        own = fleet_sessions.is_own(args.session or "")
        if own is None:
            return fleet_sessions.print_events(args, lambda event: _show(event, as_json=args.json))
        args.session = own
    session = find_session(args.session, home)
    if args.follow:
        output.leave_with_reader()
    for event in session_events(session, home, after_seq=args.after_seq, hooks=args.all, follow=args.follow):
        _show(event, as_json=args.json)
        if args.follow:
            sys.stdout.flush()
    return 0


def _show(event: dict[str, Any], *, as_json: bool) -> None:
    import time

    from unhang.core.values import text_of
    from unhang.faces.cli import times

    if as_json:
        output.print_json(event)
        return
    kind = f"{text_of(event, 'type', most=40)}/{text_of(event, 'phase', most=40)}"
    at, message = times.of_event(text_of(event, "ts"), utc=False, now=time.time()), text_of(event, "message")
    output.print_wrapped(mask.line(message), f"{event['seq']:>5}  {at}  {kind:<18} ")
