"""The list of tests that this grew from, each under its name, with real processes."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from tests.support.acp.harness import S, ask, created, here, refused, run
from tests.support.engine import actor
from unhang.acp import Completed, Terminals, TimedOut
from unhang.acp import protocol as at
from unhang.errors import UsageError
from unhang.testing.liveness import RollCall


def test_natural_completion() -> None:
    """The timeout pattern with a command that comes to its own end."""

    async def work() -> None:
        async with Terminals() as terminals:
            got = await terminals.execute_with_timeout(S, "echo out; echo err >&2; exit 3", timeout=60)
            assert isinstance(got, Completed)
            assert (got.exit_code, got.signal, got.output, got.truncated) == (3, None, "out\nerr\n", False)
            assert got.state == "finished"
            assert not got.ok
            assert got.limits["hardMs"] == {"value": 60000, "source": "argument"}
            assert await refused(terminals, "output", got.job_id) == -32602, "it has been released"

    run(work())


def test_timeout_triggers_kill(roll: RollCall) -> None:
    async def work() -> None:
        async with Terminals(grace=0.2) as terminals:
            got = await terminals.execute_with_timeout(S, *_split(actor("ignore_term", roll.path)), timeout=5)
            assert isinstance(got, TimedOut)
            assert (got.output, got.truncated) == ("ready\n", False)
            assert (got.exit_code, got.signal) == (None, "SIGKILL")
            assert got.reason == "exec_timeout"
            assert got.diagnosis is not None, "it is known why it was still there"
            assert got.limits["hardMs"]["value"] == 5000
            assert roll.is_empty()
            assert await refused(terminals, "wait_for_exit", got.job_id) == -32602

    run(work())


def test_timeout_is_kept_where_the_policy_gives_more_time(tmp_path: Path, roll: RollCall) -> None:
    """The job's own limit may not be as short as the timeout: then the timer is ours."""
    policy = tmp_path / "policy.json"
    policy.write_text('{"version": "1.0", "extends": "built-in", "bounds": {"exec_timeout_sec": {"min": "10m"}}}')

    async def work() -> None:
        async with Terminals(grace=0.2, policy=str(policy)) as terminals:
            got = await terminals.execute_with_timeout(S, *_split(actor("obedient", roll.path)), timeout=5)
            assert isinstance(got, TimedOut)
            assert got.limits["hardMs"]["value"] == 600_000
            assert got.reason == "exec_timeout"
            assert roll.is_empty()

    run(work())


def test_concurrent_wait_and_timeout() -> None:
    """A quick command is over long before its timer; both wait at once, neither disturbs the other."""

    async def work() -> None:
        async with Terminals() as terminals:
            both = await asyncio.gather(
                terminals.execute_with_timeout(S, "echo quick", timeout=60),
                terminals.execute_with_timeout(S, "echo slow; exec sleep 60", timeout=3),
            )
            assert isinstance(both[0], Completed)
            assert both[0].output == "quick\n"
            assert isinstance(both[1], TimedOut)
            assert both[1].output == "slow\n"
            assert both[1].signal == "SIGTERM"

    run(work())


def test_signal_handling_graceful_termination() -> None:
    async def work() -> None:
        async with Terminals() as terminals:
            terminal = await created(terminals, "trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.1; done")
            await until_printed(terminals, terminal, "up")
            await ask(terminals, "kill", terminal)
            got = await ask(terminals, "output", terminal)
            assert got["exitStatus"] == {"exitCode": 7, "signal": None}, "it was asked, and answered"
            lines = got["output"].splitlines()  # a shell may also say what became of its `sleep`
            assert (lines[0], lines[-1]) == ("up", "bye")
            assert got["_meta"]["unhang"]["state"] == "killed"

    run(work())


def test_signal_handling_forceful_termination(roll: RollCall) -> None:
    async def work() -> None:
        async with Terminals(grace=0.2) as terminals:
            terminal = await created(terminals, *actor("ignore_term", roll.path))
            process = await here(roll)
            assert process.is_alive()
            await ask(terminals, "kill", terminal)
            assert not process.is_alive()
            assert (await ask(terminals, "wait_for_exit", terminal))["signal"] == "SIGKILL"

    run(work())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGSEGV, signal.SIGUSR1])
def test_signal_reporting_in_exit_status(number: signal.Signals) -> None:
    """A command that dies of a signal of its own: nobody killed it, and its name is told."""

    async def work() -> None:
        async with Terminals() as terminals:
            terminal = await created(terminals, f"ulimit -c 0; kill -{number.value} $$")
            got = await ask(terminals, "wait_for_exit", terminal)
            assert (got["exitCode"], got["signal"]) == (None, number.name)
            assert terminals.state(S, terminal) == at.FINISHED

    run(work())


def test_a_kill_with_sigkill_does_not_wait_for_the_grace_of_the_one_before() -> None:
    async def work() -> None:
        async with Terminals(grace="10m") as terminals:
            terminal = await created(terminals, "trap 'echo asked' TERM; echo up; while :; do sleep 0.1; done")
            await until_printed(terminals, terminal, "up")
            gentle = asyncio.ensure_future(ask(terminals, "kill", terminal))
            await until_printed(terminals, terminal, "asked")
            await ask(terminals, "kill", terminal, _meta={"unhang": {"signal": "SIGKILL"}})
            assert await gentle == {}
            assert (await ask(terminals, "wait_for_exit", terminal))["signal"] == "SIGKILL"

    run(work())


@pytest.mark.parametrize(
    ("verb", "said"),
    [
        ("kill", {"signal": "SIGUSR1"}),
        ("kill", {"signal": 9}),
        ("kill", {"timeout": 1}),
        ("kill", 9),
        ("wait_for_exit", {"timeout": "soon"}),
        ("wait_for_exit", {"timeout": True}),
        ("wait_for_exit", {"timeout": -1}),
        ("wait_for_exit", {"timeout": "off"}),
        ("wait_for_exit", {"signal": "SIGINT"}),
    ],
)
def test_an_extension_field_that_is_not_understood_is_refused_and_nothing_is_done(verb: str, said: object) -> None:
    async def work() -> None:
        async with Terminals() as terminals:
            terminal = await created(terminals, "exec sleep 600")
            assert await refused(terminals, verb, terminal, _meta={"unhang": said}) == -32602
            assert terminals.state(S, terminal) == at.RUNNING
            await ask(terminals, "kill", terminal, _meta={"other": {"signal": "SIGUSR1"}})

    run(work())


def test_wait_for_exit_already_finished() -> None:
    async def work() -> None:
        async with Terminals() as terminals:
            terminal = await created(terminals, "exit 5")
            first = await ask(terminals, "wait_for_exit", terminal)
            again = [await ask(terminals, "wait_for_exit", terminal) for _ in range(3)]
            assert again == [first] * 3
            assert first["exitCode"] == 5

    run(work())


def test_kill_already_finished_process() -> None:
    async def work() -> None:
        async with Terminals() as terminals:
            terminal = await created(terminals, "echo done")
            await ask(terminals, "wait_for_exit", terminal)
            assert await ask(terminals, "kill", terminal) == {}
            assert await ask(terminals, "kill", terminal) == {}
            got = await ask(terminals, "output", terminal)
            assert (got["output"], got["exitStatus"]) == ("done\n", {"exitCode": 0, "signal": None})
            assert terminals.state(S, terminal) == at.FINISHED, "a kill that came too late is no kill"

    run(work())


def test_terminal_state_transitions(roll: RollCall) -> None:
    async def work() -> None:
        async with Terminals(grace=0.2) as terminals:
            finished = await created(terminals, "true")
            await ask(terminals, "wait_for_exit", finished)
            killed = await created(terminals, "exec sleep 60")
            assert terminals.state(S, killed) == at.RUNNING
            await ask(terminals, "kill", killed)
            timed_out = await created(terminals, "exec sleep 60", _meta={"unhang": {"hard": 0.5, "warn": 0}})
            await ask(terminals, "wait_for_exit", timed_out)
            states = [terminals.state(S, terminal) for terminal in (finished, killed, timed_out)]
            assert states == [at.FINISHED, at.KILLED, at.TIMED_OUT]
            for terminal in (finished, killed, timed_out):
                await ask(terminals, "release", terminal)
                assert terminals.state(S, terminal) == at.RELEASED
            running = await created(terminals, *actor("obedient", roll.path))
            await here(roll)
            await ask(terminals, "release", running)
            assert roll.is_empty()

    run(work())


def test_process_group_management_and_cleanup(roll: RollCall) -> None:
    """A daemon in a session of its own, with nothing of the command's left open: it ends with it all the same."""

    async def work() -> None:
        async with Terminals(grace=0.2) as terminals:
            terminal = await created(terminals, *actor("double_fork", roll.path))
            await here(roll, "leader")
            member = await here(roll, "member")
            assert os.getsid(member.pid) != os.getsid(0)
            await ask(terminals, "kill", terminal)
            assert roll.is_empty()
            # and what a command leaves behind when it exits by itself
            gate = f"{roll.path}.gate"
            os.mkfifo(gate)
            left = await created(terminals, *actor("leaver", roll.path, 0, gate))
            assert (await ask(terminals, "wait_for_exit", left))["exitCode"] == 0
            assert roll.wait_empty()

    run(work())


def test_what_a_command_left_running_and_what_ended_it_stand_in_its_output(tmp_path: Path) -> None:
    """A model reads nothing else: it would go on as if its server ran."""

    async def work() -> None:
        async with Terminals(grace=0.2) as terminals:
            # a child is still called by its shell's words until it has become the program
            line = (
                "sleep 1000 >/dev/null 2>&1 & echo $! >pid; "
                "until grep -qx sleep /proc/$!/comm; do :; done; echo started"
            )
            left = await created(terminals, "sh", "-c", line, cwd=str(tmp_path))
            assert (await ask(terminals, "wait_for_exit", left))["exitCode"] == 0
            shown = await ask(terminals, "output", left)
            pid = (tmp_path / "pid").read_text().strip()
            first, *told = shown["output"].splitlines()
            assert first == "started", "what it printed comes first, and is not changed"
            assert f"sleep 1000 [{pid}]" in " ".join(told)
            assert shown["_meta"]["unhang"]["leftovers"] == [f"sleep 1000 [{pid}]"]
            alone = await created(terminals, "echo", "started")
            await ask(terminals, "wait_for_exit", alone)
            assert (await ask(terminals, "output", alone))["output"] == "started\n"
        async with Terminals(grace=0.2, hard=1) as terminals:
            slow = await created(terminals, "sleep", "1000")
            await ask(terminals, "wait_for_exit", slow)
            assert "hard limit 1s" in (await ask(terminals, "output", slow))["output"]

    run(work())


def test_timeout_configuration_and_customization(tmp_path: Path) -> None:
    """For all, for a session, for a call; by the policy; and the answer says what holds and why."""
    policy = tmp_path / "policy.json"
    policy.write_text('{"version": "1.0", "extends": "built-in", "bounds": {"exec_timeout_sec": {"max": "1h"}}}')

    async def limits(terminals: Terminals, **more: object) -> dict[str, object]:
        given = {"sessionId": S, "command": "npm test --help", **more}
        answer = await terminals.handle("terminal/create", given)
        found = answer["_meta"]["unhang"]["limits"]
        await ask(terminals, "release", answer["terminalId"])
        return {name: found[name] for name in ("idleMs", "hardMs", "graceMs")}

    async def work() -> None:
        async with Terminals(idle="90s", grace=1, policy=str(policy)) as terminals:
            first = await limits(terminals)
            assert first["idleMs"] == {"value": 90_000, "source": "argument"}
            assert first["graceMs"] == {"value": 1000, "source": "argument"}
            terminals.limit_session(S, idle="2m", hard="3m")
            second = await limits(terminals)
            assert second["idleMs"] == {"value": 120_000, "source": "argument"}
            assert second["hardMs"] == {"value": 180_000, "source": "argument"}
            third = await limits(terminals, _meta={"unhang": {"hard": "2h"}})
            assert third["hardMs"]["value"] == 3_600_000, "held to the policy's bound"  # type: ignore[index]
            assert third["hardMs"]["asked"] == 7_200_000  # type: ignore[index]
        async with Terminals() as terminals:
            assert "policy" in str((await limits(terminals))["idleMs"]), "the built-in policy knows npm test"
        with pytest.raises(TypeError, match="hrad"):
            Terminals(hrad=3)
        with pytest.raises(UsageError, match="idle"):
            Terminals(idle="soon")

    run(work())


def test_error_scenarios_and_recovery(tmp_path: Path, roll: RollCall) -> None:
    async def work() -> None:
        async with Terminals() as terminals:
            for wrong in (
                {"command": ""},
                {"command": "ls", "cwd": "relative"},
                {"command": "ls", "cwd": str(tmp_path / "nowhere")},
                {"command": "ls", "env": [{"name": "A=B", "value": "c"}]},
                {"command": "ls\0"},
                {"command": "ls", "_meta": {"unhang": {"hard": "soon"}}},
                {"command": "ls", "_meta": {"unhang": {"category": "nonsense"}}},
                {"command": "ls", "_meta": {"unhang": {"liveness": "nonsense"}}},
                {"command": "ls", "_meta": {"unhang": {"hard": -1}}},
            ):
                with pytest.raises(at.Refused) as error:
                    await terminals.handle("terminal/create", {"sessionId": S} | wrong)
                assert error.value.code == -32602, wrong
            for verb in ("output", "wait_for_exit", "kill", "release"):
                assert await refused(terminals, verb, "unknown") == -32602
            # a program that is not there: what a shell would say, and the session goes on
            terminal = await created(terminals, "no-such-program", "--now")
            assert (await ask(terminals, "wait_for_exit", terminal))["exitCode"] == 127
            assert "no-such-program" in (await ask(terminals, "output", terminal))["output"]
            # the keeper is killed: its guard ends the tree, and whoever waits is told
            terminal = await created(terminals, *actor("ignore_term", roll.path))
            await here(roll)
            waiting = asyncio.ensure_future(ask(terminals, "wait_for_exit", terminal))
            await asyncio.sleep(0)
            os.kill(int(terminals._terminals[terminal].job.spec["keeper"]["pid"]), signal.SIGKILL)
            assert (await waiting)["signal"] == "SIGKILL"
            assert roll.wait_empty()
            got = await terminals.execute_with_timeout(S, "echo still here", timeout=60)
            assert got.output == "still here\n"

    run(work())


def test_cleanup_and_resource_release(roll: RollCall) -> None:
    """Everything of a session ends with it and nothing with a turn; everything ends with the client."""

    async def work() -> None:
        async with Terminals(grace=0.2) as terminals:
            await created(terminals, "exec sleep 60")
            before = len(os.listdir("/proc/self/fd"))
            one = await created(terminals, *actor("obedient", roll.path), session="a")
            process = await here(roll)
            other = await created(terminals, "exec sleep 60", session="b")
            await terminals.end_session("a")
            assert not process.is_alive()
            assert await refused(terminals, "output", one, "a") == -32602
            assert terminals.state("b", other) == at.RUNNING
            assert await refused(terminals, "output", other, "a") == -32602, "another session's"
        with pytest.raises(at.Refused):
            await created(terminals, "true")
        await asyncio.sleep(0)
        # the first one's connection is gone, too; the pidfd of the roll call has come
        assert len(os.listdir("/proc/self/fd")) <= before - 1 + 1

    run(work())


async def until_printed(terminals: Terminals, terminal: str, word: str) -> None:
    while word not in (await ask(terminals, "output", terminal))["output"]:  # nothing else tells
        await asyncio.sleep(0.02)


def _split(words: list[str]) -> tuple[str, list[str]]:
    return words[0], words[1:]
