"""`unhang ps`: lists jobs, those that need a person first."""

from __future__ import annotations

import argparse
import os
import sys
import time

from unhang.core import plain_text, values, wording
from unhang.core.durations import human, human_ms
from unhang.core.limit_request import read_positive
from unhang.core.wrap import wrapped
from unhang.errors import UsageError
from unhang.faces.cli import output
from unhang.faces.cli.commands.tmux_status import current_line
from unhang.jobs.home import state_home
from unhang.jobs.listing import Row, list_jobs
from unhang.jobs.outlook import Outlook, count_unseen, may_need_a_look, outlooks
from unhang.jobs.request import split_pairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SUMMARY = "list the jobs that run, what needs a person first (--all: those that have ended, too)"
STATUSES = ("running", "ended", "success", "error", "timeout", "cancelled", "unknown", "queued")
# how each order sorts; `need` is not here: it is sorted by what needs a person, then the newest first
_SORTS: dict[str, Callable[[Outlook], object]] = {
    "newest": lambda job: -_since(job.row),
    "oldest": lambda job: _since(job.row),
    "ends": lambda job: float("inf") if job.ends_at is None else job.ends_at,
    "took": lambda job: -_took(job.row),
    "name": lambda job: (not job.row.name, job.row.called),
    "command": lambda job: job.row.command,
}
SORTS = ("need", *_SORTS)
_CLEAR = "\x1b[H\x1b[2J"
# The terminal keeps its title, and gets it back in the end.
_KEEP_TITLE, _OLD_TITLE = "\x1b[22;2t", "\x1b[23;2t"
_TITLE = 60
_GAP = 2
# what a column of text is worth showing with
_NARROWEST = 12
# In a narrower window each job has lines of its own: of a table's columns nothing could be read there.
_TABLE = 60
_INDENT = "  "
# how many lines say why, and why it needs a person
_MOST_WHY, _MOST_NEED = 2, 4


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang ps`."""
    parser.add_argument("--all", "-a", action="store_true", help="list ended jobs, too")
    parser.add_argument(
        "--status",
        type=_status,
        choices=STATUSES,
        help="list only jobs of this status (all but running: implies --all); also done, failed, timed-out",
    )
    parser.add_argument("--sort", choices=SORTS, default="need", help="by what needs a person (default), age, end, …")
    parser.add_argument("--limit", type=int, metavar="N", help="list at most N jobs")
    output.add_label_filter(parser)
    output.add_fleet(parser, "list the jobs of all machines of the fleet")
    parser.add_argument(
        "--watch",
        nargs="?",
        const="2",
        metavar="D",
        help="show it anew every D (default 2s) until Ctrl-C, as many jobs as the window has room for",
    )
    text = "with --watch: the title of the terminal says how many run, and what needs you"
    parser.add_argument("--title", action="store_true", help=text)
    parser.add_argument("--quiet", "-q", action="store_true", help="print ids only")
    output.add_json(parser, "print a JSON array")


def _status(text: str) -> str:
    """Return the status that is meant, also by the word of the list for it."""
    words = {wording.end_of(status).replace(" ", "-"): status for status in STATUSES}
    return words.get(text.lower().replace(" ", "-"), text)


def main(args: argparse.Namespace) -> int:
    """Print a table of jobs, or their ids, or a JSON array; return 0."""
    if args.limit is not None and args.limit < 0:
        raise UsageError("--limit must be 0 or greater")
    if args.title and args.watch is None:
        raise UsageError("--title needs --watch")
    if args.watch is None:
        _show(args)
        return 0
    every = read_positive("--watch", args.watch) or 2.0
    titled = args.title and sys.stdout.isatty()
    if titled:
        sys.stdout.write(_KEEP_TITLE)
    try:
        while True:
            if sys.stdout.isatty():
                sys.stdout.write(_CLEAR)
            _show(args)
            if titled:
                sys.stdout.write(f"\x1b]2;{current_line(_TITLE) or 'nothing runs'} · unhang\x07")
            sys.stdout.flush()
            time.sleep(every)
    finally:
        if titled:
            sys.stdout.write(_OLD_TITLE)
            sys.stdout.flush()


_NONE_RUNS = "no job runs (those that have ended: unhang ps --all)"
_NONE_RUNS_THERE = "no job runs or waits (those that have ended: unhang ps --fleet --all)"


def _show(args: argparse.Namespace) -> None:
    home = state_home()
    ended_too = args.all or args.status not in (None, "running", "unknown", "queued")
    if args.fleet:
        _show_fleet(args, home, ended_too=ended_too)
        return
    labels = split_pairs("--label", args.label)
    rows = list_jobs(home, running_only=not ended_too, labels=labels)
    rows = [row for row in rows if _is(row, args.status)]
    if args.quiet and args.sort == "need" and not args.json:
        for row in rows[: args.limit]:
            print(row.id)
        return
    found = _sorted(home, rows, args)
    if args.json:
        output.print_json([job.to_json(home) for job in found])
    elif args.quiet:
        for job in found:
            print(job.row.id)
    else:
        hidden = count_unseen(home, labels) if sys.stdout.isatty() and not (ended_too or args.status) else 0
        below = _unseen(hidden) if hidden else ""
        if found or not sys.stdout.isatty():
            _print(lambda width: lines_of(found, time.time(), width), watched=args.watch is not None, below=below)
        else:
            for text in (_none(args, _NONE_RUNS), below):
                for line in output.fitted(text) if text else ():
                    print(line)


def _show_fleet(args: argparse.Namespace, home: str, *, ended_too: bool) -> None:
    from unhang.faces.cli.fleet import listed

    labels = split_pairs("--label", args.label).items()
    rows = {
        id(found.outlook): found
        for found in listed(home)
        if (ended_too or not found.outlook.row.final)
        and _is(found.outlook.row, args.status)
        and all(found.outlook.row.labels.get(name) == value for name, value in labels)
    }
    jobs = _in_order([found.outlook for found in rows.values()], args)
    shown = [rows[id(job)] for job in jobs]
    if args.json:
        output.print_json([found.json for found in shown])
    elif args.quiet:
        for found in shown:
            print(f"{found.outlook.row.id}@{found.machine}" if found.machine else found.outlook.row.id)
    elif not shown and sys.stdout.isatty():
        print(_none(args, _NONE_RUNS_THERE))
    else:
        machines = [found.machine or "-" for found in shown]
        _print(lambda width: lines_of(jobs, time.time(), width, machines), watched=args.watch is not None)


def _unseen(count: int) -> str:
    """Return what a list of running jobs says of bad ends, which it does not show and which status bars count."""
    ended = "1 job ended badly and was" if count == 1 else f"{count} jobs ended badly and were"
    return f"{ended} not looked at: unhang needs (unhang needs --seen: all looked at)"


def _none(args: argparse.Namespace, runs: str) -> str:
    """Return what a list without jobs says at a terminal; `runs`: where those that run were asked for."""
    return "no such job" if args.label or args.status else "no job" if args.all else runs


def _is(row: Row, status: str | None) -> bool:
    return status is None or row.status == status or (status == "ended" and row.final)


def _sorted(home: str, rows: list[Row], args: argparse.Namespace) -> list[Outlook]:
    """Return the jobs to be shown, in their order; of ended ones no more than those are looked at."""
    if args.sort == "need" and args.limit is not None:  # rows are the newest first, and few ended ones need a person
        first: list[Row] = []
        others: list[Row] = []
        for row in rows:
            (first if not row.final or may_need_a_look(home, row) else others).append(row)
        rows = first + others[: args.limit]
    return _in_order(outlooks(home, rows), args)


def _in_order(found: list[Outlook], args: argparse.Namespace) -> list[Outlook]:
    if args.sort == "need":
        found.sort(key=lambda job: (job.urgency, job.row.final))
    else:
        found.sort(key=_SORTS[args.sort])  # type: ignore[arg-type]
    return found[: args.limit]


def _print(lines: Callable[[int | None], list[str]], *, watched: bool, below: str = "") -> None:
    """Print the lines for the width of the terminal, for no width if it is none; and a sentence below them."""
    try:
        width, height = os.get_terminal_size(1)
    except OSError:
        width = height = 0
    made, last = lines(width or None), output.fitted(below) if below else []
    for line in [*(in_window(made, height - len(last)) if watched and height else made), *last]:
        print(line)


def in_window(lines: list[str], height: int) -> list[str]:
    """Return the lines that a window shows together, the cursor below them; the last one says how many more there are.

    A list that is shown anew would otherwise push what needs a person, its first lines, out of the window.
    """
    if len(lines) < height:
        return lines
    shown = lines[: max(1, height - 2)]
    return [*shown, f"… {len(lines) - len(shown)} more"]


def lines_of(jobs: list[Outlook], now: float, width: int | None, machines: list[str] | None = None) -> list[str]:
    """Return the lines for a window of this width: a table, or in a narrow one some lines for each job."""
    if width is None or width >= _TABLE:
        return table(jobs, now, width, machines)
    names = [""] * len(jobs) if machines is None else machines
    return [line for job, name in zip(jobs, names, strict=True) for line in _paragraph(job, now, width, name)]


def _paragraph(job: Outlook, now: float, width: int, machine: str) -> list[str]:
    """Return a job in a narrow window: what it is called and its state, why by words, and its command."""
    called, _, state, ran, ended, ends, ports, why, command = _cells(job, now, machine)
    state = plain_text.one_line(state, width // 2)
    head = f"{plain_text.one_line(called, width - len(state) - _GAP)}{' ' * _GAP}{state}"
    times = (machine, ends and f"ends in {ends}", ended or (ran and f"ran {ran}"), ports)
    for text in times:
        longer = f"{head}, {text}"
        head = longer if text and len(longer) <= width else head
    reason = wrapped(plain_text.one_line(why, 1000), width - len(_INDENT), "")
    most = _MOST_WHY if job.attention is None else _MOST_NEED
    texts = [*reason[:most], command]
    if len(reason) > most:
        texts[most - 1] = " ".join(reason[most - 1 :])  # is cut below, and shows that it is
    return [head, *(_INDENT + plain_text.one_line(text, width - len(_INDENT)) for text in texts)]


def table(jobs: list[Outlook], now: float, width: int | None, machines: list[str] | None = None) -> list[str]:
    """Return the lines of the table; none is wider than `width`. Columns without contents are left out.

    `machines`: the machine of each job, for a column of its own.
    """
    where = [""] * len(jobs) if machines is None else machines
    rows = [
        ["JOB", "MACHINE", "STATE", "RAN", "ENDED", "ENDS IN", "PORTS", "WHY", "COMMAND"],
        *(_cells(job, now, name) for job, name in zip(jobs, where, strict=True)),
    ]
    kept = [at for at in range(9) if at in (0, 2, 3, 8) or any(row[at] for row in rows[1:])]
    rows = [[row[at] for at in kept] for row in rows]
    names = rows[0]
    widths = [max(len(row[at]) for row in rows) for at in range(len(names))]
    if width is None:
        widths = [min(each, 100) for each in widths]
    else:
        _fit(names, widths, width)
        if "WHY" in names and not widths[names.index("WHY")]:  # no room for both: what is wrong goes before what it is
            for row in rows[1:]:
                row[-1] = row[names.index("WHY")] or row[-1]
    return [_line(row, widths) for row in rows]


def _fit(names: list[str], widths: list[int], width: int) -> None:
    """Narrow the columns of text, then leave out what matters least, until the table fits."""
    text = [at for at, name in enumerate(names) if name in ("WHY", "COMMAND")]
    widths[0] = min(widths[0], max(10, width // 4))
    for name in ("", "PORTS", "ENDED", "RAN", "WHY", "ENDS IN"):
        if name in names:
            widths[names.index(name)] = 0
            text = [at for at in text if names[at] != name]
        taken = sum(each + _GAP for at, each in enumerate(widths) if each and at not in text)
        room = width - taken - _GAP * (len(text) - 1)
        if room >= _NARROWEST * len(text):
            break
    # what is wrong goes before what it is: two thirds of the room, and what one does not need is the other's
    wanted = [widths[at] for at in text]
    least = max(_NARROWEST, room // 3) if len(text) > 1 else 0
    for at in text:  # WHY stands before COMMAND
        others = min(least, wanted[-1]) if at != text[-1] else 0
        widths[at] = max(1, min(widths[at], room - others))
        room -= widths[at]


def _line(row: list[str], widths: list[int]) -> str:
    cells = [plain_text.one_line(cell, each).ljust(each) for cell, each in zip(row, widths, strict=True) if each]
    return (" " * _GAP).join(cells).rstrip()


def _cells(job: Outlook, now: float, machine: str) -> list[str]:
    row = job.row
    ended = values.moment(row.ended)
    when = "" if ended is None else f"{human(max(0.0, now - ended)).partition(' ')[0]} ago"  # "7m", not "7m 18s"
    ends = "" if job.ends_at is None else human(max(0.0, job.ends_at - now))
    ports = " ".join(":" + address.rpartition(":")[2] for address in job.ports)
    why = "" if row.final and wording.is_plain_exit(job.why, row.exit_code) else job.why
    waits_since = values.moment(job.started) if row.status == "queued" else None
    if waits_since is not None:
        why = f"for {human(max(0.0, now - waits_since))}, {why}"
    return [row.called, machine, job.state, _ran(job, now), when, ends, ports, why, row.command]


def _ran(job: Outlook, now: float) -> str:
    """Return how long a job has run, or ran; of one that waits in a queue, nothing."""
    if job.row.final:
        return "" if job.ran_ms is None else human_ms(job.ran_ms)
    started = values.moment(job.started)
    return "" if started is None or job.row.status == "queued" else human(max(0.0, now - started))


def _since(row: Row) -> float:
    return values.moment(row.created) or 0.0


def _took(row: Row) -> float:
    ended = values.moment(row.ended) if row.ended else time.time()
    return (ended or 0.0) - _since(row)
