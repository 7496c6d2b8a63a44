"""Who watches the watcher: a real socket in the place of systemd's, a real receiver of pings."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.alerts import FAIL, NEVER, Receiver
from tests.support.engine import wait_until
from tests.support.sessions.harness import QUICK, Place
from unhang.procs import clock
from unhang.sessions.vital_signs import DeadManPing


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def manager(place: Place, tmp_path: Path) -> Iterator[socket.socket]:
    """What a unit with WatchdogSec= has: a socket, and a time in which a sign of life must come."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.bind(str(tmp_path / "s"))
        line.settimeout(60)
        place.env |= {"NOTIFY_SOCKET": str(tmp_path / "s"), "WATCHDOG_USEC": "400000"}
        yield line


def as_unit(place: Place, *words: str) -> subprocess.Popen[bytes]:
    """As systemd starts it: the process that is watched is the one that WATCHDOG_PID names."""
    exact = ["/bin/sh", "-c", 'WATCHDOG_PID=$$ exec "$@"', "sh", *place.command("watch", "--json", *words)]
    return subprocess.Popen(exact, env=place.env, stdout=subprocess.DEVNULL)


def test_systemd_hears_of_every_turn_also_while_the_watcher_waits_for_another(
    place: Place, manager: socket.socket
) -> None:
    seen = place.standin()
    first = place.watch(*QUICK)
    first.until("found", seen.session)
    seen.hangs()
    first.until("recovered")
    manager.setblocking(False)
    with pytest.raises(BlockingIOError):  # the socket is not for a process that the unit did not start
        manager.recv(100)
    manager.settimeout(60)
    unit = as_unit(place, "--take-over")
    try:
        assert manager.recv(100) == b"WATCHDOG=1", "it waits"
        first.end()
        assert [manager.recv(100) for _ in range(4)] == [b"WATCHDOG=1"] * 4, "it watches"
    finally:
        unit.terminate()
        assert unit.wait(30) == 0


def test_an_address_is_pinged_while_all_is_well_and_a_failure_is_told_once(place: Place, receiver: Receiver) -> None:
    receiver.answers = [200, FAIL, FAIL]
    watcher = place.watch("--ping", receiver.url, "--ping-every", "1s")
    assert "500" in watcher.until("warning")["message"]
    wait_until(lambda: len(receiver.requests) >= 5, "the pings go on")
    watcher.end()
    count = len(receiver.requests)
    refused = place.unhang("watch", "--ping", "hc.example.org")
    assert (refused.returncode, "--ping" in refused.stderr) == (2, True)
    assert len(receiver.requests) == count


def test_a_receiver_that_never_answers_holds_up_no_session(place: Place, receiver: Receiver) -> None:
    receiver.answers = [NEVER] * 10
    settings = place.folder / "watch.json"
    settings.write_text(json.dumps({"ping": receiver.url, "ping_every": "1s"}))
    seen = place.standin()
    watcher = place.watch("--config", str(settings), *QUICK)
    wait_until(lambda: receiver.requests, "it is pinged")
    seen.hangs()
    watcher.until("recovered")
    assert len(receiver.requests) == 1, "one at a time"
    assert not [event for event in watcher.said if event["sessionId"] == ""]


def test_where_something_is_wrong_no_ping_is_sent_until_it_is_right_again(receiver: Receiver) -> None:
    said: list[str] = []
    ping = DeadManPing(said.append)
    assert ping.due("") is None
    ping.turn(receiver.url, 1.0, well=False)
    assert (ping.due(receiver.url) or 0.0) > clock.monotonic()

    def heard() -> bool:
        ping.turn(receiver.url, 1.0, well=True)
        return bool(receiver.requests)

    wait_until(heard, "it is well again")
    ping.close()
    assert len(receiver.requests) == 1
    assert said == []
