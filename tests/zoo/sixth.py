# ruff: noqa: E501 - one scenario a line reads as the table it is
"""The sixth group: what the page on diagnosis named as not to be told when the rules of the fifth group stood.

Live jobs that only a handler, an alarm, a stranger of another user or a parent outside can move on, and hung ones beside them
that look nearly the same.
"""

from __future__ import annotations

from tests.zoo.late_signals import _sent
from tests.zoo.scenario import Scenario, Stage
from tests.zoo.third_compiled import C_HEAD
from tests.zoo.third_strangers import TAKES

R = b"READY"


def _sh(script: str) -> list[str]:
    return ["sh", "-c", script]


# --- handlers that the kernel's mask does not tell ----------------------------------------------------------------------

# PHP handles USR1, HUP and five more whatever its program does.
PHP_PAIR = "$p = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0); $r = [$p[0]]; $w = $e = null; stream_select($r, $w, $e, null);"
PHP_TOLD = "file_put_contents($argv[1] . '.new', getmypid()); rename($argv[1] . '.new', $argv[1]); echo \"READY\\n\";"


def _php_trap(name: str) -> str:
    return f"pcntl_async_signals(true); pcntl_signal({name}, function () {{ exit; }}); {PHP_TOLD} {PHP_PAIR}"


# So does a JVM with HUP, for its shutdown hooks.
JAVA_HEAD = "import java.nio.file.*; import java.util.concurrent.*; class Main { public static void main(String[] a) throws Exception { CountDownLatch l = new CountDownLatch(1);"
JAVA_TOLD = 'Path p = Path.of(a[0] + ".new"); Files.writeString(p, "" + ProcessHandle.current().pid()); Files.move(p, Path.of(a[0])); System.out.println("READY"); l.await(); } }'
JAVA_HUP = f'{JAVA_HEAD} sun.misc.Signal.handle(new sun.misc.Signal("HUP"), s -> l.countDown()); {JAVA_TOLD}'
JAVA_HOOK = f"{JAVA_HEAD} Runtime.getRuntime().addShutdownHook(new Thread(l::countDown)); {JAVA_TOLD}"
# And Ruby with all that can be handled: its servers write to a pipe of their own in a trap.
RUBY_TOLD = "File.write(ARGV[0] + '.new', $$.to_s); File.rename(ARGV[0] + '.new', ARGV[0]); puts 'READY'"
RUBY_SELF_PIPE = f"r, w = IO.pipe; trap('USR1') {{ w.write_nonblock '.' }}; t = Thread.new {{ r.readpartial(1); exit! }}; {RUBY_TOLD}; t.join"
RUBY_SELECTS = (
    f"r, w = IO.pipe; trap('HUP') {{ w.write_nonblock '.' }}; t = Thread.new {{ sleep }}; {RUBY_TOLD}; IO.select([r])"
)
RUBY_OWN_PIPE = "r, w = IO.pipe; t = Thread.new { r.readpartial(1) }; puts 'READY'; t.join; w.close"

# --- an alarm that no handler tells of: it ends the program ---------------------------------------------------------------

PERL_ALARM = "alarm 80; pipe(R, W); print qq(READY\\n); sysread R, my $b, 1"
PERL_ALARM_EXEC = "perl -e 'alarm shift; exec @ARGV' 80 cat"
PY_ALARM = "import os, signal\nsignal.alarm(80)\nr, w = os.pipe()\nprint('READY', flush=True)\nos.read(r, 1)\n"
C_ALARM = "int main(void) { int p[2]; char c; pipe(p); alarm(80); ready(); read(p[0], &c, 1); }"
C_NO_ALARM = "int main(void) { int p[2]; char c; pipe(p); ready(); read(p[0], &c, 1); }"


def _pipe_then(stage: Stage, script: str) -> list[str]:
    """The program runs with a stdin that only it could write to."""
    fifo = stage.dir / "f"
    return ["bash", "-c", f"exec {{a}}<> <(:); mkfifo {fifo}; exec 0<>{fifo}; rm {fifo}; echo READY; {script}"]


PERL_OWN_PIPE = "pipe(R, W); print qq(READY\\n); sysread R, my $b, 1"
PY_OWN_PIPE = PY_ALARM.replace("signal.alarm(80)\n", "")
PHP_ALARM = f'pcntl_alarm(80); echo "READY\\n"; {PHP_PAIR}'
PHP_OWN_PAIR = f'echo "READY\\n"; {PHP_PAIR}'
JAVA_LATCH = f"{JAVA_HEAD} {JAVA_TOLD}"
RUBY_METHOD = f"def on(n) = exit!; trap('USR1', method(:on)); r, w = IO.pipe; {RUBY_TOLD}; r.readpartial(1); w.close"
RUBY_QUEUE = "r, w = IO.pipe; Thread.new { r.readpartial(1); w.close }; puts 'READY'; Queue.new.pop"
# The timer of what it was before it became another program is gone; an alarm is not.
PY_ALARM_EXEC = "import os, signal; signal.alarm(80); print('READY', flush=True); os.execvp('cat', ['cat'])"

# --- strangers that cannot be looked into -------------------------------------------------------------------------------

# The stranger is as one of another user: nothing may look into it. Both keep the socket over which they met.
HIDES = """
import ctypes, mmap, os, socket, sys, time
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
kind, path = sys.argv[1:3]
os.chdir(os.path.dirname(path)); s = socket.socket(socket.AF_UNIX); s.bind(os.path.basename(path)); s.listen()
fd = os.eventfd(0) if kind == "eventfd" else os.memfd_create("shared")
if kind == "memory": os.ftruncate(fd, 4096)
c, _ = s.accept()
if kind == "pipe": c.sendall(b"x"); fd = socket.recv_fds(c, 1, 1)[1][0]; c.sendall(b"x")
else: socket.send_fds(c, [b"x"], [fd])
time.sleep(80)
os.write(fd, (1).to_bytes(8, "little")) if kind != "memory" else None
"""
GIVES_ITS_PIPE = """
import os, socket, sys, time
os.chdir(os.path.dirname(sys.argv[1]))
while True:
    s = socket.socket(socket.AF_UNIX)
    try: s.connect(os.path.basename(sys.argv[1])); break
    except OSError: time.sleep(0.02)
r, w = os.pipe(); s.recv(1); socket.send_fds(s, [b"x"], [w]); s.recv(1); print("READY"); os.read(r, 8)
"""
KEEPS = TAKES.replace("s.close(); ", "")
# Nobody else has any of these.
ALONE = {
    "eventfd": "import os, socket; a, b = socket.socketpair(); e = os.eventfd(0); print('READY'); os.read(e, 8)",
    "memory": "#include <semaphore.h>\nint main(void) { sem_t *e = mmap(0, 4096, PROT_READ|PROT_WRITE, MAP_SHARED|MAP_ANONYMOUS, -1, 0); sem_init(e, 1, 0); ready(); sem_wait(e); }",
}
MEETS = """
#include <sys/socket.h>
#include <sys/un.h>
#include <semaphore.h>
#include <string.h>
int main(int n, char **v) { struct sockaddr_un a = {.sun_family = AF_UNIX}; int fd, s = socket(AF_UNIX, SOCK_STREAM, 0); char b[CMSG_SPACE(sizeof fd)], x; (void)n;
  struct iovec i = {&x, 1}; struct msghdr m = {.msg_iov = &i, .msg_iovlen = 1, .msg_control = b, .msg_controllen = sizeof b}; chdir(v[1]); strcpy(a.sun_path, "give.sock");
  while (connect(s, (void *)&a, sizeof a)) usleep(20000); recvmsg(s, &m, 0); memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
  sem_t *e = mmap(0, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, fd, 0); sem_init(e, 1, 0); close(fd); ready(); sem_wait(e); }
"""


def _hidden(stage: Stage, kind: str) -> list[str]:
    path = str(stage.dir / "give.sock")
    stage.outsiders.append([stage.python, "-c", HIDES, kind, path])
    if kind == "memory":
        return [stage.cc(C_HEAD + MEETS), str(stage.dir)]
    return [*stage.py(KEEPS if kind == "eventfd" else GIVES_ITS_PIPE), path]


# --- a holder outside that another one there ends -----------------------------------------------------------------------


def _held_below(stage: Stage, parent: str) -> list[str]:
    """The holder itself waits for ever; `parent` is what runs it, as a pattern with `{}` for its command."""
    hold = stage.write(
        "hold.py",
        "import fcntl, signal, sys\nf = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); open(sys.argv[2], 'w').close(); signal.pause()\n",
    )
    up = stage.outsider(parent.format(f"{stage.python} {hold} {stage.dir}/lock $UP"))
    return _sh(f"{up}; echo READY; exec flock {stage.dir}/lock true")


KILLS_LATER = "import subprocess, sys; subprocess.run(sys.argv[1:], timeout=80)"

CC, JAVA, PHP, RUBY, FLOCK = ("cc",), ("java", "javac"), ("php",), ("ruby",), ("flock",)
SIXTH = (
    Scenario("php-handles-usr1", "alive", ("idle", "deadlock"), lambda s: _sent(s, s.php(_php_trap("SIGUSR1")), "USR1"), ready=R, needs=PHP),
    Scenario("php-handles-hup", "alive", ("idle", "deadlock"), lambda s: _sent(s, s.php(_php_trap("SIGHUP")), "HUP"), ready=R, needs=PHP),
    Scenario("php-handles-term", "hung", ("idle", "deadlock"), lambda s: _sent(s, s.php(_php_trap("SIGTERM")), "TERM"), ready=R, needs=PHP),
    Scenario("java-handles-hup", "alive", ("idle", "deadlock"), lambda s: _sent(s, s.java("Main", JAVA_HUP), "HUP"), ready=R, settle=1.0, needs=JAVA),
    Scenario("java-shutdown-hook", "hung", ("deadlock",), lambda s: _sent(s, s.java("Main", JAVA_HOOK), "TERM"), ready=R, settle=1.0, needs=JAVA),
    Scenario("ruby-trap-writes-to-its-own-pipe", "alive", ("idle", "deadlock"), lambda s: _sent(s, s.ruby(RUBY_SELF_PIPE), "USR1"), ready=R, needs=RUBY),
    Scenario("ruby-selects-its-own-pipe", "alive", ("idle", "deadlock"), lambda s: _sent(s, s.ruby(RUBY_SELECTS), "HUP"), ready=R, needs=RUBY),
    Scenario("ruby-reads-its-own-pipe", "hung", ("deadlock", "idle"), lambda s: s.ruby(RUBY_OWN_PIPE), ready=R, needs=RUBY),
    Scenario("perl-alarm-without-a-handler", "alive", ("idle", "deadlock", "timer"), lambda s: s.perl(PERL_ALARM), ready=R, needs=("perl",)),
    Scenario("perl-alarm-around-a-command", "alive", ("input", "deadlock", "timer", "unknown"), lambda s: _pipe_then(s, f"{PERL_ALARM_EXEC}; true"), ready=R, needs=("perl", "bash")),
    Scenario("perl-alarm-around-the-job", "alive", ("input", "deadlock", "timer"), lambda _: ["perl", "-e", "$| = 1; print qq(READY\\n); alarm shift; exec @ARGV", "80", "cat"], io="pipe", ready=R, needs=("perl",)),
    Scenario("python-file-with-an-alarm", "alive", ("idle", "deadlock", "timer"), lambda s: [s.python, s.write("once.py", PY_ALARM)], ready=R),
    Scenario("c-alarm-without-a-handler", "alive", ("idle", "deadlock", "timer"), lambda s: [s.cc(C_HEAD + C_ALARM)], ready=R, needs=CC),
    Scenario("c-own-pipe-without-an-alarm", "hung", ("deadlock",), lambda s: [s.cc(C_HEAD + C_NO_ALARM)], ready=R, needs=CC),
    Scenario("eventfd-of-a-hidden-stranger", "alive", ("unknown", "deadlock"), lambda s: _hidden(s, "eventfd"), ready=R),
    Scenario("own-pipe-given-to-a-hidden-stranger", "alive", ("unknown", "deadlock"), lambda s: _hidden(s, "pipe"), ready=R),
    Scenario("shared-memory-of-a-hidden-stranger", "alive", ("lock", "deadlock", "unknown"), lambda s: _hidden(s, "memory"), ready=R, needs=CC),
    Scenario("php-alarm-without-a-handler", "alive", ("idle", "deadlock", "timer"), lambda s: s.php(PHP_ALARM), ready=R, needs=PHP),
    Scenario("php-own-pair-without-a-handler", "hung", ("idle", "deadlock"), lambda s: s.php(PHP_OWN_PAIR), ready=R, needs=PHP),
    Scenario("java-latch-without-a-handler", "hung", ("deadlock",), lambda s: _sent(s, s.java("Main", JAVA_LATCH), "TERM"), ready=R, settle=1.0, needs=JAVA),
    Scenario("ruby-trap-is-a-method", "alive", ("idle", "deadlock"), lambda s: _sent(s, s.ruby(RUBY_METHOD), "USR1"), ready=R, needs=RUBY),
    Scenario("ruby-trap-is-a-line-of-ruby", "alive", ("idle", "deadlock"), lambda s: _sent(s, s.ruby(f"trap('USR1', 'exit!'); {RUBY_TOLD}; sleep"), "USR1"), ready=R, needs=RUBY),
    Scenario("ruby-queue-beside-an-own-pipe", "hung", ("idle", "deadlock"), lambda s: s.ruby(RUBY_QUEUE), ready=R, needs=RUBY),
    Scenario("perl-own-pipe-without-an-alarm", "hung", ("deadlock",), lambda s: s.perl(PERL_OWN_PIPE), ready=R, needs=("perl",)),
    Scenario("python-file-without-an-alarm", "hung", ("deadlock",), lambda s: [s.python, s.write("once.py", PY_OWN_PIPE)], ready=R),
    Scenario("python-alarm-around-cat", "alive", ("input", "timer"), lambda s: s.py(PY_ALARM_EXEC), io="pipe", ready=R),
    Scenario("python-execs-cat", "hung", ("input",), lambda s: s.py(PY_ALARM_EXEC.replace("signal.alarm(80); ", "")), io="pipe", ready=R),
    Scenario("eventfd-beside-an-own-socket", "hung", ("deadlock",), lambda s: s.py(ALONE["eventfd"]), ready=R),
    Scenario("semaphore-in-memory-of-its-own", "hung", ("deadlock", "lock"), lambda s: [s.cc(C_HEAD + ALONE["memory"])], ready=R, needs=CC),
    Scenario("flock-holder-below-a-timeout", "alive", ("lock",), lambda s: _held_below(s, "timeout 80 {}"), ready=R, needs=FLOCK),
    Scenario("flock-holder-whose-parent-kills-it", "alive", ("lock",), lambda s: _held_below(s, f"{s.python} -c '{KILLS_LATER}' {{}}"), ready=R, needs=FLOCK),
    Scenario("flock-holder-beside-a-sleeper-that-ends-it", "alive", ("lock",), lambda s: _held_below(s, "{} & sleep 80 && kill $! & wait"), ready=R, needs=FLOCK),
    Scenario("flock-holder-left-alone", "hung", ("lock",), lambda s: _held_below(s, "setsid {} & wait $!; sleep 0"), ready=R, needs=FLOCK),
    Scenario("flock-holder-below-a-waiting-shell", "hung", ("lock",), lambda s: _held_below(s, "{}; true"), ready=R, needs=FLOCK),
)  # fmt: skip
