"""Every surface shows the same of the same recorded streams: words, needs, order, times; of jobs and of sessions."""

from __future__ import annotations

import re
import subprocess
import time
from typing import Any

import pytest

from tests.faces.top.test_top import cells, drive
from tests.support.jobs import Jobs, wait_until
from tests.support.mcp.harness import Caller, Servers
from tests.support.pilot import until
from tests.support.streams import SESSIONS, STREAMS, put
from tests.support.web.server import WebServer
from unhang.core import values
from unhang.faces.top.app import TopApp

WORDS = {made.name: made.state for made in STREAMS}
NEEDS = {made.name: made.needs for made in STREAMS if made.needs}
SESSION_WORDS = {f"claude: {session}": state for session, state, _, _ in SESSIONS}
SESSION_NEEDS = {f"claude: {session}": needs for session, _, needs, _ in SESSIONS if needs}

pytestmark = pytest.mark.timeout(300)


def called(entry: dict[str, Any]) -> str:
    return str(entry["name"] or entry["command"])


def by_columns(text: str) -> list[dict[str, str]]:
    """The rows of a table by the names of its columns."""
    head, *lines = text.splitlines()
    begins = [found.start() for found in re.finditer(r"(?<!\S)[A-Z]+( [A-Z]+)?", head)]
    edges = [*begins, None]
    cut = [[line[a:b].strip() for a, b in zip(begins, edges[1:], strict=True)] for line in [head, *lines]]
    return [dict(zip(cut[0], row, strict=True)) for row in cut[1:]]


def test_all_lists_say_the_same_of_every_state_need_and_end(jobs: Jobs, web: WebServer, ids: dict[str, str]) -> None:
    page = wait_until(
        lambda: found if len((found := web.get("/api/overview").json)["entries"]) == len(ids) + len(SESSIONS) else None,
        "every entry",
    )
    entries = {called(entry): entry for entry in page["entries"]}
    assert {name: entry["state"] for name, entry in entries.items()} == WORDS | SESSION_WORDS
    shown = {name: entry["attention"]["kind"] for name, entry in entries.items() if entry["attention"]}
    assert shown == NEEDS | SESSION_NEEDS

    table = {row["JOB"]: row for row in by_columns(jobs.call("ps", "--all").out.decode())}
    assert {name: row["STATE"] for name, row in table.items()} == WORDS

    listed = Servers(jobs).run("auto", _list)
    by_id = {job: name for name, job in ids.items()}
    assert {by_id[job]: state for job, state in listed.items()} == WORDS

    drawn: dict[str, list[str]] = {}

    async def story(app: TopApp, pilot: Any) -> None:
        await until(pilot, lambda: app.table.row_count == len(entries))
        drawn.update({row[1]: row for row in cells(app)})
        drawn["#counts"] = [str(app.query_one("#counts").render())]

    drive(jobs, story, (200, 60))
    assert {name: row[2] for name, row in drawn.items() if name != "#counts"} == WORDS | SESSION_WORDS
    in_all = len(NEEDS) + len(SESSION_NEEDS)
    running = sum(made.runs for made in STREAMS) + sum(state != "ended" for state in SESSION_WORDS.values())
    assert f"{in_all} need you · {running} running · 2 stuck" in drawn["#counts"][0]
    assert (page["counts"]["attention"], page["counts"]["running"], page["counts"]["stuck"]) == (in_all, running, 2)

    # why one that sleeps is quiet, with the time that is left until it wakes
    asleep = "sleep [4] sleeps, wakes by itself in 3d 5h"
    assert table["sleeps"]["WHY"] == drawn["sleeps"][3] == asleep

    # how long an ended one ran; one that ran twice, both times together
    for name in ("well", "twice", "badly", "in-front", "too-long"):
        assert table[name]["RAN"] == drawn[name][5]
    assert (table["well"]["RAN"], table["twice"]["RAN"]) == ("1m 10s", "1m 30s")

    # what needs a person: the same, in the same order, with the same reason and command
    urgent = [entry for entry in page["entries"] if entry["attention"] and entry["kind"] != "session"]
    needs = jobs.said("needs")
    assert [need["jobId"] for need in needs] == [entry["id"] for entry in urgent]
    same = ("kind", "why", "since", "command", "answers")
    for need, entry in zip(needs, urgent, strict=True):
        assert {name: need["needs"][name] for name in same} == {name: entry["attention"][name] for name in same}
    stands = (
        r"^(\S+): (?:(ends) in |(.*?) (?:\(for |\d\S*(?: \d\S*)? ago: ))"  # what ends soon, what waits, what has ended
    )
    lines = re.findall(stands, jobs.call("needs").out.decode(), re.MULTILINE)
    assert {name: "ends soon" if ends else state for name, ends, state in lines} == {
        name: WORDS[name] for name in NEEDS
    }
    rows = jobs.said("ps", "--all")
    assert [row["jobId"] for row in rows if row["needs"]] == [need["jobId"] for need in needs]
    # when a limit ends those that run
    for row in rows:
        clocks = entries[by_id[row["jobId"]]]["clocks"]
        if clocks:
            assert row["endsInMs"] is not None
            assert abs(row["endsInMs"] / 1000 + time.time() - clocks[0]["endsMs"] / 1000) < 60
        else:
            assert row["endsInMs"] is None or row["phase"] == "stopping"

    first = called(page["entries"][0])
    line = f"{running} run · {in_all} need you: {first}"
    assert jobs.call("tmux-status").out.decode().strip() == line
    assert jobs.call("statusline", stdin=subprocess.DEVNULL).out.decode().strip() == line

    # a look at a bad end is what it needed, and all lists know
    for name, job in ids.items():
        assert _status(jobs, job) == WORDS[name]
    over = {name for name, kind in NEEDS.items() if kind in ("failed", "lost")}
    assert {need["name"] for need in jobs.said("needs")} == NEEDS.keys() - over
    left = wait_until(
        lambda: found if not over & _needy(found := web.get("/api/overview").json["entries"]) else None, "the looks"
    )
    assert {called(entry): entry["state"] for entry in left} == WORDS | SESSION_WORDS
    assert f"{in_all - len(over)} need you" in jobs.call("tmux-status").out.decode()


def test_of_many_bad_ends_the_newest_are_shown_and_how_many_more_there_are(
    jobs: Jobs, many_bad_ends: list[str]
) -> None:
    said = jobs.call("needs").out.decode()
    newest = set(many_bad_ends[:20])
    assert {line.partition(":")[0] for line in said.splitlines() if line.startswith("bad-")} == newest
    assert said.splitlines()[-2].startswith("and 280 more ")
    assert len(jobs.said("needs")) == 300

    async def story(app: TopApp, pilot: Any) -> None:
        await until(pilot, lambda: app.table.row_count == 21)
        assert {row[1] for row in cells(app)} == newest | {"runs"}
        counts = str(app.query_one("#counts").render())
        assert "300 need you" in counts
        assert "280 more" in counts
        await pilot.press("slash", *"bad-29", "enter")
        await until(pilot, lambda: app.table.row_count == 10)

    drive(jobs, story, (200, 60))


async def _list(caller: Caller) -> dict[str, str]:
    found = (await caller.call("list", all=True, limit=100)).text
    return dict(re.findall(r'^(\S+) (.*?) "', found, re.MULTILINE))


def _status(jobs: Jobs, job: str) -> str:
    (found,) = re.findall(r"^status +(.*)$", jobs.call("status", job).out.decode(), re.MULTILINE)
    return str(found)


def _needy(entries: list[dict[str, Any]]) -> set[str]:
    return {called(entry) for entry in entries if entry["attention"]}


def test_a_day_after_a_bad_end_nobody_is_needed_any_more(
    jobs: Jobs, keeper: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unhang.jobs.overview import Overview

    monkeypatch.setattr("unhang.jobs.overview._SEEN", 0.0)
    made = next(each for each in STREAMS if each.name == "badly")
    job = put(str(jobs.home), made, 1, keeper)
    with Overview(str(jobs.home), usage=False) as overview:
        overview.refresh()
        assert overview.snapshot().entries[job]["attention"]["kind"] == "failed"
        at = values.moment(overview.snapshot().entries[job]["endedAt"])
        assert at is not None
        monkeypatch.setattr("unhang.jobs.unseen_ends.clock.wall", lambda: at + 86401.0)
        assert overview.refresh()
        entry = overview.snapshot().entries[job]
        assert (entry["attention"], entry["group"]) == (None, "failed")
