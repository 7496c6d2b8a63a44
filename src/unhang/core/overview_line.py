"""An overview in very little room: one line for a status bar, and the cells of a row for a terminal."""

from __future__ import annotations

from unhang.core import overview, plain_text, values, wording
from unhang.core.diagnosis.time_left import words_at
from unhang.core.durations import human, human_ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from unhang.core.overview import Entry

MARKS = {"attention": "⚑", "running": "●", "queued": "…", "unknown": "?", "failed": "✗", "done": "✓"}
_SPARKS = "▁▂▃▄▅▆▇█"
_SPARK_WIDTH = 12


def status_line(entries: Iterable[Entry], most: int = 80) -> str:
    """Return a line such as `2 run · 1 needs you: npm init`, empty where nothing runs and nothing needs a person."""
    known = list(entries)
    found = overview.counts(known)
    parts = [f"{found['running']} run"] if found["running"] else []
    needy = [entry for entry in overview.in_order(known) if entry["attention"] is not None]
    if needy:
        parts.append(f"{wording.needs_you(len(needy))}: {name_of_entry(needy[0])}")
    return plain_text.one_line(" · ".join(parts), most)


def name_of_entry(entry: Entry) -> str:
    """Return what people call it: its name, else its command."""
    return str(entry["name"] or entry["command"])


def why_of(entry: Entry, now: float) -> str:
    """Return what it waits for or does, at which addresses it listens, where it runs, or how it ended."""
    needs = entry["attention"]
    if needs is None and entry["ports"]:
        return f"serves {', '.join(entry['ports'])}"
    why = str(needs["why"] if needs is not None else entry["where"] or entry["doing"] or "")
    wakes = values.number(entry.get("wakesMs"))
    return f"{why} {words_at(wakes / 1000, now)}" if why and wakes is not None else why


def ends_in(entry: Entry, now: float) -> str:
    """Return how long until a limit ends it; empty where none will."""
    clocks = entry["clocks"]
    return human(max(0.0, clocks[0]["endsMs"] / 1000 - now)) if clocks else ""


def ran(entry: Entry, now: float) -> str:
    """Return how long it has run, or ran."""
    if entry["endedAt"] is not None:
        return "" if entry["ranMs"] is None else human_ms(entry["ranMs"])
    begin = values.moment(entry["startedAt"])
    return "" if begin is None else human(max(0.0, now - begin))


def spark_of(entry: Entry, now: float) -> str:
    """Return the output of the last half minute as a small picture."""
    spark = entry["spark"]
    if spark is None:
        return ""
    passed = max(0, int((now * 1000 - spark["endMs"]) // spark["stepMs"]))
    counts = ([0] * _SPARK_WIDTH + list(spark["bytes"]) + [0] * min(passed, _SPARK_WIDTH))[-_SPARK_WIDTH:]
    return bars(counts)


def bars(counts: Sequence[int]) -> str:
    """Return one character a number, as high as the number; nothing printed is a blank."""
    top = max(counts, default=0)
    if not top:
        return " " * len(counts)
    return "".join(" " if not n else _SPARKS[min(7, n * 8 // (top + 1))] for n in counts)
