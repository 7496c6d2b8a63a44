"""`unhang tmux-status`: one line for the status bar of tmux."""

from __future__ import annotations

import argparse

from unhang.core.overview_line import status_line
from unhang.faces.cli import output
from unhang.jobs.home import state_home
from unhang.jobs.overview import Overview

SUMMARY = "one line for tmux's status bar: what runs, and what needs you"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang tmux-status`."""
    parser.add_argument("--width", metavar="N", type=int, default=60, help="at most so many characters (60)")


def main(args: argparse.Namespace) -> int:
    """Print the line; an empty one where nothing runs. tmux reads `#` as the begin of a format, so it is doubled."""
    output.print_line(current_line(max(1, args.width)).replace("#", "##"))
    return 0


def current_line(width: int) -> str:
    """Return the overview of this moment in one line."""
    with Overview(state_home(), most_ended=0, usage=False) as overview:
        overview.refresh()
        return status_line(overview.snapshot().entries.values(), width)
