"""The life of a job as lines of text, for a terminal: output as bars, what was noticed below it, and a list of it."""

from __future__ import annotations

from unhang.core.durations import human
from unhang.core.live_line import cut
from unhang.core.overview_line import bars
from unhang.core.plain_text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What a mark is drawn as, by the type and the phase of its event; a later one at the same place wins.
_SIGNS = {"job/started": "▸", "job/exited": "■", "signal": "✕"}
_PHASES = {"needs_input": "⚑", "needs_approval": "⚑", "stuck": "◐", "warning": "▲", "timeout": "✕"}
_OTHER = "·"
_MOST_MARKS = 200
LEAST_WIDTH = 20


def timeline_lines(picture: dict[str, Any], width: int, now_ms: float) -> list[str]:
    """Return the picture of `Timeline.to_json` as lines of at most `width` cells; the newest mark is the last line."""
    width = max(LEAST_WIDTH, width)
    begin = picture["fromMs"]
    if begin is None:
        return []
    end = max(begin + 1000, picture["toMs"] if picture["ended"] else now_ms)

    def place(at: float) -> int:
        return max(0, min(width - 1, int((at - begin) / (end - begin) * width)))

    printed = [0] * width
    for at, count in picture["output"]:
        printed[place(at)] += count
    signs = [" "] * width
    for mark in picture["marks"]:
        signs[place(mark["atMs"])] = _SIGNS.get(mark["type"]) or _PHASES.get(mark["phase"], _OTHER)
    took = human((end - begin) / 1000)
    scale = f"0{took.rjust(width - 1)}"
    listed = [_mark(mark, begin, width) for mark in picture["marks"][-_MOST_MARKS:]]
    calls = [_call(call, begin, width) for call in picture["calls"][-_MOST_MARKS:]]
    return [bars(printed), "".join(signs), scale, "", *calls, *listed]


def _mark(mark: dict[str, Any], begin: float, width: int) -> str:
    sign = _SIGNS.get(mark["type"]) or _PHASES.get(mark["phase"], _OTHER)
    return cut(one_line(f"{_after(mark['atMs'], begin)}  {sign} {mark['message']}", width), width)


def _call(call: dict[str, Any], begin: float, width: int) -> str:
    until = call["toMs"]
    took = "open" if until is None else human(max(0.0, until - call["fromMs"]) / 1000)
    return cut(one_line(f"{_after(call['fromMs'], begin)}  {took:>8}  {call['what']}", width), width)


def _after(at: float, begin: float) -> str:
    return f"+{human(max(0.0, at - begin) / 1000)}".rjust(9)
