"""The sampler against real processes: what it must see, and that nothing it does can be felt."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.diagnosis.actors import actor, command, until_blocked, until_state
from unhang.core.diagnosis.prompt import waits_for_input
from unhang.core.diagnosis.runtimes import JVM
from unhang.core.diagnosis.samples import FOREVER, ProcessSample
from unhang.procs.linux.procfs import read
from unhang.procs.linux.sampler.jvm import counter
from unhang.procs.linux.sampler.locks import locks_of
from unhang.procs.linux.sampler.tree import head_of
from unhang.procs.sampler.cheap import cheap
from unhang.procs.sampler.full import full


def test_the_cheap_look_imports_next_to_nothing() -> None:
    """It is on the way of every keeper: no typing, re, socket, struct, subprocess."""
    source = (
        "import sys; before = set(sys.modules); import os, time, unhang.procs.sampler.cheap;"
        "print(*sorted(name for name in set(sys.modules) - before if not name.startswith('unhang')))"
    )
    done = subprocess.run([sys.executable, "-S", "-c", source], capture_output=True, text=True, check=True,
                          env={"PYTHONPATH": os.pathsep.join(sys.path)})  # fmt: skip
    known = {"__future__", "_collections_abc", "_stat", "genericpath", "os", "os.path", "posixpath", "stat"}
    assert set(done.stdout.split()) <= known


def test_cheap_counts_only_below_the_root_unless_told() -> None:
    with actor("print('READY'); input()") as job:
        me = cheap(os.getpid())
        assert job.pid in me.processes
        assert os.getpid() not in me.processes
        assert os.getpid() in cheap(os.getpid(), include_root=True).processes
        assert me.processes[job.pid].ppid == os.getpid()


def test_cheap_sees_cpu_bytes_births_and_deaths() -> None:
    source = (
        "import sys, os; print('READY')\nfor line in sys.stdin:\n"
        " open('/dev/null','wb').write(b'x'*10_000_000); sum(range(4_000_000)); print('DONE')"
    )
    with actor(source) as job:
        before = cheap(os.getpid()).processes[job.pid]
        assert job.stdin is not None
        assert job.stdout is not None
        job.stdin.write(b"go\n")
        job.stdin.flush()
        job.stdout.readline()
        after = cheap(os.getpid()).processes[job.pid]
        assert after.cpu > before.cpu
        assert after.io >= before.io + 10_000_000  # whatever the disk has read for its start
        assert after.start == before.start
        job.kill()
        os.waitid(os.P_PID, job.pid, os.WEXITED | os.WNOWAIT)
        assert job.pid not in cheap(os.getpid()).processes, "a zombie has ended"


def test_a_read_names_its_descriptor_and_its_pipe() -> None:
    with actor("import os; print('READY'); os.read(0, 1)") as job:
        until_blocked(job.pid, "read")
        sample = full(os.getpid())
        main = sample.processes[job.pid].threads[0]
        assert (main.syscall, main.reads, main.timeout) == ("read", (0,), FOREVER)
        assert sample.pipes[sample.processes[job.pid].fds[0]].readers == ((job.pid, 0),)
        asked = waits_for_input(sample)
        assert asked is not None
        assert (asked.pid, asked.channel) == (job.pid, "stdin")


def test_a_sleep_has_the_time_that_is_left() -> None:
    with actor("import time; print('READY'); time.sleep(500)") as job:
        until_blocked(job.pid, "clock_nanosleep", "nanosleep")
        main = full(os.getpid()).processes[job.pid].threads[0]
        assert main.remaining is not None
        assert 400 < main.remaining <= 500
        assert main.asleep is None or main.asleep < 60


def test_an_epoll_wait_names_the_descriptors_of_its_set() -> None:
    source = (
        "import select, socket, sys; a, b = socket.socketpair(); e = select.epoll()\n"
        "e.register(a.fileno(), select.EPOLLIN); e.register(0, select.EPOLLIN); print('READY'); e.poll(77)"
    )
    with actor(source) as job:
        until_blocked(job.pid, "epoll_wait", "epoll_pwait", "epoll_pwait2")
        main = full(os.getpid()).processes[job.pid].threads[0]
        assert 0 in main.reads
        assert len(main.reads) == 2
        assert main.timeout == pytest.approx(77, abs=1)


def test_a_socket_has_its_state_and_its_bytes() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        source = (
            "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
            "s.recv(5); s.sendall(b'abc'); print('READY'); s.recv(1)"
        )
        with command([sys.executable, "-u", "-c", source, str(port)]) as job:
            peer, _ = server.accept()
            with peer:
                peer.sendall(b"12345")
                assert job.stdout is not None
                assert job.stdout.readline() == b"READY\n"
                until_blocked(job.pid, "recvfrom")
                sample = full(os.getpid())
                [seen] = [each for each in sample.sockets.values() if each.remote.endswith(f":{port}")]
                assert seen.state == "ESTABLISHED"
                assert seen.received == 5
                assert seen.sent in (3, 4), "the kernel counts the opening of the connection as one"
                assert seen.since_receive is not None
                assert seen.since_receive < 60
                assert not full(os.getpid(), network=False).sockets, "the light look asks nobody"


def test_the_two_ends_of_a_socket_inside_the_tree_know_each_other() -> None:
    source = (
        "import os, socket; a, b = socket.socketpair()\nif os.fork() == 0: a.close(); b.recv(1); os._exit(0)\n"
        "b.close(); print('READY'); a.recv(1)"
    )
    with actor(source) as job:
        sample = full(os.getpid())
        ours = [pid for pid in sample.processes if pid == job.pid or sample.processes[pid].ppid == job.pid]
        links = {link for pid in ours for link in sample.processes[pid].fds.values() if link in sample.sockets}
        peers = [sample.sockets[link].peer for link in links if sample.sockets[link].family == "unix"]
        assert set(peers) == links
        assert len(peers) == 2
        for pid in [pid for pid in ours if pid != job.pid]:
            os.kill(pid, signal.SIGKILL)


def test_a_terminal_is_read_from_its_master_and_without_it() -> None:
    pid, master = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", "import getpass; getpass.getpass('Token: ')"])
    try:
        screen = b""
        while b"Token" not in screen:
            screen += os.read(master, 1000)
        until_blocked(pid, "read")
        sample = full(os.getpid(), pty_master=master, screen=screen, network=False)
        assert sample.terminal is not None
        assert (sample.terminal.echo, sample.terminal.canonical) == (False, True)
        assert sample.terminal.foreground == pid
        asked = waits_for_input(sample)
        assert asked is not None
        assert asked.password
        assert '"Token:"' in asked.reason
        again = full(os.getpid(), screen=screen, network=False).terminal
        assert again is not None
        assert (again.echo, again.canonical) == (False, True), "and without the master, through its own descriptor"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(master)


def test_a_blocked_lock_names_its_holder_and_its_path(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with open(path, "w") as mine:
        fcntl.flock(mine, fcntl.LOCK_EX)
        source = "import fcntl, sys; print('READY'); fcntl.flock(open(sys.argv[1], 'w'), fcntl.LOCK_EX)"
        with actor(source, str(path)) as job:
            until_blocked(job.pid, "flock")
            sample = full(os.getpid())
            lock = sample.processes[job.pid].lock
            assert lock is not None
            assert (lock.kind, lock.path, lock.holder, lock.blocked) == ("flock", str(path), os.getpid(), True)
            assert os.getpid() in sample.others, "the holder is looked at too"


WANTS_A_BYTE = """
import fcntl, os, struct, sys
fd = os.open(sys.argv[1], os.O_RDWR); print("READY", flush=True)
fcntl.fcntl(fd, fcntl.F_OFD_SETLKW, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 1, 0))
"""


def test_a_lock_of_an_open_file_description_is_named_with_those_who_have_the_file_open(tmp_path: Path) -> None:
    """The kernel's table has no pid, neither of the holder nor of who waits."""
    path = tmp_path / "file"
    path.write_bytes(b"xx")
    with path.open("r+b") as holds, path.open("r+b") as beside:
        for file, start in ((holds, 0), (beside, 1)):
            fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, start, 1, 0))
        with actor(WANTS_A_BYTE, str(path)) as job:
            until_blocked(job.pid, "fcntl")
            lock = full(os.getpid()).processes[job.pid].lock
    assert lock is not None
    assert (lock.kind, lock.path, lock.holder, lock.blocked) == ("ofd", str(path), os.getpid(), True)
    assert lock.owners == (os.getpid(),)


@pytest.mark.parametrize(("second", "sure"), [("00:00:7", True), ("00:00:8", False)])
def test_two_threads_that_wait_for_two_locks_wait_for_more_than_is_seen(second: str, sure: bool) -> None:
    """The table names their process, and not the thread."""
    waits = b"1: POSIX ADVISORY WRITE 50 %s 0 EOF\n1: -> POSIX ADVISORY WRITE 7 %s 0 EOF\n"
    table = waits % (b"00:00:7", b"00:00:7") + waits % (second.encode(), second.encode())
    lock = locks_of({7: ProcessSample(7)}, table=table)[7]
    assert (0 not in lock.owners) is sure


def test_a_table_of_locks_that_makes_no_sense_breaks_nothing() -> None:
    for table in (
        b"",
        b"1:\n",
        b"1: -> FLOCK\n",
        b"x y z\n" * 3,
        b"1: FLOCK ADVISORY WRITE x 0:0:0 0 EOF\n",
        b"\xff\n",
    ):
        assert locks_of({}, table=table) == {}


def test_a_look_neither_stops_nor_signals_nor_wakes_a_process() -> None:
    """No stop, no signal, no wake-up: the target does not even run while it is looked at."""
    with actor("import os; print('READY'); os.read(0, 1)") as job:
        until_blocked(job.pid, "read")
        until_state(job.pid, "S")
        before = read(f"/proc/{job.pid}/sched").split(b"nr_switches")[-1].split(b"\n")[0]
        for _ in range(25):
            full(os.getpid())
            cheap(os.getpid())
        status = read(f"/proc/{job.pid}/status")
        assert read(f"/proc/{job.pid}/sched").split(b"nr_switches")[-1].split(b"\n")[0] == before
        assert b"TracerPid:\t0\n" in status
        assert b"SigPnd:\t0000000000000000\n" in status
        assert b"State:\tS" in status


def test_a_look_leaves_the_processor_affinity_as_it_was() -> None:
    """It reads clocks on other CPUs by going there; afterwards it may run where it might before."""
    allowed = os.sched_getaffinity(0)
    with actor("print('READY'); input()"):
        full(os.getpid())
    assert os.sched_getaffinity(0) == allowed


def test_a_child_of_any_thread_is_found_however_many_there_are() -> None:
    """Children are listed by thread; with very many threads the parents are asked for instead."""
    source = (
        "import subprocess, sys, threading; gate = threading.Event(); threading.stack_size(65536)\n"
        "for _ in range(int(sys.argv[1])): threading.Thread(target=gate.wait, daemon=True).start()\n"
        "def start():\n  p = subprocess.Popen(['sleep', '300']); print('READY'); p.wait()\n"
        "t = threading.Thread(target=start); t.start(); t.join()"
    )
    for threads in (1, 200):
        with actor(source, str(threads)) as job:
            below = [each for each in cheap(job.pid).processes.items() if each[1].comm == "sleep"]
            assert len(below) == 1
            os.kill(below[0][0], signal.SIGKILL)


def test_sockets_of_another_network_namespace_are_seen() -> None:
    apart = ["unshare", "-Urn"] if os.geteuid() else ["unshare", "-n"]
    if subprocess.run([*apart, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no network namespaces here")
    source = "import socket; s = socket.socket(); s.bind(('0.0.0.0', 4711)); s.listen(); print('READY'); s.accept()"
    with command([*apart, sys.executable, "-u", "-c", source]) as job:
        assert job.stdout is not None
        assert job.stdout.readline() == b"READY\n"
        seen = [each for each in full(os.getpid()).sockets.values() if each.local == "0.0.0.0:4711"]
        assert [each.state for each in seen] == ["LISTEN"]


def test_the_counter_of_futile_wakeups_is_read_from_the_file_of_a_jvm() -> None:
    name = b"sun.rt._sync_FutileWakeups\0"
    entry = struct.pack("<iiiii", 64, 20, 0, 0, 48) + name + b"\0" + struct.pack("<q", 42) + b"\0" * 8
    head = b"\xca\xfe\xc0\xc0" + bytes([1, 2, 0, 1]) + struct.pack("<iiqii", 0, 0, 0, 32, 1)
    assert counter(head + entry) == 42
    for size in range(len(head + entry)):
        counter((head + entry)[:size])
    assert counter(b"") is None
    assert counter(head + b"\xff" * 20 + name) is None


def test_who_has_started_a_holder_outside_belongs_to_it_as_far_as_it_is_not_above_the_job_too() -> None:
    below = "import subprocess, sys; p = subprocess.Popen(['sleep', '99']); print(p.pid, flush=True); p.wait()"
    with (
        subprocess.Popen([sys.executable, "-c", below], stdout=subprocess.PIPE) as parent,
        subprocess.Popen(["sleep", "99"]) as job,
    ):
        try:
            assert parent.stdout is not None
            holder = int(parent.stdout.readline())
            assert head_of(holder, job.pid) == parent.pid, "we are above both"
            assert head_of(parent.pid, job.pid) == parent.pid
            assert head_of(os.getpid(), job.pid) == os.getpid(), "it is above the job itself"
            assert head_of(holder, parent.pid) == holder
        finally:
            os.kill(holder, signal.SIGKILL)
            parent.kill()
            job.kill()


def test_the_futile_wakeups_of_a_jvm_are_of_the_moment_at_which_its_threads_were_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = iter([1, 2, 2, 2, 9])
    monkeypatch.setattr("unhang.procs.linux.sampler.full.runtime_of", lambda *_: JVM)
    monkeypatch.setattr("unhang.procs.linux.sampler.full._Look._futile", lambda *_: next(counts))
    with subprocess.Popen(["sleep", "99"]) as job:
        try:
            until_blocked(job.pid, "clock_nanosleep", "nanosleep")
            assert full(job.pid, include_root=True).processes[job.pid].futile == 2
            assert next(counts) == 9, "and they are not read again"
        finally:
            job.kill()


def test_a_jvm_whose_thread_runs_is_read_again_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr("unhang.procs.linux.sampler.full.runtime_of", lambda *_: JVM)
    monkeypatch.setattr("unhang.procs.linux.sampler.full._Look._futile", lambda *_: asked.append(1))
    with subprocess.Popen(["sh", "-c", "echo READY; while :; do :; done"], stdout=subprocess.PIPE) as job:
        try:
            assert job.stdout is not None
            assert job.stdout.readline() == b"READY\n"
            full(job.pid, include_root=True)
        finally:
            job.kill()
    assert len(asked) == 8, "four times, once before its threads and once after"
