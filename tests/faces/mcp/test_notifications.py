"""Progress and warnings: for people, while a call waits."""

from __future__ import annotations

import warnings

import pytest

from tests.support.mcp.harness import LOG_LEVEL, Caller, Servers


def test_progress_rises_and_says_something(servers: Servers, era: str) -> None:
    async def work(caller: Caller) -> None:
        await caller.call("run", command="echo working on it; sleep 5", hardTimeoutMs=60_000)
        values = [value for value, _, _ in caller.progress]
        assert len(values) >= 3
        assert values == sorted(set(values))
        message = caller.progress[-1][2] or ""
        assert "working on it" in message
        assert "stopped in" in message
        assert len(message) < 200
        count = len(values)
        await caller.call("list")
        assert len(caller.progress) == count  # none after the answer

    servers.run(era, work, "--progress-every", "0.4")


def test_a_warning_comes_before_the_limit_and_an_error_when_it_fires(servers: Servers, era: str) -> None:
    """The shape that delegating servers have always sent; in the modern era only where the request asks for it."""

    async def work(caller: Caller) -> None:
        job = (await caller.call("run", command="sleep 600", idleTimeoutMs=1500, meta={LOG_LEVEL: "debug"})).data[
            "jobId"
        ]
        warned = next(said for said in caller.said if said.level == "warning")
        assert warned.logger == "unhang-watchdog"
        assert warned.data["taskId"] == job
        assert warned.data["idleMs"] >= 700
        assert 0 < warned.data["willAbortInMs"] <= 1500
        assert warned.data["message"].startswith("No output for")
        assert f'extend(job_id="{job}", idle_sec=' in warned.data["message"], "the tool, and not the command line"
        fired = next(said for said in caller.said if said.level == "error")
        assert fired.data["code"] == "EIDLE"
        assert fired.data["kind"] == "inactivity"
        # and the same for a model, which never sees notifications
        events = (await caller.call("events", job_id=job)).data["events"]
        assert {"warning", "timeout"} <= {event["phase"] for event in events if event["type"] == "watchdog"}
        assert warned.data["message"] in [event["message"] for event in events]
        assert not any("unhang " in event["message"] for event in events if event["type"] == "watchdog")

    servers.run(era, work)


def test_the_hard_limit_is_warned_about_too(servers: Servers) -> None:
    async def work(caller: Caller) -> None:
        talker = "while :; do echo x; sleep 0.1; done"
        await caller.call("run", command=talker, hardTimeoutMs=1500, meta={LOG_LEVEL: "warning"})
        warned = next(said for said in caller.said if said.level == "warning")
        assert warned.data["reason"] == "exec_timeout"
        assert warned.data["wallClockMs"] > 0
        fired = next(said for said in caller.said if said.level == "error")
        assert fired.data["code"] == "ETIMEDOUT"

    servers.run("auto", work)


@pytest.mark.parametrize(("level", "heard"), [("error", {"error"}), ("emergency", set())])
def test_the_level_a_client_has_set_is_respected(servers: Servers, level: str, heard: set[str]) -> None:
    async def handshake(caller: Caller) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            await caller.client.set_logging_level(level)  # type: ignore[arg-type]
        await caller.call("run", command="sleep 600", idleTimeoutMs=1000)
        assert {said.level for said in caller.said} == heard

    async def modern(caller: Caller) -> None:
        await caller.call("run", command="sleep 600", idleTimeoutMs=1000, meta={LOG_LEVEL: level})
        assert {said.level for said in caller.said} == heard
        caller.said.clear()
        await caller.call("run", command="sleep 600", idleTimeoutMs=1000)
        assert caller.said == []  # not asked for: not sent

    servers.run("legacy", handshake)
    servers.run("auto", modern)
