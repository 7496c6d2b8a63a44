"""`unhang web`: a live page of all jobs and sessions."""

from __future__ import annotations

import argparse

from unhang.core.extras import Extra
from unhang.faces.cli import output

SUMMARY = "a live page of all jobs and sessions, for your browser; prints its address"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang web`."""
    output.add_fleet(parser, "show the jobs of all machines of the fleet, and which machines are online")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    text = "where to listen (default 127.0.0.1:0, port 0: any free one)"
    parser.add_argument("--bind", metavar="HOST:PORT", default="127.0.0.1:0", help=text)
    text = "let in other users of this machine who have the address, too"
    parser.add_argument("--any-user", action="store_true", help=text)
    parser.add_argument("--tls-cert", metavar="FILE", help="serve HTTPS with this certificate (with --tls-key)")
    parser.add_argument("--tls-key", metavar="FILE", help="the key of the certificate")
    text = "a proxy in front serves the page as this origin (https://host), and keeps strangers out"
    parser.add_argument("--behind-proxy", metavar="ORIGIN", help=text)


def main(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C; return 0."""
    # A face does not import another one; this command starts the page, and only when it is used.
    with Extra("the page needs Starlette and uvicorn", "web"):
        from unhang.faces.web.main import serve
    return serve(args)
