"""What the commands about jobs share: naming a job, printing JSON, tables."""

from __future__ import annotations

import argparse
import os
import sys

from unhang.core import plain_text, values
from unhang.jobs.handle import Job, attach
from unhang.jobs.home import state_home

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
    return attach(state_home(), args.job)


def print_json(value: Any) -> None:
    sys.stdout.write(values.dump(value) + "\n")


def leave_with_reader() -> None:
    """For commands that follow: `unhang events -f JOB | head -1` ends with its reader, not with the next event."""
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
    sys.stdout.write(plain_text.harmless(text).replace("\n", " ") + "\n")


def print_table(rows: list[list[str]], widest: int = 40) -> None:
    """Columns as wide as they need to be, and no wider than `widest`; the last one takes the rest.

    A cell may hold words of a job's: they spoil neither the terminal nor the lines of the others.
    """
    if not rows:
        return
    cells = [
        [plain_text.one_line(cell, widest) for cell in row[:-1]] + [plain_text.one_line(row[-1], 1000)] for row in rows
    ]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]) - 1)] + [0]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def print_output(data: bytes, *, error: bool = False, raw: bool = False) -> None:
    """What a job printed. A file or a pipe gets it as it is; on a terminal only its colours act (`raw`: everything)."""
    stream = sys.stderr if error else sys.stdout
    if raw or not stream.isatty():
        stream.flush()
        stream.buffer.write(data)
    else:
        text = plain_text.TerminalText()
        stream.write(text.feed(data) + text.finish())
    stream.flush()
