"""Metrics of real jobs: exact, never counted twice or taken back, whatever is removed, killed or asked at once."""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.jobs import STILL, Jobs, check_log, kill_with_guard, over, wait_until
from tests.support.places import ROOT
from tests.support.programs import unavailable

PROMTOOL = ROOT / ".cache" / "promtool" / "promtool"


def metrics(jobs: Jobs) -> dict[str, float]:
    done = jobs.call("metrics")
    assert done.code == 0, done.err
    lines = [line for line in done.out.decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def promtool(*words: str, text: str = "") -> str:
    if not PROMTOOL.exists():
        unavailable("promtool is not there: scripts/test-programs fetches it from Debian's package prometheus")
    done = subprocess.run([PROMTOOL, *words], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


SUCCESS = 'unhang_job_ends_total{status="success",reason="exit"}'
FAILED = 'unhang_job_ends_total{status="error",reason="exit"}'
LOST = 'unhang_job_ends_total{status="error",reason="lost"}'
TIMEOUT = 'unhang_job_ends_total{status="timeout",reason="inactivity"}'


def test_ends_are_counted_once_and_outlive_their_records(jobs: Jobs) -> None:
    for code in (0, 3):
        jobs.call("run", "--", "sh", "-c", f"exit {code}")
    slept = jobs.call("run", "--json", "--idle", "1", "--stall", "0.3", "--grace", "5", "--", "sleep", "100").result
    happened = [event["phase"] for event in check_log(jobs.handle(slept["jobId"]).place)]
    first = metrics(jobs)
    assert (first[SUCCESS], first[FAILED], first[TIMEOUT], first["unhang_job_starts_total"]) == (1, 1, 1, 3)
    assert first['unhang_stop_steps_total{step="terminate"}'] == 1
    assert first['unhang_time_to_notice_seconds_count{notice="stuck"}'] == happened.count("stuck")
    assert first["unhang_warnings_total"] == happened.count("warning")
    assert first["unhang_keeper_cpu_seconds_total"] > 0
    assert metrics(jobs) == first
    # one that nobody has counted yet goes with the others
    jobs.call("run", "--", "true")
    assert jobs.call("gc", "--count", "0").code == 0
    assert jobs.said("ps", "--all") == []
    later = metrics(jobs)
    assert (later[SUCCESS], later[FAILED], later[TIMEOUT]) == (2, 1, 1)
    assert later["unhang_job_duration_seconds_count"] == 4
    job = over(jobs.begin("--", "true"))
    assert jobs.call("gc", job.id).code == 0
    assert metrics(jobs)[SUCCESS] == 3


def test_nothing_is_counted_where_nobody_asked(jobs: Jobs) -> None:
    jobs.call("run", "--", "true")
    assert jobs.call("gc", "--count", "0").code == 0
    assert not (jobs.home / "metrics").exists()


def test_what_runs_is_shown_with_its_keeper_and_who_follows_it(jobs: Jobs) -> None:
    job = jobs.begin(*STILL, "--", "sleep", "1000")
    follower = jobs.popen("events", job.id, "--follow")
    assert follower.stdout is not None
    assert follower.stdout.readline()
    wait_until(lambda: metrics(jobs)["unhang_followers"] == 1, "the follower is seen")
    now = metrics(jobs)
    assert (now['unhang_jobs{state="running"}'], now["unhang_keepers"], now["unhang_job_starts_total"]) == (1, 1, 1)
    assert now["unhang_keeper_resident_memory_bytes"] > 1 << 20
    spent = now["unhang_keeper_cpu_seconds_total"]
    job.cancel()
    follower.wait(30)
    after = metrics(jobs)
    assert (after['unhang_jobs{state="running"}'], after["unhang_keepers"], after["unhang_followers"]) == (0, 0, 0)
    assert after['unhang_job_ends_total{status="cancelled",reason="cancelled"}'] == 1
    assert after["unhang_keeper_cpu_seconds_total"] >= spent


def test_a_job_whose_keeper_and_guard_were_killed_is_counted_as_lost(jobs: Jobs) -> None:
    job = jobs.begin(*STILL, "--", "sleep", "1000")
    assert metrics(jobs)["unhang_keepers"] == 1
    kill_with_guard(job.place)
    found = metrics(jobs)
    assert (found[LOST], found["unhang_keepers"], found["unhang_job_starts_total"]) == (1, 0, 1)


def test_a_record_that_was_removed_by_hand_takes_nothing_back(jobs: Jobs) -> None:
    job = jobs.begin(*STILL, "--", "sleep", "1000")
    before = metrics(jobs)
    job.cancel()
    over(job)
    subprocess.run(["rm", "-r", job.place.path], check=True)
    after = metrics(jobs)
    assert after["unhang_job_starts_total"] == 1
    assert after["unhang_keeper_cpu_seconds_total"] >= before["unhang_keeper_cpu_seconds_total"]


def test_who_asks_at_the_same_time_gets_the_same(jobs: Jobs) -> None:
    for _ in range(3):
        jobs.call("run", "--", "true")
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: metrics(jobs)[SUCCESS], range(4)))
    assert found == [3] * 4


def test_broken_totals_are_begun_anew(jobs: Jobs) -> None:
    jobs.call("run", "--", "true")
    assert metrics(jobs)[SUCCESS] == 1
    for odd in (b"", b"[]", b'{"v":1,"totals":[],"done":{},"open":{"x":1}}', b'{"totals":{"starts":"many"},"open":[]}'):
        (jobs.home / "metrics" / "state.json").write_bytes(odd)
        assert metrics(jobs)[SUCCESS] == 1


def test_promtool_accepts_the_text(jobs: Jobs) -> None:
    jobs.call("run", "--", "true")
    job = jobs.begin(*STILL, "--", "sleep", "1000")
    text = jobs.call("metrics").out.decode()
    job.cancel()
    assert promtool("check", "metrics", text=text) == ""


def test_the_textfile_is_replaced_as_a_whole_and_readable_for_others(jobs: Jobs, tmp_path: Path) -> None:
    path = tmp_path / "unhang.prom"
    jobs.call("run", "--", "true")
    before = None
    for _ in range(2):
        done = jobs.call("metrics", "--textfile", path, umask=0o077)
        assert (done.code, done.out, done.err) == (0, b"", b"")
        assert path.stat().st_mode & 0o777 == 0o644
        assert path.stat().st_ino != before
        before = path.stat().st_ino
    assert SUCCESS + " 1\n" in path.read_text()
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == ["unhang.prom"]
    assert ".prom" in jobs.refused("metrics", "--textfile", str(tmp_path / "other.txt"), code=2)
    assert "cannot write" in jobs.refused("metrics", "--textfile", str(tmp_path / "none" / "x.prom"))


def test_the_mode_of_a_textfile_is_set_where_no_other_user_can_put_a_link(tmp_path: Path) -> None:
    """Its folder may be the collector's own, who could replace the new file by a link before its name is used again."""
    code = (
        "import os, sys\n"
        "from unhang.jobs.metrics_file import write_textfile\n"
        "sys.addaudithook(lambda event, given: print(type(given[0]).__name__) if event == 'os.chmod' else None)\n"
        "write_textfile(sys.argv[1], 'x 1\\n')\n"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "x.prom")]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.split() == ["int"]


@pytest.mark.slow
def test_a_scrape_and_gc_go_on_while_another_process_keeps_the_lock_of_the_totals(jobs: Jobs) -> None:
    jobs.call("run", "--", "true")
    assert metrics(jobs)[SUCCESS] == 1
    jobs.call("run", "--", "true")
    with open(jobs.home / "metrics" / "lock", "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert metrics(jobs)[SUCCESS] == 2
        assert jobs.call("gc", "--count", "1").code == 0
    assert metrics(jobs)[SUCCESS] == 2


def test_every_query_of_the_dashboard_is_one_and_asks_for_what_there_is(jobs: Jobs, tmp_path: Path) -> None:
    dashboard = json.loads(jobs.call("metrics", "--dashboard").out)
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    queries = [target["expr"] for panel in panels for target in panel["targets"]]
    names = {name.partition("{")[0] for name in metrics(jobs)}
    kinds = {re.sub("_(bucket|sum|count)$", "", name) for name in names}
    asked = {name for query in queries for name in re.findall(r"\bunhang_\w+", query)}
    assert asked <= names
    assert {re.sub("_(bucket|sum|count)$", "", name) for name in asked} == kinds, "each metric is shown"
    values = " ".join(jobs.call("metrics").out.decode().splitlines())
    for label, value in re.findall(r'(\w+)=~?"([^"$]+)"', " ".join(queries)):
        assert all(f'{label}="{word}"' in values for word in value.split("|")), (label, value)
    rules = "groups:\n- name: queries\n  rules:\n"
    for number, query in enumerate(queries):
        query = query.replace("$__rate_interval", "5m").replace("$instance", ".*")
        rules += f"  - record: query:{number}\n    expr: {json.dumps(query)}\n"
    (tmp_path / "rules.yml").write_text(rules)
    assert f"{len(queries)} rules found" in promtool("check", "rules", str(tmp_path / "rules.yml"))


@pytest.mark.parametrize("where", ["state.json", "lock"])
def test_a_pipe_in_the_place_of_a_file_is_refused_and_gc_goes_on(jobs: Jobs, where: str) -> None:
    jobs.call("run", "--", "true")
    metrics(jobs)
    path = jobs.home / "metrics" / where
    path.unlink()
    os.mkfifo(path)
    done = jobs.call("metrics")
    assert (done.code, done.out) == (125, b"") if where == "lock" else (0, done.out)
    assert jobs.call("gc", "--count", "0").code == 0
    assert jobs.said("ps", "--all") == []
