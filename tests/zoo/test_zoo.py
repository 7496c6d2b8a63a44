"""The zoo: no live job is ever called hung, and nearly all hung ones are, with the right cause."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest

from tests.zoo.holdout import HOLDOUT
from tests.zoo.runner import run, score, show
from tests.zoo.scenario import Scenario
from tests.zoo.third import THIRD
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
    names = [scenario.name for scenario in TUNED + HOLDOUT + THIRD]
    assert len(names) == len(set(names)) >= 60
    assert len(HOLDOUT) >= 20
    assert len(THIRD) >= 80
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
    assert counted.false_hung == [], report
    assert counted.failed == [], report
    assert counted.hung_share >= 0.90, report
    assert counted.cause_share >= 0.85, report


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.filterwarnings("default::pytest.PytestWarning")
def test_held_out_scenarios_that_live_are_never_called_hung(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = run(_available(HOLDOUT), tmp_path)
    report, counted = show("held out", outcomes), score(outcomes)
    with capsys.disabled():
        print("\n" + report)
    assert counted.false_hung == [], report
