"""A home of recorded streams for every surface, and a browser for the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faces.web.conftest import browser, watched, web
from tests.jobs.conftest import jobs, nothing_is_left
from tests.support.jobs import Jobs
from tests.support.streams import STREAMS, put, put_bad_ends, put_sessions

__all__ = ["browser", "ids", "jobs", "keeper", "many_bad_ends", "nothing_is_left", "watched", "web"]


@pytest.fixture
def keeper(jobs: Jobs) -> Iterator[int]:
    """The pid of a process that stands for the keeper of what runs."""
    process = jobs.popen_program("sleep", "3600")
    yield process.pid
    process.kill()
    process.wait()


@pytest.fixture
def ids(jobs: Jobs, keeper: int) -> dict[str, str]:
    """A home with every stream; the id of each by its name."""
    found = {made.name: put(str(jobs.home), made, number, keeper) for number, made in enumerate(STREAMS)}
    put_sessions(str(jobs.home))
    return found


@pytest.fixture
def many_bad_ends(jobs: Jobs, keeper: int) -> list[str]:
    """A home with three hundred failed jobs and one that runs; the names of the former, the newest first."""
    return put_bad_ends(str(jobs.home), 300, keeper)
