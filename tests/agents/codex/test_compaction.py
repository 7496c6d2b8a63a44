"""Compaction, to its real end: done, refused, failed, hung. What is not done exits non-zero, with --json too."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.codex.harness import PATIENT, Bench
from tests.support.engine import Done


def report(done: Done) -> dict[str, Any]:
    found = json.loads(done.out)["codex"]
    assert isinstance(found, dict)
    return found


def a_thread(bench: Bench) -> str:
    return str(bench.turn("[[usage:50000]]", *PATIENT).about["threadId"])


def test_a_compaction_tells_the_tokens_before_and_after(bench: Bench) -> None:
    thread = a_thread(bench)
    done = bench.codex("compact", thread, "--json", *PATIENT, record="compaction")
    assert done.code == 0, done.err
    found = report(done)
    assert found["compacted"] is True
    assert found["tokensBefore"] == 50000
    assert 0 < found["tokensAfter"] < 20000
    assert found["threadId"] == thread


@pytest.mark.parametrize("as_json", [False, True])
def test_a_refused_compaction_keeps_codexs_words_and_fails(bench: Bench, as_json: bool) -> None:
    more = ("--json",) if as_json else ()
    record = "compaction-refused" if as_json else ""
    done = bench.codex("compact", "not-a-thread", *more, *PATIENT, record=record)
    assert done.code == 1
    if as_json:
        found = report(done)
        assert found["compacted"] is False
        assert "invalid" in found["error"]["message"]
    else:
        assert b"invalid" in done.err


def test_a_failed_compaction_keeps_codexs_words_and_fails(bench: Bench) -> None:
    thread = a_thread(bench)
    bench.fake.plan("500")
    done = bench.codex("compact", thread, "--json", *PATIENT, record="compaction-failed")
    assert done.code == 1
    found = report(done)
    assert found["compacted"] is False
    assert "high demand" in found["error"]["message"]


def test_a_hung_compaction_is_interrupted(bench: Bench) -> None:
    thread = a_thread(bench)
    bench.fake.plan("hang")
    limits = ("--idle", "12", "--hard", "100", "--grace", "10")
    done = bench.codex("compact", thread, "--json", *limits, record="compaction-hung")
    assert done.code == 124
    assert "the compaction has had no answer" in report(done)["cause"]
    bench.fake.plan("pong")
    assert bench.turn("still usable?", *PATIENT, "--thread", thread).code == 0
