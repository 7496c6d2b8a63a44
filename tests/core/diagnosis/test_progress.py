"""`progressed`: more than housekeeping happened, or not. The floors and their reasons stand in the module."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.diagnosis.build import cheap, cheap_looks, counters
from unhang.core.diagnosis.counters import CheapProcess, CheapSample
from unhang.core.diagnosis.progress import progressed


@pytest.mark.parametrize(
    ("what", "before", "after", "alive"),
    [
        ("nothing at all", {"p2": counters()}, {"p2": counters()}, False),
        ("a compiler computes", {"p2": counters(cpu=10)}, {"p2": counters(cpu=900)}, True),
        ("a deadlocked JVM ticks: 1 % of a core", {"p2": counters(cpu=10)}, {"p2": counters(cpu=20)}, False),
        ("a polling loop: 3 %", {"p2": counters(cpu=10)}, {"p2": counters(cpu=40)}, False),
        ("a starved computation", {"p2": counters(cpu=10, ready=1)}, {"p2": counters(cpu=20, ready=1)}, True),
        ("a poll that was just about to run", {"p2": counters(cpu=10)}, {"p2": counters(cpu=20, ready=1)}, False),
        ("a copy: 1 MB in ten seconds", {"p2": counters(io=5)}, {"p2": counters(io=10**6)}, True),
        ("a copy over io_uring, which counts on the disk only", {"p2": counters()}, {"p2": counters(disk=10**6)}, True),
        (
            "a copy by a program that was itself fetched from the disk",
            {"p2": counters(io=5, disk=10**7)},
            {"p2": counters(io=10**6, disk=10**7)},
            True,
        ),
        ("a heartbeat: 100 bytes a second", {"p2": counters(io=5)}, {"p2": counters(io=1005)}, False),
        ("a mapped file is read", {"p2": counters()}, {"p2": counters(faults=500)}, True),
        ("a new compiler", {"p2": counters()}, {"p2": counters(), "p3": counters("cc1", io=900)}, True),
        ("a compiler ended", {"p2": counters(), "p3": counters("cc1", io=9)}, {"p2": counters()}, True),
        ("the next sleep of a loop", {"p3": counters("sleep")}, {"p4": counters("sleep", io=7000)}, False),
        ("a fork not yet exec'd", {"p2": counters()}, {"p2": counters(), "p3": counters(io=0)}, False),
        ("same pid, another life", {"p2": counters("cc1", start=1)}, {"p2": counters("cc1", start=2)}, True),
        (
            "a loop around short sleeps inherits their bytes",
            {"p2": counters(io=10), "p3": counters("sleep")},
            {"p2": counters(io=700_000), "p9": counters("sleep")},
            False,
        ),
        (
            "CPU that a reaped child had burnt before the first look",
            {"p2": counters(), "p3": counters("sleep", cpu=500)},
            {"p2": counters(reaped=500)},
            False,
        ),
        ("CPU of children that came and went unseen", {"p2": counters()}, {"p2": counters(reaped=300)}, True),
        ("everything ended", {"p2": counters()}, {}, True),
        ("nothing there", {}, {}, False),
    ],
)
def test_ten_seconds_in_which_a_tree_works_are_told_from_those_in_which_it_does_not(
    what: str, before: dict[str, CheapProcess], after: dict[str, CheapProcess], alive: bool
) -> None:
    found = progressed(cheap(0, **before), cheap(10, **after))
    assert found.alive is alive, (what, found.reason)
    assert found.reason


def test_the_reason_names_the_busy_process_and_its_share() -> None:
    before = cheap(0, p2=counters("make"), p3=counters("cc1"))
    after = cheap(1, p2=counters("make"), p3=counters("cc1", cpu=98))
    reason = progressed(before, after).reason
    assert "cc1" in reason
    assert "98 %" in reason


def test_two_looks_at_the_same_moment_show_no_progress() -> None:
    sample = cheap(3, p2=counters(cpu=5))
    found = progressed(sample, sample)
    assert not found.alive
    assert found.reason


def test_who_is_ready_and_has_not_run_at_all_waits_for_its_turn() -> None:
    first = cheap(0, p2=counters(ready=1))
    assert progressed(first, first.replace(at=10)).alive


def test_progress_unpacks_as_a_pair() -> None:
    alive, reason = progressed(cheap(0), cheap(1))
    assert alive is False
    assert reason


@settings(deadline=None)
@given(cheap_looks(), cheap_looks(), st.randoms(use_true_random=False))
def test_any_two_looks_give_the_same_answer_in_any_order(
    before: CheapSample, after: CheapSample, rng: random.Random
) -> None:
    def shuffled(sample: CheapSample) -> CheapSample:
        items = list(sample.processes.items())
        rng.shuffle(items)
        return sample.replace(processes=dict(items))

    assert progressed(before, after) == progressed(shuffled(before), shuffled(after))


def test_control_characters_in_a_name_do_not_reach_the_reason() -> None:
    odd, seen = "a\x1b]0;\u202e", "a\ufffd]0;\ufffd"
    busy = progressed(cheap(0, p2=counters(odd)), cheap(10, p2=counters(odd, cpu=900)))
    assert busy.reason.startswith(f"{seen} ")
    born = progressed(cheap(0, p2=counters()), cheap(10, p2=counters(), p3=counters(odd, io=900)))
    assert born.reason.endswith(f" {seen}")
