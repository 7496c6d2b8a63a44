# ruff: noqa: E501 - one scenario a line reads as the table it is
"""Live jobs, each made to be called hung: their next step comes by a way that an observer may well not think of."""

from __future__ import annotations

from tests.zoo.scenario import Scenario, Stage
from tests.zoo.third_compiled import C_HEAD

R = b"READY"
LATER = 80

# A socket or a pipe that sends SIGIO when bytes come; the program itself only waits for the signal.
SIGIO = """
import fcntl, os, signal, socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1]))); signal.signal(signal.SIGIO, lambda *a: None)
fcntl.fcntl(s, fcntl.F_SETOWN, os.getpid()); fcntl.fcntl(s, fcntl.F_SETFL, fcntl.fcntl(s, fcntl.F_GETFL) | os.O_ASYNC); print("READY")
while True: signal.pause()
"""
DNOTIFY = "import fcntl, os, signal, sys; signal.signal(signal.SIGIO, lambda *a: None); fd = os.open(sys.argv[1], os.O_RDONLY); fcntl.fcntl(fd, fcntl.F_NOTIFY, fcntl.DN_CREATE | fcntl.DN_MULTISHOT); print('READY')\nwhile True: signal.pause()"
SIGWAIT = "import os, signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, [{0}]); f = open(sys.argv[1] + '.new', 'w'); f.write(str(os.getpid())); f.close(); os.rename(sys.argv[1] + '.new', sys.argv[1]); print('READY'); signal.sigwait([{0}]); print('woken')"
HANDLER = "import os, signal, sys; signal.signal({0}, lambda *a: None); f = open(sys.argv[1] + '.new', 'w'); f.write(str(os.getpid())); f.close(); os.rename(sys.argv[1] + '.new', sys.argv[1]); print('READY'); signal.pause(); print('woken')"


def _sent(stage: Stage, source: str, number: str) -> list[str]:
    pid = stage.dir / "pid"
    stage.outsider(f"until [ -e {pid} ]; do sleep 0.05; done; sleep {LATER}; kill -{number} $(cat {pid})")
    return [*stage.py(source), str(pid)]


def _directory(stage: Stage) -> list[str]:
    inbox = stage.dir / "inbox"
    inbox.mkdir()
    stage.outsider(f"while sleep {LATER}; do touch {inbox}/$(date +%s); done")
    return [*stage.py(DNOTIFY), str(inbox)]


# A throttle outside of the job that stops a job of the background for longer than anybody looks. Its parent waits for its
# end only, and not for a stop, as a shell without job control does.
GROUP = """
import os, sys, time
p = os.fork()
if not p:
    os.setpgid(0, 0); f = open(sys.argv[1] + ".new", "w"); f.write(str(os.getpid())); f.close(); os.rename(sys.argv[1] + ".new", sys.argv[1])
    while sys.argv[2] == "computes": pass
    time.sleep(300); os._exit(0)
while not os.path.exists(sys.argv[1] + ".stopped"): time.sleep(0.05)
print("READY"); os.waitpid(p, 0)
"""


def _background(stage: Stage, how: str) -> list[str]:
    pid = stage.dir / "pid"
    stage.outsider(
        f"until [ -e {pid} ]; do sleep 0.05; done; p=$(cat {pid}); kill -STOP $p; touch {pid}.stopped\n"
        "while kill -STOP $p; do sleep 30; kill -CONT $p; sleep 1; done"
    )
    return [*stage.py(GROUP), str(pid), how]


# A terminal in raw mode that gives a read up after 25 s: a menu that goes on by itself.
MENU = "stty -icanon min 0 time 250; printf 'Press a key to stop: '; dd bs=1 count=1 2>/dev/null; echo goes on"
# The writer is on its way: in the queue of a socket that a stranger has not read yet.
IN_FLIGHT = """
import os, socket, sys, time
os.chdir(os.path.dirname(sys.argv[1]))
while True:
    s = socket.socket(socket.AF_UNIX)
    try: s.connect(os.path.basename(sys.argv[1])); break
    except OSError: time.sleep(0.02)
r, w = os.pipe(); socket.send_fds(s, [b"x"], [w]); os.close(w); s.close(); print("READY"); os.read(r, 1)
"""
TAKES_LATE = """
import os, socket, sys, time
os.chdir(os.path.dirname(sys.argv[1])); s = socket.socket(socket.AF_UNIX); s.bind(os.path.basename(sys.argv[1])); s.listen(); time.sleep(80); c, _ = s.accept()
fd = socket.recv_fds(c, 1, 1)[1][0]; os.write(fd, b"x")
"""


def _in_flight(stage: Stage) -> list[str]:
    path = str(stage.dir / "take.sock")
    stage.outsiders.append([stage.python, "-c", TAKES_LATE, path])
    return [*stage.py(IN_FLIGHT), path]


# The memory of a lock was given away as a descriptor; the stranger has it open, and lets go later.
MEMFD = """
#include <sys/socket.h>
#include <sys/un.h>
#include <string.h>
#include <semaphore.h>
int main(int n, char **v) { struct sockaddr_un a = {.sun_family = AF_UNIX}; int s = socket(AF_UNIX, SOCK_STREAM, 0), fd; char b[CMSG_SPACE(sizeof fd)], x = 1;
  chdir(v[1]); strcpy(a.sun_path, "m"); struct iovec i = {&x, 1}; struct msghdr m = {.msg_iov = &i, .msg_iovlen = 1, .msg_control = b, .msg_controllen = sizeof b};
  if (n > 2) { bind(s, (void *)&a, sizeof a); listen(s, 1); int c = accept(s, 0, 0); recvmsg(c, &m, 0); memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
    close(c); close(s); sleep(80); sem_t *t = mmap(0, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, fd, 0); sem_post(t); return 0; }
  fd = memfd_create("m", 0); ftruncate(fd, 4096); sem_t *t = mmap(0, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, fd, 0); sem_init(t, 1, 0);
  while (connect(s, (void *)&a, sizeof a)) usleep(20000); struct cmsghdr *h = CMSG_FIRSTHDR(&m); h->cmsg_level = SOL_SOCKET; h->cmsg_type = SCM_RIGHTS; h->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(h), &fd, sizeof fd); sendmsg(s, &m, 0); read(s, &x, 1); close(s); ready(); sem_wait(t); return 0; }
"""


def _memfd(stage: Stage) -> list[str]:
    actor = stage.cc(C_HEAD + MEMFD)
    stage.outsiders.append([actor, str(stage.dir), "takes"])
    return [actor, str(stage.dir)]


AIO = """
#include <aio.h>
int main(void) { struct aiocb a = {0}; const struct aiocb *l[1] = {&a}; char b[8]; int p[2]; pipe(p); if (fork() == 0) { sleep(80); write(p[1], "x", 1); _exit(0); }
  a.aio_fildes = p[0]; a.aio_buf = b; a.aio_nbytes = 8; aio_read(&a); ready(); aio_suspend(l, 1, 0); }
"""
TIMER_THREAD = """
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static void late(union sigval v) { (void)v; pthread_cond_signal(&c); }
int main(void) { timer_t t; struct sigevent e = {0}; struct itimerspec s = {{0, 0}, {80, 0}}; e.sigev_notify = SIGEV_THREAD; e.sigev_notify_function = late;
  timer_create(CLOCK_MONOTONIC, &e, &t); timer_settime(t, 0, &s, 0); ready(); pthread_mutex_lock(&m); pthread_cond_wait(&c, &m); }
"""
PI_MUTEX = """
static pthread_mutex_t m; static void *holds(void *x) { pthread_mutex_lock(&m); ready(); sleep(80); pthread_mutex_unlock(&m); return x; }
int main(void) { pthread_mutexattr_t a; pthread_t t; pthread_mutexattr_init(&a); pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT); pthread_mutex_init(&m, &a);
  pthread_create(&t, 0, holds, 0); sleep(1); pthread_mutex_lock(&m); }
"""
URG = """
import fcntl, os, signal, socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1]))); signal.signal(signal.SIGURG, lambda *a: None); fcntl.fcntl(s, fcntl.F_SETOWN, os.getpid()); print("READY")
while True: signal.pause()
"""
FIRST_ENDED = """static void *works(void *x) { sleep(90); return x; } int main(void) { pthread_t t; pthread_create(&t, 0, works, 0); ready(); pthread_exit(0); }"""
NAMESPACE = "unshare -Urpf --mount-proc sh -c 'echo READY; sleep 80; true'"
LEASE_BREAK = """
import fcntl, os, signal, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600); signal.signal(signal.SIGIO, lambda *a: None); fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK); print("READY"); signal.pause()
"""


def _lease(stage: Stage) -> list[str]:
    file = stage.dir / "leased"
    stage.outsider(f"sleep {LATER}; cat {file}")
    return [*stage.py(LEASE_BREAK), str(file)]


MQ_NOTIFY = """
#include <mqueue.h>
static void on(int s) { (void)s; }
int main(int n, char **v) { struct mq_attr a = {0, 4, 8, 0}; struct sigevent e = {0}; mqd_t q; (void)n; q = mq_open(v[1], O_RDWR|O_CREAT, 0600, &a); if (q < 0) return 1; mq_unlink(v[1]);
  int p = getpid(); if (fork() == 0) { sleep(80); mq_send(q, "x", 1, 0); (void)p; _exit(0); }
  signal(SIGRTMIN, on); e.sigev_notify = SIGEV_SIGNAL; e.sigev_signo = SIGRTMIN; mq_notify(q, &e); ready(); pause(); }
"""
# A plain recv that gives up by itself, and its peer that says nothing.
GIVES_UP = "import os, socket, struct; a, b = socket.socketpair(); p = os.fork()\nif not p: a.close(); b.recv(1); os._exit(0)\nb.close(); a.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack('qq', 80, 0)); print('READY'); a.recv(1)"
CHILD_STOPS = "import os, signal, time; p = os.fork()\nif not p: os.kill(os.getpid(), signal.SIGSTOP); os._exit(0)\nprint('READY'); os.waitpid(p, os.WUNTRACED); time.sleep(60)"

CC = ("cc",)
OVERLOOKED = (
    Scenario("sigio-of-a-connection", "alive", ("network", "idle", "progress", "poll"), lambda s: [*s.py(SIGIO), str(s.server("silent"))], ready=R),
    Scenario("sigio-of-a-directory", "alive", ("idle", "listening"), _directory, ready=R),
    Scenario("sigio-of-a-lease", "alive", ("idle", "listening"), _lease, ready=R),
    Scenario("sigurg-of-a-connection", "alive", ("idle", "network"), lambda s: [*s.py(URG), str(s.server("silent"))], ready=R),
    Scenario("sigwait-for-usr1", "alive", ("idle",), lambda s: _sent(s, SIGWAIT.format("signal.SIGUSR1"), "USR1"), ready=R),
    Scenario("sigwait-for-a-real-time-signal", "alive", ("idle",), lambda s: _sent(s, SIGWAIT.format("signal.SIGRTMIN + 3"), "RTMIN+3"), ready=R),
    Scenario("sigwait-for-hup", "alive", ("idle",), lambda s: _sent(s, SIGWAIT.format("signal.SIGHUP"), "HUP"), ready=R),
    Scenario("handler-of-a-real-time-signal", "alive", ("idle",), lambda s: _sent(s, HANDLER.format("signal.SIGRTMIN + 3"), "RTMIN+3"), ready=R),
    Scenario("handler-of-sigcont", "alive", ("idle",), lambda s: _sent(s, HANDLER.format("signal.SIGCONT"), "CONT"), ready=R),
    Scenario("handler-of-sigwinch", "alive", ("idle",), lambda s: _sent(s, HANDLER.format("signal.SIGWINCH"), "WINCH"), ready=R),
    Scenario("background-job-throttled-from-outside", "alive", ("stopped",), lambda s: _background(s, "computes"), io="pty", ready=R),
    Scenario("background-sleep-throttled-from-outside", "alive", ("stopped",), lambda s: _background(s, "sleeps"), io="pty", ready=R),
    Scenario("terminal-that-gives-up-after-25s", "alive", ("timer", "input"), lambda _: ["sh", "-c", MENU], io="pty", ready=b"stop: ", needs=("stty",)),
    Scenario("pipe-end-on-its-way-to-a-stranger", "alive", ("unknown", "input", "pipe_cycle"), _in_flight, ready=R),
    Scenario("semaphore-in-memory-given-away", "alive", ("lock", "deadlock", "unknown"), _memfd, ready=R, needs=CC),
    Scenario("aio-of-a-sleeping-child", "alive", ("timer",), lambda s: [s.cc(C_HEAD + AIO)], ready=R, needs=CC),
    Scenario("timer-that-starts-a-thread", "alive", ("timer", "idle", "deadlock"), lambda s: [s.cc(C_HEAD + TIMER_THREAD)], ready=R, needs=CC),
    Scenario("pi-mutex-of-a-sleeper", "alive", ("timer",), lambda s: [s.cc(C_HEAD + PI_MUTEX)], ready=R, settle=1.5, needs=CC),
    Scenario("first-thread-ended-and-another-sleeps", "alive", ("timer",), lambda s: [s.cc(C_HEAD + FIRST_ENDED)], ready=R, needs=CC),
    Scenario("sleeps-in-a-pid-namespace", "alive", ("timer",), lambda _: ["sh", "-c", NAMESPACE], ready=R, needs=("unshare",), nobody=True),
    Scenario("mq-notify-of-a-sleeping-child", "alive", ("timer",), lambda s: [s.cc(C_HEAD + MQ_NOTIFY, "-lrt"), f"/zoo-notify-{id(s)}"], ready=R, needs=CC),
    Scenario("recv-that-gives-up-after-80s", "alive", ("timer",), lambda s: s.py(GIVES_UP), ready=R),
    Scenario("waits-for-a-child-to-stop", "alive", ("timer", "stopped"), lambda s: s.py(CHILD_STOPS), ready=R),
)  # fmt: skip
