"""The zoo: no live job is ever called hung, and nearly all hung ones are, with the right cause."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest

from tests.zoo.fifth import FIFTH
from tests.zoo.fifth_live import LIVE
from tests.zoo.fourth import FOURTH
from tests.zoo.harness import Outcome
from tests.zoo.holdout import HOLDOUT
from tests.zoo.late import LATE
from tests.zoo.runner import PROMISES, broken, run, score, show, unstable
from tests.zoo.scenario import Scenario
from tests.zoo.sixth import SIXTH
from tests.zoo.third import THIRD
from tests.zoo.third_adversary import ADVERSARY
from tests.zoo.third_strangers import STRANGERS
from tests.zoo.tuned import TUNED


def _available(scenarios: tuple[Scenario, ...]) -> list[Scenario]:
    found = []
    for scenario in scenarios:
        missing = scenario.missing()
        if not missing:
            found.append(scenario)
            continue
        said = f"{scenario.name} cannot be run here: {', '.join(missing)} missing"
        if os.environ.get("CI") == "true":
            pytest.fail(said)
        warnings.warn(pytest.PytestWarning(said), stacklevel=1)
    return found


def test_there_are_enough_of_them_and_a_third_is_held_out() -> None:
    names = [scenario.name for scenario in TUNED + HOLDOUT + THIRD + FOURTH + LATE + FIFTH + SIXTH]
    assert len(names) == len(set(names)) >= 60
    assert len(HOLDOUT) >= 20
    assert len(THIRD) >= 80
    assert len(FOURTH) >= 40
    assert len(LATE) >= 60
    assert len(FIFTH) >= 60
    assert len(SIXTH) >= 30
    assert {scenario.truth for scenario in TUNED} == {"hung", "alive", "ambiguous"}


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.filterwarnings("default::pytest.PytestWarning")
def test_tuned_scenarios_that_live_are_never_called_hung_and_hung_ones_mostly_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes = run(_available(TUNED), tmp_path)
    report, counted = show("tuned", outcomes), score(outcomes)
    with capsys.disabled():
        print("\n" + report)
    assert broken("tuned", counted) == [], report


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.filterwarnings("default::pytest.PytestWarning")
def test_held_out_scenarios_that_live_are_never_called_hung(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = run(_available(HOLDOUT), tmp_path)
    report, counted = show("held out", outcomes), score(outcomes)
    with capsys.disabled():
        print("\n" + report)
    assert counted.false_hung == [], report


# What every system that runs the tests has, of the programs of the last third. `make zoo` installs the others.
EVERYWHERE = {"cc", "flock", "script", "strace", "curl", "ip", "findmnt", "less", "top", "gdb", "bash", "perl"}
# Hung ones beside all those that live: one for each way to prove it.
HUNG = {
    "bash-waits-for-coproc", "bash-waits-for-sleep-infinity", "c-own-eventfd",
    "c-shared-mutex-owner-died", "c-shared-mutexes-crossed", "c-timerfd-disarmed", "flock-left-to-a-child",
    "flock-own-file-twice", "perl-open3-full-pipe", "python-own-socketpair", "python-pidfd-of-a-child",
    "python-process-locks-crossed", "script-around-a-prompt", "xargs-reads-stdin",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.filterwarnings("default::pytest.PytestWarning")
def test_what_is_easily_called_hung_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    everybody = STRANGERS + ADVERSARY + LIVE + SIXTH
    easily = [each for each in everybody if EVERYWHERE.issuperset(each.needs) and each.truth == "alive"]
    outcomes = run(_available((*easily, *(each for each in THIRD if each.name in HUNG))), tmp_path)
    report, counted = show("third, in part", outcomes), score(outcomes)
    with capsys.disabled():
        print("\n" + report)
    assert len(easily) >= 25
    assert broken("third", counted) == [], report


def _outcomes(truth: str, state: str, count: int, cause: str = "idle") -> list[Outcome]:
    return [
        Outcome(Scenario(f"{truth}-{state}-{n}", truth, ("idle",), lambda _: []), state, cause, "", "", 0.0)
        for n in range(count)
    ]


@pytest.mark.parametrize("title", PROMISES)
def test_the_runner_knows_a_broken_promise(title: str) -> None:
    good = [*_outcomes("hung", "hung", 95), *_outcomes("alive", "unsure", 95)]
    assert broken(title, score(good)) == []
    assert broken(title, score([*good, *_outcomes("alive", "hung", 1)]))
    assert broken(title, score([*good, *_outcomes("hung", "unsure", 15)]))
    assert broken(title, score([*good, *_outcomes("alive", "alive", 40, cause="timer")]))
    assert broken(title, score([*good, _outcomes("alive", "", 1)[0]._replace(error="it did not start")]))


def test_the_runner_names_the_scenarios_whose_state_changed() -> None:
    same = _outcomes("alive", "unsure", 2)
    assert unstable([*same, *same]) == []
    other = same[0]._replace(cause="timer")
    assert unstable([*same, other]) == []
    assert len(unstable([*same, same[1]._replace(state="hung")])) == 1
