# ruff: noqa: E501 - one scenario a line reads as the table it is
"""One scenario for each rule that no other one meets, so that it can be recorded."""

from __future__ import annotations

from tests.zoo.scenario import Scenario, Stage
from tests.zoo.third_compiled import C_HEAD

R = b"READY"

PIDFD_CHILD = "import os, select, subprocess; p = subprocess.Popen(['sleep', 'infinity']); fd = os.pidfd_open(p.pid); print('READY'); select.select([fd], [], [])"
OWN_TERMINAL = "import os, pty; m, s = pty.openpty(); print('READY'); os.read(m, 1)"
MANY = """
import os, resource, select
resource.setrlimit(resource.RLIMIT_NOFILE, (1200, resource.getrlimit(resource.RLIMIT_NOFILE)[1])); r, w = os.pipe(); p = select.poll()
for _ in range(1100): p.register(os.dup(r), select.POLLIN)
print("READY"); p.poll()
"""
XOFF = "import os, termios; print('READY'); termios.tcflow(1, termios.TCOOFF); os.write(1, b'more')"
# A C library that keeps the GIL in a thread, and an alarm that Python could only handle with it.
GIL_ALARM = """
import ctypes, signal, threading, time
signal.signal(signal.SIGALRM, print); signal.alarm(60); signal.pthread_sigmask(signal.SIG_BLOCK, []); print("READY", flush=True)
threading.Thread(target=ctypes.PyDLL(None).pause, daemon=True).start()
while True: time.sleep(0)
"""
SEM_TIMED = """int main(void) { int s = semget(IPC_PRIVATE, 1, 0600); struct sembuf a = {0, -1, 0}; struct timespec t = {80, 0}; ready(); semtimedop(s, &a, 1, &t); semctl(s, 0, IPC_RMID); }"""
# It wakes 200 times a second, and burns a tenth of a core.
SOME_WORK = """static double used(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec / 1e9; }
int main(void) { ready(); for (;;) { double from = used(); while (used() - from < 0.0005); usleep(4500); } }"""
# A timer of 60 s in a ring, whose end the kernel tells over an eventfd.
RING = """
#include <linux/io_uring.h>
#include <string.h>
#include <sys/syscall.h>
int main(void) { struct io_uring_params p; struct __kernel_timespec t = {60, 0}; uint64_t n; int e = eventfd(0, 0), r; memset(&p, 0, sizeof p);
  r = syscall(SYS_io_uring_setup, 4, &p); if (r < 0) { perror("io_uring"); return 1; } syscall(SYS_io_uring_register, r, IORING_REGISTER_EVENTFD, &e, 1);
  char *q = mmap(0, p.sq_off.array + p.sq_entries * 4, PROT_READ|PROT_WRITE, MAP_SHARED, r, IORING_OFF_SQ_RING);
  struct io_uring_sqe *s = mmap(0, p.sq_entries * sizeof *s, PROT_READ|PROT_WRITE, MAP_SHARED, r, IORING_OFF_SQES);
  memset(s, 0, sizeof *s); s->opcode = IORING_OP_TIMEOUT; s->fd = -1; s->addr = (uintptr_t)&t; s->len = 1;
  ((unsigned *)(q + p.sq_off.array))[0] = 0; *(unsigned *)(q + p.sq_off.tail) = 1; syscall(SYS_io_uring_enter, r, 1, 0, 0, 0, 0); ready(); read(e, &n, 8); }
"""
# The job keeps the end that it has given away: the stranger writes to it after a while.
GIVES_AWAY = """
import os, socket, sys, time
a, b = socket.socketpair(); os.chdir(os.path.dirname(sys.argv[1]))
while True:
    s = socket.socket(socket.AF_UNIX)
    try: s.connect(os.path.basename(sys.argv[1])); break
    except OSError: time.sleep(0.02)
socket.send_fds(s, [b"x"], [b.fileno()]); s.recv(1); print("READY"); a.recv(1)
"""
TAKES_AWAY = """
import os, socket, sys, time
os.chdir(os.path.dirname(sys.argv[1])); s = socket.socket(socket.AF_UNIX); s.bind(os.path.basename(sys.argv[1])); s.listen(); c, _ = s.accept()
fd = socket.recv_fds(c, 1, 1)[1][0]; c.send(b"x"); c.close(); time.sleep(80); socket.socket(fileno=fd).send(b"x")
"""
LEASE = """
import fcntl, os, signal, sys, time
signal.signal(signal.SIGIO, signal.SIG_IGN); fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600); fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
open(sys.argv[2], "w").close(); time.sleep(100)
"""


def _gives_away(stage: Stage) -> list[str]:
    path = str(stage.dir / "take.sock")
    stage.outsiders.append([stage.python, "-c", TAKES_AWAY, path])
    return [*stage.py(GIVES_AWAY), path]


def _unread(stage: Stage) -> list[str]:
    fifo = stage.dir / "slow"
    up = stage.outsider(f"mkfifo {fifo}; touch $UP; exec 3<{fifo}; sleep 80; exec cat <&3 >/dev/null")
    return ["sh", "-c", f"{up}; exec 4>{fifo}; echo READY; exec yes >&4"]


def _leased(stage: Stage) -> list[str]:
    file = stage.dir / "leased"
    up = stage.outsider(f'exec {stage.python} -c "$1" {file} $UP', LEASE)
    return ["sh", "-c", f"{up}; echo READY; exec cat {file}"]


def _traces(stage: Stage) -> list[str]:
    up = stage.outsider("echo $$ > $UP.new; mv $UP.new $UP; exec sleep 90")
    return ["sh", "-c", f"{up}; exec strace -o {stage.dir}/trace -p $(cat {stage.dir}/up0) 2>&1"]


CONTINUED = (
    "sleep 100 & p=$!; sleep 0.2; kill -STOP $p; sleep 0.2; kill -CONT $p; echo READY; trap 'kill $p' TERM; wait $p"
)
RULES = (
    Scenario("python-pidfd-of-a-child", "hung", ("idle",), lambda s: s.py(PIDFD_CHILD), ready=R),
    Scenario("python-own-terminal", "ambiguous", ("unknown", "idle", "deadlock"), lambda s: s.py(OWN_TERMINAL), ready=R),
    Scenario("python-polls-1100-descriptors", "ambiguous", ("unknown", "idle", "deadlock"), lambda s: s.py(MANY), ready=R),
    Scenario("terminal-stopped-by-xoff", "ambiguous", ("unknown", "input"), lambda s: s.py(XOFF), io="pty", ready=R),
    Scenario("python-gil-held-under-an-alarm", "ambiguous", ("deadlock", "timer", "idle"), lambda s: s.py(GIL_ALARM), ready=R),
    Scenario("c-semtimedop-80s", "alive", ("timer", "lock"), lambda s: [s.cc(C_HEAD + SEM_TIMED)], ready=R, needs=("cc",)),
    Scenario("c-polls-and-burns-a-tenth", "ambiguous", ("poll", "busy"), lambda s: [s.cc(C_HEAD + SOME_WORK)], ready=R, needs=("cc",)),
    Scenario("c-io-uring-timer-60s", "alive", ("unknown", "idle", "timer"), lambda s: [s.cc(C_HEAD + RING)], ready=R, needs=("cc",)),
    Scenario("socketpair-end-given-away-and-kept", "alive", ("network", "unknown"), _gives_away, ready=R),
    Scenario("fifo-reader-outside-does-not-read", "alive", ("unknown", "pipe_cycle"), _unread, ready=R),
    Scenario("open-waits-for-a-lease", "alive", ("unknown", "lock"), _leased, ready=R),
    Scenario("strace-of-a-stranger", "alive", ("unknown",), _traces, ready=b"attached", needs=("strace",)),
    Scenario("sleep-stopped-and-continued", "alive", ("timer",), lambda _: ["sh", "-c", CONTINUED], ready=R),
    Scenario("sh-has-ended", "ambiguous", ("unknown",), lambda _: ["sh", "-c", "echo READY"], ready=R),
)  # fmt: skip
