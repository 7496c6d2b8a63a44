"""One vocabulary: every state has words, different states have different ones, and an end says how it ended."""

from __future__ import annotations

import pytest

from unhang.core import events as ev
from unhang.core import wording
from unhang.core.attention import KINDS
from unhang.core.outcome import STATUS
from unhang.core.view import PHASE_AFTER

RUNNING = {*PHASE_AFTER.values(), *ev.PHASES[ev.AGENT], "elsewhere"} - {""}


def test_every_phase_has_words_for_people() -> None:
    said = {wording.state("running", phase) for phase in RUNNING} | {
        wording.state(status, phase) for phase, status in STATUS.items()
    }
    assert all(words and "_" not in words and words == words.lower() for words in said)


def test_no_phase_of_a_running_job_is_called_as_an_end_is() -> None:
    ends = {wording.state(status, phase) for phase, status in STATUS.items()}
    assert not ends & {wording.state("running", phase) for phase in RUNNING}


def test_every_way_to_end_has_its_own_words() -> None:
    assert len({wording.state(status, phase) for phase, status in STATUS.items()}) == len(STATUS)


@pytest.mark.parametrize("phase", ["running", "quiet", "stuck", "needs_input", "thinking"])
def test_what_a_running_job_needs_a_person_for_goes_before_its_phase(phase: str) -> None:
    said = [wording.state("running", phase, needs=kind) for kind in KINDS]
    assert said[:4] == ["needs approval", "needs input", "ends soon", "stuck"]


@pytest.mark.parametrize(
    ("code", "signal", "words"),
    [(3, None, "failed (3)"), (None, "SIGSEGV", "failed (SIGSEGV)"), (None, None, "failed"), (0, None, "failed (0)")],
)
def test_a_failure_says_its_exit_code_or_its_signal(code: int | None, signal: str | None, words: str) -> None:
    assert wording.state("error", "failed", exit_code=code, signal=signal) == words


@pytest.mark.parametrize("status", ["unknown", "queued"])
def test_a_job_of_which_nothing_more_is_known_is_called_by_its_status(status: str) -> None:
    assert wording.state(status, "running") == status


def test_the_status_of_the_history_is_called_as_the_end_is() -> None:
    for phase, status in STATUS.items():
        if phase != "lost":  # the history has no word for it
            assert wording.end_of(status) == wording.state(status, phase)
