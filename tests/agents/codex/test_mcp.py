"""The same as tools of the MCP server: the seed's parameters, its bounds, its structured error; one more attempt."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.support.codex.harness import Bench
from tests.support.mcp.harness import Caller, Reply, Servers

POLICY = """\
version = "1.0"
extends = "built-in"
[categories.agent-write]
no_output_timeout_sec = 8
exec_timeout_sec = 60
"""


def with_client(bench: Bench, work: Callable[[Caller], Awaitable[None]], *options: str) -> None:
    bench.env["UNHANG_HOME"] = str(bench.home)
    Servers(bench).run("auto", work, *options)


def test_a_thread_is_begun_compacted_and_resumed(bench: Bench) -> None:
    async def work(caller: Caller) -> None:
        names = {tool.name for tool in (await caller.client.list_tools()).tools}
        assert {"codex_run", "codex_resume", "codex_compact"} <= names
        assert {"codex_exec", "codex_review", "codex_recover", "codex_cloud"} <= names
        first = await caller.call("codex_run", task="[[usage:50000]]", idleTimeoutMs=5000, cwd=str(bench.workspace))
        assert not first.error, first.text
        assert first.data["stdout"] == "pong\n"
        assert first.data["limits"]["idleMs"]["value"] == 60_000, "a caller is held to the bounds"
        assert first.data["limits"]["idleMs"]["asked"] == 5_000
        thread = first.data["codex"]["threadId"]
        later = await caller.call("wait", job_id=first.data["jobId"])
        assert later.data["jobs"][0]["codex"] == first.data["codex"], "every tool tells what Codex did"
        events = await caller.call("events", job_id=first.data["jobId"])
        (listed,) = (await caller.call("list", all=True)).data["jobs"]
        assert events.data["codex"] == listed["codex"]
        assert listed["codex"]["threadId"] == thread
        assert listed["codex"]["usage"]["contextTokens"] == 50000
        compacted = await caller.call("codex_compact", threadId=thread)
        assert not compacted.error, compacted.text
        assert compacted.data["codex"]["tokensBefore"] == 50000
        second = await caller.call("codex_resume", threadId=thread, task="again", mode="read-only")
        assert second.data["codex"]["threadId"] == thread
        assert second.data["limits"]["hardMs"]["value"] == 600_000
        refused = await caller.call("codex_compact", threadId="not-a-thread")
        assert refused.error
        assert "invalid" in refused.data["codex"]["error"]["message"]

    with_client(bench, work)


def test_a_timeout_is_tried_once_more_and_then_explained(bench: Bench) -> None:
    policy = bench.folder / "policy.toml"
    policy.write_text(POLICY)

    async def work(caller: Caller) -> None:
        found = await caller.call("codex_run", task="[[hang]]", cwd=str(bench.workspace), wait_sec=100)
        assert found.error
        assert found.data["status"] == "timeout"
        assert found.data["error"]["code"] == "EIDLE"
        assert found.data["error"]["kind"] == "inactivity"
        assert found.data["diagnosis"]["cause"] == "network"
        assert found.data["partial"]["eventsCount"] > 10
        assert any("codex_resume(threadId=" in hint for hint in found.data["recovery"]["suggestions"])
        assert not any("`start`" in hint for hint in found.data["recovery"]["suggestions"]), "it runs commands"
        told = [event for event in found.data["partial"]["lastEvents"] if event["type"] == "agent"]
        assert len({event["threadId"] for event in told if "threadId" in event}) == 1, (
            "the second goes on with the first"
        )
        assert not any("step" in event for event in told), "what it did, and not how it was ended"
        assert "Go on from where it stopped" in str(bench.fake.requests[-1])
        assert found.data["limits"]["hardMs"]["value"] < 60_000, "what the first attempt has left of it"

    with_client(bench, work, "--policy", str(policy))
    assert len(bench.fake.requests) == 2, "one more attempt, with longer limits"


async def hung(bench: Bench, caller: Caller) -> tuple[str, Reply]:
    """A job whose model was asked and will not answer, and what is known of it then."""
    asked = len(bench.fake.requests)
    begun = await caller.call("codex_run", task="[[hang]]", cwd=str(bench.workspace), wait_sec=1)
    assert begun.data["status"] == "running", begun.text
    job = str(begun.data["jobId"])
    seen = await caller.call("events", job_id=job)
    while not (seen.data["codex"].get("threadId") and len(bench.fake.requests) > asked):
        seen = await caller.call("events", job_id=job, afterSeq=seen.data["lastSeq"], wait_sec=5)
    return job, seen


def test_a_turn_that_is_cancelled_tells_what_codex_did(bench: Bench) -> None:
    async def work(caller: Caller) -> None:
        job, seen = await hung(bench, caller)
        cancelled = await caller.call("cancel", job_id=job)
        assert cancelled.data["status"] == "cancelled", cancelled.text
        codex = cancelled.data["codex"]
        assert (codex["threadId"], codex["turnStatus"]) == (seen.data["codex"]["threadId"], "interrupted")
        waited = await caller.call("wait", job_id=job)
        assert waited.data["jobs"][0]["codex"] == codex

    with_client(bench, work)


def test_a_cancelled_turn_tells_the_tokens_that_it_used(bench: Bench) -> None:
    """Codex reports them after each answer of its model: here after the one that calls a tool, which then hangs."""

    async def work(caller: Caller) -> None:
        told: dict[str, Any] = {"cwd": str(bench.workspace), "mode": "danger-full-access", "wait_sec": 1}
        begun = await caller.call("codex_run", task="[[shell:sleep 600]]", **told)
        assert begun.data["status"] == "running", begun.text
        job = begun.data["jobId"]
        seen = await caller.call("events", job_id=job)
        while not seen.data["codex"].get("usage"):
            seen = await caller.call("events", job_id=job, afterSeq=seen.data["lastSeq"], wait_sec=5)
        cancelled = await caller.call("cancel", job_id=job)
        assert cancelled.data["status"] == "cancelled", cancelled.text
        # on a busy machine its model may have answered once more by then
        after = await caller.call("events", job_id=job)
        assert cancelled.data["codex"]["usage"] == after.data["codex"]["usage"]
        assert after.data["codex"]["usage"]["totalTokens"] >= seen.data["codex"]["usage"]["totalTokens"] > 0

    with_client(bench, work)


def test_an_overflowing_context_says_what_to_call(bench: Bench) -> None:
    async def work(caller: Caller) -> None:
        found = await caller.call("codex_run", task="[[ctx]]", cwd=str(bench.workspace))
        assert found.error
        assert found.data["codex"]["error"]["info"] == "contextWindowExceeded"
        assert any("codex_compact" in hint for hint in found.data["recovery"]["suggestions"])

    with_client(bench, work)


def test_nothing_is_offered_where_there_is_no_codex(bench: Bench) -> None:
    bench.env["UNHANG_CODEX"] = str(bench.folder / "nothing")

    async def work(caller: Caller) -> None:
        names = {tool.name for tool in (await caller.client.list_tools()).tools}
        assert "run" in names
        assert not any(name.startswith("codex") for name in names)

    with_client(bench, work)


def test_exec_and_review_answer_and_recover_goes_on_in_the_thread(bench: Bench) -> None:
    async def work(caller: Caller) -> None:
        ran = await caller.call("codex_exec", task="[[text:by exec]]", cwd=str(bench.workspace))
        assert (ran.data["status"], ran.data["stdout"]) == ("success", "by exec\n"), ran.text
        reviewed = await caller.call("codex_review", instructions="[[text:fine]]", cwd=str(bench.workspace))
        assert reviewed.data["status"] == "success", reviewed.text
        refused = await caller.call("codex_review", instructions="x", base="main")
        assert refused.error
        job, _ = await hung(bench, caller)
        freed = await caller.call("codex_recover", job_id=job, task="[[text:on again]]")
        assert (freed.data["status"], freed.data["stdout"]) == ("success", "on again\n"), freed.text
        old = await caller.call("wait", job_id=job)
        assert old.data["jobs"][0]["status"] == "cancelled"
        assert freed.data["codex"]["threadId"] == old.data["jobs"][0]["codex"]["threadId"]

    with_client(bench, work)


def test_the_delegators_tools_are_there_under_their_own_names(bench: Bench) -> None:
    """A call lasts until the end, and its text is the structured answer of the seed."""
    policy = bench.folder / "policy.toml"
    policy.write_text(POLICY)

    async def work(caller: Caller) -> None:
        names = {tool.name for tool in (await caller.client.list_tools()).tools}
        assert {"_codex_local_run", "_codex_local_exec", "_codex_local_resume", "codex_run"} <= names
        told: dict[str, Any] = {"cwd": str(bench.workspace), "mode": "workspace-write"}
        first = await caller.call("_codex_local_run", task="[[text:done]]", idleTimeoutMs=300_000, **told)
        assert json.loads(first.text) == first.data
        assert (first.error, first.data["success"], first.data["output"]) == (False, True, "done")
        again = await caller.call(
            "_codex_local_resume", threadId=first.data["threadId"], task="[[text:on]]", idleTimeoutMs=300_000, **told
        )
        assert (again.data["output"], again.data["threadId"]) == ("on", first.data["threadId"])
        hung = await caller.call("_codex_local_run", task="[[hang]]", **told)
        said = json.loads(hung.text)
        assert (hung.error, said["success"]) == (True, False)
        assert (said["error"]["code"], said["error"]["kind"], said["error"]["killed"]) == ("EIDLE", "inactivity", True)
        assert {"lastEvents", "stdoutTail", "stderrTail", "lastActivityAt", "eventsCount"} <= set(said["partial"])
        assert said["recovery"]["suggestions"]
        assert said["diagnosis"]["cause"] == "network"

    with_client(bench, work, "--aliases", "delegator", "--policy", str(policy))


# --- a stand-in for Codex, where what counts is what unhang makes of it -----------------------------------------------

SILENT = """\
#!/bin/sh
[ "$1" = --version ] && { echo codex-cli 0.166.0; exit 0; }
exec cat >/dev/null
"""
CLOUD = """\
#!/bin/sh
[ "$1" = --version ] && { echo codex-cli 0.166.0; exit 0; }
echo "called: $*"
read -r word <gate
echo "$word"
"""
IMPATIENT = """\
version = "1.0"
extends = "built-in"
[categories.agent-write]
no_output_timeout_sec = 1
exec_timeout_sec = 600
"""


def stand_in(bench: Bench, text: str) -> None:
    program = bench.folder / "codex"
    program.write_text(text)
    program.chmod(0o755)
    bench.env["UNHANG_CODEX"] = str(program)


async def to_its_end(caller: Caller, found: Reply) -> dict[str, Any]:
    """The result, however long a busy machine takes."""
    shown = found.data
    while shown["status"] == "running":
        (shown,) = (await caller.call("wait", job_id=shown["jobId"])).data["jobs"]
    return shown


@pytest.mark.parametrize("retry", [0, 2])
def test_a_timeout_is_tried_again_as_often_as_was_asked_for(bench: Bench, retry: int) -> None:
    """It never greets: another attempt may help, and does not."""
    stand_in(bench, SILENT)
    policy = bench.folder / "policy.toml"
    policy.write_text(IMPATIENT)

    async def work(caller: Caller) -> None:
        found = await caller.call("codex_run", task="x", cwd=str(bench.workspace), retry=retry)
        shown = await to_its_end(caller, found)
        assert shown["status"] == "timeout"
        assert shown["limits"]["idleMs"]["value"] == 1000 * 2**retry, "of the last attempt"
        events = bench.handle(shown["jobId"]).events()
        assert [event["attempt"] for event in events if event["phase"] == "retry" and "attempt" in event] == [
            *range(2, retry + 2)
        ]

    with_client(bench, work, "--policy", str(policy))


def test_the_cloud_of_a_codex_that_is_not_signed_in_fails_with_its_own_words(bench: Bench) -> None:
    async def work(caller: Caller) -> None:
        words = ["exec", "--env", "E", "fix it"]
        shown = await to_its_end(caller, await caller.call("codex_cloud", words=words, cwd=str(bench.workspace)))
        assert (shown["status"], shown["exitCode"]) == ("error", 1)
        assert "codex login" in shown["stderr"]

    with_client(bench, work)


def test_a_call_of_the_cloud_goes_on_when_its_time_is_over(bench: Bench) -> None:
    stand_in(bench, CLOUD)
    gate = bench.workspace / "gate"
    os.mkfifo(gate)

    async def work(caller: Caller) -> None:
        words = ["exec", "--env", "E", "fix it"]
        found = await caller.call("codex_cloud", words=words, cwd=str(bench.workspace), wait_sec=1)
        assert (found.error, found.data["status"]) == (False, "running"), found.text
        assert found.data["limits"]["idleMs"]["value"] is None, "its tasks run elsewhere"
        later = await caller.call("wait", job_id=found.data["jobId"], wait_sec=1)
        assert later.data["jobs"][0]["status"] == "running", later.text
        with gate.open("w") as file:
            file.write("done\n")
        shown = await to_its_end(caller, later._replace(data=later.data["jobs"][0]))
        assert (shown["status"], shown["stdout"]) == ("success", "called: cloud exec --env E fix it\ndone\n")

    with_client(bench, work)
    (row,) = bench.said("ps", "--all")
    assert row["labels"]["agent"] == "codex"
