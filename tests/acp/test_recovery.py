"""A client that dies: nothing of its terminals is left, what they printed is; and no live client is touched."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap

from tests.support.acp.harness import S, ask, created, pulse, run
from tests.support.engine import actor
from tests.support.jobs import Jobs
from unhang.acp import Refused, Terminals
from unhang.acp.recovery import BY, client_label, lives
from unhang.testing.liveness import RollCall

CLIENT = """
import asyncio, os, sys
from unhang.acp import Refused, Terminals

async def main():
    terminals = Terminals(grace=0.2)
    given = {"sessionId": "s", "command": sys.argv[2], "args": sys.argv[3:]}
    print((await terminals.handle("terminal/create", given))["terminalId"], flush=True)
    if sys.argv[1] == "fork" and os.fork() == 0:
        os.read(0, 1)      # holds every line of its parent open
        os._exit(0)
    await asyncio.sleep(600)

asyncio.run(main())
"""


def begun(jobs: Jobs, how: str, *command: str) -> tuple[subprocess.Popen[bytes], str]:
    code = textwrap.dedent(CLIENT)
    process = jobs.popen_program(sys.executable, "-c", code, how, *command, stdin=subprocess.PIPE)
    assert process.stdout is not None
    return process, process.stdout.readline().decode().strip()


def test_terminals_end_with_a_client_that_is_killed(jobs: Jobs, roll: RollCall) -> None:
    client, terminal = begun(jobs, "plain", *actor("ignore_term", roll.path))
    roll.wait_for("leader")
    client.kill()
    assert roll.wait_empty()
    result = jobs.handle(terminal).wait()
    assert (result.status, result.stdout) == ("cancelled", "ready\n"), "what it printed is kept"
    assert "caller" in str(result.outcome["cancelledBy"])


def test_a_new_client_ends_the_orphans_of_a_dead_one_and_only_those(jobs: Jobs, roll: RollCall) -> None:
    """A fork of the client holds the line, so the keeper cannot know; the label does."""
    dead, orphan = begun(jobs, "fork", *actor("ignore_term", roll.path))
    process = roll.wait_for("leader")
    live, kept = begun(jobs, "plain", "sleep", "60")
    dead.kill()
    dead.wait()
    assert process.is_alive()

    async def work() -> None:
        async with Terminals() as terminals:
            assert not process.is_alive()
            assert await terminals.recover() == []
            mine = await created(terminals, "exec sleep 60")
            assert await terminals.recover() == [], "neither ours nor a live one's"
            assert terminals.state(S, mine) == "running"

    run(work())
    assert jobs.handle(orphan).result().outcome["cancelledBy"] == BY
    assert not jobs.handle(kept).ended()
    live.kill()
    assert dead.stdin is not None
    dead.stdin.close()


def test_an_identity_is_a_pid_a_start_and_a_boot() -> None:
    assert lives(client_label())
    pid, start, boot = client_label().split(":")
    assert not lives(f"{pid}:{int(start) + 1}:{boot}")
    assert not lives(f"{pid}:{start}:another")
    assert not lives("")
    assert not lives("x:1:2")


def test_a_creation_that_is_cancelled_leaves_nothing(jobs: Jobs, roll: RollCall) -> None:
    async def work() -> None:
        async with Terminals(grace=0.2) as terminals:
            making = asyncio.ensure_future(created(terminals, *actor("ignore_term", roll.path)))
            await asyncio.sleep(0)
            await asyncio.sleep(0)  # now a thread is at it, and cannot be called back
            making.cancel()
            await asyncio.gather(making, return_exceptions=True)
            assert making.cancelled()
            assert not terminals._terminals
        assert [jobs.handle(place.id).ended() for place in jobs.jobs()] == [True]

    run(work())


def test_a_session_that_ends_takes_those_that_are_only_being_started() -> None:
    async def work() -> None:
        async with Terminals(grace=0.2) as terminals:
            making = [asyncio.ensure_future(created(terminals, "exec sleep 60")) for _ in range(5)]
            await asyncio.sleep(0)  # all five have begun
            await terminals.end_session(S)
            await asyncio.gather(*making, return_exceptions=True)
            assert not [t for t in terminals._terminals.values() if t.running]

    run(work())


def test_twenty_at_once_with_waits_kills_and_reads_never_block_the_loop() -> None:
    async def one(terminals: Terminals, number: int) -> None:
        terminal = await created(terminals, f"echo {number}; trap '' TERM; while :; do sleep 1; done")
        waits = [asyncio.ensure_future(ask(terminals, "wait_for_exit", terminal)) for _ in range(8)]
        await ask(terminals, "output", terminal)
        waits[0].cancel()  # one that gives up disturbs none of the others
        await asyncio.gather(*(ask(terminals, "kill", terminal) for _ in range(3)))
        ends = await asyncio.gather(*waits[1:])
        assert len({(end["exitCode"], end["signal"]) for end in ends}) == 1
        assert terminals.state(S, terminal) == "killed"
        await ask(terminals, "release", terminal)

    async def work() -> None:
        async with Terminals(grace=0.2, max_running=20) as terminals, pulse() as loop:
            await asyncio.gather(*(one(terminals, number) for number in range(20)))
            assert loop.longest < 2

    run(work())


def test_a_session_has_only_so_many_commands_at_once() -> None:
    async def work() -> None:
        async with Terminals(grace=0.2, max_running=3) as terminals:
            made = await asyncio.gather(
                *(created(terminals, "exec sleep 60") for _ in range(5)), return_exceptions=True
            )
            refusals = [one for one in made if isinstance(one, Refused)]
            assert [refusal.code for refusal in refusals] == [-32603] * 2
            assert "session" in refusals[0].reason
            await created(terminals, "true", session="another")
            await ask(terminals, "kill", next(one for one in made if isinstance(one, str)))
            await created(terminals, "exec sleep 60")

    run(work())


def test_an_end_that_is_shown_comes_with_the_whole_output() -> None:
    """Asked for over and over while it ends: whoever sees an exit status sees the last line, too."""

    async def work() -> None:
        async with Terminals() as terminals:
            for _ in range(5):
                terminal = await created(terminals, "sleep 0.05; seq 1 20000")
                while "exitStatus" not in (got := await ask(terminals, "output", terminal)):
                    await asyncio.sleep(0)
                assert got["output"].endswith("\n19999\n20000\n")

    run(work())


def test_importing_unhang_imports_neither_the_terminals_nor_the_sdk() -> None:
    code = "import sys, unhang, unhang.acp; print('acp' in sys.modules, 'unhang.acp.host' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
    code = "import sys, unhang; print('unhang.acp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
    code = "import sys; from unhang.acp import Terminals; Terminals(); print('acp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


def test_a_missing_sdk_is_an_error_that_names_what_to_install() -> None:
    code = "import sys; sys.modules['acp'] = None; from unhang.acp import Terminals; Terminals().mount(object())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "unhang[acp]" in done.stderr.splitlines()[-1]
