"""One table of causes: retries, results and suggestions follow from its rows, and from nothing else."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.core.diagnosis import PACKAGE, ROOT
from unhang.core import events as ev
from unhang.core import outcome
from unhang.core.diagnosis import causes
from unhang.core.diagnosis.causes import COMMAND_LINE, TABLE, Cause
from unhang.core.diagnosis.suggest import suggestions, suggestions_for_agent
from unhang.core.policy.retry import TIMEOUTS, decide, may_help
from unhang.core.result import Printed, build
from unhang.core.view import View

CAUSES = sorted(TABLE)


def told(cause: str, cmd: str = "x", state: str = "hung", **evidence: Any) -> dict[str, Any]:
    line = {"pid": 2, "ppid": 1, "comm": "x", "cmd": cmd, "state": "S"}
    return {"state": state, "cause": cause, "reason": "", "evidence": {"pid": 2, **evidence}, "processes": [line]}


# -- the table


ROWS = {name: row for name, row in vars(causes).items() if isinstance(row, Cause)}


def test_every_row_is_in_the_table_under_its_own_name() -> None:
    assert {name.lower(): row for name, row in ROWS.items()} == TABLE
    assert [row.name for row in ROWS.values()] == list(TABLE)


@pytest.mark.parametrize("row", TABLE.values(), ids=lambda row: row.name)
def test_every_row_has_advice_and_says_why_it_is_not_retried(row: Cause) -> None:
    assert row.advice
    assert row.retryable or row.why_not, "not tried again, and nothing says why"
    assert bool(row.advice_if_repeated) == (row.retryable and bool(row.why_not))


@pytest.mark.parametrize("row", TABLE.values(), ids=lambda row: row.name)
def test_every_row_is_documented_and_so_is_whether_another_attempt_may_help(row: Cause) -> None:
    text = (ROOT / "docs" / "diagnosis.md").read_text(encoding="utf-8")
    table = text.split("| cause | for instance | may another attempt help? |", 1)[1].split("\n\n", 1)[0]
    [answer] = [line.split("|")[3].strip() for line in table.splitlines() if line.startswith(f"| `{row.name}` |")]
    if row.retryable:
        assert answer.startswith("yes")
        assert ("unless" in answer) == bool(row.why_not)
    else:
        assert answer == "no"


def calls(name: str, under: Path) -> Iterator[ast.Call]:
    for path in under.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and name in (getattr(node.func, "id", ""), getattr(node.func, "attr", "")):
                yield node


def test_every_cause_that_a_rule_names_is_a_row() -> None:
    named = [ast.unparse(call.args[1]) for call in calls("Finding", PACKAGE)]
    assert len(named) > 15
    for cause in named:
        module, _, name = cause.partition(".")
        # the rest hand on what one of these has named
        assert cause == "cause" or (module == "causes" and name in ROWS), cause


def named_by_drivers() -> list[object]:
    found = [call for name in ("StallReason", "_stall") for call in calls(name, ROOT / "src" / "unhang" / "agents")]
    assert len(found) > 10
    named: list[object] = []
    for call in found:
        [cause] = [call.args[0]] if call.args else [each.value for each in call.keywords if each.arg == "cause"]
        if ast.unparse(cause) != "cause":  # handed on by `_stall`, whose own calls are among these
            assert isinstance(cause, ast.Constant)
            named.append(cause.value)
    return named


def test_every_cause_that_a_driver_names_is_a_row() -> None:
    assert set(named_by_drivers()) <= set(TABLE)


def test_every_row_is_named_by_a_rule_or_a_driver() -> None:
    named = set(named_by_drivers())
    for path in PACKAGE.rglob("*.py"):
        if path.name not in ("causes.py", "suggest.py"):  # these only speak of causes that were found
            text = path.read_text(encoding="utf-8")
            named |= {row.name for name, row in ROWS.items() if re.search(rf"\bcauses\.{name}\b", text)}
    assert named == set(TABLE)


# -- another attempt

ENDS = {
    "exited with 0": ("exited", 0),
    "exited with 1": ("exited", 1),
    "idle limit": ("idle", None),
    "hard limit": ("hard", None),
    "cancelled": ("cancelled", None),
}


def end_of(ending: str, exit_code: int | None) -> outcome.Ended:
    return outcome.ended(
        outcome.Facts(
            ending=ending, exit_code=exit_code, signal=None, leaked=False, abandoned=False, mode="soft", duration=9.0,
            silence=5.0, longest_silence=5.0, pid=2, cancelled_by="request", idle_limit=5.0, hard_limit=9.0,
            leftovers=[], survivors=[],
        )
    )  # fmt: skip


def recovery(end: outcome.Ended, diagnosis: dict[str, Any] | None, needs_input: bool) -> dict[str, Any]:
    """As a result has it, from the events that a keeper records."""
    view = View()
    if diagnosis is not None:
        view.apply(ev.watchdog("stuck", "", diagnosis=diagnosis) | {"seq": 1})
    if needs_input:
        view.apply(ev.watchdog("needs_input", "", prompt="Sure?") | {"seq": 2})
    view.apply(ev.exited(end.phase, end.message, end.fields) | {"seq": 3})
    nothing = Printed("", "", False)
    return build("j", view, nothing, nothing, None).recovery or {"retryable": False}


@pytest.mark.parametrize("ending", ENDS)
@pytest.mark.parametrize("recorded", [True, False], ids=["by its keeper", "by its guard"])
def test_the_decision_to_retry_and_the_field_of_a_result_never_contradict_each_other(
    ending: str, recorded: bool
) -> None:
    """Every cause, certain or not, with and without an open prompt, under every number of retries."""
    end = end_of(*ENDS[ending])
    reason = end.fields["timeoutReason"]
    diagnoses = [told(cause, repeats=repeats) for cause in CAUSES for repeats in (False, True)]
    for diagnosis, needs_input in itertools.product([None, *diagnoses, told("of another version")], (False, True)):
        worth = may_help(reason, diagnosis, needs_input)
        noted = end.replace(fields=end.fields | {"retryable": worth.again}) if recorded and reason else end
        retryable = recovery(noted, diagnosis, needs_input)["retryable"]
        assert retryable == worth.again
        for attempt, retries in itertools.product((1, 2, 3), (0, 1, 2)):
            decision = decide(attempt, retries, worth)
            assert decision.again == (retryable and attempt <= retries)
            assert decision.reason


@pytest.mark.parametrize("reason", TIMEOUTS)
@pytest.mark.parametrize("cause", CAUSES)
def test_the_row_of_a_cause_decides(reason: str, cause: str) -> None:
    decision = may_help(reason, told(cause))
    assert decision.again == TABLE[cause].retryable
    assert decision.again or decision.reason == TABLE[cause].why_not
    assert may_help(reason, told(cause), needs_input=True).reason == causes.INPUT.why_not


def test_only_causes_that_may_pass_by_themselves_are_retryable() -> None:
    assert {name for name, row in TABLE.items() if row.retryable} == {
        "network", "lock", "deadlock", "timer", "poll", "busy", "progress", "unknown",
    }  # fmt: skip
    assert not may_help("no_output_timeout", told("deadlock", repeats=True)).again
    assert not may_help("no_output_timeout", told("lock", repeats=True)).again


@pytest.mark.parametrize("odd", [None, {}, {"cause": 3}, {"cause": "lock", "evidence": []}, {"cause": "of tomorrow"}])
def test_a_diagnosis_of_another_shape_is_an_unknown_one(odd: dict[str, Any] | None) -> None:
    assert may_help("exec_timeout", odd).again


# -- suggestions


@pytest.mark.parametrize(
    ("cmd", "prompt", "word"),
    [
        ("sudo make install", "[sudo] password for x:", "sudo -n"),
        ("ssh host", "yes/no", "BatchMode"),
        ("less", ":", "PAGER=cat"),
        ("/usr/bin/git commit", "", "git commit -m"),
        ("npm init", "package name:", "--yes"),
        ("apt-get install x", "Do you want to continue? [Y/n]", "DEBIAN_FRONTEND"),
        ("sqlite3", "sqlite>", "statement"),
        ("./setup", "Overwrite? [y/N]", "--yes"),
        ("./setup", "What now", "unhang send"),
    ],
)
def test_the_advice_on_a_prompt_fits_the_program_that_asks(cmd: str, prompt: str, word: str) -> None:
    found = suggestions(told("input", cmd=cmd, prompt=prompt), "no_output_timeout")
    assert word in " ".join(found)
    if prompt:
        assert f'"{prompt}"' in found[0]


@pytest.mark.parametrize(
    ("channel", "word"),
    [("stdin", "/dev/null"), ("terminal", "--stdin"), ("fifo", "other end"), ("descriptor", "other end")],
)
def test_the_advice_on_input_fits_its_channel(channel: str, word: str) -> None:
    assert word in " ".join(suggestions(told("input", channel=channel, prompt="stdin"), None))


def test_a_program_that_opens_a_fifo_is_not_told_to_stop_asking() -> None:
    assert len(suggestions(told("input", channel="fifo"), None)) == 1
    assert len(suggestions(told("input", channel="stdin"), None)) == 2


def test_the_peer_and_the_holder_are_named() -> None:
    assert "10.0.0.1:8080" in suggestions(told("network", socket={"remote": "10.0.0.1:8080"}), None)[0]
    lock = {"holder": 812, "holderComm": "apt-get"}
    assert "812 (apt-get)" in suggestions(told("lock", lock=lock), None)[0]


@pytest.mark.parametrize("cause", [*CAUSES, "of another version"])
@pytest.mark.parametrize("repeats", [False, True])
def test_every_cause_has_advice_without_gaps(cause: str, repeats: bool) -> None:
    found = suggestions(told(cause, repeats=repeats), None)
    assert found
    assert not any("{" in line or not line for line in found)


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("reason", [None, *TIMEOUTS])
def test_a_face_reads_advice_in_its_own_words(cause: str, reason: str | None) -> None:
    words = {name: f"<{name}>" for name in COMMAND_LINE}
    for state in ("hung", "alive", "unsure"):
        found = suggestions(told(cause, state=state), reason, words)
        assert not any("unhang" in line or "--idle" in line or "--hard" in line for line in found)


@pytest.mark.parametrize("odd", [3, "x", [], {"remote": 5}, {"holder": "x"}, None])
def test_evidence_of_another_shape_costs_only_itself(odd: Any) -> None:
    for cause in CAUSES:
        assert suggestions(told(cause, socket=odd, lock=odd, prompt=odd, channel=odd) | {"processes": odd}, None)
        assert suggestions(told(cause) | {"evidence": odd}, None)


def test_the_limits_are_named_when_they_were_the_reason() -> None:
    assert "--hard" in suggestions(told("progress", state="alive"), "exec_timeout")[-1]
    assert "--idle" in suggestions(told("timer", state="unsure"), "no_output_timeout")[-1]


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("state", ["hung", "alive", "unsure"])
def test_advice_names_the_limit_that_fired_and_no_other(cause: str, state: str) -> None:
    for reason, other in (("exec_timeout", "--idle"), ("no_output_timeout", "--hard")):
        for line in suggestions(told(cause, state=state), reason):
            assert other not in line


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("state", ["hung", "alive", "unsure"])
@pytest.mark.parametrize(("ending", "option"), [("idle limit", "--idle"), ("hard limit", "--hard")])
def test_no_advice_contradicts_another_or_says_it_again(cause: str, state: str, ending: str, option: str) -> None:
    """A larger limit is advised once at most, and not at all where it is known that no time would have been enough."""
    end = end_of(*ENDS[ending])
    diagnosis = told(cause, state=state)
    fields = {"suggestions": suggestions(diagnosis, end.fields["timeoutReason"])}
    found = recovery(end.replace(fields=end.fields | fields), diagnosis, needs_input=False)["suggestions"]
    raised = [line for line in found if option in line]
    assert len(raised) <= 1
    if not TABLE[cause].retryable:
        assert not raised
    elif state != "hung":
        assert raised, "it may have been slow"


# -- agents


@pytest.mark.parametrize("cause", [*CAUSES, "of tomorrow"])
def test_advice_for_an_agent_is_not_that_for_a_command(cause: str) -> None:
    """It has no options to pass and no peer to call: what can be done is up to its session and its model."""
    found = suggestions_for_agent(told(cause))
    assert found
    assert not set(found) & set(suggestions(told(cause), None))
    assert not re.search(r"curl|\{|--batch|heartbeat", " ".join(found))


def test_advice_names_the_model_of_an_agent_only_where_its_driver_has_blamed_it() -> None:
    """What the kernel sees a command of the agent wait for is another peer."""
    of_model = suggestions_for_agent(told("network") | {"evidence": {"silentMs": 60_000}})
    of_command = suggestions_for_agent(told("network", socket={"remote": "10.0.0.7:443"}))
    assert "10.0.0.7:443" in of_command[0]
    assert not set(of_model) & set(of_command)
    assert not any("model" in line for line in of_command)


@pytest.mark.parametrize("agent", [True, False])
def test_only_a_command_is_said_to_be_one_for_the_background(agent: bool) -> None:
    view = View()
    if agent:
        view.apply({"seq": 1, "ts": "t", "type": "agent", "phase": "thinking", "message": "", "alive": True})
    end = {"status": "timeout", "timeoutReason": "no_output_timeout", "retryable": True}
    view.apply({"seq": 2, "ts": "t", "type": "job/exited", "phase": "timed_out", "message": ""} | end)
    printed = Printed("", "", truncated=False)
    found = build("j", view, printed, printed, 1.0).to_json()["recovery"]["suggestions"]
    assert any("--idle" in line for line in found)
    assert any("unhang start" in line for line in found) is not agent
