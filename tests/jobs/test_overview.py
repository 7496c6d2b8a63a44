"""The overview of a home: begun late it knows all, it sees what changes, and it says what `status` and `ps` say."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.jobs.test_recordings import placed, recordings
from tests.support.jobs import STILL, Jobs, keeper_of, over, wait_until
from tests.support.streams import put_bad_ends
from unhang.core.overview import counts
from unhang.core.values import moment
from unhang.jobs.end_time import ask_keeper
from unhang.jobs.overview import Change, Overview, Snapshot, TrackedJob
from unhang.procs.identity import start_time
from unhang.procs.linux.usage import usage_below
from unhang.store import find
from unhang.store.layout import JobDir
from unhang.store.session_log import SessionLog

# What `status --json` and an entry must agree on, at the same event.
SAME = (
    "status",
    "phase",
    "pid",
    "startedAt",
    "lastActivityAt",
    "endedAt",
    "seq",
    "attempt",
    "needsInput",
    "exitCode",
    "signal",
)


def until(overview: Overview, holds: Any, what: str) -> Any:
    """What `holds` returns of the entries by id, as soon as it is something."""

    def look() -> Any:
        overview.wait(0.1)
        overview.refresh()
        seen = overview.snapshot()
        assert seen.counts() == counts(seen.entries.values())
        return holds(seen.entries)

    return wait_until(look, what)


def agrees(jobs: Jobs, overview: Overview, job_id: str) -> bool:
    """Whether the entry has what `status --json` says; looked at again while the job moves on between the two."""
    status = jobs.said("status", job_id)
    overview.refresh()
    entry = overview.snapshot().entries.get(job_id)
    if entry is None or entry["seq"] != status["seq"]:
        return False
    assert {name: entry[name] for name in SAME} == {name: status[name] for name in SAME}
    for clock in entry["clocks"]:
        assert clock["limitMs"] == status["limits"][f"{clock['name']}Ms"]["value"]
    return True


def test_an_overview_that_begins_late_says_what_status_and_ps_say(jobs: Jobs) -> None:
    asks = jobs.begin("--stdin", "pipe", *STILL, "--", "sh", "-c", "printf 'name? '; read x")
    done = jobs.begin("--", "sh", "-c", "exit 3")
    done.wait()
    wait_until(lambda: asks.view().needs_input, "its prompt")
    with Overview(str(jobs.home)) as overview:
        overview.refresh()
        entries = overview.snapshot().in_order()
        assert [(each["id"], each["group"]) for each in entries] == [(asks.id, "attention"), (done.id, "failed")]
        for job_id in (asks.id, done.id):
            wait_until(partial(agrees, jobs, overview, job_id), "the same event")
        rows = {row["jobId"]: row for row in jobs.said("ps", "--all")}
        for entry in entries:
            row = rows[entry["id"]]
            assert (entry["status"], entry["phase"], entry["exitCode"]) == (
                row["status"],
                row["phase"],
                row["exitCode"],
            )
            assert entry["command"] == row["command"]


@pytest.mark.parametrize("recording", recordings(), ids=lambda path: path.name)
def test_a_recorded_stream_is_shown_as_status_and_ps_show_it(jobs: Jobs, recording: Any) -> None:
    job = placed(jobs, recording)
    with Overview(str(jobs.home)) as overview:
        overview.refresh()
        assert agrees(jobs, overview, job.id)
        entry = overview.snapshot().entries[job.id]
    row = jobs.said("ps", "--all")[0]
    assert (row["jobId"], row["status"], row["phase"]) == (job.id, entry["status"], entry["phase"])


def test_a_job_is_seen_from_its_start_to_its_end(jobs: Jobs) -> None:
    with Overview(str(jobs.home)) as overview:
        overview.refresh()
        assert overview.snapshot().entries == {}
        job = jobs.begin("--stdin", "pipe", *STILL, "--", "sh", "-c", "echo up; read x; echo $x; read y")
        until(overview, lambda entries: entries.get(job.id, {}).get("bytes", {}).get("stdout") == 3, "its output")
        before = overview.revision
        job.send("hello\n")
        until(overview, lambda entries: entries[job.id]["bytes"]["stdout"] == 9, "its answer")
        assert overview.revision > before
        job.extend(hard="1h")
        until(overview, lambda entries: entries[job.id]["clocks"][0]["limitMs"] == 7_200_000, "the longer limit")
        job.cancel()
        ended = until(
            overview, lambda entries: entries[job.id] if entries[job.id]["endedAt"] is not None else None, "its end"
        )
        assert (ended["status"], ended["phase"], ended["group"]) == ("cancelled", "cancelled", "done")
        shutil.rmtree(job.place.path)
        until(overview, lambda entries: job.id not in entries, "its removal")


def test_a_job_whose_keeper_and_guard_were_killed_is_lost(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unhang.jobs.overview._KEEPERS", 0.1)
    job = jobs.begin(*STILL, "--", "sleep", "100")
    with Overview(str(jobs.home)) as overview:
        until(overview, lambda entries: job.id in entries, "its entry")
        keeper, guard = keeper_of(job.place)
        for process in (guard, keeper):
            os.kill(process.pid, signal.SIGKILL)
            assert process.wait_gone()
        lost = until(
            overview, lambda entries: entries[job.id] if entries[job.id]["endedAt"] is not None else None, "the loss"
        )
        assert (lost["phase"], lost["group"], lost["attention"]["kind"]) == ("lost", "attention", "lost")


def test_what_runs_is_measured(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unhang.jobs.overview._USAGE", 0.1)
    job = jobs.begin(*STILL, "--", "sh", "-c", "while :; do :; done")
    with Overview(str(jobs.home)) as overview:
        usage = until(
            overview,
            lambda entries: (
                found
                if (found := (entries.get(job.id) or {}).get("usage")) is not None and found["cpuPercent"]
                else None
            ),
            "a busy processor",
        )
    assert usage["processes"] == 1
    assert usage["memoryBytes"] > 0


def test_a_look_that_takes_long_holds_up_no_event(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    looked, go_on = threading.Event(), threading.Event()

    def slow(_: Any) -> dict[Any, Any]:
        looked.set()
        go_on.wait()
        return {}

    monkeypatch.setattr("unhang.jobs.overview.usage_below", slow)
    monkeypatch.setattr("unhang.jobs.overview.listening_below", slow)
    job = jobs.begin(*STILL, "--stdin", "pipe", "--", "cat")
    with Overview(str(jobs.home)) as overview:
        until(overview, lambda entries: job.id in entries and looked.is_set(), "the look")
        job.send("hello\n")
        until(overview, lambda entries: entries[job.id]["bytes"]["stdout"] == 6, "its output")
        go_on.set()


def test_usage_counts_everything_below_a_process_and_not_the_process_itself(jobs: Jobs) -> None:
    job = jobs.begin(*STILL, "--", "sh", "-c", "sleep 100 & sleep 100 & wait")
    keeper, _ = keeper_of(job.place)
    wait_until(lambda: usage_below([keeper.pid])[keeper.pid].processes == 3, "the shell and its two children")
    assert usage_below([keeper.pid])[keeper.pid].start == start_time(keeper.pid)
    assert usage_below([]) == {}
    assert usage_below([1 << 30]) == {}


def test_a_keeper_that_was_seen_to_use_something_lives_and_one_that_got_its_number_does_not(jobs: Jobs) -> None:
    job = jobs.begin(*STILL, "--", "sleep", "100")
    keeper, _ = keeper_of(job.place)
    tracked = TrackedJob(job.place)
    tracked.read()
    used = usage_below([keeper.pid])[keeper.pid]
    tracked.used(1000.0, used.replace(start=f"{start_time(keeper.pid)}0"))
    tracked.used(1000.0, used.replace(start=""))  # it is dead and not waited for
    assert not tracked.lived(1000.0)
    tracked.used(1000.0, used)
    assert tracked.lived(1001.0)
    assert not tracked.lived(1060.0)


def test_what_a_dead_process_uses_does_not_say_that_it_lives() -> None:
    dead = os.posix_spawn("/bin/true", ["true"], {})
    try:
        os.waitid(os.P_PID, dead, os.WEXITED | os.WNOWAIT)
        assert usage_below([dead])[dead].start == ""
    finally:
        os.waitpid(dead, 0)


def test_a_keeper_that_says_what_the_events_say_changes_no_entry(jobs: Jobs) -> None:
    job = jobs.begin("--idle", "1h", "--hard", "2h", "--", "sleep", "100")
    tracked = TrackedJob(job.place)
    tracked.read()
    shown = tracked.entry()
    said = ask_keeper(job.place)
    assert said is not None
    assert said.at is not None
    assert not tracked.told_end(tracked.seq, said, shown)
    assert tracked.entry() == shown
    for other in (said.replace(at=said.at + 10), said.replace(at=None)):
        again = TrackedJob(job.place)
        again.read()
        assert not again.told_end(again.seq - 1, other, shown), "it was asked before the last event"
        assert again.told_end(again.seq, other, shown)
        assert again.entry()["clocks"] != shown["clocks"]


def test_only_the_newest_that_have_ended_are_shown(jobs: Jobs) -> None:
    ended = [jobs.begin("--", "true") for _ in range(6)]
    for job in ended:
        job.wait()
    with Overview(str(jobs.home), most_ended=4) as overview:
        overview.refresh()
        shown = overview.snapshot().entries
        assert set(shown) == {job.id for job in ended[2:]}
        more = [jobs.begin("--", "true") for _ in range(2)]
        newest = {job.id for job in [*ended[4:], *more]}
        until(overview, lambda entries: set(entries) == newest, "the new ones in the place of the oldest")


def test_a_home_is_not_listed_again_for_each_job_that_comes_or_goes(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = over(jobs.begin("--", "true"))
    listed: list[str] = []
    whole = find.all_ids

    def all_ids(home: str) -> list[str]:
        listed.append(home)
        return whole(home)

    monkeypatch.setattr(find, "all_ids", all_ids)
    with Overview(str(jobs.home)) as overview:
        until(overview, lambda entries: entries[first.id]["endedAt"], "the job of before")
        begun = len(listed)
        more = over(jobs.begin("--", "true"))
        until(overview, lambda entries: more.id in entries and entries[more.id]["endedAt"], "the new job")
        shutil.rmtree(first.place.path)
        (jobs.home / "jobs" / "stray").write_text("no job")
        (jobs.home / "other").touch()
        until(overview, lambda entries: set(entries) == {more.id}, "the removed one is gone")
        assert len(listed) == begun
        shutil.rmtree(jobs.home / "jobs")
        until(overview, lambda entries: not entries, "all are gone")
        late = jobs.begin("--", "true")
        until(overview, lambda entries: set(entries) == {late.id}, "a job in a folder that was made anew")


@pytest.mark.parametrize("looks", ["all_ids", "is_listed"])
def test_a_job_is_seen_although_the_folder_could_not_be_looked_at_when_it_came(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch, looks: str
) -> None:
    """No descriptor is left for a moment, or the folder's permissions are not to be trusted until they are mended."""
    first = over(jobs.begin("--", "true"))
    with Overview(str(jobs.home)) as overview:
        if looks == "is_listed":
            overview.refresh()
        with monkeypatch.context() as patched:
            patched.setattr(find, looks, lambda *_: (_ for _ in ()).throw(OSError(24, "Too many open files")))
            second = over(jobs.begin("--", "true"))
            overview.refresh()
        until(overview, lambda entries: {first.id, second.id} <= entries.keys(), "both jobs")


def test_of_bad_ends_that_were_not_looked_at_only_the_newest_are_kept(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unhang.jobs.overview.MOST_UNSEEN", 8)
    home = str(jobs.home)
    keeper = jobs.popen_program("sleep", "3600")  # ended with the rest
    newest = set(put_bad_ends(home, 30, keeper.pid)[:8])
    for most_ended in (0, 200):  # those that are old at the begin are not read; those that were read are let go
        with Overview(home, most_ended=most_ended) as overview:
            overview.refresh()
            overview.refresh()
            found = overview.snapshot()
        assert {entry["name"] for entry in found.entries.values()} == newest | {"runs"}
        assert found.counts() == counts(found.entries.values())


def test_a_session_is_an_entry_until_its_process_is_gone(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unhang.jobs.overview._KEEPERS", 0.1)
    log = SessionLog("abc-1", str(jobs.home))
    with Overview(str(jobs.home)) as overview:
        overview.refresh()
        hook = {"type": "hook", "cwd": "/srv/web", "pid": 1 << 22, "procStart": "1"}
        log.append(hook | {"phase": "waiting", "message": "Bash: rm -rf build"})
        found = until(overview, lambda entries: entries.get("abc-1"), "the session")
        assert found["kind"] == "session"
        gone = until(overview, lambda entries: entries["abc-1"]["endedAt"] and entries["abc-1"], "its end")
        assert gone["attention"] is None


def test_without_a_file_watch_it_looks_at_the_sizes(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    from unhang.procs.posix.absent import AbsentFileWatch

    monkeypatch.setattr("unhang.jobs.overview.FileWatch", AbsentFileWatch)
    job = jobs.begin(*STILL, "--stdin", "pipe", "--", "cat")
    with Overview(str(jobs.home)) as overview:
        overview.refresh()
        job.send("hello\n")
        until(overview, lambda entries: entries[job.id]["bytes"]["stdout"] == 6, "its output")
        late = jobs.begin("--", "true")
        until(overview, lambda entries: late.id in entries, "a job that began later")


def test_odd_records_cost_their_own_entry_alone(jobs: Jobs) -> None:
    job = jobs.begin("--", "true")
    job.wait()
    for name, data in (
        ("aaaaaaaaaa", b"\xff\xfe\0" * 5000),
        ("bbbbbbbbbb", b'{"seq": 1, "type": "output"}\n[]\n{"seq":2}\n'),
    ):
        place = JobDir(str(jobs.home), name)
        os.mkdir(place.path, 0o700)
        with open(place.events, "wb") as file:
            file.write(data)
    os.mkdir(JobDir(str(jobs.home), "cccccccccc").path, 0o700)
    os.mkdir(JobDir(str(jobs.home), "cccccccccc").events)
    with Overview(str(jobs.home)) as overview:
        overview.refresh()
        assert overview.snapshot().entries[job.id]["status"] == "success"


CHANGES = st.lists(
    st.tuples(st.lists(st.sampled_from("abcdef"), max_size=3), st.lists(st.sampled_from("abcdef"), max_size=2)),
    max_size=12,
)


@given(CHANGES, st.integers(0, 12))
def test_a_viewer_that_was_away_gets_exactly_what_it_missed(
    steps: list[tuple[list[str], list[str]]], cursor: int
) -> None:
    entries: dict[str, Any] = {}
    kept: list[dict[str, Any]] = [{}]
    changes: list[Change] = []
    for number, (changed, gone) in enumerate(steps, 1):
        for each in changed:
            entries[each] = {"id": each, "n": number}
        for each in gone:
            entries.pop(each, None)
        changes.append(Change(number, tuple(changed), tuple(gone)))
        kept.append(dict(entries))
    snapshot = Snapshot(len(steps), 0, entries, tuple(changes[-8:]), {})
    missed = snapshot.since(cursor)
    if missed is None:
        assert cursor > len(steps) or cursor < len(steps) - 8
        return
    seen = dict(kept[cursor])
    for each in missed[1]:
        seen.pop(each, None)
    seen |= {each["id"]: each for each in missed[0]}
    assert seen == entries


def test_the_address_at_which_a_job_listens_is_shown(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unhang.jobs.overview._PORTS", 0.1)
    job = jobs.begin(
        *STILL, "--", "python3", "-c", "import socket; s = socket.create_server(('127.0.0.1', 0)); s.accept()"
    )
    with Overview(str(jobs.home)) as overview:
        ports = until(overview, lambda entries: (entries.get(job.id) or {}).get("ports"), "its address")
    assert len(ports) == 1
    assert ports[0].startswith("127.0.0.1:")


def test_a_job_whose_log_comes_into_being_while_it_is_looked_for_is_followed(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There was no log to watch when it was looked for, and there was one to read a moment later."""
    job = jobs.begin(*STILL, "--stdin", "pipe", "--", "cat")
    with Overview(str(jobs.home), usage=False) as overview:
        with monkeypatch.context() as patch:
            patch.setattr("unhang.jobs.overview.os.path.exists", lambda _: False)
            overview.refresh()
        assert job.id in overview.snapshot().entries
        job.send("hello\n")
        until(overview, lambda entries: entries[job.id]["bytes"]["stdout"] == 6, "its output")


def test_a_record_that_cannot_be_read_is_shown_as_such_and_the_others_go_on(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    well = jobs.begin(*STILL, "--stdin", "pipe", "--", "cat")
    odd = jobs.begin(*STILL, "--", "sleep", "100")
    real = TrackedJob.entry

    def stumble(tracked: TrackedJob) -> Any:
        if tracked.place.id == odd.id:
            raise KeyError("a field of tomorrow")
        return real(tracked)

    monkeypatch.setattr(TrackedJob, "entry", stumble)
    with Overview(str(jobs.home), usage=False) as overview:
        found = until(overview, lambda entries: entries if len(entries) == 2 else None, "both")
        assert (found[odd.id]["phase"], found[odd.id]["group"]) == ("unreadable", "failed")
        assert "a field of tomorrow" in found[odd.id]["doing"]
        well.send("hello\n")
        until(overview, lambda entries: entries[well.id]["bytes"]["stdout"] == 6, "its output")
        assert overview.snapshot().counts()["running"] == 1


def test_the_page_says_of_a_job_that_works_quietly_when_its_keeper_will_end_it(jobs: Jobs) -> None:
    """Its work is a sign of life that no event shows: the limit moves on, and `ps` and the page know."""
    job = jobs.begin("--idle", "1h", "--stall", "off", "--hard", "off", "--", "sh", "-c", "while :; do :; done")
    begun = (moment(job.view().started_at) or 0.0) * 1000

    def moved(ends_ms: float) -> bool:
        return ends_ms > begun + 3_600_000 + 2000

    wait_until(
        lambda: moved(time.time() * 1000 + (jobs.said("ps")[0]["endsInMs"] or 0)), "the keeper counts from its work"
    )
    with Overview(str(jobs.home)) as overview:
        (clock,) = until(
            overview,
            lambda entries: (
                clocks if (clocks := entries[job.id]["clocks"]) and moved(float(clocks[0]["endsMs"])) else None
            ),
            "the page counts so, too",
        )
        assert (clock["name"], clock["limitMs"]) == ("idle", 3_600_000)
        said = jobs.said("ps")[0]["endsInMs"] + time.time() * 1000
        assert abs(said - clock["endsMs"]) < 120_000
    assert not any(event["phase"] == "extended" for event in job.events()), "no event has told it"
