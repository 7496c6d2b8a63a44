"""`run`: within the client's patience, whatever the command does."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from tests.support.mcp.harness import Caller, Servers


def test_output_exit_code_and_duration_come_back(servers: Servers, era: str) -> None:
    async def work(caller: Caller) -> None:
        found = await caller.call("run", command="echo out; echo err >&2; exit 3")
        assert found.error
        assert found.data["status"] == "error"
        assert found.data["exitCode"] == 3
        assert found.data["stdout"] == "out\n"
        assert found.data["stderr"] == "err\n"
        assert "exited with 3" in found.text
        fine = await caller.call("run", argv=["echo", "a b", "$HOME"])
        assert not fine.error
        assert fine.data["status"] == "success"
        assert fine.data["stdout"] == "a b $HOME\n"
        assert fine.data["timeoutReason"] is None
        assert fine.data["durationMs"] >= 0

    servers.run(era, work)


def test_a_command_gets_its_directory_environment_input_and_terminal(servers: Servers, tmp_path: Path) -> None:
    async def work(caller: Caller) -> None:
        (tmp_path / "below").mkdir()
        found = await caller.call(
            "run", command='pwd; echo "$WORD"; cat', cwd=str(tmp_path / "below"), env={"WORD": "w"}, stdin="typed\n"
        )
        assert found.data["stdout"] == f"{tmp_path}/below\nw\ntyped\n"
        # without any input a reader gets end of file, never our protocol's own stdin
        assert (await caller.call("run", command="cat; echo over")).data["stdout"] == "over\n"
        terminal = await caller.call("run", command="test -t 0 && test -t 1 && echo terminal", pty=True)
        assert "terminal" in terminal.data["stdout"]

    servers.run("auto", work)


def test_a_silent_command_is_ended_and_explained(servers: Servers, era: str) -> None:
    """The seed's hung process: structured error, partial output, a diagnosis, what to do."""

    async def work(caller: Caller) -> None:
        found = await caller.call("run", command="echo begun; sleep 600", idleTimeoutMs=4000)
        assert found.error
        data = found.data
        assert data["status"] == "timeout"
        assert data["timeoutReason"] == "no_output_timeout"
        assert data["terminationMode"] == "soft"
        assert data["error"]["code"] == "EIDLE"
        assert data["error"]["kind"] == "inactivity"
        assert data["error"]["survivors"] == []
        assert data["partial"]["stdoutTail"] == "begun\n"
        assert data["diagnosis"]["cause"] == "timer"
        assert "sleep" in data["diagnosis"]["reason"]
        assert data["recovery"]["suggestions"]
        assert "idleTimeoutMs" in json.dumps(data["recovery"])
        assert "--idle" not in json.dumps(data["recovery"])
        assert data["limits"]["idleMs"] == {"value": 4000, "source": "argument"}
        assert found.text.startswith("TIMED OUT")
        assert "begun" in found.text
        assert len(found.text) < 3000
        assert len(json.dumps(data)) < 10_000

    servers.run(era, work)


def test_one_number_bounds_the_whole_time_and_not_the_silence(servers: Servers) -> None:
    async def work(caller: Caller) -> None:
        talker = "while :; do echo still running; sleep 0.2; done"
        found = await caller.call("run", command=talker, timeout_sec=2)
        assert found.data["timeoutReason"] == "exec_timeout"
        assert found.data["error"]["code"] == "ETIMEDOUT"
        assert found.data["limits"]["hardMs"]["value"] == 2000
        assert "still running" in found.data["stdout"]
        silent = await caller.call("run", command="sleep 3", timeout_sec=30)
        assert silent.data["status"] == "success"
        hung = await caller.call("run", command="sleep 600", timeout_sec=2)
        assert hung.data["timeoutReason"] == "exec_timeout"
        assert "idleTimeoutMs" not in hung.text

    servers.run("auto", work)


def test_a_policy_file_of_its_own_has_the_quarter_of_one_number(servers: Servers, tmp_path: Path) -> None:
    policy = tmp_path / "policy.json"
    policy.write_text('{"categories": {"a": {"exec_timeout_sec": 60}}, "default_category": "a"}')

    async def work(caller: Caller) -> None:
        silent = await caller.call("run", command="sleep 600", timeout_sec=4)
        assert silent.data["timeoutReason"] == "no_output_timeout"
        assert silent.data["limits"]["idleMs"]["value"] == 1000

    servers.run("auto", work, "--policy", str(policy))


def test_what_is_asked_is_bounded_and_both_are_shown(servers: Servers) -> None:
    async def work(caller: Caller) -> None:
        found = await caller.call("run", command="true", idleTimeoutMs=10, hardTimeoutMs=400_000_000_000)
        limits = found.data["limits"]
        assert limits["idleMs"]["value"] == 1000
        assert limits["idleMs"]["asked"] == 10
        assert limits["hardMs"]["value"] == 86_400_000
        assert limits["hardMs"]["asked"] == 400_000_000_000
        for seconds in (30, 60, 120):
            shown = (await caller.call("run", command="true", timeout_sec=seconds)).data["limits"]["hardMs"]
            assert shown == {"value": seconds * 1000, "source": "argument:timeout_sec"}

    servers.run("auto", work)


def test_a_long_command_is_handed_over_and_found_again(servers: Servers, era: str, tmp_path: Path) -> None:
    async def work(caller: Caller) -> None:
        gate = tmp_path / "gate"
        line = f"echo begun; while ! test -e {gate}; do sleep 0.1; done; echo over"
        began = time.monotonic()
        found = await caller.call("run", command=line, wait_sec=5)
        assert time.monotonic() - began < 30
        assert not found.error
        assert found.data["status"] == "running"
        assert found.data["stdout"] == "begun\n"
        assert found.data["diagnosis"] is not None
        assert any(step.startswith("wait(") for step in found.data["next"])
        job = found.data["jobId"]
        early = await caller.call("wait", job_id=job, wait_sec=0.2)
        assert early.data["status"] == "running"
        gate.touch()
        late = await caller.call("wait", job_id=job)
        assert late.data["status"] == "ended"
        assert late.data["jobs"][0]["stdout"] == "begun\nover\n"
        assert late.data["jobs"][0]["status"] == "success"

    servers.run(era, work)


def test_a_command_that_never_ends_is_in_the_background_at_once(servers: Servers) -> None:
    async def work(caller: Caller) -> None:
        found = await caller.call("run", command="echo listening; tail -f /dev/null")
        assert not found.error
        assert found.data["status"] == "running"
        assert found.data["background"] is True
        assert "listening" in found.data["stdout"]
        ended = await caller.call("cancel", job_id=found.data["jobId"])
        assert ended.data["status"] == "cancelled"
        # with a limit of its own it ends, so it is waited for
        bounded = await caller.call("run", command="tail -f /dev/null", idleTimeoutMs=1000)
        assert bounded.data["status"] == "timeout"

    servers.run("auto", work)


def test_a_flood_is_cut_in_the_middle_and_can_be_read_on(servers: Servers) -> None:
    async def work(caller: Caller) -> None:
        code = "import sys; sys.stdout.write(''.join(f'{n:07d}\\n' for n in range(1_000_000)))"
        found = await caller.call("run", argv=[sys.executable, "-c", code])
        assert found.data["status"] == "success"
        assert found.data["truncated"] is True
        assert len(found.data["stdout"]) < 13_000
        assert found.data["stdout"].startswith("0000000\n")
        assert found.data["stdout"].endswith("0999999\n")
        position = found.data["output"]["stdout"]
        assert position["bytes"] == 8_000_000
        more = await caller.call(
            "output", job_id=found.data["jobId"], offset=position["leftOutFrom"], limit=800, stream="stdout"
        )
        assert more.data["text"] == "".join(f"{n:07d}\n" for n in range(1_000_000))[4000:4800]
        assert more.data["nextOffset"] == 4800
        tail = await caller.call("output", job_id=found.data["jobId"], tail=8)
        assert tail.data["text"] == "0999999\n"

    servers.run("auto", work)


def test_mistakes_are_tool_errors_in_one_line(servers: Servers, era: str) -> None:
    async def work(caller: Caller) -> None:
        for arguments, words in (
            ({}, "either command"),
            ({"command": "a", "argv": ["b"]}, "either command"),
            ({"command": "true", "cwd": "/nowhere/at/all"}, "no such directory"),
            ({"command": "true", "category": "nonsense"}, "no category"),
            ({"command": "x" * 200_000}, "128 KiB"),
        ):
            found = await caller.call("run", **arguments)
            assert found.error
            assert words in found.text
            assert "\n" not in found.text
        assert (await caller.call("run", command=5)).error
        assert (await caller.call("wait", job_id="nothing")).error
        assert (await caller.call("nonsense")).error
        missing = await caller.call("run", argv=["no-such-program-at-all"])
        assert missing.data["error"]["code"] == "ESPAWN"
        assert (await caller.call("run", command="echo alive")).data["stdout"] == "alive\n"

    servers.run(era, work)


def test_texts_that_look_like_json_stay_texts(servers: Servers) -> None:
    """The SDK reads such a text as the value it stands for wherever a parameter is not plainly a text."""

    async def work(caller: Caller) -> None:
        for text in ('{"a": 1}', "[1, 2]", "null", "5", '"quoted"'):
            assert (await caller.call("run", argv=["cat"], stdin=text)).data["stdout"] == text
        assert (await caller.call("run", command="null")).data["exitCode"] == 127

    servers.run("auto", work)


def test_a_length_of_time_that_cannot_be_meant_is_refused_in_one_line(servers: Servers) -> None:
    async def work(caller: Caller) -> None:
        job = (await caller.call("start", command="sleep 600")).data["jobId"]
        huge = 10**400
        for tool, options in (
            ("run", {"command": "true", "timeout_sec": 1e308}),
            ("run", {"command": "true", "timeout_sec": 1e300}),
            ("run", {"command": "true", "wait_sec": 1e308}),
            ("run", {"command": "true", "idleTimeoutMs": huge}),
            ("start", {"command": "true", "hardTimeoutMs": huge}),
            ("start", {"command": "true", "timeout_sec": 1e308}),
            ("wait", {"job_id": job, "wait_sec": 1e308}),
            ("events", {"job_id": job, "wait_sec": 1e308}),
            ("extend", {"job_id": job, "idle_sec": 1e308}),
            ("explain_policy", {"command": "true", "timeout_sec": 1e308}),
        ):
            found = await caller.call(tool, **options)
            assert found.error, (tool, options)
            assert "century" in found.text, (tool, options)
            assert len(found.text.splitlines()) == 1
        await caller.call("cancel", job_id=job)

    servers.run("auto", work)
