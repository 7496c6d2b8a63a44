"""The sessions of `unhang watch` in the fleet: published once, in order, with masked secrets, from their files."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine import wait_until
from tests.support.fleet import PATIENCE, Machine, Server, caught_up, published
from unhang.core.fleet.messages import Stored
from unhang.fleet.connection import connect
from unhang.fleet.spool import Spool
from unhang.store.session_log import SessionLog

Make = Callable[[str, str], Machine]
Rows = dict[tuple[str, str], dict[str, Any]]
ID = "0f9c1d52-6b3e-4a4e-9f53-1c2d3e4f5a6b"
# Each as a hook of Claude Code may have it in the input of a tool.
SECRETS = ("hunter2", "ghp_" + "a1" * 18, "s3cr3t-of-a-url", "bearer-of-a-header", "in-a-list", "in-an-environment")


async def _rows(url: str) -> Rows:
    connection = await connect(url)
    try:
        return await connection.sessions()
    finally:
        await connection.close()


def rows(url: str) -> Rows:
    return asyncio.run(_rows(url))


def _file_with(text: str) -> int:
    """A file that is read from its beginning."""
    fd = os.memfd_create("payload")
    os.write(fd, text.encode())
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def hook(machine: Machine, payload: dict[str, Any], pid: int) -> None:
    """A hook of a session, as Claude Code runs it."""
    said = {"CLAUDE_PID": str(pid), "UNHANG_WATCH": "off", "TMUX": "/tmp/tmux-1/socket,1,0", "TMUX_PANE": "%7"}
    said |= {"CLAUDE_CONFIG_DIR": "/srv/config", "DEPLOY_TOKEN": SECRETS[-1]}
    given = {"session_id": ID, "cwd": "/srv/shop"} | payload
    done = machine.call("hook", stdin=_file_with(json.dumps(given)), env=machine.env | said)
    assert (done.code, done.out, done.err) == (0, b"", b"")


def tool(call: str, **given: Any) -> dict[str, Any]:
    return {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": call, "tool_input": given}


@pytest.fixture
def agent() -> Any:
    """A process that stands for the agent."""
    process = subprocess.Popen(["sleep", "3600"], stdin=subprocess.DEVNULL)
    yield process
    process.kill()
    process.wait()


@pytest.mark.timeout(300)
def test_what_hooks_record_is_published_without_secrets_and_environment(
    server: Server, machine: Make, agent: subprocess.Popen[bytes]
) -> None:
    beta, viewer = machine("beta", server.url).join().joined(), machine("viewer", server.url)
    hook(beta, {"hook_event_name": "SessionStart", "source": "startup"}, agent.pid)
    hook(beta, tool("1", command=f"mysql -p{SECRETS[0]} shop; git push https://{SECRETS[1]}@host/x"), agent.pid)
    hook(beta, tool("2", url=f"postgres://u:{SECRETS[2]}@h/db", headers={"Authorization": SECRETS[3]}), agent.pid)
    hook(beta, tool("3", names=["plain"], secret=[SECRETS[4]], command="make test"), agent.pid)
    caught_up(server.url, [beta])
    (messages,) = published(server.url).values()
    data = b"".join(each[2] for each in messages)
    for text in (*SECRETS, "/srv/config", "/tmp/tmux-1", "%7"):
        assert text.encode() not in data, text
    events = [json.loads(line) for line in data.splitlines()]
    assert [event["seq"] for event in events] == [1, 2, 3, 4]
    assert events[3]["toolInput"] == {"names": ["plain"], "secret": ["***"], "command": "make test"}
    assert "make test" in events[3]["message"]
    # the row has them no more than the events, here or there
    wait_until(lambda: rows(server.url)["beta", ID]["entry"]["seq"] == 4, "the row follows", PATIENCE)
    row = rows(server.url)["beta", ID]
    assert (row["status"], row["phase"], row["cwd"], row["kind"]) == ("running", "busy", "/srv/shop", "session")
    assert [call["id"] for call in row["entry"]["agent"]["calls"]] == ["1", "2", "3"]
    assert not any(text in json.dumps(row) for text in SECRETS)
    # on the command line of another machine
    (session,) = viewer.lines("watch", "--once", "--fleet", "--json")
    assert (session["sessionId"], session["machine"], session["status"]) == (ID, "beta", "running")
    assert session["calls"] == row["entry"]["agent"]["calls"]
    for name in (f"{ID}@beta", f"{ID[:6]}@beta"):
        assert viewer.lines("watch", "events", name, "--all", "--json") == events
    assert viewer.lines("watch", "events", "--fleet", "--all", "--json", "--after-seq", "3") == events[3:]
    assert viewer.lines("watch", "events", f"{ID}@beta", "--json") == []  # no watcher has said anything
    assert "no such session" in viewer.refused("watch", "events", f"{ID}@alpha", code=2)
    # the process is gone without a word, and the session has ended; nothing is recorded about that
    agent.kill()
    agent.wait()
    wait_until(lambda: rows(server.url)["beta", ID]["phase"] == "gone", "its end is seen", PATIENCE)
    assert viewer.lines("watch", "--once", "--fleet", "--json") == []
    caught_up(server.url, [beta])


@pytest.mark.timeout(300)
def test_each_event_is_published_once_and_in_order_while_publisher_and_server_are_killed(
    server: Server, machine: Make
) -> None:
    beta = machine("beta", server.url)
    ids = [f"{number}-{ID}" for number in range(3)]
    halfway, go_on = threading.Event(), threading.Event()

    def record() -> None:
        for number in range(400):
            for session in ids:
                event = {"type": "hook", "phase": "tool", "message": f"Bash: API_KEY=abcdefgh{number} make"}
                SessionLog(session, str(beta.home)).append(event)
            if number == 200:
                halfway.set()
                assert go_on.wait(PATIENCE)

    writer = threading.Thread(target=record)
    beta.join()  # with a home in which no session, and no folder of them, is yet
    beta.joined()
    writer.start()
    assert halfway.wait(PATIENCE)
    assert beta.stop_publisher(signal.SIGKILL) == -signal.SIGKILL
    beta.join()
    server.kill()
    go_on.set()
    writer.join()
    server.start().wait()
    caught_up(server.url, [beta])
    found = published(server.url)
    assert sorted(found) == [f"unhang.ev.beta.session.{session}" for session in ids]
    assert not any(b"abcdefgh" in each[2] for messages in found.values() for each in messages)
    # one that goes on after its end is published on
    for phase in ("ended", "starting"):
        SessionLog(ids[0], str(beta.home)).append({"type": "hook", "phase": phase, "message": phase})
        caught_up(server.url, [beta])
        wait_until(functools.partial(_has_status, server, ids[0], phase), f"its row follows: {phase}", PATIENCE)
    # one that was removed has no row; what comes under its name is published from its beginning, and says so
    assert SessionLog(ids[1], str(beta.home)).remove()
    wait_until(lambda: ("beta", ids[1]) not in rows(server.url), "its row is removed", PATIENCE)
    SessionLog(ids[1], str(beta.home)).append({"type": "hook", "phase": "starting", "message": "anew"})
    wait_until(lambda: ("beta", ids[1]) in rows(server.url), "it is there again", PATIENCE)
    viewer = machine("viewer", server.url)
    (event,) = viewer.lines("watch", "events", f"{ids[1]}@beta", "--all", "--json")
    assert (event["seq"], event["message"]) == (1, "anew")


def _has_status(server: Server, session: str, phase: str) -> bool:
    wanted = "success" if phase == "ended" else "running"
    return bool(rows(server.url)["beta", session]["status"] == wanted)


@pytest.mark.timeout(300)
def test_a_machine_that_is_forgotten_leaves_no_session_behind(server: Server, machine: Make) -> None:
    beta, gamma = (machine(name, server.url).join().joined() for name in ("beta", "gamma"))
    for each in (beta, gamma):
        SessionLog(ID, str(each.home)).append({"type": "hook", "phase": "tool", "message": "Bash: make"})
    wait_until(lambda: set(rows(server.url)) == {("beta", ID), ("gamma", ID)}, "both are there", PATIENCE)
    assert beta.stop_publisher() == 0
    # offline: it is not known, and nothing says that it has ended
    (lost, known) = sorted(gamma.lines("watch", "--once", "--fleet", "--json"), key=lambda each: each["machine"])
    assert (lost["machine"], lost["status"], known["machine"], known["status"]) == (
        *("beta", "unknown"),
        *("gamma", "running"),
    )
    assert gamma.call("fleet", "forget", "beta").code == 0
    assert set(rows(server.url)) == {("gamma", ID)}
    assert list(published(server.url)) == [f"unhang.ev.gamma.session.{ID}"]


@pytest.mark.timeout(300)
def test_a_session_is_followed_from_another_machine(server: Server, machine: Make) -> None:
    beta, viewer = machine("beta", server.url).join().joined(), machine("viewer", server.url)
    log = SessionLog(ID, str(beta.home))
    log.append({"type": "watch", "phase": "found", "message": "first"})
    wait_until(lambda: ("beta", ID) in rows(server.url), "it is there", PATIENCE)
    reader, writer = os.pipe()
    process = viewer.popen("watch", "events", "--follow", "--json", f"{ID}@beta", stdout=writer)
    os.close(writer)
    with open(reader, encoding="utf-8") as lines:
        assert json.loads(lines.readline())["message"] == "first"
        log.append({"type": "hook", "phase": "tool", "message": "not asked for"})
        log.append({"type": "watch", "phase": "hung", "message": "second"})
        assert json.loads(lines.readline())["message"] == "second"
        process.kill()
        process.wait()


def _behind(spool: Spool) -> list[str]:
    return [part for part, log in spool.logs.items() if log.behind]


def test_a_session_that_is_removed_and_begins_anew_between_two_looks_is_published_from_its_beginning(
    tmp_path: Path,
) -> None:
    home, log = str(tmp_path / "home"), SessionLog(ID, str(tmp_path / "home"))
    spool = Spool(home, "beta")
    try:
        for _ in range(3):
            log.append({"type": "hook", "phase": "tool", "message": "Bash: make"})
        spool.begin("store")
        assert spool.look() == set()
        (found,) = spool.logs.values()
        found.resume(None)
        lines = found.lines()
        message = found.chain.next(lines)
        assert message is not None
        found.stored(lines, 7)
        assert found.lines() == []
        assert not _behind(spool)
        assert log.remove()
        log.append({"type": "hook", "phase": "starting", "message": "anew"})
        assert spool.look() == set()
        assert _behind(spool) == [found.part]
        assert found.lines() == []
        assert not found.chain.sure  # the server is asked what it has
        found.resume(Stored(7, message.first, message.last, message.payload))
        again = found.chain.next(found.lines())
        assert again is not None
        assert (again.first, again.last, again.expected, again.again) == (1, 1, 7, True)
    finally:
        spool.close()
