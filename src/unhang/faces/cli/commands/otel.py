"""`unhang otel`: sends the spans of all jobs to a receiver of OpenTelemetry, as they end."""

from __future__ import annotations

import argparse
import os
import sys

from unhang.core.extras import Extra
from unhang.errors import UnhangError, UsageError
from unhang.jobs.home import state_home
from unhang.jobs.request import split_pairs

SUMMARY = "send the jobs as traces to OpenTelemetry (OTLP over HTTP); follows them until it is ended"
_TRACES = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
_BASE = "OTEL_EXPORTER_OTLP_ENDPOINT"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang otel`."""
    text = f"where to send traces: http(s)://host:4318/v1/traces (default: ${_TRACES}, or ${_BASE} and /v1/traces)"
    parser.add_argument("--endpoint", metavar="URL", help=text)
    text = "NAME=FILE: send a header whose value is in this file, such as Authorization=/path; may be repeated"
    parser.add_argument("--header-file", metavar="NAME=FILE", action="append", default=[], help=text)
    parser.add_argument("--once", action="store_true", help="send what has ended up to now and exit; 125 if refused")
    text = "at the first export: also the jobs that have ended before (else those that end from now on)"
    parser.add_argument("--all", action="store_true", help=text)


def main(args: argparse.Namespace) -> int:
    """Export until SIGTERM or Ctrl-C; return 0."""
    endpoint = _endpoint(args.endpoint)
    headers = {name: _value(path) for name, path in split_pairs("--header-file", args.header_file).items()}
    with Extra("traces need OpenTelemetry", "otel"):
        from unhang.telemetry.otlp import OtlpSender
    from unhang.telemetry.exporter import export, refusal

    sender = OtlpSender(endpoint, headers)
    sent = export(state_home(), sender, once=args.once, everything=args.all, say=_say)
    if args.once and not sent:
        raise UnhangError(f"{refusal(sender)}; they are kept for the next time")
    return 0


def _endpoint(given: str | None) -> str:
    found = given or os.environ.get(_TRACES)
    if not found and os.environ.get(_BASE):
        found = os.environ[_BASE].rstrip("/") + "/v1/traces"
    if not found:
        raise UsageError(f"--endpoint is needed, or ${_BASE}")
    if not found.startswith(("http://", "https://")):
        raise UsageError(f"--endpoint: expected http(s)://host:4318/v1/traces, not {found!r}")
    return found


def _value(path: str) -> str:
    try:
        with open(os.path.expanduser(path), encoding="ascii") as file:
            return file.read(1 << 16).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--header-file: cannot read {path}: {error}") from None


def _say(text: str) -> None:
    print(f"unhang: {text}", file=sys.stderr, flush=True)
