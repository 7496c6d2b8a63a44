"""Time in which the machine was suspended: it counts for the hard limit, and is no silence of the job."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.engine import Done, Engine
from tests.support.namespaces import need_namespaces
from tests.support.places import ROOT
from tests.support.suspension import HOUR


@pytest.fixture(autouse=True)
def _namespaces() -> None:
    need_namespaces()


def _suspended(engine: Engine, limits: tuple[str, ...], then: str) -> Done:
    """A job that asks for the suspension, and then does something else once it has been."""
    flag = engine.folder / "flag"
    script = f": > {flag}; echo begun; while test -e {flag}; do sleep 0.1; done; {then}"
    words = [sys.executable, "-m", "tests.support.suspension", str(flag), "run", "--json", "--warn", "0", *limits]
    started = subprocess.Popen(
        [*words, "--", "sh", "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=engine.env,
        cwd=ROOT,
    )
    return engine.finish(started)


def test_a_hard_limit_that_passed_in_a_suspension_ends_the_job(engine: Engine) -> None:
    done = _suspended(engine, ("--hard", "600", "--idle", "300"), "exec sleep 1000")
    assert done.code == 124, done.err
    assert done.result["timeoutReason"] == "exec_timeout"
    assert done.result["durationMs"] >= HOUR * 1000


def test_a_suspension_is_no_silence_of_the_job(engine: Engine) -> None:
    """It has time to be ended in, if the hour counted."""
    done = _suspended(engine, ("--hard", "off", "--idle", "300"), "sleep 2; exit 3")
    assert (done.code, done.result["status"]) == (3, "error"), done.err
    assert done.result["durationMs"] >= HOUR * 1000
