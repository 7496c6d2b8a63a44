"""`unhang needs`: what waits for a person now, and the command that answers it."""

from __future__ import annotations

import argparse
import time

from unhang.core.attention import WARNING, older_bad_ends
from unhang.core.durations import human
from unhang.core.values import moment
from unhang.core.wording import more_bad_ends
from unhang.faces.cli import output
from unhang.jobs.home import state_home
from unhang.jobs.needs import Need, list_needs, note_seen
from unhang.jobs.outlook import states_of
from unhang.jobs.request import split_pairs

SUMMARY = "what waits for a person now: prompts, approvals, warnings, failures; each with the command that answers it"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang needs`."""
    output.add_label_filter(parser)
    text = "count the bad ends of this list as looked at: they need you no longer"
    parser.add_argument("--seen", action="store_true", help=text)
    output.add_json(parser, "print a JSON array")


def main(args: argparse.Namespace) -> int:
    """Print each need and, below it, the commands that answer it, the most urgent first; return 0."""
    home = state_home()
    needs = list_needs(home, split_pairs("--label", args.label))
    _print(home, needs, as_json=args.json)
    if args.seen:
        note_seen(home, needs)
    return 0


def _print(home: str, needs: list[Need], *, as_json: bool) -> None:
    if as_json:
        output.print_json([need.to_json(home) for need in needs])
        return
    if not needs:
        print("no job needs a person")
    hidden = older_bad_ends((need.attention.kind, need.attention.since) for need in needs)
    needs = [need for at, need in enumerate(needs) if at not in hidden]
    for need, state in zip(needs, states_of(home, [need.row for need in needs]), strict=True):
        output.print_wrapped(f"{need.row.called}: {standing(need, state, time.time())}: {need.attention.why}")
        for line in need.attention.to_paste:
            output.print_line(f"    {line}")  # not broken: it is to be pasted
    if hidden:
        output.print_wrapped(f"{more_bad_ends(len(hidden))}:")
        output.print_line("    unhang ps --all")


def standing(need: Need, state: str, now: float) -> str:
    """Return where a job stands, since when, and when a limit ends it: `needs input (for 20s, ends in 4m)`."""
    found = need.attention
    since = moment(found.since)
    age = "" if since is None else human(max(0.0, now - since))
    ends = "" if found.ends_at is None else f"ends in {human(max(0.0, found.ends_at - now))}"
    if need.row.final:
        return f"{state} {age} ago" if age else state
    if found.kind == WARNING:
        return ends or state
    times = ", ".join(text for text in (f"for {age}" if age else "", ends) if text)
    return f"{state} ({times})" if times else state
