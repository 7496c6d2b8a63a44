# ruff: noqa: E501 - one scenario a line reads as the table it is
"""Live jobs made to be called hung: each stands on something that a rule of the groups before took for granted."""

from __future__ import annotations

from tests.zoo.late_languages import GUILE, _haskell_alone, _scheme
from tests.zoo.late_signals import TOLD, _sent
from tests.zoo.scenario import Scenario, Stage
from tests.zoo.third_compiled import C_HEAD

R = b"READY"
LATER = 80


def _sh(script: str) -> list[str]:
    return ["sh", "-c", script]


# --- peers outside that answer late -----------------------------------------------------------------------------------

# Answers whatever it is asked, but not before its time; `urgent` sends a byte out of band, which only an exceptional
# condition tells of.
LATE_SERVER = """
import socket, sys, time
l = socket.create_server(("127.0.0.1", 0)); f = open(sys.argv[1] + ".new", "w"); f.write(str(l.getsockname()[1])); f.close()
import os; os.rename(sys.argv[1] + ".new", sys.argv[1]); kept = []
while True:
    c, _ = l.accept(); kept.append(c); time.sleep(80); c.send(b"x", socket.MSG_OOB if sys.argv[2] == "urgent" else 0)
"""


# It waits for a bug to come, of a program that it does not run itself, and hands what it sees to a child.
def _traces(stage: Stage) -> list[str]:
    up = stage.outsider("echo $$ > $UP.new; mv $UP.new $UP; exec sleep 80")
    return _sh(f"{up}; exec strace -o '|cat >/dev/null' -p $(cat {stage.dir}/up0) 2>&1")


COUNTS_DOWN = "import signal, sys, tty; tty.setraw(0); signal.signal(signal.SIGALRM, lambda *a: sys.exit()); signal.alarm(80); print('Any key stops the deployment: ', end='', flush=True); sys.stdin.read(1)"


def _late_server(stage: Stage, how: str = "plain") -> str:
    """Shell that waits until the server is there, and has its port in $PORT."""
    port = stage.dir / "port"
    source = stage.write("late_server.py", LATE_SERVER)
    stage.outsider(f"exec {stage.python} {source} {port} {how}")
    return f"until [ -e {port} ]; do sleep 0.02; done; PORT=$(cat {port})"


def _against(stage: Stage, argv: list[str], how: str = "plain") -> list[str]:
    """The program gets the port of a server that answers late as its last argument."""
    return ["sh", "-c", f'{_late_server(stage, how)}; exec "$@" $PORT', "sh", *argv]


# What a model says first may take a minute; the line to type on is there already.
CHAT = "import select, socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); s.sendall(b'POST /v1/chat HTTP/1.1\\r\\n\\r\\n'); print('Assistant: ', end='', flush=True); select.select([sys.stdin, s], [], [])"
NODE_CHAT = "const net=require('net');const r=require('readline').createInterface({input:process.stdin,output:process.stdout});const s=net.connect(+process.argv[1],'127.0.0.1',()=>{s.write('GET / HTTP/1.1\\r\\n\\r\\n');process.stdout.write('Downloading the model: ')});s.on('data',()=>process.exit())"
URGENT = """
#include <arpa/inet.h>
#include <sys/select.h>
#include <sys/socket.h>
int main(int n, char **v) { struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(atoi(v[n - 1]))}; int s = socket(AF_INET, SOCK_STREAM, 0); fd_set e;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK); if (connect(s, (void *)&a, sizeof a)) return 1; FD_ZERO(&e); FD_SET(s, &e); ready(); select(s + 1, 0, 0, &e, 0); }
"""
# The entry of an epoll set has the number under which its file was added; by now another file may have that number.
RENUMBERED = """
#include <arpa/inet.h>
#include <sys/socket.h>
int main(int n, char **v) { struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(atoi(v[n - 1]))}; int s = socket(AF_INET, SOCK_STREAM, 0), p = epoll_create1(0);
  struct epoll_event e = {.events = EPOLLIN}, got; a.sin_addr.s_addr = htonl(INADDR_LOOPBACK); if (connect(s, (void *)&a, sizeof a)) return 1;
  epoll_ctl(p, EPOLL_CTL_ADD, s, &e); dup(s); close(s); if (eventfd(0, 0) != s) return 2; ready(); epoll_wait(p, &got, 1, -1); }
"""

# --- files with a name, which any process may open --------------------------------------------------------------------


def _fifo_read_later(stage: Stage, writes: str) -> list[str]:
    fifo = stage.dir / "f"
    stage.outsider(f"sleep {LATER}; exec cat {fifo} >/dev/null")
    return _sh(f"mkfifo {fifo}; echo READY; {writes} {fifo}")


# A serial line that is tried out: the worker has the other end as well, so that it never hangs up.
SERIAL = """
import os, pty, sys
master, slave = pty.openpty(); r, w = os.pipe()
if os.fork() == 0: os.close(master); os.close(w); os.read(r, 1); os._exit(0)
os.close(r); f = open(sys.argv[1] + ".new", "w"); f.write(os.ttyname(slave)); f.close(); os.rename(sys.argv[1] + ".new", sys.argv[1])
os.close(slave); print("READY"); os.read(master, 9)
"""


def _serial(stage: Stage) -> list[str]:
    name = stage.dir / "line"
    stage.outsider(f"until [ -e {name} ]; do sleep 0.05; done; sleep {LATER}; echo x > $(cat {name})")
    return [*stage.py(SERIAL), str(name)]


# A semaphore without a key, whose number is told in a file.
NUMBERED = """int main(int n, char **v) { struct sembuf b = {0, -1, 0}; usleep(1100000); int s = semget(IPC_PRIVATE, 1, 0600); (void)n; FILE *f = fopen(v[1], "w"); fprintf(f, "%d", s); fclose(f); ready(); semop(s, &b, 1); }"""
POSTS = "import ctypes, sys; ctypes.CDLL(None).semop(int(open(sys.argv[1]).read()), b'\\0\\0\\1\\0\\0\\0', 1)"
REMOVES = "import ctypes, os, sys\nif os.path.exists(sys.argv[1]): ctypes.CDLL(None).semctl(int(open(sys.argv[1]).read()), 0, 0)"


def _numbered(stage: Stage) -> list[str]:
    import subprocess

    told = str(stage.dir / "semid")
    stage.outsider(f"sleep {LATER}; {stage.python} -c '{POSTS.replace(chr(39), chr(34))}' {told}")
    stage.endings.append(lambda: subprocess.run([stage.python, "-c", REMOVES, told], check=True))
    return [stage.cc(C_HEAD + NUMBERED), told]


# --- locks whose holders outside are not alone ------------------------------------------------------------------------

# The parent wakes the holder, which waits for the eventfd that they share.
EVENT_HOLDER = """
import fcntl, os, sys, time
e = os.eventfd(0)
if os.fork(): time.sleep(80); os.eventfd_write(e, 1); time.sleep(80)
f = open(sys.argv[1], "w"); fcntl.flock(f, fcntl.LOCK_EX); open(sys.argv[2], "w").close(); os.read(e, 8)
"""
# It lets go when the last of its forty children ends, which is the only one that sleeps for a time.
MANY_CHILDREN = """
import fcntl, os, subprocess, sys
f = open(sys.argv[1], "w"); fcntl.flock(f, fcntl.LOCK_EX)
for _ in range(39): subprocess.Popen(["sleep", "infinity"])
last = subprocess.Popen(["sleep", "80"]); open(sys.argv[2], "w").close(); last.wait()
"""


def _held(stage: Stage, source: str) -> list[str]:
    holder = stage.write("holder.py", source)
    up = stage.outsider(f"exec {stage.python} {holder} {stage.dir}/lock $UP")
    return _sh(f"{up}; echo READY; exec flock {stage.dir}/lock true")


# One waits for a holder outside, the other for a lock that their own process holds through another descriptor.
TWO_FLOCKS = """
import fcntl, sys, threading
mine, again, theirs = open(sys.argv[1] + ".mine", "w"), open(sys.argv[1] + ".mine", "w"), open(sys.argv[1], "w"); fcntl.flock(mine, fcntl.LOCK_EX)
def first(): fcntl.flock(theirs, fcntl.LOCK_EX); mine.close()
t = threading.Thread(target=first); t.start(); print("READY"); fcntl.flock(again, fcntl.LOCK_EX)
"""


def _two_flocks(stage: Stage) -> list[str]:
    lock = stage.dir / "lock"
    up = stage.outsider(f"exec flock {lock} sh -c 'touch {stage.dir}/up0; sleep {LATER}; true'")
    return ["sh", "-c", f'{up}; exec "$@"', "sh", *stage.py(TWO_FLOCKS), str(lock)]


# --- bounds of a look -------------------------------------------------------------------------------------------------

# As many threads as one look takes in, and then a process whose second thread sleeps for a time.
CROWD = """
static void *waits(void *x) { pause(); return x; }
static void *naps(void *x) { sleep(80); return x; }
static void start(void *(*f)(void *), pthread_t *t) { pthread_attr_t a; pthread_attr_init(&a); pthread_attr_setstacksize(&a, 65536); if (pthread_create(t, &a, f, 0)) exit(1); }
int main(void) { pthread_t t; char c; int p[2], pid = 0; pipe(p);
  for (int n = 0; n < 8; n++) if (fork() == 0) { for (int i = n < 7 ? 255 : 254; i; i--) start(waits, &t); write(p[1], "", 1); pause(); }
  for (int n = 0; n < 8; n++) read(p[0], &c, 1);
  if ((pid = fork()) == 0) { start(naps, &t); write(p[1], "", 1); pthread_join(t, 0); _exit(0); }
  read(p[0], &c, 1); ready(); waitpid(pid, 0, 0); }
"""

# --- what the kernel does by itself -----------------------------------------------------------------------------------

# After 80 s the kernel writes a byte into the pipe that the program reads.
RING = """
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <string.h>
#include <sys/syscall.h>
int main(void) { struct io_uring_params q; memset(&q, 0, sizeof q); int p[2], r = syscall(SYS_io_uring_setup, 4, &q); char c; struct __kernel_timespec t = {80, 0}; pipe(p); if (r < 0) return 1;
  char *s = mmap(0, q.sq_off.array + q.sq_entries * 4, PROT_READ|PROT_WRITE, MAP_SHARED|MAP_POPULATE, r, IORING_OFF_SQ_RING); struct io_uring_sqe *e = mmap(0, q.sq_entries * sizeof *e, PROT_READ|PROT_WRITE, MAP_SHARED|MAP_POPULATE, r, IORING_OFF_SQES);
  memset(e, 0, 2 * sizeof *e); e[0].opcode = IORING_OP_TIMEOUT; e[0].fd = -1; e[0].addr = (unsigned long)&t; e[0].len = 1; e[0].flags = IOSQE_IO_HARDLINK;
  e[1].opcode = IORING_OP_WRITE; e[1].fd = p[1]; e[1].addr = (unsigned long)"x"; e[1].len = 1; ((unsigned *)(s + q.sq_off.array))[0] = 0; ((unsigned *)(s + q.sq_off.array))[1] = 1;
  *(unsigned *)(s + q.sq_off.tail) = 2; __sync_synchronize(); if (syscall(SYS_io_uring_enter, r, 2, 0, 0, 0, 0) != 2) return 2; ready(); read(p[0], &c, 1); }
"""

# --- signals ----------------------------------------------------------------------------------------------------------

PY_PROFILED = "import signal; signal.signal(signal.SIGALRM, lambda *a: None); signal.signal(signal.SIGPROF, lambda *a: None); signal.alarm(80); print('READY'); signal.pause()"
PHP_ALARM = 'pcntl_async_signals(true); pcntl_signal(SIGALRM, function () { exit; }); pcntl_alarm(80); $p = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0); $r = [$p[0]]; $w = $e = null; echo "READY\\n"; stream_select($r, $w, $e, null);'
PERL_CONT = "$SIG{CONT} = sub { exit }; open(F, '>', qq($ARGV[0].new)); print F $$; close F; rename(qq($ARGV[0].new), $ARGV[0]); print qq(READY\\n); select(undef, undef, undef, undef);"
# The ways of a daemon as books teach them: HUP is read again, QUIT and TERM are an orderly end.
PY_RELOADS = f"import os, signal, sys, threading; stop = threading.Event(); signal.signal(signal.SIGHUP, lambda *a: print('reloaded')); [signal.signal(n, lambda *a: stop.set()) for n in (signal.SIGQUIT, signal.SIGTERM)]; {TOLD}; print('READY'); stop.wait()"
GO_RELOADS = """func main() { c := make(chan os.Signal, 1); signal.Notify(c, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTERM); os.WriteFile(os.Args[1]+".new", []byte(fmt.Sprint(os.Getpid())), 0600)
  os.Rename(os.Args[1]+".new", os.Args[1]); fmt.Println("READY"); for s := range c { if s != syscall.SIGHUP { return }; fmt.Println("reloaded") } }"""
SIGWAIT_HUP = f"import os, signal, sys; s = [signal.SIGHUP, signal.SIGTERM]; signal.pthread_sigmask(signal.SIG_BLOCK, s); {TOLD}; print('READY'); signal.sigwait(s); print('reloaded')"
PY_ASYNC_CONT = f"import asyncio, os, signal, sys\nasync def main():\n    e = asyncio.Event(); asyncio.get_running_loop().add_signal_handler(signal.SIGCONT, e.set); {TOLD}; print('READY'); await e.wait()\nasyncio.run(main())"
GO_WINCH = """func main() { c := make(chan os.Signal, 1); signal.Notify(c, syscall.SIGWINCH, syscall.SIGTERM); os.WriteFile(os.Args[1]+".new", []byte(fmt.Sprint(os.Getpid())), 0600)
  os.Rename(os.Args[1]+".new", os.Args[1]); fmt.Println("READY"); <-c }"""
GDB_OUTSIDE = "exec gdb -q -nx -batch -p $(cat $0) -ex 'echo READY\\n' -ex continue 2>/dev/null"


def _debugs(stage: Stage) -> list[str]:
    up = stage.outsider("echo $$ > $UP.new; mv $UP.new $UP; exec sleep 80")
    return ["sh", "-c", f"{up}; {GDB_OUTSIDE}", f"{stage.dir}/up0"]


# As the masters of Python's web servers count their workers: TTIN is one more, TTOU one less.
PY_WORKERS = f"import os, select, signal, sys; r, w = os.pipe(); names = 'HUP QUIT INT TERM TTIN TTOU USR1 USR2 WINCH CHLD'.split(); [signal.signal(getattr(signal, 'SIG' + n), lambda *a: os.write(w, b'.')) for n in names]; {TOLD}; print('READY'); select.select([r], [], [])"
RUBY_TRAP = "q = Queue.new; t = Thread.new { q.pop; exit! }; trap('USR1') { q << 1 }; File.write(ARGV[0] + '.new', $$.to_s); File.rename(ARGV[0] + '.new', ARGV[0]); puts 'READY'; sleep"
# It runs a program that was handed in, and ends it when its time is up.
JUDGE = """
#include <sys/ptrace.h>
static int pid; static void late(int n) { (void)n; kill(pid, SIGKILL); }
int main(void) { int s; if ((pid = fork()) == 0) { ptrace(PTRACE_TRACEME, 0, 0, 0); raise(SIGSTOP); pause(); }
  signal(SIGALRM, late); waitpid(pid, &s, 0); ptrace(PTRACE_CONT, pid, 0, 0); alarm(80); ready(); waitpid(pid, &s, 0); }
"""
BASH_READS = "trap 'rm -f $0.tmp' EXIT; echo READY; read -t 100 x; echo on"
OCAML_ALARM = 'let () = Sys.set_signal Sys.sigalrm (Sys.Signal_handle (fun _ -> exit 0)); ignore (Unix.alarm 80); print_string "READY\\n"; flush stdout; Unix.pause ()'

# --- names of threads -------------------------------------------------------------------------------------------------


def _sleeper_named(name: str) -> str:
    return f'import java.util.concurrent.*; class Main {{ public static void main(String[] a) throws Exception {{ CountDownLatch l = new CountDownLatch(1); Thread t = new Thread(() -> {{ try {{ Thread.sleep(80000); }} catch (Exception e) {{ }} l.countDown(); }}, "{name}"); t.setDaemon(true); t.start(); System.out.println("READY"); l.await(); }} }}'


# The host of an interpreter: not a JVM, whatever its threads are called.
VM_THREAD = """#include <sys/prctl.h>
static sem_t s; static void *naps(void *x) { prctl(PR_SET_NAME, "VM Thread"); sleep(80); sem_post(&s); return x; }
int main(void) { pthread_t t; sem_init(&s, 0, 0); pthread_create(&t, 0, naps, 0); usleep(100000); ready(); sem_wait(&s); }"""
SEM_HEAD = C_HEAD.replace("#include <time.h>", "#include <time.h>\n#include <semaphore.h>")

# --- quiet work and timers of every day -------------------------------------------------------------------------------

HS_TIMEOUT = 'import System.Timeout; import Control.Concurrent.MVar; import System.IO\nmain :: IO ()\nmain = do { m <- newEmptyMVar :: IO (MVar ()); putStrLn "READY"; hFlush stdout; _ <- timeout 80000000 (takeMVar m); putMVar m () }'
SCHEME_SELECT = '(display "READY\\n") (force-output) (let ((p (pipe))) (select (list (car p)) (list) (list) 80))'
JAVA_POLLS_QUEUE = 'import java.util.concurrent.*; class Main { public static void main(String[] a) throws Exception { System.out.println("READY"); new LinkedBlockingQueue<Integer>().poll(80, TimeUnit.SECONDS); } }'
RUST_CHILD = 'fn main() { println!("READY"); std::process::Command::new("sh").arg("-c").arg("sleep 80; true").status().unwrap(); }'
CS_TASK_DELAY = 'using System; using System.Threading.Tasks;\nclass Actor { static void Main() { Console.WriteLine("READY"); Task.Delay(80000).Wait(); } }'
JOB_CONTROL = "set -m; cat & echo READY; sleep 80; fg"


def _slow_wget(stage: Stage) -> list[str]:
    port = stage.server("bulk")
    return _sh(f"echo READY; exec wget -q -O /dev/null --limit-rate=800 http://127.0.0.1:{port}/x")


def _ghc_compiles(stage: Stage) -> list[str]:
    body = "\n".join(
        f"f{n} :: Int -> Int\nf{n} x = if x > {n} then x * {n} + f{max(0, n - 1)} (x - 1) else x" for n in range(300)
    )
    stage.write("Big.hs", f"module Main where\n{body}\nmain :: IO ()\nmain = print (f299 300)\n")
    return _sh(f"cd {stage.dir}; echo READY; while :; do ghc -v0 -O2 -fforce-recomp Big.hs; done")


def _gnat_compiles(stage: Stage) -> list[str]:
    body = "".join(f"function F{n} (X : Integer) return Integer is (X * {n} + {n} / (X + 1));\n" for n in range(1500))
    stage.write("big.adb", f"procedure Big is\n{body}begin null; end Big;\n")
    return _sh(f"cd {stage.dir}; echo READY; while :; do gnatmake -q -f -O2 big.adb; done")


CC, JAVA = ("cc",), ("java", "javac")
LIVE = (
    Scenario("chat-waits-for-its-first-word", "alive", ("network",), lambda s: _against(s, s.py(CHAT)), io="pty", ready=b"Assistant: "),
    Scenario("node-downloads-beside-a-line-to-type-on", "alive", ("network", "timer"), lambda s: _against(s, s.node(NODE_CHAT)), io="pty", ready=b"model: ", settle=18.0, needs=("node",)),
    Scenario("select-for-urgent-data", "alive", ("network", "unknown"), lambda s: _against(s, [s.cc(C_HEAD + URGENT)], "urgent"), ready=R, needs=CC),
    Scenario("epoll-entry-of-another-number", "alive", ("network", "unknown"), lambda s: _against(s, [s.cc(C_HEAD + RENUMBERED)]), ready=R, needs=CC),
    Scenario("fifo-full-until-a-reader-comes", "alive", ("input", "unknown"), lambda s: _fifo_read_later(s, f"exec 3<>{s.dir}/f; seq 1 100000 >&3; :"), ready=R),
    Scenario("fifo-written-for-a-later-reader", "alive", ("input", "unknown"), lambda s: _fifo_read_later(s, "echo data >"), ready=R),
    Scenario("serial-line-of-a-worker", "alive", ("unknown", "input"), _serial, ready=R),
    Scenario("semaphore-posted-by-its-number", "alive", ("lock", "deadlock"), _numbered, ready=R, needs=CC),
    Scenario("flock-holder-waits-for-a-sleeping-parent", "alive", ("lock",), lambda s: _held(s, EVENT_HOLDER), ready=R, needs=("flock",)),
    Scenario("flock-holder-with-forty-children", "alive", ("lock",), lambda s: _held(s, MANY_CHILDREN), ready=R, needs=("flock",)),
    Scenario("two-threads-two-flocks", "alive", ("lock",), _two_flocks, ready=R, needs=("flock",)),
    Scenario("a-thread-beyond-the-budget", "alive", ("timer", "idle", "unknown"), lambda s: [s.cc(C_HEAD + CROWD)], ready=R, settle=1.5, needs=CC),
    Scenario("io-uring-writes-to-its-own-pipe", "alive", ("unknown", "deadlock"), lambda s: [s.cc(C_HEAD + RING)], ready=R, needs=CC),
    Scenario("python-alarm-beside-a-profiler", "alive", ("idle",), lambda s: s.py(PY_PROFILED), ready=R),
    Scenario("php-pcntl-alarm", "alive", ("idle", "deadlock"), lambda s: s.php(PHP_ALARM), ready=R, needs=("php",)),
    Scenario("perl-select-until-cont", "alive", ("idle",), lambda s: _sent(s, s.perl(PERL_CONT), "CONT"), ready=R, needs=("perl",)),
    Scenario("python-reloads-on-hup-stops-on-quit", "alive", ("idle", "deadlock"), lambda s: _sent(s, s.py(PY_RELOADS), "HUP"), ready=R),
    Scenario("go-reloads-on-hup-stops-on-quit", "alive", ("idle", "deadlock"), lambda s: _sent(s, s.go(GO_RELOADS, "fmt", "os", "os/signal", "syscall"), "HUP"), ready=R, needs=("go",)),
    Scenario("sigwait-for-hup-or-term", "alive", ("idle",), lambda s: _sent(s, s.py(SIGWAIT_HUP), "HUP"), ready=R),
    Scenario("python-counts-workers-by-ttin", "alive", ("idle", "deadlock"), lambda s: _sent(s, s.py(PY_WORKERS), "TTIN"), ready=R),
    Scenario("ruby-threads-and-a-trap", "alive", ("idle", "deadlock"), lambda s: _sent(s, s.ruby(RUBY_TRAP), "USR1"), ready=R, needs=("ruby",)),
    Scenario("strace-of-a-stranger-into-a-pipe", "alive", ("unknown",), _traces, ready=b"attached", needs=("strace",)),
    Scenario("raw-terminal-with-an-alarm", "alive", ("input",), lambda s: s.py(COUNTS_DOWN), io="pty", ready=b"deployment: "),
    Scenario("asyncio-woken-by-sigcont", "alive", ("idle",), lambda s: _sent(s, s.py(PY_ASYNC_CONT), "CONT"), ready=R),
    Scenario("go-woken-by-sigwinch", "alive", ("idle", "deadlock"), lambda s: _sent(s, s.go(GO_WINCH, "fmt", "os", "os/signal", "syscall"), "WINCH"), ready=R, needs=("go",)),
    Scenario("gdb-continues-a-stranger", "alive", ("unknown", "idle", "timer"), _debugs, ready=R, settle=2.0, needs=("gdb",)),
    Scenario("judge-with-an-alarm", "alive", ("idle", "timer", "unknown"), lambda s: [s.cc(C_HEAD + JUDGE)], ready=R, needs=CC),
    Scenario("bash-read-t-and-a-trap-for-exit", "alive", ("timer", "input"), lambda _: ["bash", "-c", BASH_READS], io="pipe", ready=R, needs=("bash",)),
    Scenario("ocaml-alarm", "alive", ("idle",), lambda s: s.ocaml(OCAML_ALARM), ready=R, needs=("ocamlopt",)),
    Scenario("java-thread-named-service-thread-1", "alive", ("timer",), lambda s: s.java("Main", _sleeper_named("Service Thread-1")), ready=R, settle=1.0, needs=JAVA),
    Scenario("java-thread-named-finalizer", "alive", ("timer",), lambda s: s.java("Main", _sleeper_named("Finalizer")), ready=R, settle=1.0, needs=JAVA),
    Scenario("java-thread-named-g1-loader", "alive", ("timer",), lambda s: s.java("Main", _sleeper_named("G1 Loader")), ready=R, settle=1.0, needs=JAVA),
    Scenario("c-thread-named-vm-thread", "alive", ("timer",), lambda s: [s.cc(SEM_HEAD + VM_THREAD)], ready=R, needs=CC),
    Scenario("haskell-timeout-80s", "alive", ("timer",), lambda s: _haskell_alone(s, HS_TIMEOUT), ready=R, settle=1.0, needs=("ghc",)),
    Scenario("guile-select-80s", "alive", ("timer",), lambda _: _scheme(SCHEME_SELECT), ready=R, settle=1.0, needs=GUILE),
    Scenario("java-polls-a-queue-for-80s", "alive", ("timer",), lambda s: s.java("Main", JAVA_POLLS_QUEUE), ready=R, settle=1.0, needs=JAVA),
    Scenario("rust-waits-for-a-sleeping-shell", "alive", ("timer",), lambda s: s.rust(RUST_CHILD), ready=R, needs=("rustc",)),
    Scenario("csharp-task-delay-80s", "alive", ("timer",), lambda s: s.csharp(CS_TASK_DELAY), ready=R, settle=1.0, needs=("mono", "mcs")),
    Scenario("bash-takes-it-to-the-foreground-in-80s", "alive", ("timer",), lambda _: ["bash", "-c", JOB_CONTROL], io="pty", ready=R, settle=1.0, needs=("bash",)),
    Scenario("valgrind-runs-a-sleeper", "alive", ("timer",), lambda _: _sh("echo READY; exec valgrind -q sleep 80"), ready=R, settle=4.0, needs=("valgrind",)),
    Scenario("wget-slowly", "alive", ("progress", "network", "poll"), _slow_wget, ready=R, settle=2.0, needs=("wget",)),
    Scenario("ghc-compiles", "alive", ("progress",), _ghc_compiles, ready=R, needs=("ghc",)),
    Scenario("gnat-compiles", "alive", ("progress",), _gnat_compiles, ready=R, needs=("gnatmake",)),
)  # fmt: skip
