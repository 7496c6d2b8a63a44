"""Which clients the keeper serves: decided turn by turn, on real sockets, without a job around it."""

from __future__ import annotations

import errno
import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from unhang.keeper import control_socket
from unhang.keeper import requests as desks
from unhang.keeper.requests import RequestServer
from unhang.keeper.streams import InputStream
from unhang.procs import clock, descriptors
from unhang.testing.liveness import PATIENCE

PING = b'{"do":"ping"}\n'


class Served:
    """What the loop would do."""

    into: InputStream | None = None
    master: int | None = None
    phase = "running"

    def __init__(self) -> None:
        self.stopped: list[tuple[str, bool]] = []

    def stop(self, by: str, *, force: bool, interrupt: bool = False) -> None:  # noqa: ARG002 - the interface's
        self.stopped.append((by, force))

    def typed(self, data: bytes) -> None:
        pass

    def interrupt(self) -> None:
        pass

    def pass_on(self, name: str) -> None:
        pass

    def press(self, name: str) -> None:
        pass

    def wants_keys(self) -> bool:
        return True

    def pause(self, *, force: bool) -> None:
        pass

    def go_on(self, *, here: bool) -> None:
        pass

    def note_stall(self, silent: float, diagnosis: dict[str, Any]) -> None:
        pass

    def note_progress(self, silent: float, text: str) -> None:
        pass

    def extend(self, idle: float, hard: float) -> None:
        pass

    def answered(self) -> None:
        pass

    def silence(self) -> float:
        return 0.0

    def ends_in(self) -> tuple[float, str] | None:
        return 60.0, "idle"


class Place:
    """A desk with its socket in a folder, and clients that come to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        server = control_socket.listen(str(folder), "control")
        assert server is not None
        self.served = Served()
        ours, theirs = socket.socketpair()
        self.owner = ours
        self.desk = RequestServer(server, socket.SocketType(fileno=theirs.detach()), attached=True)
        self.clients: list[socket.socket] = []

    def come(self, said: bytes = b"") -> socket.socket:
        line = socket.socket(socket.AF_UNIX)
        folder = os.open(self.folder, os.O_RDONLY)
        line.connect(f"/proc/self/fd/{folder}/control")
        os.close(folder)
        line.sendall(said)
        self.clients.append(line)
        return line

    def turn(self) -> dict[int, int]:
        """As the loop does it; which descriptors were ready."""
        poll = select.poll()
        self.desk.register(poll)
        ready = dict(poll.poll(0))
        self.desk.serve(ready, self.served)
        return ready

    def seated(self) -> int:
        return sum(not client.owner for client in self.desk._clients.values())

    def close(self) -> None:
        self.desk.finish(str(self.folder / "control"))
        for line in [*self.clients, self.owner]:
            line.close()
        for client in self.desk._clients.values():
            client.close()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    place.close()


def closed(line: socket.socket) -> bool:
    """Without waiting: what is not closed now says so."""
    line.setblocking(False)
    try:
        return line.recv(1 << 16) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def answered(line: socket.socket) -> list[dict[str, Any]]:
    """Every answer that is there."""
    line.setblocking(False)
    data = b""
    try:
        while chunk := line.recv(1 << 20):
            data += chunk
    except BlockingIOError:
        pass
    assert not data or data.endswith(b"\n")
    return [json.loads(each) for each in data.splitlines()]


def test_a_request_that_came_with_its_connection_is_answered_in_the_same_turn(place: Place) -> None:
    lines = [place.come(PING) for _ in range(5)]
    place.turn()
    assert [answered(line)[0]["ok"] for line in lines] == [True] * 5


def test_one_process_gets_a_quarter_of_the_seats_and_loses_its_own_oldest(place: Place) -> None:
    share = desks.MAX_SEATS // 4
    lines = [place.come() for _ in range(share + 4)]
    server = place.desk._server
    assert server is not None
    while select.select([server], [], [], 0)[0]:
        place.turn()
    assert [closed(line) for line in lines] == [True] * 4 + [False] * share


_CROWD = """
import os, socket, sys
lines = []
for _ in range(int(sys.argv[1])):
    pid = os.fork()
    if pid == 0:
        line = socket.socket(socket.AF_UNIX)
        line.connect("control")
        os.write(1, b"1")
        line.recv(1)
        os.write(1, b"0")
        os._exit(0)
"""


def test_when_all_seats_are_taken_the_one_that_came_first_makes_room(place: Place) -> None:
    """By processes of their own, each with one connection: no share is exceeded."""
    count = desks.MAX_SEATS + 3
    crowd = subprocess.Popen([sys.executable, "-c", _CROWD, str(count)], cwd=place.folder, stdout=subprocess.PIPE)
    assert crowd.stdout is not None
    came = b""
    while came.count(b"1") < count or came.count(b"0") < 3:  # a connection that was made may still wait to be let in
        place.turn()
        if select.select([crowd.stdout], [], [], 0.01)[0]:
            came += os.read(crowd.stdout.fileno(), 100)
    assert place.seated() == desks.MAX_SEATS
    last = place.come(PING)
    place.turn()
    assert answered(last)[0]["ok"] is True
    assert place.seated() == desks.MAX_SEATS
    place.close()
    crowd.communicate(timeout=PATIENCE)


def test_a_stream_of_connections_is_let_in_by_parts_with_a_rest_between(place: Place) -> None:
    for _ in range(desks.ENTRIES + 5):
        place.come()
    place.turn()
    due = place.desk.due()
    assert due is not None
    assert due - clock.monotonic() <= desks.FLOOD_REST
    server = place.desk._server
    assert server is not None
    assert select.select([server], [], [], 0)[0]  # more are waiting
    poll = select.poll()
    place.desk.register(poll)
    assert server.fileno() not in dict(poll.poll(0))  # and are not listened to for now
    wait_for = clock.monotonic() + PATIENCE
    while server.fileno() not in place.turn():
        assert clock.monotonic() < wait_for
    assert not select.select([server], [], [], 0)[0]


def used_up(_server: object) -> None:
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


def test_without_a_descriptor_the_oldest_make_room_and_then_there_is_a_rest(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = [place.come() for _ in range(3)]
    place.turn()
    assert place.seated() == 3
    monkeypatch.setattr(control_socket, "accept", used_up)
    place.come()
    place.turn()
    assert [closed(line) for line in first] == [True] * 3
    due = place.desk.due()
    assert due is not None
    assert 0.5 < due - clock.monotonic() <= desks.SHORTAGE_REST
    assert place.turn() == {}  # nothing is ready: it does not spin
    assert place.served.stopped == []  # the owner keeps its line


def test_requests_are_answered_a_few_a_turn_and_none_is_lost(place: Place) -> None:
    line = place.come(b"\n" * 100)
    place.turn()
    assert len(answered(line)) == control_socket.TURN
    assert place.desk.due() == 0.0  # there is more to do at once
    turns = 1
    got = control_socket.TURN
    while place.desk.due() == 0.0:
        place.turn()
        turns += 1
        got += len(answered(line))
    assert (got, turns) == (100, -(-100 // control_socket.TURN))


def test_a_client_that_does_not_read_is_not_read_from(place: Place) -> None:
    line = place.come()
    line.setblocking(False)
    place.turn()
    sent = 0
    for _ in range(1000):
        try:
            while True:
                sent += line.send(PING * 100)
        except BlockingIOError:
            pass
        place.turn()
    [client] = [each for each in place.desk._clients.values() if not each.owner]
    assert not client.listening
    assert client.held <= 1 << 17
    assert len(client._out) <= control_socket.MAX_UNREAD + 100 * control_socket.TURN
    assert place.desk.due() == client.due  # nothing to do but to wait until it is overdue


def test_unfinished_requests_take_a_bounded_amount_of_memory_together(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desks, "MAX_HELD", 300_000)
    small = place.come(b"x" * 1000)
    large = place.come()
    large.setblocking(False)
    for _ in range(100):
        try:
            large.send(b"x" * 50_000)
        except BlockingIOError:
            pass
        except OSError:
            break
        place.turn()
    assert closed(large)
    assert not closed(small)


def test_the_owner_keeps_its_line_when_all_seats_are_taken_and_its_end_stops_the_job(place: Place) -> None:
    for _ in range(desks.MAX_SEATS * 2):
        place.come()
        place.turn()
    place.owner.sendall(PING)
    place.turn()
    assert answered(place.owner)[0]["ok"] is True
    place.owner.close()
    place.turn()
    [(by, _)] = place.served.stopped
    assert "caller" in by


@pytest.mark.parametrize(
    ("limit", "used", "seats"), [(1 << 20, 20, 64), (1024, 20, 64), (64, 20, 36), (32, 16, 8), (20, 18, 2), (8, 8, 2)]
)
def test_seats_are_as_many_as_descriptors_allow(
    monkeypatch: pytest.MonkeyPatch, limit: int, used: int, seats: int
) -> None:
    monkeypatch.setattr(os, "sysconf", lambda _name: limit)
    monkeypatch.setattr(descriptors, "open_numbers", lambda: list(range(used + 3)))
    assert desks._count_seats(3) == seats


def test_the_sockets_file_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        server = control_socket.listen(str(tmp_path), "control")
    finally:
        os.umask(before)
    assert server is not None
    server.close()
    assert os.stat(tmp_path / "control").st_mode & 0o777 == 0o600
