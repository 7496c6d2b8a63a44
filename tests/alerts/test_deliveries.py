"""What became of each message: counted in full, read whatever a power cut has left of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.jobs import Jobs
from unhang.alerts import deliveries
from unhang.core.alerts.kinds import KINDS
from unhang.core.alerts.ledger import Delivery, Outcome
from unhang.core.alerts.message import message_of
from unhang.core.alerts.occasions import AlertSubject, Occasion
from unhang.store.alert_news import FOLDER


def test_a_torn_line_is_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    (folder / "sent.ndjson").write_bytes(b'{"state":"sent"}\n{"state":"fai\n\xff\xfe\n[1]\n{"state":"failed"}\n{"sta')
    assert [each["state"] for each in deliveries.read(str(tmp_path))] == ["sent", "failed"]


def of_jobs(kind: str, count: int) -> Delivery:
    parts = [
        Occasion(AlertSubject(f"j{n}", f"n{n}", "make"), kind, 1, 0.0, "", "why", "unhang ps") for n in range(count)
    ]
    return Delivery("k", "phone", tuple(parts), attempts=1)


@pytest.mark.parametrize("kind", KINDS)
def test_the_title_of_a_message_about_several_jobs_is_a_sentence_about_several(kind: str) -> None:
    title = message_of(of_jobs(kind, 3)).title
    assert title.startswith("3 jobs ")
    assert not {"is", "was", "has", "needs", "goes"} & set(title.replace(":", "").split())


def test_the_status_counts_every_alert_of_a_message_and_the_doctor_no_test(jobs: Jobs, alerts: Path) -> None:
    alerts.write_text('[quiet]\nfrom = "22:00"\nto = "07:30"\n')
    home = str(jobs.home)
    deliveries.record(home, Outcome(of_jobs("failed", 61), "sent"), "2026-01-01T00:00:00.000Z")
    deliveries.record_test(home, of_jobs("finished", 1), "no such receiver")
    big, test = jobs.said("alerts", "status")["deliveries"]
    assert (big["alerts"], len(big["kinds"]), test["state"], test["kinds"]) == (61, 20, "failed", ["test"])
    assert b"20 failed and 41 more" in jobs.call("alerts", "status").out
    checks = json.loads(jobs.call("doctor", "--json").out)["checks"]
    (found,) = [each for each in checks if each["check"] == "alerts"]
    assert found["ok"]
    listed = jobs.call("alerts", "list").out
    assert b"22:00" in listed
    assert b"07:30" in listed
