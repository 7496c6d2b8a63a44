"""Advice follows from the cause."""

from __future__ import annotations

from typing import Any

import pytest

from unhang.core.diagnosis.causes import retryable, suggestions
from unhang.core.diagnosis.verdict import CAUSES, Diagnosis, ProcessLine


def told(cause: str, reason: str = "", cmd: str = "x", state: str = "hung", **evidence: Any) -> Diagnosis:
    line = ProcessLine(2, 1, "x", cmd, "S", 0.0, "", None)
    return Diagnosis(state, cause, reason, {"pid": 2, **evidence}, [line])


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
def test_who_asks_decides_how_it_is_told_not_to(cmd: str, prompt: str, word: str) -> None:
    found = suggestions(told("input", cmd=cmd, prompt=prompt), "no_output_timeout")
    assert word in " ".join(found)
    if prompt:
        assert f'"{prompt}"' in found[0]


def test_a_stdin_is_ended_rather_than_answered() -> None:
    assert "/dev/null" in " ".join(suggestions(told("input", reason="waits for input on stdin (a pipe)"), None))


def test_the_peer_and_the_holder_are_named() -> None:
    assert "10.0.0.1:8080" in suggestions(told("network", reason="waits for 10.0.0.1:8080, connected"), None)[0]
    lock = {"holder": 812, "holderComm": "apt-get"}
    assert "812 (apt-get)" in suggestions(told("lock", lock=lock), None)[0]


@pytest.mark.parametrize("cause", CAUSES)
def test_every_cause_has_advice(cause: str) -> None:
    assert suggestions(told(cause), None)


def test_only_what_chance_or_the_world_may_change_is_worth_another_try() -> None:
    assert retryable(told("network"))
    assert retryable(told("deadlock"))
    assert not retryable(told("deadlock", reason="a thread waits for a lock that it holds itself"))
    assert not retryable(told("input"))
    assert not retryable(told("listening"))


def test_the_limits_are_named_when_they_were_the_reason() -> None:
    assert "--hard" in suggestions(told("progress", state="alive"), "exec_timeout")[-1]
    assert "--idle" in suggestions(told("timer", state="unsure"), "no_output_timeout")[-1]
