"""One line about a job, for a person who waits for it: how long, how long usually, what it does, what ends it."""

from __future__ import annotations

from unhang.core.durations import human
from unhang.core.plain_text import one_line
from unhang.core.record import Record
from unhang.core.wrap import cells

_BAR = 10
_NAME = 20
# What is left for the words about what a job does must be worth reading.
_SHORTEST = 12


class Standing(Record):
    """Where a job stands."""

    name: str
    elapsed: float | None  # None: it has not been started yet
    usual: float | None  # what such a run takes as a rule, from the history
    doing: str  # its last line, its question, or why it is quiet
    left: float | None  # how long until a limit ends it
    unless: str  # what would move that limit
    ended: str = ""  # how it ended


def live_line(at: Standing, width: int) -> str:
    """Return the line, at most `width` cells long; what matters least is left out where it is narrow."""
    name = one_line(at.name, _NAME)
    if at.ended:
        return cut(f"{name}  {one_line(at.ended, 200)}", width)
    head = f"{name}  {'starting' if at.elapsed is None else human(float(round(at.elapsed)))}"
    usual = ""
    if at.usual is not None and at.elapsed is not None:
        usual = f"  {bar(at.elapsed / at.usual if at.usual > 0 else 1.0)} usually {human(at.usual)}"
    ends = "" if at.left is None else f"  ends in {human(float(round(at.left)))}"
    unless = f" {one_line(at.unless, 40)}" if at.left is not None and at.unless else ""
    doing = one_line(at.doing, 200)
    for before, behind in ((usual, ends + unless), (usual, ends), ("", ends)):
        room = width - cells(head + before + behind) - 2
        if room >= (_SHORTEST if doing else -2):
            shown = f"  {cut(doing, room)}" if doing else ""
            return f"{head}{before}{shown}{behind}"
    whole = f"{head}{usual}{ends}"
    return whole if cells(whole) <= width else cut(head + ends, width)


def bar(fraction: float) -> str:
    """Return a bar of ten cells; it is full when a run has taken as long as it usually does."""
    full = max(0, min(_BAR, int(min(fraction, 1.0) * _BAR)))
    return "█" * full + "░" * (_BAR - full)


def cut(text: str, width: int) -> str:
    """Return a text in at most `width` cells."""
    if cells(text) <= width:
        return text
    while text and cells(text) > width - 1:
        text = text[: min(len(text) - 1, width)]
    return text + "…" if width > 0 else ""
