"""Jobs take part in the trace of their caller, and what they start takes part in theirs."""

from __future__ import annotations

import sys
from typing import Any

from tests.support.jobs import Jobs
from unhang.store import files, find
from unhang.store.layout import JobDir

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAY = ("sh", "-c", "echo $TRACEPARENT")


def place_of(jobs: Jobs, job: str) -> dict[str, Any]:
    record = files.read_json(JobDir(str(jobs.home), job).job)
    assert record is not None
    assert isinstance(record["trace"], dict)
    return record["trace"]


def test_a_job_gets_a_span_of_its_own_in_the_trace_of_its_caller(jobs: Jobs) -> None:
    jobs.env["TRACEPARENT"] = f"00-{TRACE}-{CALLER}-00"
    done = jobs.call("run", "--json", "--", *SAY).result
    place = place_of(jobs, done["jobId"])
    assert place == {"traceId": TRACE, "spanId": place["spanId"], "parentSpanId": CALLER, "flags": 0}
    assert done["stdout"].strip() == f"00-{TRACE}-{place['spanId']}-00"


def test_without_a_valid_one_a_trace_begins(jobs: Jobs) -> None:
    jobs.env["TRACEPARENT"] = "01-nonsense"
    done = jobs.call("run", "--json", "--", *SAY).result
    place = place_of(jobs, done["jobId"])
    assert place["parentSpanId"] is None
    assert done["stdout"].strip() == f"00-{place['traceId']}-{place['spanId']}-01"


def test_jobs_in_jobs_are_one_trace(jobs: Jobs) -> None:
    unhang = f"{sys.executable} -m unhang"
    jobs.env["TRACEPARENT"] = f"00-{TRACE}-{CALLER}-01"
    outer = jobs.call("run", "--shell", f"{unhang} start --wait --name middle -- {unhang} run --label in=most -- true")
    assert outer.code == 0, outer.err
    found = {}
    for job in find.all_ids(str(jobs.home)):
        labels = (files.read_json(JobDir(str(jobs.home), job).job) or {})["labels"]
        found["outer" if not labels else labels.get("name", "inner")] = place_of(jobs, job)
    assert {place["traceId"] for place in found.values()} == {TRACE}
    assert len({place["spanId"] for place in found.values()}) == 3
    parents = [found[name]["parentSpanId"] for name in ("outer", "middle", "inner")]
    assert parents == [CALLER, found["outer"]["spanId"], found["middle"]["spanId"]]
