"""`unhang statusline`: one line for the status line of Claude Code, which gives its state on stdin."""

from __future__ import annotations

import argparse

from unhang.faces.cli import output
from unhang.faces.cli.commands.tmux_status import current_line

SUMMARY = "one line for Claude Code's status line: what runs, and what needs you"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang statusline`."""
    parser.add_argument("--width", metavar="N", type=int, default=80, help="at most so many characters (80)")


def main(args: argparse.Namespace) -> int:
    """Print the line. What Claude says of itself is not read: the line is about jobs."""
    output.print_line(current_line(max(1, args.width)))
    return 0
