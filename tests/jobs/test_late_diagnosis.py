"""The answer of a wait that is over says why the job still runs, also where the machine is too busy to know in time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tests.support.jobs import Jobs
from unhang.core.diagnosis.verdict import HUNG
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
