"""What a job is called in lists and in the history, from its record."""

from __future__ import annotations

from typing import Any

import pytest

from unhang.core.spec import agent_record, command_line, history_name, job_record

OLDER: dict[str, Any] = {
    "kind": "agent",
    "argv": ["python3", "-I", "-c", "…", "unhang.drivers.codex", "run", "--task=fix\nit", "--codex", "codex"],
    "labels": {"agent": "codex"},
}


def test_an_older_record_of_an_agents_job_shows_its_task_as_ever() -> None:
    record = job_record(OLDER)
    assert command_line(record) == "codex: fix it"
    assert record["agent"] == {"protocol": "codex", "name": "codex", "mode": "", "task": "fix it"}


def test_an_older_record_whose_secrets_were_known_by_the_environment_stays_masked() -> None:
    assert command_line(job_record(OLDER | {"shown": "python3 … --task=***"})) == "python3 … --task=***"


def test_an_older_record_with_its_task_on_stdin_shows_a_long_task() -> None:
    record = job_record(OLDER | {"argv": ["python3", "unhang.drivers.acp", "--task=-"], "labels": {"agent": "gemini"}})
    assert command_line(record) == "gemini: (a long task)"


def test_an_older_record_without_a_task_shows_its_words() -> None:
    record = job_record(OLDER | {"argv": ["python3", "unhang.drivers.codex", "compact"]})
    assert command_line(record) == "python3 unhang.drivers.codex compact"
    assert record["agent"]["protocol"] == "codex"


@pytest.mark.parametrize("record", [{"kind": "command", "argv": OLDER["argv"]}, {"kind": "agent", "argv": ["x"]}])
def test_what_no_driver_led_is_no_agents_job(record: dict[str, Any]) -> None:
    assert "agent" not in job_record(record)


def test_a_task_is_one_line_that_is_masked_before_it_is_cut() -> None:
    secret = "s3cret " * 30
    record = agent_record("codex", "codex", "run", f"one\n  two {secret} three", {"task": "all"}, [secret])
    assert record["task"] == "one two *** three"
    assert record["plan"] == {"task": "all"}
    long = agent_record("codex", "codex", "run", "word " * 100_000, {})
    assert len(long["task"]) == 120
    assert long["task"].endswith("…")


def test_the_history_knows_an_agents_job_by_its_name_and_mode() -> None:
    agent = agent_record("codex", "codex", "run", "fix it", {})
    assert history_name({"agent": agent, "argv": ["python3"]}) == ["codex", "run"]
    assert history_name({"shell": "make", "argv": ["sh"]}) == "make"
    assert history_name({}) is None
