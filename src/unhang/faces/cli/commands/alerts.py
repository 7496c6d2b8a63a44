"""`unhang alerts`: what alerts.toml says, what became of the messages, and a message to try it out."""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from typing import TYPE_CHECKING

from unhang.core import plain_text
from unhang.errors import EXIT_FAILED, UsageError
from unhang.faces.cli import output
from unhang.faces.cli.parser import add_verb
from unhang.jobs.home import state_home

if TYPE_CHECKING:
    from typing import Any

SUMMARY = "be told where you are: list the targets and rules, send a test, see what was delivered"
VERBS = ("list", "test", "status", "deliver")
_SHOWN = 20
_NAMED = 3  # jobs of one message


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verbs of `unhang alerts`."""
    verbs = parser.add_subparsers(dest="alerts_verb", required=True, metavar="|".join(VERBS))
    output.add_json(add_verb(verbs, "list", "Print the targets and rules of alerts.toml."), "print a JSON object")
    test = add_verb(verbs, "test", "Send a test message now. To every target, or to those that are named.")
    test.add_argument("targets", nargs="*", metavar="TARGET", help="a target of alerts.toml, or desktop")
    status = add_verb(verbs, "status", "Print what was sent, what failed and why, and what still waits.")
    output.add_json(status, "print a JSON object")
    add_verb(verbs, "deliver", "Deliver what is due, and stay while jobs run. Started by unhang itself.")


def main(args: argparse.Namespace) -> int:
    """Run one verb; return its exit code."""
    match args.alerts_verb:
        case "list":
            return _list(args)
        case "test":
            return _test(args.targets)
        case "status":
            return _status(args)
    from unhang.alerts.deliverer import deliver

    return deliver(state_home())


def _list(args: argparse.Namespace) -> int:
    from unhang.alerts import pages, settings_file

    settings, path = settings_file.load(os.environ)
    served = bool(settings.page) and pages.is_served(state_home(), settings.page)
    if args.json:
        value = {
            "file": path,
            "targets": [{"name": each.name, "kind": each.kind} for each in settings.targets.values()],
            "rules": [dict(rule.to_dict()) for rule in settings.rules],
            "quiet": None if settings.quiet is None else dict(settings.quiet.to_dict()),
            "cooldown": settings.cooldown,
            "web": {"url": settings.page, "served": served} if settings.page else None,
        }
        output.print_json(value)
        return 0
    output.print_line(path or "no alerts.toml: nothing is sent, except by --notify desktop (see docs/alerts.md)")
    for each in settings.targets.values():
        output.print_line(f"  target {each.name}: {each.kind}")
    for rule in settings.rules:
        given = {"label": rule.labels, "agent": rule.agent, "command": rule.command, "directory": rule.directory}
        only = "".join(f"; {name} {value}" for name, value in given.items() if value)
        after = f"; after {rule.after:g}s" if rule.after else ""
        output.print_line(f"  {', '.join(rule.on)} → {', '.join(rule.to)}{only}{after}")
    if settings.quiet is not None:
        let = f"all but {', '.join(settings.quiet.let)}" if settings.quiet.let else "everything"
        output.print_line(
            f"  quiet from {_clock(settings.quiet.begin)} to {_clock(settings.quiet.end)}: holds back {let}"
        )
    if settings.page:
        how = "served" if served else "no `unhang web` serves it, so alerts have no buttons (docs/alerts.md#buttons)"
        output.print_line(f"  buttons by {settings.page}: {how}")
    return 0


def _clock(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"


def _test(names: list[str]) -> int:
    from unhang.alerts import deliveries, settings_file
    from unhang.alerts.targets import NotDelivered, send
    from unhang.core.alerts.ledger import Delivery
    from unhang.core.alerts.message import message_of
    from unhang.core.alerts.occasions import AlertSubject, Occasion

    settings, path = settings_file.load(os.environ)
    unknown = [name for name in names if name not in settings.targets]
    if unknown:
        raise UsageError(f"no such target: {unknown[0]!r}; there are: {', '.join(settings.targets)}")
    # `desktop` is there without being written down; it is tried if a rule names it, or if there is nothing else
    used = {name for rule in settings.rules for name in rule.to}
    wanted = names or [name for name in settings.targets if path is None or name != "desktop" or name in used]
    about = AlertSubject("test", "unhang alerts test", "unhang alerts test")
    failed = 0
    for name in wanted:
        what = Occasion(about, "finished", 1, time.time(), "", "This is a test; nothing happened.", "unhang ps")
        made = Delivery(f"test:{time.time():.3f}@{name}", name, (what,), attempts=1)
        try:
            send(settings.targets[name], message_of(made))
            output.print_line(f"{name}: sent")
            deliveries.record_test(state_home(), made)
        except NotDelivered as error:
            failed += 1
            output.print_line(f"{name}: not sent: {error}")
            deliveries.record_test(state_home(), made, str(error))
    return EXIT_FAILED if failed else 0


def _status(args: argparse.Namespace) -> int:
    from unhang.alerts import deliveries, settings_file
    from unhang.alerts.backlog import backlog_of

    home = state_home()
    lines, pending = deliveries.read(home), backlog_of(home)
    if args.json:
        output.print_json({"deliveries": lines, "waiting": pending.to_json()})
        return 0
    if not lines and not pending.count:
        output.print_line("nothing was sent yet, and nothing waits")
    if len(lines) > _SHOWN:
        output.print_line(f"… {len(lines) - _SHOWN} older ones: unhang alerts status --json")
    for line in lines[-_SHOWN:]:
        output.print_line(_told(line))
    if pending.count:
        output.print_line(f"{pending.count} waiting{f'; {pending.who}' if pending.who else ''}")
    try:
        settings_file.load(os.environ)
    except UsageError as error:
        output.print_line(f"nothing new is sent until this is mended: {error}")
    return 0


def _told(line: dict[str, Any]) -> str:
    """What became of one message: when, how, to whom, of what, and why not."""
    kinds = Counter(str(each) for each in line.get("kinds") or [])
    what = ", ".join(kind if count == 1 else f"{count} {kind}" for kind, count in kinds.items())
    unnamed = int(line.get("alerts") or 0) - kinds.total()
    what += f" and {unnamed} more" if unnamed > 0 else ""
    jobs = [str(each) for each in line.get("jobs") or []]
    about = ", ".join(jobs[:_NAMED]) + (" …" if len(jobs) > _NAMED else "")
    tries = f" (attempt {line.get('attempts')})" if line.get("attempts") != 1 else ""
    why = f": {line.get('reason')}" if line.get("reason") else ""
    state = str(line.get("state"))
    named = "  ".join(filter(None, (str(line.get("target")), what, about)))
    return plain_text.visible(f"{line.get('ts')}  {state:<6}  {named}{tries}{why}")
