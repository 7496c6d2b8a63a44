"""Who watches the watcher: a real socket in the place of systemd's, a real receiver of pings."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.alerts import FAIL, NEVER, Receiver
from tests.support.engine import wait_until
from tests.support.sessions.harness import QUICK, Place
from unhang.sessions.vital_signs import DeadManPing


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


def test_where_something_is_wrong_no_ping_is_sent_and_it_is_told_once_until_it_is_right_again(
    receiver: Receiver,
) -> None:
    said: list[str] = []
    ping = DeadManPing(said.append)
    assert ping.due("") is None
    ping.turn(receiver.url, 0.01, trouble="session s1 is skipped")

    def turned(trouble: str, enough: Callable[[], object]) -> bool:
        ping.turn(receiver.url, 0.01, trouble=trouble)
        return bool(enough())

    due = ping.due(receiver.url)
    wait_until(lambda: turned("session s2 is skipped", lambda: ping.due(receiver.url) != due), "a second turn")
    assert ([text.count("s1") for text in said], receiver.requests) == ([1], [])
    wait_until(lambda: turned("", lambda: said[1:]), "it is well again")
    assert (receiver.requests[:1] != [], said[1:]) == (True, [""])
    ping.close()


def test_a_session_that_cannot_be_read_stops_the_pings_and_status_and_doctor_say_why(
    place: Place, receiver: Receiver
) -> None:
    seen = place.standin()
    watcher = place.watch("--ping", receiver.url, "--ping-every", "1s", *QUICK)
    watcher.until("found", seen.session)
    wait_until(lambda: receiver.requests, "all is well")
    assert json.loads(place.unhang("watch", "status", "--json").stdout)["ping"] == {"trouble": None}
    stream = Path(place.log(seen.session).path)
    seen.hook("Notification")
    stream.rename(stream.with_suffix(".away"))
    stream.symlink_to("/dev/null")
    seen.set_status("busy")
    while "no ping is sent" not in watcher.until("warning")["message"]:
        continue
    count = len(receiver.requests)
    status = json.loads(place.unhang("watch", "status", "--json").stdout)
    assert seen.session in status["ping"]["trouble"]
    doctor = json.loads(place.unhang("doctor", "--json").stdout)["checks"]
    (found,) = [each for each in doctor if each["check"] == "watcher"]
    assert (found["ok"], seen.session in found["message"]) == (False, True)
    assert len(receiver.requests) == count


def test_a_ping_on_its_way_does_not_hold_the_place_of_a_watcher_that_was_killed(
    place: Place, receiver: Receiver
) -> None:
    receiver.answers = [NEVER]
    watcher = place.watch("--ping", receiver.url)
    wait_until(lambda: receiver.requests, "it is pinged")
    watcher.process.kill()
    watcher.process.wait(30)
    assert json.loads(place.unhang("watch", "status", "--json").stdout)["watcher"] is None
