"""Every rule has been met by a real program: no cause, no runtime, no kind of wait without a recording that shows it.

What a rule says is made by a call of `Wait`, `Finding` or one of their makers. All recordings are replayed, and each
line with such a call must have run. A rule that no recording can show stands in UNRECORDED, with the reason and the
test that stands in for it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

from tests.zoo.recording import everything, read
from unhang.core.diagnosis import causes, descriptors, prompt, rules, runtimes, standstill, syscalls, waits
from unhang.core.diagnosis.verdict import ALIVE, HUNG, UNSURE
from unhang.core.diagnosis.waits import SampleView

MODULES = (descriptors, prompt, rules, standstill, syscalls, waits)
# What makes a wait or a finding.
MAKERS = frozenset(
    {"Wait", "Finding", "NeedsInput", "_found", "_ring", "_mutexes", "_threads", "_crossed", "_commons", "for_timer"}
    | {"for_loop", "for_lock", "_asked", "_leak"}
)
# Rules that no recording of the zoo shows, by a part of their line: why, and the test that writes the sample by hand.
UNRECORDED: dict[str, tuple[str, str]] = {
    'f"waits for descriptor {fd}"': (
        "closed between two reads of one look",
        "test_a_descriptor_that_is_gone_explains_nothing",
    ),
    '"waits for a timer (timerfd)"': (
        "kernels before 5.2",
        "test_a_timerfd_whose_time_cannot_be_read_explains_nothing",
    ),
    '"waits for a child", below': ("it would not wait", "test_a_pidfd_of_a_process_that_has_ended_explains_nothing"),
    '"writes to a pipe whose reader': (
        "the zoo's keeper reads",
        "test_a_full_pipe_that_the_watchdog_does_not_read_proves_nothing",
    ),
    '"listen", "waits for connections"': (
        "no such family of sockets here",
        "test_a_listener_of_an_unknown_family_is_alive",
    ),
    '"none of its processes could be': (
        "it ends during the look",
        "test_a_tree_that_cannot_be_looked_into_is_not_judged",
    ),
    "_found(causes.UNKNOWN, each)": (
        "it has ended a moment ago",
        "test_a_chain_that_ends_at_a_zombie_is_not_called_hung",
    ),
    '"nothing moves, and nothing says why"': (
        "no program is known",
        "test_a_standstill_that_nothing_explains_is_not_called_hung",
    ),
    "times a second: it polls": ("needs a core of its own", "test_a_loop_that_wakes_and_burns_a_little_polls"),
    '"waits on a socket, and may have told': (
        "needs a sandbox",
        "test_a_socket_whose_timeout_cannot_be_read_is_not_called_hung",
    ),
    'Wait("input", text, ends=None, channel=TERMINAL, stranger': (
        "needs a Codex",
        "test_a_prompt_at_a_terminal_where_the_agents_model_types_is_no_proof_of_a_hang",
    ),
    '"is frozen with its control group': ("needs a control group", "test_a_frozen_job_is_thawed_by_another"),
}
# Kinds of waits that no recording names where a thread may go on.
UNNAMED = {"gil": "test_a_wait_for_the_gil_under_an_alarm"}


class Seen(NamedTuple):
    """What the replay of all recordings has met."""

    lines: frozenset[tuple[str, int]]  # file, line
    told: frozenset[str]  # the kinds of waits that were named where a thread may go on
    kinds: frozenset[str]
    runtimes: frozenset[str]
    causes: frozenset[str]
    states: frozenset[str]


def makers() -> dict[tuple[str, int], str]:
    """Every line of the rules that makes a wait or a finding, with its text."""
    found = {}
    for module in MODULES:
        path = str(module.__file__)
        text = Path(path).read_text()
        lines = text.splitlines()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS:
                found[path, node.lineno] = lines[node.lineno - 1].strip()
    return found


@cache
def replayed() -> Seen:
    files = {str(module.__file__) for module in MODULES}
    lines: set[tuple[str, int]] = set()
    told: set[str] = set()

    def inner(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            lines.add((frame.f_code.co_filename, frame.f_lineno))
        elif event == "return" and frame.f_code.co_name == "_hopeful" and "wait" in frame.f_locals:
            told.add(frame.f_locals["wait"].kind)
        return inner

    def outer(frame: FrameType, _event: str, _argument: Any) -> Any:
        return inner if frame.f_code.co_filename in files else None

    recordings = [read(path) for path in everything()]
    verdicts = _traced(outer, lambda: [each.verdict() for each in recordings])
    views = [SampleView.of(each.after) for each in recordings]
    processes = [(view, process) for view in views for process in view.sample.processes.values()]
    first = [syscalls.wait_of(view, process, thread) for view, process in processes for thread in process.threads]
    return Seen(
        frozenset(lines),
        frozenset(told),
        frozenset(wait.kind for each in first for wait in (each, *each.beside)),
        frozenset(process.runtime for _, process in processes),
        frozenset(verdict.cause for verdict in verdicts),
        frozenset(verdict.state for verdict in verdicts),
    )


def _traced(trace: Callable[..., Any], work: Callable[[], Any]) -> Any:
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return work()
    finally:
        sys.settrace(before)


@pytest.mark.parametrize(
    ("where", "text"), makers().items(), ids=[f"{Path(file).stem}:{line}" for file, line in makers()]
)
def test_every_rule_has_a_recording(where: tuple[str, int], text: str) -> None:
    if any(part in text for part in UNRECORDED):
        assert where not in replayed().lines, f"it has a recording now: {text}"
    else:
        assert where in replayed().lines, text


def test_what_has_no_recording_is_tried_by_hand() -> None:
    here = Path(__file__).parent
    texts = list(makers().values())
    for part in UNRECORDED:
        assert any(part in text for text in texts), f"there is no such rule any more: {part}"
    for test in [*(test for _, test in UNRECORDED.values()), *UNNAMED.values()]:
        assert any(f"def {test}(" in file.read_text() for file in here.glob("test_*.py")), test


@pytest.mark.parametrize("kind", sorted({kind for group in standstill.HOPE_GROUPS for kind in group}))
def test_every_kind_of_wait_has_a_recording(kind: str) -> None:
    assert kind in replayed().kinds


@pytest.mark.parametrize("kind", sorted(rules.BY_KIND))
def test_every_kind_of_wait_that_names_the_cause_has_a_recording(kind: str) -> None:
    assert (kind in replayed().told) != (kind in UNNAMED)


RUNTIMES = (runtimes.GO, runtimes.OCAML, runtimes.PYTHON, runtimes.ERLANG, runtimes.JVM)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_every_runtime_has_a_recording(runtime: str) -> None:
    assert runtime in replayed().runtimes


@pytest.mark.parametrize("cause", sorted(causes.TABLE))
def test_every_cause_has_a_recording(cause: str) -> None:
    assert cause in replayed().causes


def test_every_state_has_a_recording() -> None:
    assert replayed().states == {HUNG, ALIVE, UNSURE}
