"""`unhang metrics`: counts of all jobs for Prometheus, printed or as a file for node_exporter; and a dashboard."""

from __future__ import annotations

import argparse
import sys

from unhang.jobs.home import state_home
from unhang.jobs.metrics import metrics_text
from unhang.jobs.metrics_file import dashboard, write_textfile

SUMMARY = "counts of all jobs for Prometheus: printed, or as a file for node_exporter"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang metrics`."""
    text = "replace this file in one step, for the textfile collector of node_exporter (its name ends in .prom)"
    parser.add_argument("--textfile", metavar="PATH", help=text)
    parser.add_argument("--dashboard", action="store_true", help="print a dashboard for Grafana instead, as JSON")


def main(args: argparse.Namespace) -> int:
    """Print or write the metrics; return 0."""
    if args.dashboard:
        sys.stdout.write(dashboard())
        return 0
    text = metrics_text(state_home())
    if args.textfile is None:
        sys.stdout.write(text)
    else:
        write_textfile(args.textfile, text)
    return 0
