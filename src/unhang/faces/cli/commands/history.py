"""`unhang history`: how long commands took, how long they were silent, how often they timed out."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from unhang.core import mask, plain_text
from unhang.core.durations import human
from unhang.faces.cli import output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unhang.jobs.history import Summary

SUMMARY = "durations, silences and timeouts of past runs"

_BLOCKS = "▁▂▃▄▅▆▇█"
_ASCII = "_.-:=+*#"
_HEAD = ("command", "runs", "ok", "failed", "median", "p95", "silence", "idle t/o", "hard t/o")
# How many runs a chart shows, and how many characters a command has at least.
_CHART, _LEAST_ROOM = 16, 12
_NO_TERMINAL = 100
# What a narrow terminal can do without, in this order.
_DISPENSABLE = ("hard t/o", "idle t/o", "silence", "p95", "failed", "ok")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang history`."""
    parser.add_argument("text", metavar="TEXT", nargs="?", help="only commands with this text in them")
    parser.add_argument("--dir", metavar="PATH", help="only runs in this directory")
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="show at most N commands (20)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def main(args: argparse.Namespace) -> int:
    """Print a table of past runs, one command a row; return 0."""
    from unhang.errors import UsageError
    from unhang.jobs.history import summaries
    from unhang.jobs.home import state_home

    if args.limit < 1:
        raise UsageError("--limit must be at least 1")
    directory = None if args.dir is None else os.path.abspath(args.dir)
    found = summaries(state_home(), args.text, directory, args.limit)
    if args.json:
        output.print_json({"commands": [to_json(item) for item in found]})
    elif not found:
        print("no finished runs yet" if not (args.text or args.dir) else "no finished runs match")
    else:
        print("\n".join(table(found, _width(), _draws_blocks())))
    return 0


def _width() -> int:
    try:
        return os.get_terminal_size(1).columns or _NO_TERMINAL
    except OSError:
        return _NO_TERMINAL


def to_json(item: Summary) -> dict[str, Any]:
    """Return the JSON form of one command's history; secrets in the command are masked."""
    return {
        "command": mask.line(item.command),
        "task": None if item.task is None else mask.line(item.task),
        "cwd": item.directory,
        "runs": item.runs,
        "succeeded": item.succeeded,
        "failed": item.failed,
        "medianMs": _ms(item.median),
        "p95Ms": _ms(item.p95),
        "longestMs": round(item.longest * 1000),
        "longestSilenceMs": round(item.longest_silence * 1000),
        "timeouts": {"no_output_timeout": item.idle_timeouts, "exec_timeout": item.hard_timeouts},
        "lastAt": item.last_at,
        "recentMs": [round(value * 1000) for value in item.recent],
    }


def table(found: Sequence[Summary], width: int, blocks: bool = True) -> list[str]:
    """Return the lines of a table: by directory, the command cut to fit, numbers, a small chart of the last runs."""
    rows: list[tuple[str, ...]] = [
        (
            mask.one_line(_named(item), 300),
            str(item.runs),
            f"{100 * item.succeeded // item.runs}%",
            str(item.failed),
            _time(item.median),
            _time(item.p95),
            human(item.longest_silence),
            str(item.idle_timeouts),
            str(item.hard_timeouts),
        )
        for item in found
    ]
    order = [item.directory for item in found]
    sizes = [max(len(row[column]) for row in (_HEAD, *rows)) for column in range(1, len(_HEAD))]
    chart, columns = _fitting(sizes, width)
    sizes = [sizes[column - 1] for column in columns]
    room = max(_LEAST_ROOM, width - sum(sizes) - 2 * len(sizes) - (chart + 3 if chart else 0))
    room = min(room, max(len(row[0]) for row in (_HEAD, *rows)))
    head, *rows = [(row[0], *(row[column] for column in columns)) for row in [_HEAD, *rows]]
    lines = [_line(head, sizes, room) + ("  last runs" if chart else "")]
    where = None
    for row, item in sorted(zip(rows, found, strict=True), key=lambda pair: order.index(pair[1].directory)):
        if item.directory != where:
            where = item.directory
            lines.append(plain_text.one_line(f"in {_short(where)}", width))
        last = spark(item.recent[-chart:], blocks) if chart else ""
        lines.append(f"{_line(row, sizes, room)}  {last}".rstrip())
    return lines


def _named(item: Summary) -> str:
    """Return what a row is called: an agent's by its newest task, and how many other runs are counted with it."""
    if item.task is None:
        return item.command
    return item.task if item.runs == 1 else f"{item.task} (+{item.runs - 1} {item.command})"


def _fitting(sizes: Sequence[int], width: int) -> tuple[int, list[int]]:
    """Return the width of the chart, and the columns of numbers, that leave room for the command in such a line."""
    columns = list(range(1, len(_HEAD)))
    room = width - _LEAST_ROOM - sum(size + 2 for size in sizes)
    if room >= _CHART + 3:
        return _CHART, columns
    for name in _DISPENSABLE:
        if room < 0:
            columns.remove(_HEAD.index(name))
            room += sizes[_HEAD.index(name) - 1] + 2
    return 0, columns


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)


def _time(seconds: float | None) -> str:
    """A duration; a command that never succeeded has none that says anything."""
    return "-" if seconds is None else human(seconds)


def _short(path: str) -> str:
    home = os.environ.get("HOME", "")
    return f"~{path[len(home) :]}" if home and path.startswith(home + "/") else path or "?"


def _line(row: Sequence[str], sizes: Sequence[int], room: int) -> str:
    name = row[0] if len(row[0]) <= room else row[0][: room - 1] + "…"
    numbers = (value.rjust(size) for value, size in zip(row[1:], sizes, strict=True))
    return f"{name:<{room}}  " + "  ".join(numbers)


def spark(values: Sequence[float], blocks: bool = True) -> str:
    """Return a chart of one character a run, scaled from 0 to the slowest run."""
    levels = _BLOCKS if blocks else _ASCII
    most = max(values, default=0.0)
    if most <= 0:
        return levels[0] * len(values)
    return "".join(levels[min(len(levels) - 1, int(value / most * len(levels)))] for value in values)


def _draws_blocks() -> bool:
    try:
        _BLOCKS.encode(sys.stdout.encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True
