"""What the commands about jobs share: naming a job, printing JSON, tables."""

from __future__ import annotations

import os
import sys

from unhang.core import plain_text, values
from unhang.jobs.handle import Job, attach
from unhang.jobs.home import state_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from unhang.core.result import Result

EXIT_BROKEN_PIPE = 141  # as a program that died of SIGPIPE
JOB_HELP = "a job: its name, its id, a unique prefix of that, or @last"

# Fewer columns than these are not worth beginning a text in.
_LEAST_BESIDE = 24


def add_job(parser: argparse.ArgumentParser, *, many: bool = False) -> None:
    """Add the argument that names a job, or with `many` one or more of them."""
    parser.add_argument("job", metavar="JOB…" if many else "JOB", nargs="+" if many else None, help=JOB_HELP)


def add_label_filter(parser: argparse.ArgumentParser) -> None:
    """Add the option `--label`, which chooses jobs."""
    parser.add_argument("--label", metavar="K=V", action="append", default=[], help="only jobs with this label")


def add_json(parser: argparse.ArgumentParser, what: str = "print one JSON object") -> None:
    """Add the option `--json`; `what` is its help text."""
    parser.add_argument("--json", action="store_true", help=what)


def add_fleet(
    parser: argparse.ArgumentParser, what: str = "the job may be on any machine of the fleet; JOB@MACHINE says which"
) -> None:
    """Add the option `--fleet`; a job of another machine is also meant by JOB@MACHINE."""
    parser.add_argument("--fleet", action="store_true", help=f"{what} (see docs/fleet.md)")


def job_of(args: argparse.Namespace) -> Job:
    """Return the job that the argument of `add_job` names; raise NoSuchJob or AmbiguousJob."""
    return job_named(args.job)


def job_named(name: str) -> Job:
    """Return the job with this id or name; raise NoSuchJob or AmbiguousJob."""
    return attach(state_home(), name)


def jobs_of(args: argparse.Namespace) -> list[Job]:
    """Return the jobs that the argument of `add_job(many=True)` names; raise NoSuchJob or AmbiguousJob."""
    home = state_home()
    return [attach(home, name) for name in args.job]


def name_of_job(job: Job) -> str:
    """Return what people call a job: its name with its id, or the id alone."""
    from unhang.core.spec import name_of

    name = name_of(job.spec.get("labels"))
    return f"job {name} ({job.id})" if name else f"job {job.id}"


def print_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    sys.stdout.write(values.dump(value) + "\n")


def print_result(job: Job, result: Result) -> None:
    """Print a result as one line of JSON, with what its agent did if an agent did the job."""
    from unhang.agents import registry

    print_json(registry.with_agent_report(job, result.to_json()))


def leave_with_reader() -> None:
    """Exit when the reader of stdout has gone: `unhang events -f JOB | head -1` does not wait for the next event."""
    import select
    import threading

    poll = select.poll()
    poll.register(1, 0)  # no events asked for: poll always reports POLLERR, the end of the reader

    def wait() -> None:
        while True:
            if any(what & select.POLLERR for _, what in poll.poll()):
                os._exit(EXIT_BROKEN_PIPE)

    threading.Thread(target=wait, daemon=True).start()


def print_line(text: str) -> None:
    """Print one line that may contain text of a job; its control characters are removed."""
    sys.stdout.write(plain_text.harmless(text).replace("\n", " ") + "\n")


def print_wrapped(text: str, head: str = "") -> None:
    """Do as `print_line` does with both; at a terminal the text is broken by words, and goes on below its beginning."""
    for line in fitted(text, head):
        sys.stdout.write(line + "\n")


def fitted(text: str, head: str = "") -> list[str]:
    """Return the lines of `print_wrapped`. Where the head leaves little room beside it, the text begins below it."""
    head, text = (plain_text.harmless(part).replace("\n", " ") for part in (head, text))
    try:
        width = os.get_terminal_size(1).columns or 80
    except OSError:
        return [head + text]  # no terminal
    from unhang.core.wrap import cells, wrapped

    if cells(text) <= width - len(head):
        return [head + text]
    if head and width - len(head) < _LEAST_BESIDE:
        above = head.rstrip()
        first = [above] if len(above) <= width else wrapped(above, width, "    ")
        return [*first, *("    " + line for line in wrapped(text, width - 4, ""))]
    begin, *more = wrapped(text, width - len(head), "" if head else "  ")
    return [head + begin, *(" " * len(head) + line for line in more)]


def print_table(rows: list[list[str]], widest: int = 40) -> None:
    """Print columns as wide as needed, up to `widest`; the last one takes the rest of the line.

    A cell may contain text of a job: its control characters are removed.
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
    """Print output of a job: unchanged to a file or a pipe; on a terminal only colours pass (`raw`: everything)."""
    stream = sys.stderr if error else sys.stdout
    if raw or not stream.isatty():
        stream.flush()
        stream.buffer.write(data)
    else:
        text = plain_text.TerminalText()
        stream.write(text.feed(data) + text.finish())
    stream.flush()
