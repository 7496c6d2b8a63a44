"""News of jobs that were handed over, by the official client: between calls, and on top of the next answer."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.mcp.harness import PATIENCE, Caller, Servers

ASKS = 'printf "Name? "; read x; echo "no such name: $x" >&2; exit 3'
STILL: dict[str, Any] = {"idleTimeoutMs": 600_000, "hardTimeoutMs": 600_000}


async def heard(caller: Caller, phase: str) -> str:
    """The message of a notification that comes while no call is in flight."""
    with anyio.fail_after(PATIENCE):
        while True:
            for said in caller.said:
                if said.data["phase"] == phase:
                    return str(said.data["message"])
            await anyio.sleep(0.02)


def test_a_prompt_and_an_end_are_notified_between_calls_and_stand_on_top_of_the_next_answer(servers: Servers) -> None:
    gate = servers.engine.folder / "gate"  # it asks when the call that started it has been answered

    async def work(caller: Caller) -> None:
        line = f"until [ -e {gate} ]; do sleep 0.1; done; {ASKS}"
        job = (await caller.call("start", command=line, interactive=True, **STILL)).data["jobId"]
        gate.touch()
        assert 'needs input: "Name?"' in await heard(caller, "needs_input")
        told = await caller.call("list")
        assert told.text.startswith("NEWS since your last call:\n")
        assert [each["jobId"] for each in told.data["news"]] == [job]
        assert "needs input" in told.data["news"][0]["message"]
        assert "news" not in (await caller.call("list")).data, "it is told once"
        await anyio.to_thread.run_sync(servers.job(job).send, "Ada\n")  # a person answers, elsewhere
        end = await heard(caller, "failed")
        assert f"job {job}" in end
        assert "finished with 3" in end
        assert '"no such name: Ada"' in end
        told = await caller.call("list")
        assert "finished with 3" in told.data["news"][0]["message"]
        assert "NEWS" not in (await caller.call("list")).text
        assert [said.data["phase"] for said in caller.said if said.data["taskId"] == job] == ["needs_input", "failed"]

    servers.run("legacy", work)


def test_a_warning_is_notified_between_calls_with_what_is_left_and_the_next_answer_has_it(
    servers: Servers, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.json"  # the warning comes halfway, and the end not before the other half is over
    policy.write_text(json.dumps({"extends": "built-in", "warn_sec": 15}))
    gate = servers.engine.folder / "gate"

    async def work(caller: Caller) -> None:
        line = f"until [ -e {gate} ]; do sleep 0.1; done; exec sleep 3000"
        limits: dict[str, Any] = {"idleTimeoutMs": 30_000, "hardTimeoutMs": 600_000}
        job = (await caller.call("start", command=line, **limits)).data["jobId"]
        gate.touch()
        assert "will be ended in" in await heard(caller, "warning")
        told = await caller.call("list")
        assert told.text.startswith("NEWS since your last call:\n")
        assert [(each["jobId"], "idle limit" in each["message"]) for each in told.data["news"]] == [(job, True)]
        await anyio.to_thread.run_sync(servers.job(job).cancel)

    servers.run("legacy", work, "--policy", str(policy))


def test_an_answer_has_what_happened_up_to_it_but_not_what_it_says_itself(servers: Servers, era: str) -> None:
    async def work(caller: Caller) -> None:
        first = (await caller.call("start", command=ASKS, interactive=True, **STILL)).data["jobId"]
        second = (await caller.call("start", command="read x; exit 4", interactive=True, **STILL)).data["jobId"]
        for name in (first, second):
            await anyio.to_thread.run_sync(servers.job(name).send, "Bob\n")
            await anyio.to_thread.run_sync(servers.job(name).wait)
        waited = await caller.call("wait", job_id=first)
        assert [(each["jobId"], "finished with 4" in each["message"]) for each in waited.data["news"]] == [
            (second, True)
        ], "of the other one alone"
        assert waited.error
        assert "news" not in (await caller.call("list")).data

    servers.run(era, work)


def test_a_server_that_goes_to_the_background_is_told_to_be_ended_and_how_it_stays(servers: Servers, era: str) -> None:
    """`start` lasts as long as its first process: the end is news, and what was left of it does not serve any more."""
    gate = servers.engine.folder / "gate"

    async def work(caller: Caller) -> None:
        line = f"until [ -e {gate} ]; do sleep 0.1; done; setsid sleep 3000 & echo up"
        job = (await caller.call("start", command=line, **STILL)).data["jobId"]
        gate.touch()
        await anyio.to_thread.run_sync(servers.job(job).wait)
        told = await caller.call("list")
        assert [each["jobId"] for each in told.data["news"]] == [job]
        assert 'left running and ended: "sleep 3000"' in told.text
        found = (await caller.call("wait", job_id=job)).text.splitlines()[0]
        assert 'it left "sleep 3000" running, which was ended' in found
        assert "without `&`" in found
        assert "use start" not in found

    servers.run(era, work)


def test_a_modern_client_that_listens_hears_of_the_end_between_calls(servers: Servers) -> None:
    async def work(caller: Caller) -> None:
        job = (await caller.call("start", command=ASKS, interactive=True, **STILL)).data["jobId"]
        async with caller.client.listen(resource_subscriptions=[f"unhang://jobs/{job}"]) as stream:
            await anyio.to_thread.run_sync(servers.job(job).send, "Ada\n")
            await anyio.to_thread.run_sync(servers.job(job).wait)
            with anyio.fail_after(PATIENCE):
                async for _ in stream:
                    break
        assert "finished with 3" in (await caller.call("list")).text

    servers.run("auto", work)


@pytest.mark.parametrize("level", ["error", "emergency"])
def test_the_level_that_a_client_has_set_holds_between_calls_too(servers: Servers, level: str) -> None:
    async def work(caller: Caller) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            await caller.client.set_logging_level(level)  # type: ignore[arg-type]
        job = (await caller.call("start", command=ASKS, interactive=True, **STILL)).data["jobId"]
        await anyio.to_thread.run_sync(servers.job(job).send, "Ada\n")
        if level == "error":
            await heard(caller, "failed")
        else:
            await anyio.to_thread.run_sync(servers.job(job).wait)
        assert "finished with 3" in (await caller.call("list")).text
        assert {said.data["phase"] for said in caller.said} == ({"failed"} if level == "error" else set())

    servers.run("legacy", work)


def test_the_news_of_many_jobs_are_a_few_lines_and_all_are_in_the_structure(servers: Servers) -> None:
    async def work(caller: Caller) -> None:
        jobs: list[str] = []

        async def begin() -> None:
            found = await caller.call("start", command="read x; exit 4", interactive=True, **STILL)
            jobs.append(found.data["jobId"])

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(begin)
        for name in jobs:
            await anyio.to_thread.run_sync(servers.job(name).send, "x\n")
            await anyio.to_thread.run_sync(servers.job(name).wait)
        told = await caller.call("explain_policy", command="true")
        assert sorted(each["jobId"] for each in told.data["news"]) == sorted(jobs)
        news = told.text.partition("category ")[0].splitlines()
        assert len(news) == 5
        assert news[-1] == "- and 2 more: call `list`"

    servers.run("auto", work)
