"""The private socket: whatever comes in is answered or dropped in bounded time, and the keeper goes on serving."""

from __future__ import annotations

import json
import os
import select
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engine import read_line
from tests.support.jobs import STILL, Jobs, actor, check_log
from unhang.jobs.handle import Job
from unhang.keeper import control_socket, requests
from unhang.procs.linux import procfs
from unhang.testing.liveness import PATIENCE, RollCall


def _line(job: Job) -> socket.socket:
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    line.settimeout(PATIENCE)
    folder = os.open(job.place.path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        line.connect(f"/proc/self/fd/{folder}/control")
    finally:
        os.close(folder)
    return line


@pytest.fixture
def job(jobs: Jobs, roll: RollCall) -> Iterator[Job]:
    """On a terminal, so that every request makes sense; it must survive all of the test."""
    job = jobs.begin(*STILL, "--pty", "--", *actor("obedient", roll.path))
    leader = roll.wait_for("leader")
    yield job
    assert leader.is_alive()
    assert job.ping()["ok"] is True
    job.cancel()
    assert check_log(job.place)[-1]["phase"] == "cancelled"


_NONSENSE = [
    *(b"", b"hello", b"[]", b"null", b"{}", b'{"do":1}', b'{"do":"dance"}', b"\xff\xfe", b"\0" * 100, b"[" * 100_000),
    *(b'{"do":"extend","idle":-1}', b'{"do":"extend","idle":"5"}', b'{"do":"extend","hard":NaN}'),
    *(b'{"do":"extend","hard":1e999}', b'{"do":"extend","hard":true}', b'{"do":"extend","hard":1e300}'),
    *(b'{"do":"resize"}', b'{"do":"resize","rows":0,"columns":80}', b'{"do":"resize","rows":1e999,"columns":1}'),
    *(b'{"do":"resize","rows":"x","columns":[]}', b'{"do":"resize","rows":99999,"columns":1}'),
    *(b'{"do":"resize","rows":NaN,"columns":80}', b'{"do":"resize","rows":null,"columns":80}'),
    *(b'{"do":"send","data":"%"}', '{"do":"send","data":"é"}'.encode(), b'{"do":"send","data":{}}'),
    b'{"do":"send","data":"' + b"QUFB" * 500_000 + b'"}',
    b'{"do":"extend","hard":' + b"9" * 5000 + b"}",
]


def test_nonsense_is_answered_in_one_line_and_the_keeper_goes_on(job: Job) -> None:
    for request in _NONSENSE:
        with _line(job) as line:
            line.sendall(request + b"\n")
            answer = json.loads(read_line(line.fileno()))
            assert answer["ok"] is False, request[:60]
            assert answer["error"], request[:60]
            assert "\n" not in answer["error"]


def test_one_line_may_carry_many_requests_good_and_bad(job: Job) -> None:
    with _line(job) as line:
        line.sendall(b'nonsense\n{"do":"ping"}\n{"do":"resize","rows":30,"columns":90}\n{"do":"ping"}\n')
        answers = [json.loads(read_line(line.fileno())) for _ in range(4)]
    assert [answer["ok"] for answer in answers] == [False, True, True, True]


def test_a_request_that_is_too_long_is_dropped(job: Job) -> None:
    with _line(job) as line:
        sent = 0
        try:
            while sent <= 4 * control_socket.MAX_REQUEST:
                sent += line.send(b"x" * (1 << 16))
        except OSError:
            pass
        assert sent < 4 * control_socket.MAX_REQUEST, "the keeper took everything"
    assert job.ping()["ok"] is True


def test_silent_connections_are_dropped_and_a_later_request_is_answered(job: Job) -> None:
    """More than the keeper serves at once; a later one still gets its answer."""
    silent = [_line(job) for _ in range(requests.MAX_SEATS + 20)]
    try:
        assert job.ping()["ok"] is True
        silent[-1].sendall(b'{"do":')  # half a request is no better than none
        assert silent[-1].recv(10) == b""
        assert silent[0].recv(10) == b""
    finally:
        for line in silent:
            line.close()


def test_a_client_that_does_not_read_its_answers_is_dropped(job: Job) -> None:
    with _line(job) as line:
        line.setblocking(False)
        try:
            while True:
                line.send(b'{"do":"ping"}\n' * 4000)
        except BlockingIOError:
            pass
        except OSError:
            return  # dropped already
        assert job.ping()["ok"] is True
        poll = select.poll()
        poll.register(line, 0)  # nothing but the end of the connection
        assert poll.poll(PATIENCE * 1000), "it was not dropped"


def test_the_socket_is_in_a_private_directory_and_knows_the_user_of_its_peer(job: Job) -> None:
    assert stat.S_IMODE(os.stat(job.place.path).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(job.place.home).st_mode) == 0o700
    with _line(job) as line:
        assert control_socket.peer(line)[1] == os.geteuid()


_KNOCK = """
import os, socket, sys
line = socket.socket(socket.AF_UNIX)
os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    line.connect(sys.argv[1])
    line.sendall(b'{"do":"ping"}\\n')
    print(line.recv(100))
except OSError as error:
    print(type(error).__name__)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: to connect as another user needs root")
def test_another_user_gets_no_answer_even_if_the_directory_is_open(tmp_path: Path) -> None:
    """The directory of a job is closed to other users; this one is not, so that the second check is seen to work."""
    tmp_path.chmod(0o755)
    server = control_socket.listen(str(tmp_path), "control")
    assert server is not None
    try:
        os.chmod(tmp_path / "control", 0o777)
        knock = [sys.executable, "-c", _KNOCK, "control"]
        with subprocess.Popen(knock, stdout=subprocess.PIPE, cwd=tmp_path) as knocking:
            server.settimeout(PATIENCE)
            assert control_socket.accept(server) is None
            answer = knocking.communicate(timeout=PATIENCE)[0].strip()
        assert answer in (b"b''", b"ConnectionResetError", b"BrokenPipeError")
    finally:
        server.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: to connect as another user needs root")
def test_another_user_cannot_even_reach_the_socket(job: Job) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _KNOCK, job.place.control], capture_output=True, cwd="/", timeout=PATIENCE, check=True
    )
    assert done.stdout.strip() in (b"PermissionError", b"OSError")  # the path may also be too long for an address


@pytest.mark.parametrize("length", [120, 1200])
def test_a_very_deep_home_works(jobs: Jobs, tmp_path: Path, roll: RollCall, length: int) -> None:
    """Longer than a socket's address may be, and longer than most buffers."""
    home = tmp_path
    while len(str(home)) < length:
        home = home / ("d" * 50)
    home.mkdir(parents=True)
    jobs.home = home / "home"
    jobs.env["UNHANG_HOME"] = str(jobs.home)
    job = jobs.begin(*STILL, "--stdin", "pipe", "--", *actor("puppet", roll.path))
    roll.wait_for("leader")
    assert jobs.call("send", job.id, "print deep").code == 0
    roll.wait_for("print deep")
    assert jobs.call("extend", job.id, "--hard", "1m").code == 0
    assert [row["jobId"] for row in jobs.said("ps")] == [job.id]
    assert jobs.call("cancel", job.id).code == 0
    assert job.output().data == b"deep\n"
    check_log(job.place)


def test_a_keeper_survives_large_and_odd_requests_and_its_memory_stays_small(jobs: Jobs, roll: RollCall) -> None:
    job = jobs.begin(*STILL, "--pty", "--", *actor("obedient", roll.path))
    leader = roll.wait_for("leader")
    keeper = int(job.spec["keeper"]["pid"])
    folder = os.open(job.place.path, os.O_RDONLY)
    heavy = [b"\n" * 20_000, b"[" * 1_000_000, b'{"do":"send","data":"' + b"QUFB" * 400_000 + b'"}', b"x" * (3 << 20)]
    odd: list[bytes] = [
        b'{"do":"resize","rows":%s,"columns":80}' % n for n in (b"1e999", b"NaN", b'"9"', b"null", b"-1")
    ]
    for said in [*heavy, *odd] * 4:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(PATIENCE)
            line.connect(f"/proc/self/fd/{folder}/control")
            try:
                line.sendall(said + b"\n")
                answer = json.loads(read_line(line.fileno()))
                assert answer["ok"] is False
                assert answer["error"]
            except (BrokenPipeError, ConnectionResetError):
                assert len(said) > control_socket.MAX_REQUEST
    os.close(folder)
    status = procfs.read(f"/proc/{keeper}/status").decode()
    [resident] = [int(each.split()[1]) for each in status.splitlines() if each.startswith("VmRSS")]
    assert resident < 64 << 10
    assert leader.is_alive()
    assert job.ping()["ok"] is True
    job.cancel()
    assert check_log(job.place)[-1]["phase"] == "cancelled"
