"""When a running job is ended, and by which limit: of the attempt that runs, and told once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.event_logs import stamp
from tests.support.jobs import Jobs, wait_until
from unhang.core import events as ev
from unhang.core.view import View
from unhang.jobs.end_time import ends_at, next_end
from unhang.jobs.handle import Job
from unhang.jobs.progress import progress_line, time_left
from unhang.procs import clock
from unhang.store.layout import JobDir

HANGS = {"state": "hung", "cause": "network", "reason": "Codex has had nothing", "evidence": {}, "processes": []}


def tried_again(ago: float, hard: float, idle: float | None) -> View:
    """A job whose second attempt was started so long ago, an hour after the first."""
    view, now = View(), clock.wall()
    given = {"hardMs": {"value": hard * 1000}, "idleMs": {"value": None if idle is None else idle * 1000}}
    for at in (now - ago - 3600, now - ago):
        view.apply(ev.started(7, "codex", given) | {"ts": stamp(at)})
    return view


@pytest.mark.parametrize(("idle", "limit", "left"), [(None, "hard", 300), (1000.0, "hard", 300), (700.0, "idle", 100)])
def test_a_limit_counts_from_the_start_of_the_attempt(
    tmp_path: Path, idle: float | None, limit: str, left: float
) -> None:
    """No keeper answers here: the events alone tell."""
    place = JobDir(str(tmp_path), "aaaaaaaaaa")
    view = tried_again(ago=600.0, hard=900.0, idle=idle)
    found = next_end(place, view)
    assert (found.limit, found.at) == (limit, ends_at(place, view))
    told = time_left(Job(place), view)
    assert told is not None
    assert told.tier == limit
    assert left - 60 < told.seconds <= left


def test_a_limit_that_rests_or_is_off_ends_nothing(jobs: Jobs) -> None:
    job = jobs.begin("--idle", "off", "--hard", "off", "--", "sleep", "1000")
    wait_until(lambda: job.view().pid, "it runs")
    assert time_left(job, job.view()) is None
    job.cancel(force=True)


def test_the_line_of_progress_says_once_why_an_agent_is_silent(tmp_path: Path) -> None:
    place = JobDir(str(tmp_path), "aaaaaaaaaa")
    view = tried_again(ago=60.0, hard=900.0, idle=None)
    view.apply(ev.agent("thinking", "The turn has started.", alive=True) | {"ts": stamp(clock.wall())})
    assert "The turn has started" in progress_line(Job(place), view)
    told = ev.agent("stuck", "Codex has had nothing.", alive=False) | {"diagnosis": HANGS}
    view.apply(told | {"ts": stamp(clock.wall())})
    line = progress_line(Job(place), view)
    assert line.count("has had nothing") == 1
    assert "The turn has started" in line, "what it was at"
