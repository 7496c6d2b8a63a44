"""`unhang send`: input for a job that waits for it."""

from __future__ import annotations

import argparse
import sys

from unhang.errors import UsageError
from unhang.faces.cli import output

SUMMARY = "send text to a job's input (started with --stdin pipe or --pty)"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang send`."""
    output.add_job(parser)
    output.add_fleet(parser)
    parser.add_argument("text", nargs="?", metavar="TEXT", help="a line to send; - sends stdin unchanged")
    parser.add_argument("--eof", action="store_true", help="close the input after it")
    parser.add_argument("--no-newline", "-n", action="store_true", help="send exactly this text, without a newline")


def main(args: argparse.Namespace) -> int:
    """Send text to the input of a job; print nothing and return 0."""
    if args.text is None and not args.eof:
        raise UsageError("nothing to send: give a TEXT ('' sends Enter, - sends stdin), or --eof")
    job = output.job_of(args)
    data = b""
    if args.text == "-":
        data = sys.stdin.buffer.read()
    elif args.text is not None:
        data = args.text.encode("utf-8", "surrogateescape") + (b"" if args.no_newline else b"\n")
    job.send(data, eof=args.eof)
    return 0
