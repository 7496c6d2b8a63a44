"""The text that Prometheus reads: the same series whatever was counted, numbers that can be read, whole histograms."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from unhang.core.metrics import series
from unhang.core.metrics.exposition import exposition

SAMPLE = re.compile(r'([a-z_]+)(\{[a-z]+="(?:[^"\\\n]|\\.)*"(?:,[a-z]+="(?:[^"\\\n]|\\.)*")*\})? ([0-9.e+-]+)')
KEYS = [
    key
    for metric in series.METRICS
    for values in metric.sets
    for key in (
        [f"{series.counted(metric, *values)} {part}" for part in (*range(len(metric.bounds) + 1), "sum")]
        if metric.bounds
        else [series.counted(metric, *values)]
    )
]


def samples(text: str) -> dict[str, float]:
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            match = SAMPLE.fullmatch(line)
            assert match, line
            found[match[1] + (match[2] or "")] = float(match[3])
    return found


@given(st.dictionaries(st.sampled_from(KEYS), st.integers(0, 10**9) | st.floats(0, 1e9)))
def test_there_are_as_many_series_as_in_an_empty_home(counts: dict[str, float]) -> None:
    found = samples(exposition(counts, "1"))
    assert found.keys() == samples(exposition({}, "1")).keys()
    for metric in series.METRICS:
        for values in metric.sets if metric.bounds else ():
            named = "".join(f'{name}="{value}",' for name, value in zip(metric.labels, values, strict=True))
            buckets = [value for key, value in found.items() if key.startswith(f"{metric.name}_bucket{{{named}le=")]
            assert len(buckets) == len(metric.bounds) + 1
            assert buckets == sorted(buckets), "a bucket holds what the ones below it hold"
            assert found[f"{metric.name}_count" + (f"{{{named[:-1]}}}" if named else "")] == buckets[-1]


@given(st.text())
def test_no_value_of_a_label_breaks_out_of_it(version: str) -> None:
    lines = exposition({}, version).split("\n")
    assert len(lines) == len(exposition({}, "").split("\n"))
    assert SAMPLE.fullmatch(lines[2])
