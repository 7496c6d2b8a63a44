"""The answer of a wait that is over says why the job still runs, also where the machine is too busy to know in time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from tests.support.jobs import Jobs
from unhang.core.diagnosis import causes
from unhang.core.diagnosis.verdict import HUNG
from unhang.jobs.diagnose import diagnose_until
from unhang.jobs.handle import Job
from unhang.jobs.late_diagnosis import LateDiagnosis
from unhang.store.layout import JobDir


class _Found:
    def to_json(self) -> dict[str, Any]:
        return {"state": HUNG}


def test_a_diagnosis_that_is_under_way_is_waited_for(jobs: Jobs) -> None:
    async def main() -> None:
        asked = asyncio.Event()

        async def slowly(work: Callable[..., Any], /, *args: Any) -> Any:
            """Not before the answer has asked for it."""
            del work, args
            await asked.wait()
            return _Found()

        why = LateDiagnosis(Job(JobDir(str(jobs.home), "abc")), 10.0, slowly)
        why.poll(float("inf"))
        waiting = asyncio.create_task(why.finish())
        await asyncio.sleep(0)
        assert why.found is None
        asked.set()
        await waiting
        assert why.found == {"state": HUNG}

    asyncio.run(main())


def test_one_that_never_comes_is_not_waited_for_beyond_a_second(jobs: Jobs) -> None:
    async def main() -> None:
        async def never(work: Callable[..., Any], /, *args: Any) -> Any:
            del work, args
            await asyncio.Event().wait()

        why = LateDiagnosis(Job(JobDir(str(jobs.home), "abc")), 10.0, never)
        why.poll(float("inf"))
        await asyncio.wait_for(why.finish(), 60)
        assert why.found is None
        why.close()

    asyncio.run(main())


def test_a_busy_machine_has_the_time_for_two_slow_looks_before_the_wait_is_over(jobs: Jobs) -> None:
    async def main() -> None:
        given: list[float] = []

        async def note(work: Callable[..., Any], /, *args: Any) -> Any:
            del work
            given.append(args[1])
            return _Found()

        for seconds, at_least in ((45.0, 3.0), (4.0, 3.0), (3.0, 1.3), (1.0, 0.6)):
            before = time.monotonic()
            why = LateDiagnosis(Job(JobDir(str(jobs.home), "abc")), seconds, note)
            over = time.monotonic() + seconds
            due = why.wake_at(float("inf"))
            assert over - due >= at_least
            assert due - before >= 0.3  # what a job does while it starts is no reason why it still runs
            why.poll(due)
            await why.finish()
            assert why.found == {"state": HUNG}
            assert given.pop() <= over  # both looks are to be over then

    asyncio.run(main())


def test_one_whose_time_is_over_already_still_says_why(jobs: Jobs) -> None:
    job = jobs.begin("--", "sleep", "600")
    found = diagnose_until(job.id, time.monotonic() - 60)
    assert found.cause == causes.TIMER.name
