"""`unhang ps`: lists jobs."""

from __future__ import annotations

import argparse
import time

from unhang.core import plain_text, values
from unhang.core.durations import human
from unhang.faces.cli import output
from unhang.jobs.home import state_home
from unhang.jobs.listing import Row, list_jobs, row_json, where_is
from unhang.jobs.request import split_pairs

SUMMARY = "list the jobs that run (--all: those that have ended, too)"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang ps`."""
    parser.add_argument("--all", "-a", action="store_true", help="list ended jobs, too")
    output.add_label_filter(parser)
    parser.add_argument("--quiet", "-q", action="store_true", help="print ids only")
    output.add_json(parser, "print a JSON array")


def main(args: argparse.Namespace) -> int:
    """Print a table of jobs, or their ids, or a JSON array; return 0."""
    labels = split_pairs("--label", args.label)
    rows = list_jobs(state_home(), running_only=not args.all, labels=labels)
    if args.json:
        output.print_json([row_json(state_home(), row) for row in rows])
    elif args.quiet:
        for row in rows:
            print(row.id)
    else:
        output.print_table([["JOB", "STATUS", "PHASE", "AGE", "TOOK", "COMMAND"]] + [_cells(row) for row in rows])
    return 0


def _cells(row: Row) -> list[str]:
    now = time.time()
    created = values.moment(row.created)
    ended = values.moment(row.ended) if row.ended else now
    code = f" ({row.exit_code})" if row.exit_code else ""
    where = where_is(state_home(), row)
    command = plain_text.one_line(row.command, 80) + (f"  (runs elsewhere: {where})" if where else "")
    return [row.id, row.status + code, row.phase, _time(created, now), _time(created, ended), command]


def _time(begin: float | None, end: float | None) -> str:
    return "?" if begin is None or end is None else human(max(0.0, end - begin))
