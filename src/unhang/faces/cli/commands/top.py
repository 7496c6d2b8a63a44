"""`unhang top`: all jobs and sessions on one screen, with keys to act on them."""

from __future__ import annotations

import argparse
import sys

from unhang.core.extras import Extra
from unhang.errors import UnhangError
from unhang.faces.cli import output

SUMMARY = "all jobs and sessions on one screen of your terminal, with keys to extend, answer and cancel"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the option of `unhang top`; the keys are shown on the screen."""
    output.add_fleet(parser, "show the jobs of all machines of the fleet, and which machines are online")


def main(args: argparse.Namespace) -> int:
    """Show the screen until `q`; return 0."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UnhangError("top needs a terminal; for other programs: unhang ps --json")
    # A face does not import another one; this command starts the screen, and only when it is used.
    with Extra("top needs Textual", "top", "without it: unhang ps --watch"):
        from unhang.faces.top.main import show
    return show(fleet=args.fleet)
