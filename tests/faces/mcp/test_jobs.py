"""The tools that act on a job that exists, and jobs as resources."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import TextResourceContents

from tests.support.jobs import keeper_of
from tests.support.mcp.harness import Caller, Servers
from tests.support.mcp.raw import Raw, call
from unhang.core import events as ev

ASKS = "import sys; name = input('Your name? '); print('hello', name); print('more', sys.stdin.read(), end='')"


def test_a_started_job_is_listed_and_its_events_and_output_are_read_from_a_cursor(
    servers: Servers, era: str, tmp_path: Path
) -> None:
    async def work(caller: Caller) -> None:
        gate = tmp_path / "gate"
        line = f"echo one; while ! test -e {gate}; do sleep 0.05; done; echo two"
        started = await caller.call("start", command=line)
        job = started.data["jobId"]
        assert started.data["status"] == "running"
        listed = await caller.call("list")
        assert [found["jobId"] for found in listed.data["jobs"]] == [job]
        first = await caller.call("events", job_id=job, wait_sec=20)
        assert first.data["events"][0]["type"] == ev.STARTED
        cursor = first.data["lastSeq"]
        gate.touch()
        types: list[str] = []
        while ev.EXITED not in types:
            news = await caller.call("events", job_id=job, afterSeq=cursor, wait_sec=20)
            assert all(event["seq"] > cursor for event in news.data["events"])
            cursor = news.data["lastSeq"]
            types += [event["type"] for event in news.data["events"]]
        assert types.count(ev.EXITED) == 1
        nothing = await caller.call("events", job_id=job, afterSeq=cursor, wait_sec=20)
        assert nothing.data["events"] == []
        assert nothing.data["status"] == "success"
        text = await caller.call("output", job_id=job[:6], offset=4)
        assert text.data["text"] == "two\n"
        assert (await caller.call("list")).data["jobs"] == []
        everything = (await caller.call("list", all=True)).data["jobs"]
        assert everything[0]["status"] == "success"
        assert everything[0]["kind"] == "command"

    servers.run(era, work)


def test_wait_returns_at_the_first_end_of_several_or_at_all(servers: Servers, tmp_path: Path) -> None:
    async def work(caller: Caller) -> None:
        gate = tmp_path / "gate"
        slow = (await caller.call("start", command=f"while ! test -e {gate}; do sleep 0.05; done")).data["jobId"]
        quick = (await caller.call("start", command="exit 4")).data["jobId"]
        found = await caller.call("wait", job_id=[slow, quick])
        assert not found.error
        assert found.data["ended"] == [quick]
        assert [job["status"] for job in found.data["jobs"]] == ["running", "error"]
        assert (await caller.call("wait", job_id=[slow, quick], all=True, wait_sec=0.2)).data["status"] == "running"
        gate.touch()
        both = await caller.call("wait", job_id=[slow, quick], all=True)
        assert both.data["status"] == "ended"
        alone = await caller.call("wait", job_id=quick)
        assert alone.error  # of one job its own failure is the answer
        assert alone.data["jobs"][0]["exitCode"] == 4

    servers.run("auto", work)


def test_a_prompt_is_reported_and_answered(servers: Servers) -> None:
    async def work(caller: Caller) -> None:
        argv = [sys.executable, "-c", ASKS]
        begun = await caller.call("start", argv=argv, interactive=True)
        phases: set[str] = set()
        cursor = 0
        while "needs_input" not in phases:
            news = (await caller.call("events", job_id=begun.data["jobId"], afterSeq=cursor, wait_sec=20)).data
            cursor = news["lastSeq"]
            phases |= {event["phase"] for event in news["events"]}
        found = await caller.call("wait", job_id=begun.data["jobId"], wait_sec=0)
        found = found._replace(data=found.data["jobs"][0])
        assert found.data["status"] == "running"
        assert found.data["needsInput"]["prompt"].startswith("Your name?")
        assert any("send(" in step for step in found.data["next"])
        job = found.data["jobId"]
        assert not (await caller.call("send", job_id=job, text="Ada")).error
        assert not (await caller.call("send", job_id=job, text="end", newline=False, eof=True)).error
        done = await caller.call("wait", job_id=job)
        assert "hello Ada\nmore end" in done.data["jobs"][0]["stdout"]
        refused = await caller.call("send", job_id=job, text="late")
        assert refused.error
        assert "has ended" in refused.text

    servers.run("auto", work)


def test_a_job_is_extended_diagnosed_and_cancelled(servers: Servers) -> None:
    async def work(caller: Caller) -> None:
        job = (await caller.call("start", command="sleep 600", hardTimeoutMs=100_000)).data["jobId"]
        assert (await caller.call("extend", job_id=job)).error
        assert not (await caller.call("extend", job_id=job, hard_sec=50)).error
        events = (await caller.call("events", job_id=job)).data["events"]
        assert any(event["type"] == ev.WATCHDOG and event["phase"] == "extended" for event in events)
        why = await caller.call("diagnose", job_id=job)
        assert why.data["cause"] == "timer"
        assert why.data["processes"]
        ended = await caller.call("cancel", job_id=job)
        assert not ended.error  # it did what was asked
        assert ended.data["status"] == "cancelled"
        assert ended.data["limits"]["hardMs"]["value"] == 150_000
        assert (await caller.call("cancel", job_id=job)).data["status"] == "cancelled"
        late = await caller.call("diagnose", job_id=job)
        assert late.error

    servers.run("auto", work)


def test_force_ends_a_job_whose_keeper_does_not_answer(servers: Servers) -> None:
    async def work(caller: Caller) -> None:
        job = (await caller.call("start", command="sleep 600")).data["jobId"]
        keeper, guard = keeper_of(servers.job(job).place)
        assert keeper.send(signal.SIGSTOP)
        ended = await caller.call("cancel", job_id=job, force=True)
        assert not ended.error, ended.text
        assert ended.data["status"] == "cancelled"
        assert guard.wait_gone()

    servers.run("auto", work)


@pytest.mark.slow  # each call waits out its patience with the keeper
def test_every_call_about_a_job_whose_keeper_is_stopped_is_answered(servers: Servers) -> None:
    """By the record or by an error, but answered: the caller's own patience is not what ends it."""

    async def work(caller: Caller) -> None:
        job = (await caller.call("start", command="sleep 600")).data["jobId"]
        keeper, guard = keeper_of(servers.job(job).place)
        assert keeper.send(signal.SIGSTOP)
        for name in ("list", "events", "output"):
            words = {} if name == "list" else {"job_id": job}
            assert not (await caller.call(name, **words)).error, name
        assert (await caller.call("wait", job_id=job, wait_sec=0.2)).data["status"] == "running"
        for name, words in (("extend", {"hard_sec": 50}), ("send", {"text": "x"}), ("cancel", {})):
            refused = await caller.call(name, job_id=job, **words)
            assert refused.error, name
            assert refused.text
        await caller.call("diagnose", job_id=job)
        assert not (await caller.call("cancel", job_id=job, force=True)).error
        assert guard.wait_gone()

    servers.run("auto", work)


def test_explain_policy_names_the_category_the_pieces_and_a_command_that_never_ends(servers: Servers) -> None:
    async def work(caller: Caller) -> None:
        explained = await caller.call("explain_policy", command="cd web && npm ci")
        assert explained.data["category"] == "long"
        assert [piece["command"] for piece in explained.data["pieces"]] == ["cd web", "npm ci"]
        endless = await caller.call("explain_policy", argv=["tail", "-f", "log"])
        assert endless.data["neverEnding"] is True

    servers.run("auto", work)


def test_jobs_are_resources(servers: Servers, era: str) -> None:
    async def work(caller: Caller) -> None:
        job = (await caller.call("run", command="echo out; echo err >&2")).data["jobId"]
        listed = await caller.client.list_resources()
        assert f"unhang://jobs/{job}" in [str(found.uri) for found in listed.resources]
        templates = await caller.client.list_resource_templates()
        assert {found.uri_template for found in templates.resource_templates} == {
            "unhang://jobs/{job_id}",
            "unhang://jobs/{job_id}/stdout",
            "unhang://jobs/{job_id}/stderr",
            "unhang://jobs/{job_id}/events",
        }

        async def read(part: str) -> str:
            contents = (await caller.client.read_resource(f"unhang://jobs/{job}{part}")).contents[0]
            assert isinstance(contents, TextResourceContents)
            return contents.text

        assert json.loads(await read(""))["status"] == "success"
        assert await read("/stdout") == "out\n"
        assert await read("/stderr") == "err\n"
        assert json.loads((await read("/events")).splitlines()[-1])["type"] == ev.EXITED
        with pytest.raises(MCPError):
            await caller.client.read_resource("unhang://jobs/0000000000")

    servers.run(era, work)


def test_listeners_of_the_modern_era_hear_of_changes(servers: Servers, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    line = f"while ! test -e {gate}; do sleep 0.05; done"

    async def modern(caller: Caller) -> None:
        job = (await caller.call("start", command=line)).data["jobId"]
        uri = f"unhang://jobs/{job}"
        with anyio.fail_after(30):
            async with caller.client.listen(resource_subscriptions=[uri]) as stream:
                await caller.call("extend", job_id=job, hard_sec=5)
                async for event in stream:
                    assert getattr(event, "uri", None) == uri
                    break
        await caller.call("cancel", job_id=job)

    servers.run("auto", modern)


def test_subscribers_of_the_handshake_era_hear_of_changes(servers: Servers) -> None:
    raw = Raw(servers.popen())
    raw.shake_hands()
    raw.send(call(2, "start", command="sleep 600"))
    job = raw.answer(2)["result"]["structuredContent"]["jobId"]
    uri = f"unhang://jobs/{job}"
    raw.send({"jsonrpc": "2.0", "id": 3, "method": "resources/subscribe", "params": {"uri": uri}})
    raw.answer(3)
    raw.send(call(4, "extend", job_id=job, hard_sec=5))
    while (news := raw.receive()).get("method") != "notifications/resources/updated":
        pass
    assert news["params"]["uri"] == uri
    raw.send(call(5, "cancel", job_id=job))
    assert raw.answer(5)["result"]["structuredContent"]["status"] == "cancelled"


HANGS = "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()"


def test_a_certain_hang_is_told_long_before_the_call_is_over(servers: Servers, tmp_path: Path) -> None:
    policy = tmp_path / "policy.json"
    policy.write_text('{"extends": "built-in", "stall_sec": 0}')  # the keeper says nothing of it

    async def work(caller: Caller) -> None:
        hung = await caller.call("run", argv=[sys.executable, "-c", HANGS], wait_sec=600)
        assert (hung.data["status"], hung.data["diagnosis"]["state"]) == ("running", "hung")
        again = (await caller.call("wait", job_id=hung.data["jobId"], wait_sec=600)).data["jobs"][0]
        assert (again["status"], again["diagnosis"]["state"]) == ("running", "hung")
        assert (await caller.call("cancel", job_id=hung.data["jobId"])).data["status"] == "cancelled"

    servers.run("auto", work, "--policy", str(policy))
