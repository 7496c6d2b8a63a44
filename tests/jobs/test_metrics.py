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
from unhang.core import events as ev
from unhang.core.metrics import series
from unhang.core.metrics.exposition import exposition
from unhang.jobs.metrics import Most, collect
from unhang.store.layout import JobDir
from unhang.store.reader import EventReader

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


class Reading:
    """Which logs are read from here on, and how many events of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.logs: list[str] = []
        self.events = 0
        read_lines = EventReader.read_lines

        def counted(reader: EventReader, limit: int | None = None) -> list[tuple[ev.Event, bytes]]:
            found = read_lines(reader, limit)
            self.logs.append(os.readlink(f"/proc/self/fd/{reader._fd}"))
            self.events += len(found)
            return found

        monkeypatch.setattr(EventReader, "read_lines", counted)


def records(jobs: Jobs, count: int) -> list[JobDir]:
    """So many records of the same job, the newest first."""
    id_ = jobs.call("run", "--json", "--", "true").result["jobId"]
    original = jobs.handle(id_).place
    places = [original, *(jobs.copy(original, JobDir(str(jobs.home), f"{n:010d}")) for n in range(1, count))]
    for age, place in enumerate(places):
        os.utime(place.events, (2e9 - age, 2e9 - age))
    return places


def test_a_scrape_reads_so_many_records_and_the_next_one_goes_on_behind_them(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = records(jobs, 10)
    lines = len(check_log(places[0]))
    reading, home, seen, totals = Reading(monkeypatch), str(jobs.home), [], []
    for _ in range(4):
        counts = collect(home, Most(4, 1000))
        seen.append((reading.logs, reading.events))
        totals.append((counts.is_whole, counts.counts[series.counted(series.UNCOUNTED)]))
        reading.logs, reading.events = [], 0
    logs = [place.events for place in places]
    assert [sorted(names) for names, _ in seen] == [sorted(logs[:4]), sorted(logs[4:8]), sorted(logs[8:]), []]
    assert [events for _, events in seen] == [4 * lines, 4 * lines, 2 * lines, 0]
    assert totals == [(False, 6), (False, 2), (True, 0), (True, 0)]
    assert metrics(jobs)[SUCCESS] == 10


def test_a_long_log_is_counted_over_several_scrapes(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    place = records(jobs, 1)[0]
    lines = len(check_log(place))
    assert lines > 1
    reading, whole = Reading(monkeypatch), False
    for number in range(2 * lines):
        counts = collect(str(jobs.home), Most(1, 1))
        assert reading.events == min(number + 1, lines)
        assert not whole or counts.is_whole
        whole = counts.is_whole
    assert whole
    assert metrics(jobs)[SUCCESS] == 1


def test_totals_are_shown_when_what_was_there_before_has_been_counted_and_stay(jobs: Jobs) -> None:
    """A rate would take jobs of long ago, counted a part at a time, for jobs of now."""
    records(jobs, 3)
    first, second = (collect(str(jobs.home), Most(2, 1000)) for _ in range(2))
    assert "unhang_job_ends_total{" not in exposition(first.counts, "", has_totals=first.is_whole)
    assert "unhang_jobs{" in exposition(first.counts, "", has_totals=first.is_whole)
    assert SUCCESS + " 3\n" in exposition(second.counts, "", has_totals=second.is_whole)
    for _ in range(3):
        jobs.call("run", "--", "true")
    later = collect(str(jobs.home), Most(2, 1000))
    assert (later.is_whole, later.counts[series.counted(series.UNCOUNTED)]) == (True, 1)
    assert metrics(jobs)[SUCCESS] == 6


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
