"""Runs scenarios side by side and counts: a confusion matrix, and which causes were right.

It ends with 1 when a promise is broken: a live job called hung, too few of the hung ones found, too few causes right, a
scenario that could not be run. `--repeat 5 --busy 2` runs everything five times, the last time beside two busy loops,
and names the scenarios whose verdict was not the same each time.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.zoo.harness import Outcome, perform
from tests.zoo.scenario import Scenario
from tests.zoo.toolchains import BUILT

AT_ONCE = 8
TRUTHS = ("hung", "alive", "ambiguous")
STATES = ("hung", "unsure", "alive", "")
# The smallest share of hung jobs that are called hung, and of causes that are right. No live job is called hung.
PROMISES = {
    "tuned": (0.90, 0.85),
    "held out": (0.90, 0.85),
    "third": (0.92, 0.92),
    "fourth": (0.92, 0.92),
    "late": (0.92, 0.92),
    "fifth": (0.92, 0.92),
    "sixth": (0.92, 0.92),
}


class Score(NamedTuple):
    """What the promises are about. Ambiguous scenarios count for their cause, not for their state."""

    matrix: Counter[tuple[str, str]]
    false_hung: list[Outcome]
    missed: list[Outcome]
    wrong_cause: list[Outcome]
    failed: list[Outcome]
    total: int

    @property
    def hung_share(self) -> float:
        truly = sum(count for (truth, _), count in self.matrix.items() if truth == "hung")
        return self.matrix["hung", "hung"] / truly if truly else 1.0

    @property
    def cause_share(self) -> float:
        counted = self.total - len(self.failed)
        return 1 - len(self.wrong_cause) / counted if counted else 1.0


def broken(title: str, counted: Score) -> list[str]:
    """The promises for a group of scenarios that these outcomes do not keep."""
    found, causes = PROMISES[title]
    kept = {
        f"{len(counted.false_hung)} live jobs called hung": not counted.false_hung,
        f"{len(counted.failed)} could not be run": not counted.failed,
        f"only {counted.hung_share:.1%} of the hung ones called hung, not {found:.0%}": counted.hung_share >= found,
        f"only {counted.cause_share:.1%} of the causes right, not {causes:.0%}": counted.cause_share >= causes,
    }
    return [said for said, holds in kept.items() if not holds]


def unstable(outcomes: Iterable[Outcome]) -> list[str]:
    """The scenarios whose state was not the same in every repetition, with how often each was seen."""
    seen: dict[str, Counter[str]] = {}
    for each in outcomes:
        seen.setdefault(each.scenario.name, Counter())[f"{each.state or 'error'}/{each.cause}"] += 1
    return [
        f"{name}: {', '.join(f'{verdict} {times} times' for verdict, times in said.most_common())}"
        for name, said in sorted(seen.items())
        if len({verdict.partition("/")[0] for verdict in said}) > 1
    ]


@contextlib.contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """So many processes that take all the CPU they get, beside what is run meanwhile."""
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def run(scenarios: Iterable[Scenario], directory: Path, at_once: int = AT_ONCE) -> list[Outcome]:
    return list(_each(scenarios, directory, at_once))


def _each(scenarios: Iterable[Scenario], directory: Path, at_once: int, record: bool = False) -> Iterator[Outcome]:
    with ThreadPoolExecutor(at_once) as pool:
        yield from pool.map(lambda each: perform(each, directory, record=record), scenarios)


def score(outcomes: list[Outcome]) -> Score:
    good = [each for each in outcomes if not each.error]
    return Score(
        matrix=Counter((each.scenario.truth, each.state) for each in good),
        false_hung=[each for each in good if each.scenario.truth == "alive" and each.state == "hung"],
        missed=[each for each in good if each.scenario.truth == "hung" and each.state != "hung"],
        wrong_cause=[each for each in good if not right_cause(each)],
        failed=[each for each in outcomes if each.error],
        total=len(outcomes),
    )


def right_cause(outcome: Outcome) -> bool:
    scenario, said = outcome.scenario, outcome.reason
    misnamed = scenario.never != "" and scenario.never in said
    return outcome.cause in scenario.causes and scenario.prompt in said and not misnamed


def show(title: str, outcomes: list[Outcome]) -> str:
    counted = score(outcomes)
    lines = [
        f"{title}: {counted.total} scenarios",
        f"{'truth':>12} | " + " | ".join(f"{s or 'error':>7}" for s in STATES[:3]),
    ]
    for truth in TRUTHS:
        cells = " | ".join(f"{counted.matrix[truth, state]:>7}" for state in STATES[:3])
        lines.append(f"{truth:>12} | {cells}")
    lines.append(
        f"live jobs called hung: {len(counted.false_hung)}; hung ones called hung: {counted.hung_share:.0%};"
        f" causes right: {counted.cause_share:.0%}; could not be run: {len(counted.failed)}"
    )
    for label, group in (
        ("FALSE HUNG", counted.false_hung),
        ("missed", counted.missed),
        ("cause", counted.wrong_cause),
        ("error", counted.failed),
    ):
        lines += [
            f"  {label}: {each.scenario.name}: {each.state}/{each.cause} (wanted {'|'.join(each.scenario.causes)})"
            f" {each.reason or each.error}"
            for each in group
        ]
    return "\n".join(lines)


def _tell(each: Outcome, options: argparse.Namespace) -> None:
    scenario = each.scenario
    if options.json is not None:
        seen = each._asdict() | {"scenario": scenario.name, "truth": scenario.truth, "right": right_cause(each)}
        with options.json.open("a") as file:
            file.write(json.dumps(seen) + "\n")
    if options.verbose:
        moves = "moves" if each.detail.get("progressed", [False])[0] else "still"
        what = each.reason or each.error
        print(f"{moves} {scenario.truth:9} {scenario.name:28} {each.state:6} {each.cause:10} {what}", flush=True)
        if options.names and options.repeat == 1:
            print(each.detail, each.prompt)


def main() -> int:
    from tests.zoo.fifth import FIFTH
    from tests.zoo.fourth import FOURTH
    from tests.zoo.holdout import HOLDOUT
    from tests.zoo.late import LATE
    from tests.zoo.sixth import SIXTH
    from tests.zoo.third import THIRD
    from tests.zoo.tuned import TUNED

    groups = (
        ("tuned", TUNED),
        ("held out", HOLDOUT),
        ("third", THIRD),
        ("fourth", FOURTH),
        ("late", LATE),
        ("fifth", FIFTH),
        ("sixth", SIXTH),
    )
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only these scenarios")
    parser.add_argument("--group", choices=[title for title, _ in groups], help="only this group")
    parser.add_argument("--at-once", type=int, default=AT_ONCE, metavar="N", help="how many side by side")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="how many times, to compare the verdicts")
    parser.add_argument("--busy", type=int, default=0, metavar="N", help="busy loops beside the last repetition")
    parser.add_argument("--json", type=Path, metavar="FILE", help="append what was seen, one line for each")
    parser.add_argument("-v", "--verbose", action="store_true", help="one line for each")
    parser.add_argument("--record", action="store_true", help="write what was seen as a recording for tests/core")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as built:
        os.environ[BUILT] = built
        kept = [_keeps(title, scenarios, options) for title, scenarios in groups if options.group in (None, title)]
    return 0 if all(kept) else 1


def _keeps(title: str, scenarios: Iterable[Scenario], options: argparse.Namespace) -> bool:
    """Whether every repetition of a group keeps its promises, and gives the same verdicts as the others."""
    chosen = [each for each in scenarios if not options.names or each.name in options.names]
    for each in chosen:
        if lacking := each.missing():
            print(f"NOT RUN: {each.name}: {', '.join(lacking)} missing", file=sys.stderr)
    chosen = [each for each in chosen if not each.missing()]
    everything: list[Outcome] = []
    missed = []
    for turn in range(1, options.repeat + 1 if chosen else 1):
        outcomes: list[Outcome] = []
        loops = options.busy if turn == options.repeat else 0
        with tempfile.TemporaryDirectory() as directory, busy_loops(loops):
            for outcome in _each(chosen, Path(directory), options.at_once, options.record):
                outcomes.append(outcome)
                _tell(outcome, options)
        print(show(f"{title}, {turn} of {options.repeat}" if options.repeat > 1 else title, outcomes), flush=True)
        missed += broken(title, score(outcomes))
        everything += outcomes
    missed += [f"not always the same: {each}" for each in unstable(everything)]
    for said in missed:
        print(f"MISSED by {title}: {said}")
    return not missed


if __name__ == "__main__":
    sys.exit(main())
