"""The socket for a job's own signs of life: who may use it, and that nothing sent to it can hold the keeper up."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.engine import Engine, actor
from unhang.errors import UnhangError
from unhang.faces.cli.commands import beat
from unhang.jobs import control_client, reconcile
from unhang.keeper import heartbeat
from unhang.keeper.heartbeat import HeartbeatSocket, parse
from unhang.testing.liveness import RollCall

STRANGER = 65532


def deep(engine: Engine) -> None:
    """A home whose paths are too long for a socket's address."""
    engine.home = engine.folder / ("d" * 60) / ("e" * 60)
    engine.home.mkdir(parents=True)
    engine.home.chmod(0o700)
    engine.env["UNHANG_HOME"] = str(engine.home)


@pytest.fixture
def short(engine: Engine) -> Iterator[None]:
    """A home whose paths are short enough, which a test's own folder need not be."""
    folder = tempfile.mkdtemp(prefix="uh")
    engine.home = Path(folder, "home")
    engine.env["UNHANG_HOME"] = str(engine.home)
    if len(f"{engine.home}/jobs/0123456789/notify") > 107:
        pytest.skip(f"NOT TESTED: the path of a temporary folder is too long here: {folder}")
    yield
    engine.close()
    engine.left_over()
    shutil.rmtree(folder)


@pytest.mark.usefixtures("short")
def test_the_socket_is_a_private_file_of_the_job_and_gone_at_its_end(engine: Engine) -> None:
    done = engine.run("--", "sh", "-c", 'echo "$NOTIFY_SOCKET"; stat -c %F:%a "$NOTIFY_SOCKET"')
    place = engine.job()
    assert done.out.decode().splitlines() == [place.notify, "socket:600"]
    assert not os.path.exists(place.notify)


def test_the_socket_is_removed_when_nothing_could_be_started(engine: Engine) -> None:
    assert engine.run("--", "no-such-command").code == 127
    assert not os.path.exists(engine.job().notify)


@pytest.mark.usefixtures("short")
def test_the_sockets_are_removed_when_keeper_and_guard_were_killed(engine: Engine, roll: RollCall) -> None:
    running = engine.start("--", *actor("obedient", roll.path))
    roll.wait_for("leader")
    keeper, guard, place = engine.keeper(), engine.guard(), engine.job()
    assert os.path.exists(place.notify)
    guard.send(9)
    keeper.send(9)
    assert guard.wait_gone()
    assert keeper.wait_gone()
    engine.finish(running)
    assert reconcile.settle(place)
    assert not os.path.exists(place.notify)
    assert not os.path.exists(place.control)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("long", [False, True], ids=["a file", "abstract"])
def test_a_heartbeat_arrives_by_either_address(engine: Engine, long: bool) -> None:
    if long:
        deep(engine)
    line = f'echo "$NOTIFY_SOCKET"; {sys.executable} -m unhang beat "half way"'
    done = engine.run("--shell", line)
    assert (done.code, done.out.startswith(b"@unhang/")) == (0, long)
    assert [event["status"] for event in engine.events() if event["type"] == "heartbeat"] == ["half way"]


@pytest.mark.usefixtures("short")
def test_a_job_that_floods_its_own_socket_is_ended_at_its_limit(engine: Engine, roll: RollCall) -> None:
    running = engine.start("--json", "--hard", "6", "--warn", "0", "--", *actor("flooder", roll.path, 3))
    roll.wait_for("leader")
    assert control_client.ask(engine.job(), do="ping")["ok"] is True
    result = engine.finish(running).result
    assert result["timeoutReason"] == "exec_timeout"
    assert result["durationMs"] < 30_000
    assert [event for event in engine.events() if event["type"] == "heartbeat"]
    assert roll.is_empty()


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: to flood as another user needs root")
def test_another_user_who_floods_an_abstract_socket_delays_nothing_and_is_not_heard(
    engine: Engine, roll: RollCall
) -> None:
    deep(engine)
    script = 'echo "$NOTIFY_SOCKET"; exec "$@"'
    running = engine.start(
        *("--hard", "12", "--warn", "0", "--idle", "6", "--liveness", "heartbeat", "--quiet", "--"),
        *("sh", "-c", script, "sh", *actor("obedient", roll.path)),
    )
    assert running.stdout is not None
    address = running.stdout.readline().decode().strip()
    roll.wait_for("leader")
    with engine.roll() as strangers:
        flood = subprocess.Popen(actor("flooder", strangers.path, 4, STRANGER, address), env=engine.env)
        strangers.wait_for("leader")
        assert control_client.ask(engine.job(), do="ping")["ok"] is True
        assert engine.finish(running).code == 124
        flood.wait(30)
    last = engine.events()[-1]
    assert last["timeoutReason"] == "no_output_timeout"  # as if nothing had been sent
    assert last["durationMs"] < 30_000
    assert not [event for event in engine.events() if event["type"] == "heartbeat"]


# --- the socket alone -----------------------------------------------------------------------------------------


@pytest.fixture
def heart(tmp_path: Path) -> Iterator[HeartbeatSocket]:
    heart = HeartbeatSocket("job", str(tmp_path / "notify"))
    yield heart
    heart.close()


def sender(heart: HeartbeatSocket) -> socket.socket:
    line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    line.setblocking(False)
    address = heart.environment(None)["NOTIFY_SOCKET"]
    line.connect("\0" + address[1:] if address.startswith("@") else address)
    return line


def test_only_so_many_messages_are_read_in_a_turn_and_a_rest_follows(
    heart: HeartbeatSocket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "TURN", 3)
    monkeypatch.setattr(heartbeat, "REST", 3600.0)
    with sender(heart) as line:
        for number in range(5):
            line.send(b"WATCHDOG=1\nSTATUS=%d" % number)
        assert heart.due() is None
        listening = heart.fd
        assert heart.hear().status == "2"
        assert heart.due() is not None
        assert heart.fd == -1
        monkeypatch.setattr(heart, "_rests_until", 1.0)  # it is over
        assert (heart.due(), heart.fd) == (None, listening)
        assert heart.hear().status == "4"
        assert heart.due() is None


@pytest.mark.parametrize("name", ["a" * 200, "no-such-folder/notify"])
def test_where_no_file_can_be_made_the_socket_is_abstract(tmp_path: Path, name: str) -> None:
    heart = HeartbeatSocket("job", str(tmp_path / name))
    try:
        assert heart.environment(None)["NOTIFY_SOCKET"].startswith("@unhang/job/")
        with sender(heart) as line:
            line.send(b"WATCHDOG=1")
        assert heart.hear().alive
    finally:
        heart.close()


def test_a_relative_path_becomes_an_abstract_socket() -> None:
    heart = HeartbeatSocket("job", "notify")
    try:
        assert heart.environment(None)["NOTIFY_SOCKET"].startswith("@")
    finally:
        heart.close()


@given(
    data=st.binary(max_size=300) | st.text(max_size=100).map(lambda text: f"STATUS={text}".encode("utf-8", "replace"))
)
def test_any_message_is_understood_or_passed_over(data: bytes) -> None:
    found = parse(data)
    assert 0.0 <= found.extend < 1e12
    assert found.status is None or (found.status.isprintable() and len(found.status) <= 4 * 500)


@given(number=st.integers() | st.floats() | st.text())
def test_a_requested_extension_is_a_bounded_number_whatever_was_sent(number: object) -> None:
    found = parse(f"EXTEND_TIMEOUT_USEC={number}".encode("utf-8", "replace"))
    assert 0.0 <= found.extend < 1e12


def test_a_heartbeat_to_a_full_queue_fails_and_does_not_block_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queue is full and its reader stopped."""
    monkeypatch.setattr(beat, "PATIENCE", 0.1)
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as reader, sender_to(reader) as line:
        with contextlib.suppress(BlockingIOError):
            while True:
                line.send(b"x")
        with pytest.raises(UnhangError, match="not heard"):
            beat.send("socket", "WATCHDOG=1")


def sender_to(reader: socket.socket) -> socket.socket:
    reader.bind("socket")
    line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    line.setblocking(False)
    line.connect("socket")
    return line
