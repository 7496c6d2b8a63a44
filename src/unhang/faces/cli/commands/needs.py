"""`unhang needs`: what waits for a person now, and the command that answers it."""

from __future__ import annotations

import argparse
import time

from unhang.core.attention import older_bad_ends
from unhang.core.durations import human
from unhang.core.values import moment
from unhang.core.wording import more_bad_ends
from unhang.faces.cli import output
from unhang.jobs.home import state_home
from unhang.jobs.needs import Need, list_needs
from unhang.jobs.outlook import states_of
from unhang.jobs.request import split_pairs

SUMMARY = "what waits for a person now: prompts, approvals, warnings, failures; each with the command that answers it"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang needs`."""
    output.add_label_filter(parser)
    output.add_json(parser, "print a JSON array")


def main(args: argparse.Namespace) -> int:
    """Print each need and, below it, the commands that answer it, the most urgent first; return 0."""
    home = state_home()
    needs = list_needs(home, split_pairs("--label", args.label))
    if args.json:
        output.print_json([need.to_json(home) for need in needs])
        return 0
    if not needs:
        print("no job needs a person")
    hidden = older_bad_ends((need.attention.kind, need.attention.since) for need in needs)
    needs = [need for at, need in enumerate(needs) if at not in hidden]
    for need, state in zip(needs, states_of(home, [need.row for need in needs]), strict=True):
        output.print_wrapped(_what(need, state, time.time()))
        for line in need.attention.to_paste:
            output.print_line(f"    {line}")  # not broken: it is to be pasted
    if hidden:
        output.print_wrapped(f"{more_bad_ends(len(hidden))}:")
        output.print_line("    unhang ps --all")
    return 0


def _what(need: Need, state: str, now: float) -> str:
    found, row = need.attention, need.row
    since = moment(found.since)
    times = [] if since is None else [f"for {human(max(0.0, now - since))}"]
    if found.ends_at is not None:
        times.append(f"ends in {human(max(0.0, found.ends_at - now))}")
    when = f" ({', '.join(times)})" if times else ""
    return f"{row.called}: {state}{when}: {found.why}"
