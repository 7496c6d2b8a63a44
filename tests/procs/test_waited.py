"""What the sampler reads of the descriptors that a thread waits for, from real processes."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import socket
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from unhang.core.diagnosis.runtimes import ERLANG, JVM, MONO, NODE
from unhang.core.diagnosis.samples import FOREVER, FullSample, ProcessSample
from unhang.procs.linux.sampler import waited
from unhang.procs.linux.sampler.files import terminal_of
from unhang.procs.linux.sampler.full import meant
from unhang.procs.linux.sampler.threads import reachable
from unhang.procs.sampler.full import full

PREFACE = "import ctypes, os, select, struct, sys\n"
TIMERFD = (
    PREFACE
    + """
libc = ctypes.CDLL(None)
fd = libc.timerfd_create(1, 0)
if sys.argv[1] != "0":
    libc.timerfd_settime(fd, 0, struct.pack("<qqqq", 0, 0, int(sys.argv[1]), 0), None)
print("READY", flush=True)
os.read(fd, 8)
"""
)


def look_at(job: subprocess.Popen[bytes], syscall: str) -> FullSample:
    """A look at our children, once this one sits in the call."""
    while True:
        seen = full(os.getpid())
        threads = seen.processes[job.pid].threads if job.pid in seen.processes else ()
        if threads and threads[0].syscall == syscall:
            return seen
        assert job.poll() is None


@pytest.mark.parametrize(("seconds", "least", "most"), [("0", FOREVER, FOREVER), ("9000", 8000.0, 9000.0)])
def test_a_timerfd_says_when_it_fires(seconds: str, least: float, most: float) -> None:
    with subprocess.Popen([sys.executable, "-c", TIMERFD, seconds], stdout=subprocess.PIPE) as job:
        try:
            assert job.stdout is not None
            assert job.stdout.readline() == b"READY\n"
            found = look_at(job, "read").processes[job.pid].timerfds
            assert len(found) == 1
            assert all(least <= left <= most for left in found.values())
        finally:
            job.kill()


def test_the_watchdog_knows_the_end_of_a_pipe_that_it_holds() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as job:
        try:
            seen = look_at(job, "read")
            pipe = seen.pipes[seen.processes[job.pid].fds[0]]
            assert (pipe.searched, pipe.ours, pipe.outside) == (True, True, ())
        finally:
            job.kill()


def test_the_watchdog_knows_its_end_of_a_pipe_among_300_open_files() -> None:
    with contextlib.ExitStack() as held:
        for _ in range(300):
            held.enter_context(open(os.devnull, "rb"))
        test_the_watchdog_knows_the_end_of_a_pipe_that_it_holds()


@pytest.mark.parametrize("bound", ["MOST_FDS_OUTSIDE", "MOST_OUTSIDE"])
def test_where_not_all_can_be_looked_at_somebody_may_hold_the_other_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    monkeypatch.setattr(waited, bound, 1)
    fifo = tmp_path / "f"
    os.mkfifo(fifo)
    with subprocess.Popen(["sh", "-c", 'exec 3<>"$1"; read x <&3', "sh", str(fifo)]) as reader:
        try:
            look_at(reader, "read")
            pipe = full(reader.pid, include_root=True).pipes[str(fifo)]
            assert [pid for pid, _ in pipe.outside] == [0]
        finally:
            reader.kill()


def test_a_stranger_that_can_write_to_a_fifo_is_found(tmp_path: Path) -> None:
    """The looked-at tree is that of the reader: the writer beside it is outside."""
    fifo = tmp_path / "f"
    os.mkfifo(fifo)
    writer = subprocess.Popen(
        ["sh", "-c", 'exec 3<>"$1"; echo; read x', "sh", str(fifo)], stdin=subprocess.PIPE, stdout=-1
    )
    reader = subprocess.Popen(["cat", str(fifo)])
    try:
        assert writer.stdout is not None
        writer.stdout.readline()
        look_at(reader, "read")
        seen = full(reader.pid, include_root=True)
        assert [pid for pid, _ in seen.pipes[str(fifo)].outside] == [writer.pid]
    finally:
        for process in (reader, writer):
            process.kill()
            process.communicate()


SHARES = """
import os, socket, sys, time
a, b = socket.socketpair()
line = socket.socket(fileno=int(sys.argv[1]))
socket.send_fds(line, [b"x"], [b.fileno()])
line.close()
a.recv(1)
"""


def test_a_stranger_that_has_the_other_end_of_a_socket_is_found() -> None:
    """The one that waits has kept that end as well: from inside it looks like a wait for itself."""
    ours, theirs = socket.socketpair()
    words = [sys.executable, "-c", SHARES, str(theirs.fileno())]
    with ours, subprocess.Popen(words, pass_fds=[theirs.fileno()]) as job:
        theirs.close()
        _, (end,), _, _ = socket.recv_fds(ours, 1, 1)
        stranger = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[end])
        os.close(end)
        try:
            look_at(job, "recvfrom")
            seen = full(job.pid, include_root=True).processes[job.pid]
            assert [[pid for pid, _ in held] for held in seen.strangers.values()] == [[stranger.pid]]
        finally:
            for process in (job, stranger):
                process.kill()
            stranger.communicate()


def test_a_stranger_that_has_the_other_end_of_a_stdin_is_found() -> None:
    """As an inetd or a program of Node gives it to a child: a socket. Without the stranger it is the watchdog's own."""
    ours, theirs = socket.socketpair()
    stranger = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[ours.fileno()])
    with theirs, subprocess.Popen(["cat"], stdin=theirs.fileno()) as job:
        try:
            look_at(job, "read")
            seen = full(job.pid, include_root=True).processes[job.pid]
            assert {pid for pid, _ in seen.strangers[0]} == {stranger.pid}
            ours.close()
            stranger.kill()
            stranger.communicate()
            assert job.wait() == 0
        finally:
            for process in (job, stranger):
                process.kill()
                process.communicate()


POLLS = """
import os, select, sys
r, w = os.pipe()
p = select.poll()
p.register(r, int(sys.argv[1]))
e = select.epoll()
e.register(r, int(sys.argv[1]))
(p if sys.argv[2] == "poll" else e).poll()
"""


@pytest.mark.parametrize("call", ["poll", "epoll_wait"])
@pytest.mark.parametrize(("events", "hangups"), [("0", True), ("1", False)])
def test_a_wait_for_the_end_of_a_pipe_is_no_wait_for_its_bytes(call: str, events: str, hangups: bool) -> None:
    with subprocess.Popen([sys.executable, "-c", POLLS, events, call]) as job:
        try:
            waiting = look_at(job, call).processes[job.pid].threads[0]
            assert (bool(waiting.hangups), bool(waiting.reads)) == (hangups, not hangups)
        finally:
            job.kill()


@pytest.mark.parametrize(("command", "waits"), [('cat < "$1"', True), ('echo > "$1"', False)], ids=["read", "write"])
def test_a_fifo_that_is_opened_to_read_is_there_for_any_process(tmp_path: Path, command: str, waits: bool) -> None:
    """One that is opened to write, and was made a moment ago, is there for a process of the job."""
    fifo = tmp_path / "f"
    os.mkfifo(fifo)
    with subprocess.Popen(["sh", "-c", command, "sh", str(fifo)]) as job:
        try:
            assert look_at(job, "openat").processes[job.pid].threads[0].reachable is waits
        finally:
            job.kill()


def test_a_fifo_that_is_older_than_its_writer_was_made_by_another() -> None:
    assert reachable(os.getpid(), os.path.realpath(sys.executable), to_write=True)
    assert reachable(os.getpid(), "/nowhere", to_write=True), "it cannot be seen"


HANDLES = """
import signal, sys, time
for number in sys.argv[1:]:
    signal.signal(int(number), print)
print("READY", flush=True)
time.sleep(99)
"""


@pytest.mark.parametrize(
    ("handled", "alarm", "wakes", "other"),
    [
        ([], False, False, False),
        ([signal.SIGALRM], True, False, False),
        ([signal.SIGUSR1], False, True, False),
        ([signal.SIGUSR2, signal.SIGALRM], True, True, False),
        ([signal.SIGIO], False, True, False),
        ([signal.SIGURG, signal.SIGTERM, signal.SIGHUP], False, True, False),
        ([signal.SIGRTMIN + 3], False, True, False),
        ([signal.SIGHUP, signal.SIGTERM], False, True, False),
        ([signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM], False, False, False),
        ([signal.SIGHUP, signal.SIGPIPE, signal.SIGTERM], False, False, False),
        ([signal.SIGWINCH], False, False, True),
        ([signal.SIGCONT, signal.SIGTERM], False, False, True),
        ([signal.SIGUSR1, signal.SIGALRM, signal.SIGTTIN], False, False, False),
        ([signal.SIGUSR1, signal.SIGPROF], False, False, False),
    ],
)
def test_the_signals_that_a_process_handles_on_purpose(
    handled: list[int], alarm: bool, wakes: bool, other: bool
) -> None:
    words = [sys.executable, "-c", HANDLES, *(str(int(number)) for number in handled)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as job:
        try:
            assert job.stdout is not None
            assert job.stdout.readline() == b"READY\n"
            seen = full(os.getpid()).processes[job.pid]
            assert (seen.catches_alarm, seen.catches_signal, seen.catches_other) == (alarm, wakes, other)
        finally:
            job.kill()


# What was itself started with & ignores SIGINT and SIGQUIT, and so does what it starts.
AS_STARTED_BY_A_PERSON = ["env", "--default-signal=INT,QUIT"]


@pytest.mark.parametrize(
    ("how", "background"), [("sleep 99 & echo READY; wait", True), ("echo READY; sleep 99; :", False)]
)
def test_a_shell_that_cleans_up_may_mean_any_signal_and_its_background_is_known(how: str, background: bool) -> None:
    with subprocess.Popen(
        [*AS_STARTED_BY_A_PERSON, "bash", "-c", f"trap true EXIT; {how}"], stdout=subprocess.PIPE
    ) as job:
        try:
            assert job.stdout is not None
            assert job.stdout.readline() == b"READY\n"
            below: list[ProcessSample] = []
            while not any(each.comm == "sleep" for each in below):
                seen = full(job.pid).processes
                below = list(seen.values())
            assert full(os.getpid()).processes[job.pid].catches_all
            assert [each.background for each in below] == [background]
        finally:
            for pid in [*full(job.pid).processes, job.pid]:
                os.kill(pid, signal.SIGKILL)


AIO = """
import ctypes, os
libc, e, context = ctypes.CDLL(None, use_errno=True), os.eventfd(0), ctypes.c_ulong()
assert libc.syscall(206, 8, ctypes.byref(context)) >= 0
print("READY", flush=True)
os.read(e, 8)
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="its number of io_setup")
def test_the_kernel_may_write_to_an_eventfd_of_one_that_uses_asynchronous_transfers() -> None:
    for source, holders in ((AIO, ((0, "the kernel"),)), (AIO.replace("206", "39"), ())):
        with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE) as job:
            try:
                assert job.stdout is not None
                assert job.stdout.readline() == b"READY\n"
                strangers = look_at(job, "read").processes[job.pid].strangers
                assert tuple(strangers.values()) == ((holders,) if holders else ())
            finally:
                job.kill()


def _bit(number: int) -> int:
    return 1 << (number - 1)


@pytest.mark.parametrize(
    ("runtime", "own"),
    [
        (JVM, [signal.SIGUSR2, signal.SIGRTMAX - 2]),
        (MONO, [signal.SIGRTMIN + 1, signal.SIGRTMIN + 3, signal.SIGWINCH]),
        (NODE, [signal.SIGUSR1]),
        (ERLANG, [signal.SIGUSR1]),
    ],
)
def test_the_signals_of_a_runtime_are_not_the_programs(runtime: str, own: list[int]) -> None:
    caught = sum(_bit(number) for number in own)
    assert meant(caught, runtime) == 0
    assert meant(caught | _bit(signal.SIGALRM), runtime) == _bit(signal.SIGALRM)
    assert meant(caught, "") == caught


@pytest.mark.parametrize(("least", "tenths", "patience"), [(0, 250, 25.0), (1, 250, FOREVER), (1, 0, FOREVER)])
def test_a_terminal_says_after_how_long_a_read_of_it_gives_up(least: int, tenths: int, patience: float) -> None:
    master, slave = pty.openpty()
    try:
        settings = termios.tcgetattr(slave)
        settings[3] &= ~termios.ICANON
        settings[6][termios.VMIN], settings[6][termios.VTIME] = least, tenths
        termios.tcsetattr(slave, termios.TCSANOW, settings)
        seen = terminal_of({}, master, None)
        assert seen is not None
        assert (seen.canonical, seen.patience) == (False, patience)
        settings[3] |= termios.ICANON  # the same two bytes mean other keys then
        termios.tcsetattr(slave, termios.TCSANOW, settings)
        again = terminal_of({}, master, None)
        assert again is not None
        assert again.patience == FOREVER
    finally:
        os.close(master)
        os.close(slave)


RECEIVES = """
import socket, struct, sys
a, b = socket.socketpair()
a.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("qq", int(sys.argv[1]), 0))
print("READY", flush=True)
a.recv(1)
"""


@pytest.mark.parametrize(("seconds", "patience"), [(0, []), (3000, [3000.0])])
def test_a_socket_says_after_how_long_a_call_on_it_gives_up(seconds: int, patience: list[float]) -> None:
    with subprocess.Popen([sys.executable, "-c", RECEIVES, str(seconds)], stdout=subprocess.PIPE) as job:
        try:
            seen = look_at(job, "recvfrom").processes[job.pid]
            assert list(seen.patience.values()) in (patience, [None]), "None: this system forbids to ask"
        finally:
            job.kill()
