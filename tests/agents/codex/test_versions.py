"""The basic flows with a Codex that is four minor versions older."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import programs
from tests.support.codex.harness import PATIENT, Bench
from tests.support.fakes.openai_responses import FakeOpenAI


@pytest.fixture
def older(tmp_path: Path, fake: FakeOpenAI) -> Iterator[Bench]:
    bench = Bench(tmp_path, fake, programs.path_of(programs.CODEX_OLDER))
    yield bench
    bench.leave_nothing()


def test_a_turn_with_a_tool_a_resumed_thread_and_a_compaction_succeed(older: Bench) -> None:
    turn = older.turn("[[shell:echo hello]]", *PATIENT)
    assert turn.code == 0, turn.result
    assert turn.about["codexVersion"] == "0.162.0"
    assert "unknown" not in turn.phases
    thread = turn.about["threadId"]
    again = older.turn("[[usage:50000]]", *PATIENT, "--thread", thread)
    assert again.about["threadId"] == thread
    compacted = older.codex("compact", thread, "--json", *PATIENT)
    assert json.loads(compacted.out)["codex"]["tokensBefore"] == 50000
    assert compacted.code == 0


def test_a_hang_is_ended_gently(older: Bench) -> None:
    turn = older.turn("[[hang]]", "--idle", "20", "--hard", "100", "--grace", "10")
    assert turn.code == 124
    assert turn.steps() == {"interrupt": True, "clean": True, "close": True}


def test_a_turn_through_exec_has_a_reply(older: Bench) -> None:
    turn = older.turn("hello", "--via", "exec", *PATIENT)
    assert turn.code == 0
    assert turn.about["reply"] == "pong"
