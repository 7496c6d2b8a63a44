"""Counts as the text that Prometheus reads (its text format, version 0.0.4)."""

from __future__ import annotations

from unhang.core.metrics import series

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def exposition(counts: dict[str, float], version: str, *, has_totals: bool = True) -> str:
    """Return every series of every metric, those with 0 too: a rate needs a beginning.

    `has_totals`: else there are no totals to show yet, and their series are missing.
    """
    lines = [
        "# HELP unhang_build_info The version of unhang that wrote this.",
        "# TYPE unhang_build_info gauge",
        f"unhang_build_info{_labels({'version': version})} 1",
    ]
    for metric in series.METRICS:
        if metric in series.TOTALS and not has_totals:
            continue
        lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}"]
        for values in metric.sets:
            lines += _histogram(metric, values, counts) if metric.bounds else _sample(metric, values, counts)
    return "\n".join(lines) + "\n"


def _sample(metric: series.Metric, values: tuple[str, ...], counts: dict[str, float]) -> Iterator[str]:
    labels = _labels(dict(zip(metric.labels, values, strict=True)))
    yield f"{metric.name}{labels} {_number(counts.get(series.counted(metric, *values), 0))}"


def _histogram(metric: series.Metric, values: tuple[str, ...], counts: dict[str, float]) -> Iterator[str]:
    named: dict[str, Any] = dict(zip(metric.labels, values, strict=True))
    key, below = series.counted(metric, *values), 0.0
    for number, bound in enumerate((*metric.bounds, None)):
        below += counts.get(f"{key} {number}", 0)
        labels = _labels(named | {"le": "+Inf" if bound is None else _number(bound)})
        yield f"{metric.name}_bucket{labels} {_number(below)}"
    yield f"{metric.name}_sum{_labels(named)} {_number(counts.get(f'{key} sum', 0))}"
    yield f"{metric.name}_count{_labels(named)} {_number(below)}"


def _labels(named: dict[str, str]) -> str:
    if not named:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in named.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(round(value, 6))
