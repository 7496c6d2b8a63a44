"""A secret in a command line is in job.json, where it is needed and only this user reads, and nowhere else."""

from __future__ import annotations

import json
import shlex
import sqlite3
import sys
from pathlib import Path

import pytest

from tests.support.engine import wait_until
from tests.support.jobs import STILL, Jobs, actor, over
from unhang.jobs.report import report_of
from unhang.store.history import History, Run
from unhang.testing.liveness import RollCall

SECRET = "hunter2hunter2"
GIVEN = {
    "an option": ("--", "true", f"--token={SECRET}"),
    "a word": ("--", "true", "--password", SECRET),
    "a URL": ("--", "true", f"postgres://u:{SECRET}@h/db"),
    "a header": ("--", "true", "-H", f"Authorization: Bearer {SECRET}"),
    "a shell line": ("--shell", f"TOKEN={SECRET} true; : --api-key '{SECRET}'"),
    "a variable of its environment": ("--env", f"DEPLOY_KEY={SECRET}", "--", "true", f"x{SECRET}y"),
}


def _kept(home: Path, *, but: str) -> bytes:
    """Everything that is on disk, except for the files of that name."""
    return b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file() and path.name != but)


@pytest.mark.parametrize("words", GIVEN.values(), ids=GIVEN.keys())
def test_a_secret_is_shown_and_stored_nowhere_but_in_the_record_of_the_job(jobs: Jobs, words: tuple[str, ...]) -> None:
    job = over(jobs.begin(*words))
    shown = b""
    for command in (("ps", "-a"), ("ps", "-a", "--json"), ("history",), ("history", "--json")):
        shown += jobs.call(*command).out
    for name in ("status", "events", "result", "cancel"):
        done = jobs.call(name, job.id)
        shown += done.out + done.err
        shown += jobs.call(name, job.id, "--json").out
    assert b"true" in shown
    assert b"***" in shown
    assert SECRET.encode() not in shown
    assert SECRET.encode() not in _kept(jobs.home, but="job.json")
    assert SECRET in Path(job.place.job).read_text(), "what is executed"
    assert job.result().ok


def test_a_secret_in_the_command_of_a_process_is_masked_in_a_diagnosis_and_among_what_is_left(
    jobs: Jobs, roll: RollCall
) -> None:
    """Also one that a shell took from the environment: the process has it there, too."""
    jobs.env["DEPLOY_TOKEN"] = SECRET
    program = " ".join(actor("obedient", roll.path))
    job = jobs.begin(*STILL, "--shell", f'{program} "$DEPLOY_TOKEN" --password other-{SECRET[::-1]}')
    roll.wait_for("leader")
    found = jobs.call("diagnose", job.id, "--json").out + jobs.call("diagnose", job.id).out
    assert b"***" in found
    assert SECRET.encode() not in found
    assert SECRET[::-1].encode() not in found
    assert jobs.call("cancel", job.id).code == 0
    done = jobs.call("run", "--shell", f'{program} "$DEPLOY_TOKEN" & exit 0')
    assert b"left running" in done.err
    assert SECRET.encode() not in done.err
    assert SECRET.encode() not in _kept(jobs.home, but="job.json")


def test_a_secret_in_what_a_job_asks_is_masked_where_its_reason_is_told(jobs: Jobs) -> None:
    says = f"{shlex.quote(sys.executable)} -m unhang beat 'next: push --token={SECRET}'"
    asks = ["sh", "-c", f"{says}; printf 'Deploy with --token={SECRET}? '; read answer"]
    job = jobs.begin("--stdin", "pipe", "--idle", "8", "--", *asks)
    wait_until(lambda: "--token=" in jobs.call("needs").out.decode(), "it asks")
    told = b"".join(jobs.call(name, job.id).out for name in ("diagnose", "status", "events")) + jobs.call("needs").out
    assert told.count(b"***") >= 4
    assert SECRET.encode() not in told
    assert job.wait(60).status == "timeout"
    report = report_of(job)
    assert "--token=***" in report.suggestions[0]
    assert SECRET not in "".join([report.command, report.reason, report.message, *report.suggestions])


def test_a_history_of_before_is_masked_once(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    History(str(path)).forget(0)  # nothing there: no file is made
    assert not path.exists()
    for _ in range(3):
        History(str(path)).add(Run("tool --limit 5", "/src", 2e9, 1.0, 0.5, "success"))
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM history_meta WHERE name = 'masked'")
        db.execute("UPDATE history_runs SET command = ?", (f"tool --token={SECRET}",))
        db.execute("UPDATE history_commands SET command = ?", (f"tool --token={SECRET}",))
    db.close()
    History(str(path)).add(Run("tool --token=***", "/src", 2e9, 1.0, 0.5, "success"))
    profile = History(str(path)).profile("tool --token=***", "/src")
    assert profile is not None
    assert profile.runs == 4
    History(str(path)).forget(1)
    assert SECRET.encode() not in _kept(tmp_path, but="")


def test_the_limits_of_a_command_with_a_secret_are_still_learnt(jobs: Jobs) -> None:
    jobs.env["DEPLOY_TOKEN"] = SECRET
    words = ("true", "--now", SECRET)
    for _ in range(11):
        assert jobs.call("run", "--", *words).code == 0
    [found] = json.loads(jobs.call("history", "--json").out)["commands"]
    assert (found["command"], found["runs"]) == ("true --now ***", 11)
    result = jobs.json("--hard", "auto", "--", *words)
    assert result["limits"]["hardMs"]["source"].startswith("history"), "the same command, found by its masked name"
