"""Many calls at once, and messages that no client should send."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio

from tests.support.mcp.harness import PATIENCE, Caller, Reply, Servers
from tests.support.mcp.raw import Raw, call


def test_other_calls_are_answered_while_fifty_wait(servers: Servers, era: str, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    line = f"echo in; while ! test -e {gate}; do sleep 0.2; done; echo out"

    async def work(caller: Caller) -> None:
        replies: list[Reply] = []

        async def one() -> None:
            replies.append(await caller.call("run", command=line, hardTimeoutMs=300_000))

        async with anyio.create_task_group() as group:
            for _ in range(50):
                group.start_soon(one)
            with anyio.fail_after(60):
                while len((await caller.call("list")).data["jobs"]) < 50:
                    pass
            for _ in range(5):  # a benchmark measures how fast
                assert len((await caller.call("list")).data["jobs"]) == 50
            assert replies == []
            gate.touch()
        assert len(replies) == 50
        assert {reply.data["stdout"] for reply in replies} == {"in\nout\n"}

    servers.run(era, work)


def test_invalid_messages_are_answered_with_errors_and_the_server_goes_on(servers: Servers) -> None:
    raw = Raw(servers.popen())
    raw.shake_hands()
    for line in (b"{", b"[]", b"null", b'"text"', b"\xff\xfe\x00", b"{}"):
        raw.write(line)
        assert raw.answer(None)["error"]["code"] in (-32700, -32600)
    raw.write(b'{"jsonrpc":"1.0","id":9,"method":"x"}')
    assert raw.answer(9)["error"]["code"] == -32600  # its client waits for an answer to this very request
    raw.send({"jsonrpc": "2.0", "id": 10, "method": "no/such/method"})
    assert raw.answer(10)["error"]["code"] == -32601
    raw.send({"jsonrpc": "2.0", "id": 11, "method": "tools/call", "params": {"name": 5}})
    assert "error" in raw.answer(11)
    raw.send({"jsonrpc": "2.0", "id": 12, "method": "tools/call", "params": {"name": "run", "arguments": [1]}})
    assert "error" in raw.answer(12)
    wrong: list[dict[str, Any]] = [
        {"command": 1},
        {"command": "true", "env": "x"},
        {"argv": "echo"},
        {"command": "true", "wait_sec": "soon"},
    ]
    for number, arguments in enumerate(wrong, 20):
        raw.send(call(number, "run", **arguments))
        found = raw.answer(number)
        assert "error" in found or found["result"]["isError"] is True
    raw.send(call(30, "no_such_tool"))
    found = raw.answer(30)
    assert "error" in found or found["result"]["isError"] is True
    raw.send(call(40, "run", command="echo " + "x" * 10_000_000))
    assert raw.answer(40)["result"]["isError"] is True
    raw.send(call(41, "run", command="wc -c", stdin="y" * 10_000_000))
    assert raw.answer(41)["result"]["structuredContent"]["stdout"].strip() == "10000000"
    raw.send(call(42, "run", argv=["echo", "\udc80"]))  # half of a surrogate pair is no JSON text
    assert raw.answer(42)["error"]["code"] == -32700
    raw.send(call(43, "run", command="echo alive"))
    assert raw.answer(43)["result"]["structuredContent"]["stdout"] == "alive\n"
    assert raw.process.stdin is not None
    raw.process.stdin.close()
    assert raw.process.wait(PATIENCE) == 0


def test_control_characters_of_the_output_are_not_in_the_text(servers: Servers) -> None:
    async def work(caller: Caller) -> None:
        found = await caller.call("run", command=r"printf 'a\377\033[31mb\000c\n'")
        assert found.data["status"] == "success"
        json.dumps(found.data).encode()
        assert "\x1b" not in found.text
        assert "\x00" not in found.text

    servers.run("auto", work)


def test_more_jobs_or_calls_than_the_server_takes_are_refused(servers: Servers) -> None:
    async def work(caller: Caller) -> None:
        first = (await caller.call("start", command="sleep 600")).data["jobId"]
        second = (await caller.call("start", command="sleep 600")).data["jobId"]
        refused = await caller.call("start", command="sleep 600")
        assert refused.error
        assert "2 jobs" in refused.text
        await caller.call("cancel", job_id=first)
        assert not (await caller.call("run", command="true")).error
        async with anyio.create_task_group() as group:

            async def wait() -> None:
                while (await caller.call("wait", job_id=second)).error and not servers.job(second).ended():
                    pass

            group.start_soon(wait)
            group.start_soon(wait)
            with anyio.fail_after(30):
                while True:
                    found = await caller.call("run", command="true")
                    if found.error:
                        break
            assert "calls are in flight" in found.text
            await caller.call("cancel", job_id=second)

    servers.run("auto", work, "--max-jobs", "2", "--max-calls", "2")


def test_a_directory_outside_of_the_allowed_one_is_refused_by_whatever_path(servers: Servers, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "link").symlink_to("/")

    async def work(caller: Caller) -> None:
        assert not (await caller.call("run", command="true", cwd=str(inside))).error
        for folder in ("/", str(tmp_path / "link"), str(inside / "..")):
            found = await caller.call("run", command="true", cwd=folder)
            assert found.error
            assert "not inside an allowed directory" in found.text

    servers.run("auto", work, "--allow-dir", str(inside))
