"""What the commands about jobs share: naming a job, printing JSON, tables."""

from __future__ import annotations

import argparse
import json
import sys

from unhang.core import framing
from unhang.jobs.handle import Job, attach, here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EXIT_BROKEN_PIPE = 141  # as a program that died of SIGPIPE
JOB_HELP = "a job: its id, a unique prefix of it, or @last"


def add_job(parser: argparse.ArgumentParser, *, many: bool = False) -> None:
    parser.add_argument("job", metavar="JOB…" if many else "JOB", nargs="+" if many else None, help=JOB_HELP)


def add_json(parser: argparse.ArgumentParser, what: str = "print one JSON object") -> None:
    parser.add_argument("--json", action="store_true", help=what)


def job_of(args: argparse.Namespace) -> Job:
    return attach(here(), args.job)


def print_json(value: Any) -> None:
    json.dump(value, sys.stdout, ensure_ascii=False)
    sys.stdout.write("\n")


def leave_with_reader() -> None:
    """For commands that follow: `unhang events -f JOB | head -1` ends with its reader, not with the next event."""
    import os
    import select
    import threading

    poll = select.poll()
    poll.register(1, 0)  # nothing is asked for: only that nobody reads any more

    def wait() -> None:
        while True:
            if any(what & select.POLLERR for _, what in poll.poll()):
                os._exit(EXIT_BROKEN_PIPE)

    threading.Thread(target=wait, daemon=True).start()


def print_line(text: str) -> None:
    """One line of ours that may hold words of a job's."""
    sys.stdout.write(framing.harmless(text).replace("\n", " ") + "\n")


def table(rows: list[list[str]]) -> list[str]:
    """Columns as wide as they need to be; the last one takes the rest."""
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    widths[-1] = 0
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def shorten(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"
