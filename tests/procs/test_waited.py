"""What the sampler reads of the descriptors that a thread waits for, from real processes."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import signal
import socket
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.diagnosis.actors import until_blocked
from tests.support.programs import need_command
from tests.zoo.sixth import GIVES_ITS_PIPE, HIDES, KEEPS
from unhang.core.diagnosis.runtimes import ERLANG, JVM, MONO, NODE
from unhang.core.diagnosis.samples import FOREVER, FullSample, ProcessSample
from unhang.procs.linux.descriptors import targets
from unhang.procs.linux.sampler import files, waited
from unhang.procs.linux.sampler.files import terminal_of
from unhang.procs.linux.sampler.full import handled_on_purpose
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


@pytest.mark.parametrize("bound", ["MOST_FDS_OUTSIDE", "MOST_OUTSIDE"])
def test_where_not_all_can_be_looked_at_one_more_may_hold_an_end_that_we_hold(
    monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    monkeypatch.setattr(waited, bound, 1)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as job:
        try:
            seen = look_at(job, "read")
            pipe = seen.pipes[seen.processes[job.pid].fds[0]]
            assert (pipe.ours, [pid for pid, _ in pipe.outside]) == (True, [0])
        finally:
            job.kill()


@contextlib.contextmanager
def beside_a_stranger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: str, source: str, *, hidden: bool
) -> Iterator[tuple[int, int]]:
    """The pids of a job that blocks in a read and of a stranger that may share what it reads; `hidden`: from us."""
    path = str(tmp_path / "give.sock")
    with (
        subprocess.Popen([sys.executable, "-c", HIDES, shared, path]) as stranger,
        subprocess.Popen([sys.executable, "-u", "-c", source, path], stdout=subprocess.PIPE) as job,
    ):
        monkeypatch.setattr(
            "unhang.procs.linux.sampler.waited.targets",
            lambda pid, most: None if hidden and pid == stranger.pid else targets(pid, most),
        )
        try:
            assert job.stdout is not None
            assert job.stdout.readline() == b"READY\n"
            until_blocked(job.pid, "read")
            yield job.pid, stranger.pid
        finally:
            job.kill()
            stranger.kill()


@pytest.mark.parametrize("hidden", [True, False])
@pytest.mark.parametrize("kept", [True, False])
def test_an_eventfd_may_be_shared_with_a_stranger_that_hides_at_the_other_end_of_a_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: bool, kept: bool
) -> None:
    takes = KEEPS if kept else KEEPS.replace("print(", "s.close(); print(")
    with beside_a_stranger(tmp_path, monkeypatch, "eventfd", takes, hidden=hidden) as (job, stranger):
        strangers = full(job, include_root=True).processes[job].strangers
        expected = {0} if hidden and kept else set() if hidden else {stranger}
        assert {pid for found in strangers.values() for pid, _ in found} == expected


@pytest.mark.parametrize("hidden", [True, False])
def test_a_pipe_of_ones_own_may_have_been_given_to_a_stranger_that_hides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: bool
) -> None:
    with beside_a_stranger(tmp_path, monkeypatch, "pipe", GIVES_ITS_PIPE, hidden=hidden) as (job, stranger):
        seen = full(job, include_root=True)
        [fd] = seen.processes[job].threads[0].reads
        outside = seen.pipes[seen.processes[job].fds[fd]].outside
        assert [pid for pid, _ in outside] == [0 if hidden else stranger]


@given(st.sets(st.integers(1, 9)), st.sets(st.integers(1, 9)), st.booleans())
def test_whoever_was_found_to_hold_an_end_one_that_was_not_looked_at_may_hold_it_too(
    found: set[int], keepers: set[int], cut: bool
) -> None:
    holders = waited.others_of(dict.fromkeys(found, "x"), keepers, cut=cut)
    assert {pid for pid, _ in holders} == found - keepers | ({0} if cut else set())


@pytest.mark.parametrize("bound", ["MOST_FDS_OUTSIDE", "MOST_OUTSIDE"])
def test_where_not_all_can_be_looked_at_one_more_may_hold_a_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    path = tmp_path / "lock"
    with path.open("w") as mine:
        fcntl.flock(mine, fcntl.LOCK_EX)
        with subprocess.Popen(["flock", path, "true"]) as job:
            try:
                look_at(job, "flock")
                monkeypatch.setattr(files, bound, 1)
                lock = full(os.getpid()).processes[job.pid].lock
                assert lock is not None
                assert (lock.holder, set(lock.owners)) == (os.getpid(), {0, os.getpid()})
            finally:
                job.kill()


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


@pytest.mark.parametrize("given_away", [True, False])
@pytest.mark.parametrize("kind", ["socket", "pipe", "eventfd"])
def test_a_number_in_an_epoll_set_that_is_another_files_by_now_is_not_believed(kind: str, given_away: bool) -> None:
    """The file is still watched, under the number of its copy."""
    with subprocess.Popen([sys.executable, "-c", RENUMBERS, kind, "x" * given_away], stdout=subprocess.PIPE) as job:
        try:
            assert job.stdout is not None
            assert job.stdout.readline() == b"READY\n"
            waiting = look_at(job, "epoll_wait").processes[job.pid].threads[0]
            # All eventfds have one inode, so nothing tells them apart: the watched one is among those found, as before.
            assert waiting.unseen is given_away
        finally:
            job.kill()


RENUMBERS = """
import os, select, socket, sys
pair = socket.socketpair(); piped = os.pipe()
kept = {"socket": lambda: pair[0].fileno(), "pipe": lambda: piped[0], "eventfd": lambda: os.eventfd(0)}[sys.argv[1]]()
e = select.epoll(); e.register(kept, select.EPOLLIN)
if sys.argv[2]:
    copy = os.dup(kept); os.dup2(os.open("/dev/null", os.O_RDONLY), kept)
print("READY", flush=True); e.poll()
"""

SELECTS = "import select, socket; a, b = socket.socketpair(); select.select([], [], [a])"


def test_a_wait_for_urgent_data_is_a_wait_for_its_socket() -> None:
    with subprocess.Popen([sys.executable, "-c", SELECTS]) as job:
        try:
            seen = full(os.getpid()).processes.get(job.pid)
            while seen is None or not any(each.syscall in ("select", "pselect6") for each in seen.threads):
                assert job.poll() is None
                seen = full(os.getpid()).processes.get(job.pid)
            assert [seen.fds[fd].partition(":")[0] for fd in seen.threads[0].reads] == ["socket"]
        finally:
            job.kill()


# As readpassphrase and readline catch them.
EVERYTHING = [getattr(signal, f"SIG{name}") for name in ("HUP", "INT", "QUIT", "ALRM", "TERM", "TSTP", "TTIN", "TTOU")]
# As PHP does; but here it is a program that means them.
PHP = [getattr(signal, f"SIG{name}") for name in ("HUP", "INT", "QUIT", "USR1", "USR2", "TERM", "PROF")]
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
        ([signal.SIGTTIN, signal.SIGTTOU, signal.SIGHUP, signal.SIGQUIT], False, True, False),
        ([signal.SIGUSR1, signal.SIGPROF], False, True, False),
        ([signal.SIGALRM, signal.SIGVTALRM], True, False, False),
        (EVERYTHING, False, False, False),
        (PHP, False, True, False),
        ([*PHP, signal.SIGALRM], True, True, False),
    ],
)
def test_the_signals_that_a_process_handles_on_purpose_are_told_from_the_usual_ones(
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


@pytest.mark.parametrize(
    ("handled", "reload"),
    [
        ([signal.SIGHUP], False),
        ([signal.SIGHUP, signal.SIGQUIT], True),
        ([signal.SIGHUP, signal.SIGPIPE, signal.SIGTERM], True),
        ([signal.SIGQUIT], False),
        (EVERYTHING, False),
    ],
)
def test_a_handler_of_sighup_beside_those_of_an_end_may_be_another_end(handled: list[int], reload: bool) -> None:
    words = [sys.executable, "-c", HANDLES, *(str(int(number)) for number in handled)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as job:
        try:
            assert job.stdout is not None
            assert job.stdout.readline() == b"READY\n"
            assert full(os.getpid()).processes[job.pid].catches_reload is reload
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


EVENTS = """
import os, select, signal
e, fds = select.epoll(), [os.eventfd(0) for _ in range(200)]
for fd in fds: e.register(fd, select.EPOLLIN)
if os.fork():
    signal.pause()
print(os.getpid(), flush=True); e.poll()
"""


@pytest.mark.parametrize("bound", [1024, 150])
def test_each_of_many_eventfds_may_be_a_strangers(monkeypatch: pytest.MonkeyPatch, bound: int) -> None:
    monkeypatch.setattr(waited, "MOST_EVENTS", bound)
    with subprocess.Popen([sys.executable, "-c", EVENTS], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        try:
            seen = full(child, include_root=True).processes[child]
            while seen.threads[0].syscall != "epoll_wait":
                seen = full(child, include_root=True).processes[child]
            holders = list(seen.strangers.values())
            assert len(holders) == 200
            assert {pid for held in holders for pid, _ in held} == {parent.pid} | ({0} if bound < 200 else set())
        finally:
            os.kill(child, signal.SIGKILL)
            parent.kill()


def test_what_a_tracer_traces_outside_is_found() -> None:
    need_command("strace")
    with subprocess.Popen(["sleep", "99"]) as traced:
        words = ["strace", "-o", os.devnull, "-p", str(traced.pid)]
        with subprocess.Popen(words, stderr=subprocess.PIPE) as tracer:
            try:
                assert tracer.stderr is not None
                assert b"attached" in tracer.stderr.readline()
                seen = full(tracer.pid, include_root=True).processes[tracer.pid]
                while seen.threads[0].syscall != "wait4":  # it leaves the call once, for the stop that it asked for
                    seen = full(tracer.pid, include_root=True).processes[tracer.pid]
                assert seen.tracees == ((traced.pid, "sleep"),)
                look_at(tracer, "wait4")
                assert full(os.getpid()).processes[tracer.pid].tracees == (), "it is one of the tree"
            finally:
                tracer.kill()
                traced.kill()


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
    assert handled_on_purpose(caught, runtime) == 0
    assert handled_on_purpose(caught | _bit(signal.SIGALRM), runtime) == _bit(signal.SIGALRM)
    assert handled_on_purpose(caught, "") == caught


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
