"""A deliverer that finds nothing more to do leaves no news behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.jobs import STILL, Jobs
from unhang.alerts import await_news
from unhang.store.layout import JobDir

# The last job ends, and leaves its mark, while the deliverer asks whether jobs run.
ENDS_MEANWHILE = """
import sys
from unhang.alerts import deliverer
from unhang.store import alert_news

home, turns = sys.argv[1], []

class Deliverer:
    def __init__(self, home): ...
    def run(self):
        turns.append(alert_news.marks(home))
        for each in turns[-1]:
            alert_news.take(home, each)
        alert_news.drop_taken(home)

def may_come(home, read):
    if len(turns) == 1:
        alert_news.mark(home, "ended")
    return False

deliverer._Deliverer, deliverer.await_news.may_come = Deliverer, may_come
assert deliverer.deliver(home) == 0
sys.exit(0 if turns == [[], ["ended"]] else 3)
"""


def test_a_mark_that_is_left_while_it_asks_for_jobs_is_read(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(0o700)
    done = subprocess.run([sys.executable, "-c", ENDS_MEANWHILE, str(home)], check=False, timeout=100)
    assert done.returncode == 0


def test_an_end_that_was_written_down_and_has_left_no_mark_yet_is_waited_for(jobs: Jobs) -> None:
    job = jobs.begin(*STILL, "--", "true")
    job.wait()
    seq = job.events()[-1]["seq"]
    assert await_news.may_come(str(jobs.home), {job.id: seq - 1})
    assert not await_news.may_come(str(jobs.home), {job.id: seq})


@pytest.mark.parametrize("has", [(), ("job",), ("events",), ("job", "events")])
def test_a_job_that_begins_while_it_asks_is_waited_for(
    jobs: Jobs, has: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder was not there yet when the list was made; whatever it has by then, it has no event."""
    ended = jobs.begin(*STILL, "--", "true")
    ended.wait()
    read = {ended.id: ended.events()[-1]["seq"]}
    home = str(jobs.home)

    def list_jobs(home: str, *, running_only: bool) -> list[object]:
        assert running_only
        place = JobDir(home, "0" * len(ended.id))
        Path(place.path).mkdir(0o700)
        for name in has:
            target = Path(getattr(place, name))
            target.write_text(Path(JobDir(home, ended.id).job).read_text() if name == "job" else "")
        return []

    assert not await_news.may_come(home, read)
    monkeypatch.setattr(await_news, "list_jobs", list_jobs)
    assert await_news.may_come(home, read)


def test_a_job_that_runs_is_waited_for_however_long_it_is_quiet(jobs: Jobs) -> None:
    job = jobs.begin(*STILL, "--", "sleep", "3600")
    assert await_news.may_come(str(jobs.home), {})
    job.cancel()
