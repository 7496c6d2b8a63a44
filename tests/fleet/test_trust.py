"""What is refused: a wrong credential, an old server, a name that another home has, a command that is sent twice."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import threading
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nats
import pytest

from tests.support.engine import wait_until
from tests.support.fleet import Machine, Server, caught_up, wait_for_rows
from tests.support.jobs import STILL
from tests.support.places import SOURCE
from unhang.core.fleet.requests import Request
from unhang.errors import ControlError
from unhang.fleet.command_client import ask
from unhang.fleet.command_server import MOST_AT_ONCE
from unhang.fleet.connection import connect

pytestmark = pytest.mark.timeout(300)  # many processes, each of which has to start
Make = Callable[[str, str], Machine]


def test_a_wrong_credential_is_refused_and_not_shown(server: Server, machine: Make) -> None:
    wrong = server.url.replace("pw@", "secret@")
    alpha = machine("alpha", wrong)
    for words in (("fleet", "join"), ("ps", "--fleet")):
        line = alpha.refused(*words)
        assert "refused these credentials" in line
        assert "secret" not in line


@pytest.mark.parametrize(("version", "jetstream"), [("2.9.10", True), ("2.10.27", True), ("2.15.1", False)])
def test_a_server_that_will_not_do_is_refused(machine: Make, version: str, jetstream: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        info = {"server_id": "x", "version": version, "headers": True, "max_payload": 1 << 20, "jetstream": jetstream}

        def greet() -> None:
            line, _ = listener.accept()
            with line, line.makefile("rwb") as stream:
                stream.write(b"INFO " + json.dumps(info).encode() + b"\r\n")
                stream.flush()
                for word in stream:
                    if word.startswith(b"PING"):
                        stream.write(b"PONG\r\n")
                        stream.flush()

        thread = threading.Thread(target=greet)
        thread.start()
        alpha = machine("alpha", f"nats://127.0.0.1:{listener.getsockname()[1]}")
        line = alpha.refused("fleet", "machines")
        thread.join()
    assert ("2.11" in line) if jetstream else ("JetStream" in line)


def test_a_name_belongs_to_one_home_until_it_is_freed(server: Server, machine: Make) -> None:
    alpha, other = machine("alpha", server.url).join().joined(), machine("other", server.url)
    done = alpha.begin("--", "true")
    done.wait()
    assert "another home" in other.refused("fleet", "join", "--machine", "alpha", code=2)
    assert "online" in other.refused("fleet", "forget", "alpha")
    assert "runs already" in alpha.refused("fleet", "join")
    wait_for_rows(server.url, {done.id: "success"})
    assert alpha.stop_publisher() == 0
    assert other.call("fleet", "forget", "alpha").code == 0
    assert other.said("fleet", "machines") == []
    # the first home that comes has it; what it published before is there again
    alpha.join()
    wait_for_rows(server.url, {done.id: "success"})


async def _ask(url: str, messages: list[bytes]) -> list[tuple[str, bytes]]:
    """Sends each message as a request, and returns the kind and text of its first answer."""
    client = await nats.connect(url)
    answers = []
    try:
        for message in messages:
            inbox = client.new_inbox()
            replies = await client.subscribe(inbox)
            await client.publish("unhang.do.beta", message, reply=inbox)
            answer = await replies.next_msg(timeout=20)
            answers.append(((answer.headers or {}).get("Unhang-Kind", ""), answer.data))
            if answer.reply:
                await answer.respond(b"")
    finally:
        await client.close()
    return answers


def test_a_command_that_is_sent_again_does_nothing(server: Server, machine: Make) -> None:
    beta = machine("beta", server.url).join().joined()
    job = beta.begin("--stdin", "pipe", *STILL, "--", "cat")
    request = Request("send", [job.id], [], b"once\n")
    ((_, number),) = asyncio.run(_ask(server.url, [b'{"do":"nonce"}']))
    numbered = request.replace(nonce=number.decode()).to_bytes()
    good, replayed, bare = asyncio.run(_ask(server.url, [numbered, numbered, request.to_bytes()]))
    assert good == ("end", b"")
    assert (replayed[0], bare[0]) == ("refused", "refused")
    wait_until(lambda: job.kept() == b"once\n", "it arrived once")


def test_an_oversized_message_is_refused_and_an_oversized_command_line_does_no_harm(
    server: Server, machine: Make
) -> None:
    beta, viewer = machine("beta", server.url).join().joined(), machine("viewer", server.url)
    job = beta.begin("--stdin", "pipe", *STILL, "--", "cat")
    # more than a machine takes, and more than the server passes on
    ((_, number),) = asyncio.run(_ask(server.url, [b'{"do":"nonce"}']))
    large = Request("send", [job.id], [], b"x" * (600 << 10), number.decode()).to_bytes()
    assert [kind for kind, _ in asyncio.run(_ask(server.url, [large, b"[" * 800_000]))] == ["refused"] * 2
    with pytest.raises(nats.errors.MaxPayloadError):
        asyncio.run(_ask(server.url, [b"x" * (2 << 20)]))
    (viewer.folder / "large").write_bytes(b"x" * (600 << 10))
    wait_for_rows(server.url, {job.id: "running"})
    with open(viewer.folder / "large", "rb") as file:
        assert "at most" in viewer.refused("send", f"{job.id}@beta", "-", stdin=file, code=2)
    assert job.kept() == b""
    # a row and events that would not fit into a message of their own
    long = beta.begin("--", "true", *["y" * 100_000] * 15)
    assert long.wait().status == "success"
    wait_for_rows(server.url, {job.id: "running", long.id: "success"})
    caught_up(server.url, [beta])


def test_only_the_listed_commands_are_taken(server: Server, machine: Make) -> None:
    beta = machine("beta", server.url).join().joined()
    job = beta.begin(*STILL, "--", "sleep", "1000")
    asked: list[Any] = [
        {"do": "run", "jobs": [job.id], "options": []},
        {"do": "cancel", "jobs": ["--all"], "options": []},
        {"do": "diagnose", "jobs": [job.id], "options": ["--pid=1"]},
        ["x"],
    ]
    answers = asyncio.run(_ask(server.url, [json.dumps(each).encode() for each in asked]))
    assert [kind for kind, _ in answers] == ["refused"] * 4
    assert not job.ended()


def test_who_only_looks_keeps_no_command_from_being_carried_out(server: Server, machine: Make) -> None:
    beta = machine("beta", server.url).join().joined()
    job = beta.begin("--stdin", "pipe", *STILL, "--", "sh", "-c", "echo up; exec cat")
    logs = Request("logs", [job.id], ["--follow"])

    async def run() -> None:
        connection = await connect(server.url)
        try:
            heard = [asyncio.Event() for _ in range(MOST_AT_ONCE)]
            looking = [
                asyncio.ensure_future(ask(connection, "beta", logs, lambda *_, each=each: each.set())) for each in heard
            ]
            await asyncio.gather(*(each.wait() for each in heard))
            with pytest.raises(ControlError, match="too many"):
                await ask(connection, "beta", logs, lambda *_: None)
            assert await ask(connection, "beta", Request("cancel", [job.id], []), lambda *_: None) == 0
            assert await asyncio.gather(*looking) == [0] * MOST_AT_ONCE
        finally:
            await connection.close()

    asyncio.run(run())
    assert job.wait().status == "cancelled"


def test_without_the_extra_one_line_says_how_to_get_it(tmp_path: Path, machine: Make) -> None:
    venv.create(tmp_path / "bare", symlinks=True, with_pip=False)
    python = str(tmp_path / "bare" / "bin" / "python")
    folder = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages/unhang.pth"
    (tmp_path / "bare" / folder).write_text(f"{SOURCE}\n")
    alpha = machine("alpha", "nats://127.0.0.1:1")
    alpha.env["PATH"] = os.defpath
    for words in (("fleet", "join"), ("fleet", "try"), ("ps", "--fleet"), ("wait", "x@y")):
        done = alpha.finish(alpha.popen_program(python, "-m", "unhang", *words))
        assert (done.code, done.out) == (125, b""), done
        assert done.err.count(b"\n") == 1
        assert b"unhang[fleet]" in done.err
    done = alpha.finish(alpha.popen_program(python, "-m", "unhang", "run", "--", "true"))
    assert done.code == 0
