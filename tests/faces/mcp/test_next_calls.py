"""What the tools say beside a single result, and which call they name next: several jobs, limits that move, jobs that
have ended, a question of which no event tells."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tests.support.mcp.follower import next_step, own_lines
from tests.support.mcp.harness import Caller, Servers

MOST_LINES = 12
ASKS = [sys.executable, "-c", "print('hello', input('Name? '))"]


def test_of_several_jobs_those_that_go_on_are_a_line_each_and_one_call_waits_for_them(
    servers: Servers, era: str, tmp_path: Path
) -> None:
    async def work(caller: Caller) -> None:
        gate = tmp_path / "gate"
        line = f"while ! test -e {gate}; do sleep 0.05; done"
        slow = [(await caller.call("start", command=line)).data["jobId"] for _ in range(6)]
        quick = (await caller.call("start", command="echo bad; exit 4")).data["jobId"]
        asks = (await caller.call("start", argv=ASKS, interactive=True)).data["jobId"]
        found = await caller.call("wait", job_id=[*slow, quick])
        assert len(own_lines(found.text)) <= MOST_LINES
        assert [line.partition(":")[0] for line in own_lines(found.text)][:1] == ["FAILED"]
        step = next_step(found.text)
        assert step is not None
        assert (step.tool, step.arguments) == ("wait", {"job_id": slow})
        asked = await caller.call("wait", job_id=[slow[0], asks])
        step = next_step(asked.text)
        assert step is not None
        assert (step.tool, step.arguments["job_id"]) == ("send", asks)
        assert f'wait(job_id=["{slow[0]}"])' in asked.text, "it would be answered at once with the same question"
        gate.touch()
        both = await caller.call("wait", job_id=slow, all=True)
        assert both.data["status"] == "ended"
        assert next_step(both.text) is None
        await caller.call("cancel", job_id=asks)

    servers.run(era, work)


def test_an_extension_says_what_is_left_and_a_limit_that_there_is_not_is_refused_by_its_name(servers: Servers) -> None:
    async def work(caller: Caller) -> None:
        given: dict[str, Any] = {"hardTimeoutMs": 600_000, "idleTimeoutMs": 300_000}
        job = (await caller.call("start", command="sleep 3000", **given)).data["jobId"]
        found = await caller.call("extend", job_id=job, idle_sec=600)
        assert found.data["timeLeft"]["limit"] == "hard"  # now it is the nearer one
        assert 0 < found.data["timeLeft"]["ms"] <= 600_000
        assert "hard limit 10m" in found.text
        assert "hard +" not in found.text
        assert next_step(found.text) is not None
        endless = (await caller.call("run", command="tail -f /dev/null")).data["jobId"]
        for name in ("idle_sec", "hard_sec"):
            more: dict[str, Any] = {name: 60}
            refused = await caller.call("extend", job_id=endless, **more)
            assert refused.error
            assert refused.text.startswith(f"{name}: ")
        for name in (job, endless):
            await caller.call("cancel", job_id=name)

    servers.run("auto", work)


def test_a_job_that_is_about_to_be_ended_gets_the_time_that_the_next_call_speaks_of(servers: Servers) -> None:
    async def work(caller: Caller) -> None:
        given: dict[str, Any] = {"hardTimeoutMs": 60_000, "idleTimeoutMs": 20_000}
        warned = await caller.call("run", command="sleep 3000", wait_sec=40, **given)
        step = next_step(warned.text)
        assert step is not None
        assert step.tool == "extend"
        extended = await caller.call(step.tool, **step.arguments)
        assert extended.data["timeLeft"]["ms"] >= 500_000
        await caller.call("cancel", job_id=warned.data["jobId"])

    servers.run("auto", work)


def test_a_running_job_is_shown_both_limits_and_one_that_no_sign_of_life_moves_alone(servers: Servers) -> None:
    async def work(caller: Caller) -> None:
        given: dict[str, Any] = {"hardTimeoutMs": 600_000, "idleTimeoutMs": 300_000}
        both = await caller.call("run", command="sleep 3000", wait_sec=0, **given)
        left = both.data["timeLeft"]
        assert left["limit"] == "idle"
        assert left["ms"] <= 300_000 < left["hardMs"] <= 600_000
        assert "idle limit 5m" in both.text
        assert "hard limit 10m" in both.text
        same = await caller.call("start", command="sleep 3000")  # a day for each
        assert same.data["timeLeft"]["limit"] == "hard"
        assert "hardMs" not in same.data["timeLeft"]
        for found in (both, same):
            await caller.call("cancel", job_id=found.data["jobId"])

    servers.run("auto", work)


def test_what_is_asked_of_a_job_that_has_ended_is_answered_with_how_it_ended_and_where_the_rest_is(
    servers: Servers, era: str
) -> None:
    async def work(caller: Caller) -> None:
        job = (await caller.call("run", command="exit 3")).data["jobId"]
        for tool, arguments in (("send", {"text": "x"}), ("extend", {"idle_sec": 5}), ("diagnose", {})):
            found = await caller.call(tool, job_id=job, **arguments)
            assert found.error
            assert "exited with 3" in found.text
            assert f'wait(job_id="{job}")' in found.text
            assert "\n" not in found.text
        empty = await caller.call("wait", job_id=[])
        assert empty.error
        assert empty.text.startswith("job_id: ")

    servers.run(era, work)


def test_what_waits_for_keys_without_limits_is_a_question_and_not_a_hang(servers: Servers) -> None:
    """The keeper looks at no job that has no limits: the diagnosis of the call is the first to see the prompt."""

    async def work(caller: Caller) -> None:
        started = await caller.call("run", argv=ASKS, pty=True, category="session")
        job = started.data["jobId"]
        assert any(step.startswith("send(") for step in started.data["next"])
        waited = await caller.call("wait", job_id=job, wait_sec=5)
        assert waited.text.startswith("NEEDS INPUT: ")
        assert waited.data["jobs"][0]["needsInput"]["prompt"] == "Name?"
        step = next_step(waited.text)
        assert step is not None
        assert step.tool == "send"
        told = await caller.call("diagnose", job_id=job)
        assert (told.data["state"], told.data["cause"]) == ("hung", "input")
        assert next_step(told.text) == step
        await caller.call("send", job_id=job, text="Ada")
        assert "hello Ada" in (await caller.call("wait", job_id=job)).text

    servers.run("auto", work)


def test_a_failure_for_want_of_an_answer_is_told_how_to_give_one(servers: Servers) -> None:
    async def work(caller: Caller) -> None:
        unread = await caller.call("run", argv=ASKS)
        assert unread.data["status"] == "error"
        assert any("interactive=true" in line and "Name?" in line for line in unread.data["recovery"]["suggestions"])
        assert "interactive=true" in unread.text
        wants = await caller.call("run", command="echo 'sudo: a terminal is required to read the password' >&2; exit 1")
        assert any("pty=true" in line for line in wants.data["recovery"]["suggestions"])
        plain = await caller.call("run", command="echo broken >&2; exit 1")
        assert plain.data["recovery"]["suggestions"] == []
        answered = await caller.call("run", argv=ASKS, stdin="Ada\n")
        assert "hello Ada" in answered.text

    servers.run("auto", work)


def test_letters_that_man_strikes_over_are_read_as_letters_and_the_structure_has_the_bytes(servers: Servers) -> None:
    async def work(caller: Caller) -> None:
        found = await caller.call("run", command=r"printf 'N\bNA\bAM\bME\bE _\bx\n'")
        assert "\nNAME x\n" in found.text
        assert found.data["stdout"].startswith("N\bN")
        read = await caller.call("output", job_id=found.data["jobId"])
        assert "\nNAME x\n" in read.text
        beyond = await caller.call("output", job_id=found.data["jobId"], offset=1000)
        assert f"{found.data['output']['stdout']['bytes']} bytes" in beyond.text

    servers.run("auto", work)


def test_a_progress_bar_and_a_screen_are_read_line_by_line(servers: Servers) -> None:
    async def work(caller: Caller) -> None:
        bar = await caller.call("run", command=r"printf '\r10%%\r20%%\rdone\r\nend\n'")
        assert "\n10%\n20%\ndone\nend\n" in bar.text
        screen = await caller.call("run", command=r"printf 'a     \033[2;1Hb     \033[3;1H\033[1mc\n'")
        assert "\na\nb\nc\n" in screen.text
        read = await caller.call("output", job_id=screen.data["jobId"])
        assert "\na\nb\nc\n" in read.text

    servers.run("auto", work)


def test_what_waits_for_keys_and_for_a_timer_beside_them_can_be_typed_into(servers: Servers) -> None:
    code = "import select, tty; tty.setraw(0); print('\\x1b[?1049hmenu', flush=True); select.select([0], [], [], 3000)"

    async def work(caller: Caller) -> None:
        argv = [sys.executable, "-c", code]
        job = (await caller.call("run", argv=argv, pty=True, category="session")).data["jobId"]
        waited = await caller.call("wait", job_id=job, wait_sec=4)
        found = waited.data["jobs"][0]["diagnosis"]
        assert (found["state"], found["cause"]) == ("unsure", "input")
        step = next_step(waited.text)
        assert step is not None
        assert (step.tool, step.arguments["job_id"]) == ("send", job)
        await caller.call("send", job_id=job, text="q", newline=False)
        assert (await caller.call("wait", job_id=job)).data["jobs"][0]["status"] == "success"

    servers.run("auto", work)
