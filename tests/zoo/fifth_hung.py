# ruff: noqa: E501 - one scenario a line reads as the table it is
"""Hung jobs of every day that nothing was tuned on: locks, queues and pipes in eighteen languages, prompts of more tools."""

from __future__ import annotations

from tests.zoo.late_languages import GUILE, _ada, _haskell_alone, _scheme
from tests.zoo.scenario import Scenario, Stage
from tests.zoo.third_compiled import C_HEAD, NOTIFY
from tests.zoo.third_system import POSTGRES, REDIS, postgres

R = b"READY"


def _sh(script: str) -> list[str]:
    return ["sh", "-c", script]


def _java(stage: Stage, body: str) -> list[str]:
    head = "import java.util.concurrent.*; import java.util.concurrent.locks.*;"
    return stage.java(
        "Main", f"{head} class Main {{ public static void main(String[] a) throws Exception {{ {body} }} }}"
    )


JAVA_LOCKS = 'ReentrantLock l = new ReentrantLock(), m = new ReentrantLock(); CyclicBarrier b = new CyclicBarrier(2); new Thread(() -> { m.lock(); try { b.await(); } catch (Exception e) { } l.lock(); }).start(); l.lock(); b.await(); System.out.println("READY"); m.lock();'
JAVA_HANDS_OVER = 'System.out.println("READY"); new SynchronousQueue<Integer>().put(1);'
JAVA_EXCHANGES = 'System.out.println("READY"); new Exchanger<Integer>().exchange(1);'
JAVA_CAT = 'Process p = new ProcessBuilder("cat").start(); System.out.println("READY"); p.getInputStream().read();'

GO_SELECT = NOTIFY + 'func main() { watch(); fmt.Println("READY"); select {} }'
GO_UPGRADE = NOTIFY + 'func main() { watch(); var m sync.RWMutex; m.RLock(); fmt.Println("READY"); m.Lock() }'
GO_PIPE = NOTIFY + 'func main() { watch(); r, w := io.Pipe(); _ = r; fmt.Println("READY"); w.Write([]byte("x")) }'
RUST_SCOPE = """
use std::sync::{Barrier, Mutex};
fn main() { let (a, b, both) = (Mutex::new(0), Mutex::new(0), Barrier::new(2)); println!("READY");
  std::thread::scope(|s| { s.spawn(|| { let _x = a.lock(); both.wait(); let _y = b.lock(); }); s.spawn(|| { let _y = b.lock(); both.wait(); let _x = a.lock(); }); }); }
"""
RUST_FULL = """
use std::sync::mpsc::sync_channel;
fn main() { let (tx, rx) = sync_channel(1); tx.send(1).unwrap(); println!("READY"); tx.send(2).unwrap(); drop(rx); }
"""
NODE_CAT = "const c=require('child_process').spawn('cat');c.stdout.resume();console.log('READY');c.on('exit',()=>process.exit())"
PY_POOL = "import concurrent.futures as c\np = c.ThreadPoolExecutor(1)\nprint('READY')\np.submit(lambda: p.submit(int).result()).result()"
PY_BARRIER = "import multiprocessing as m, os\nb = m.Barrier(3)\nif os.fork() == 0: b.wait()\nprint('READY'); b.wait()"
PY_SIGNAL = "import os, signal, threading\nl = threading.Lock(); signal.signal(signal.SIGCHLD, lambda *a: l.acquire())\nwith l:\n    print('READY')\n    if os.fork() == 0: os._exit(0)\n    signal.pause()"
PY_QUEUE = "import asyncio\nasync def main():\n    q = asyncio.Queue(1); await q.put(1); print('READY'); await q.put(2)\nasyncio.run(main())"
PY_TELLS = "import select, socket, os, sys\na, b = socket.socketpair()\nif os.fork() == 0: a.close(); b.recv(1); os._exit(0)\nb.close(); print('READY'); select.select([sys.stdin, a], [], [])"
PERL_OPEN2 = (
    "use IPC::Open2; my $pid = open2(my $out, my $in, 'cat'); print $in 'x'; print qq(READY\\n); my $l = <$out>;"
)
PERL_SEMAPHORE = "use threads; use Thread::Semaphore; my $s = Thread::Semaphore->new(0); my $t = async { $s->down }; print qq(READY\\n); $t->join"
PHP_PROC = '$p = proc_open("cat", [["pipe", "r"], ["pipe", "w"]], $pipes); echo "READY\\n"; fgets($pipes[1]);'
RUBY_CAPTURE = "require 'open3'; Open3.popen2('sort') { |i, o, t| puts 'READY'; o.read }"
TCL_PIPE = "set p [open |cat r+]; puts READY; gets $p"
SCHEME_ORDER = '(use-modules (ice-9 threads)) (define a (make-mutex)) (define b (make-mutex)) (define t (call-with-new-thread (lambda () (lock-mutex b) (usleep 300000) (lock-mutex a)))) (lock-mutex a) (usleep 500000) (display "READY\\n") (force-output) (lock-mutex b)'
OCAML_CHILD = 'let () = let r, w = Unix.pipe () in if Unix.fork () = 0 then (ignore (Unix.read r (Bytes.create 1) 0 1); exit 0); print_string "READY\\n"; flush stdout; ignore (Unix.wait ()); Unix.close w'
HS_INTERACT = 'import System.IO\nmain :: IO ()\nmain = putStrLn "READY" >> hFlush stdout >> interact id'
ADA_CROSSED = """with Ada.Text_IO; procedure Actor is
  task A is entry Go; end A; task B is entry Go; end B;
  task body A is begin B.Go; accept Go; end A; task body B is begin A.Go; accept Go; end B;
begin Ada.Text_IO.Put_Line ("READY"); Ada.Text_IO.Flush; end Actor;"""
CS_CAT = 'using System; using System.Diagnostics;\nclass Actor { static void Main() { var p = Process.Start(new ProcessStartInfo("cat") { UseShellExecute = false, RedirectStandardInput = true, RedirectStandardOutput = true }); Console.WriteLine("READY"); p.StandardOutput.ReadLine(); } }'
CS_SLIM = 'using System; using System.Threading;\nclass Actor { static void Main() { Console.WriteLine("READY"); new SemaphoreSlim(0).Wait(); } }'

RWLOCK = "int main(void) { pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER; pthread_rwlock_rdlock(&l); ready(); pthread_rwlock_wrlock(&l); }"
BOTH_WRITE = """
#include <sys/socket.h>
int main(void) { static char x[1 << 22]; int s[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, s); int mine = fork() == 0; close(s[!mine]); if (!mine) ready(); write(s[mine], x, sizeof x); }
"""
RING = """int main(void) { int p[3][2]; char c; for (int n = 0; n < 3; n++) pipe(p[n]);
  for (int n = 0; n < 3; n++) if (fork() == 0) { for (int i = 0; i < 3; i++) { if (i != n) close(p[i][0]); if (i != (n + 1) % 3) close(p[i][1]); } read(p[n][0], &c, 1); write(p[(n + 1) % 3][1], &c, 1); _exit(0); }
  for (int n = 0; n < 3; n++) { close(p[n][0]); close(p[n][1]); } ready(); while (wait(0) > 0); }"""


def _cmake(stage: Stage) -> list[str]:
    return ["cmake", "-P", stage.write("run.cmake", "message(STATUS READY)\nexecute_process(COMMAND cat)\n")]


def _ninja(stage: Stage) -> list[str]:
    stage.write("build.ninja", "rule ask\n command = printf 'Deploy? '; read x\n pool = console\nbuild a: ask\n")
    return ["ninja", "-C", str(stage.dir)]


def _psql(stage: Stage) -> list[str]:
    where, server = postgres(stage)
    psql = f"psql -X -h {where} -U zoo -d postgres"
    up = stage.outsider(
        f"{server} >/dev/null 2>&1 &\nuntil {psql} -c 'select 1' >/dev/null 2>&1; do sleep 0.1; done; exec sleep 999"
    )
    del up  # the directory of the stage is closed to nobody
    return _sh(f"until {psql} -c 'select 1' >/dev/null 2>&1; do sleep 0.1; done; exec {psql}")


def _redis(stage: Stage) -> list[str]:
    sock = stage.dir / "r"
    up = stage.outsider(
        f"redis-server --port 0 --unixsocket {sock} --save '' >/dev/null & until redis-cli -s {sock} ping >/dev/null 2>&1; do sleep 0.05; done; touch $UP; wait"
    )
    return _sh(f"{up}; stty cols 80 rows 24; exec redis-cli -s {sock}")


def _patch(stage: Stage) -> list[str]:
    change = stage.write("change.diff", "--- a/none\n+++ b/none\n@@ -1 +1 @@\n-x\n+y\n")
    return _sh(f"cd {stage.dir}; exec patch -p1 -i {change}")


def _add_patch(stage: Stage) -> list[str]:
    repo = stage.git()
    return _sh(f"cd {repo}; echo one > f; git add f; git commit -qm f; echo two > f; exec git -c core.pager=cat add -p")


def _git_clean(stage: Stage) -> list[str]:
    repo = stage.git()
    return _sh(f"cd {repo}; echo one > f; exec git clean -i")


def _rm(stage: Stage) -> list[str]:
    return ["rm", "-i", stage.write("precious", "x")]


CC, JAVA, GO, RUST = ("cc",), ("java", "javac"), ("go",), ("rustc",)
HUNG = (
    Scenario("java-locks-crossed", "hung", ("deadlock",), lambda s: _java(s, JAVA_LOCKS), ready=R, settle=1.0, needs=JAVA),
    Scenario("java-hands-over-to-none", "hung", ("deadlock",), lambda s: _java(s, JAVA_HANDS_OVER), ready=R, settle=1.0, needs=JAVA),
    Scenario("java-exchanges-with-none", "hung", ("deadlock",), lambda s: _java(s, JAVA_EXCHANGES), ready=R, settle=1.0, needs=JAVA),
    Scenario("java-reads-from-cat", "hung", ("pipe_cycle",), lambda s: _java(s, JAVA_CAT), ready=R, settle=1.0, needs=JAVA),
    Scenario("go-select-of-nothing", "hung", ("deadlock",), lambda s: s.go(GO_SELECT, "fmt", "os", "os/signal"), ready=R, needs=GO),
    Scenario("go-rwmutex-upgraded", "hung", ("deadlock",), lambda s: s.go(GO_UPGRADE, "fmt", "os", "os/signal", "sync"), ready=R, needs=GO),
    Scenario("go-io-pipe-not-read", "hung", ("deadlock",), lambda s: s.go(GO_PIPE, "fmt", "io", "os", "os/signal"), ready=R, needs=GO),
    Scenario("rust-scoped-locks-crossed", "hung", ("deadlock",), lambda s: s.rust(RUST_SCOPE), ready=R, needs=RUST),
    Scenario("rust-bounded-channel-full", "hung", ("deadlock",), lambda s: s.rust(RUST_FULL), ready=R, needs=RUST),
    Scenario("node-child-cat-not-ended", "hung", ("pipe_cycle", "idle"), lambda s: s.node(NODE_CAT), ready=R, settle=18.0, needs=("node",)),
    Scenario("python-executor-starves-itself", "hung", ("deadlock",), lambda s: s.py(PY_POOL), ready=R),
    Scenario("python-barrier-over-processes", "hung", ("deadlock", "lock"), lambda s: [s.python, "-u", s.write("barrier.py", PY_BARRIER)], ready=R, settle=1.0),
    Scenario("python-lock-in-a-handler", "hung", ("deadlock",), lambda s: s.py(PY_SIGNAL), ready=R, settle=1.0),
    Scenario("python-asyncio-queue-full", "hung", ("idle", "deadlock"), lambda s: s.py(PY_QUEUE), ready=R),
    Scenario("python-stdin-beside-a-worker", "hung", ("input",), lambda s: s.py(PY_TELLS), io="pipe", ready=R),
    Scenario("perl-open2-cat", "hung", ("pipe_cycle",), lambda s: s.perl(PERL_OPEN2), ready=R, needs=("perl",)),
    Scenario("perl-semaphore-never", "hung", ("deadlock",), lambda s: s.perl(PERL_SEMAPHORE), ready=R, needs=("perl",)),
    Scenario("php-proc-open-cat", "hung", ("pipe_cycle",), lambda s: s.php(PHP_PROC), ready=R, needs=("php",)),
    Scenario("ruby-popen2-sort", "hung", ("pipe_cycle",), lambda s: s.ruby(RUBY_CAPTURE), ready=R, needs=("ruby",)),
    Scenario("tcl-pipe-to-cat", "hung", ("pipe_cycle",), lambda s: s.tcl(TCL_PIPE), ready=R, needs=("tclsh",)),
    Scenario("guile-mutex-order", "hung", ("deadlock",), lambda _: _scheme(SCHEME_ORDER), ready=R, settle=1.0, needs=GUILE),
    Scenario("ocaml-child-reads-our-pipe", "hung", ("pipe_cycle",), lambda s: s.ocaml(OCAML_CHILD), ready=R, needs=("ocamlopt",)),
    Scenario("haskell-interact", "hung", ("input",), lambda s: _haskell_alone(s, HS_INTERACT), io="pipe", ready=R, settle=1.0, needs=("ghc",)),
    Scenario("ada-rendezvous-crossed", "hung", ("deadlock",), lambda s: _ada(s, ADA_CROSSED), ready=R, settle=1.0, needs=("gnatmake",)),
    Scenario("csharp-reads-from-cat", "hung", ("pipe_cycle",), lambda s: s.csharp(CS_CAT), ready=R, settle=1.0, needs=("mono", "mcs")),
    Scenario("csharp-semaphore-never", "hung", ("deadlock",), lambda s: s.csharp(CS_SLIM), ready=R, settle=1.0, needs=("mono", "mcs")),
    Scenario("c-rwlock-upgraded", "hung", ("deadlock",), lambda s: [s.cc(C_HEAD + RWLOCK)], ready=R, needs=CC),
    Scenario("c-both-ends-write", "hung", ("pipe_cycle",), lambda s: [s.cc(C_HEAD + BOTH_WRITE)], ready=R, needs=CC),
    Scenario("c-three-in-a-ring-of-pipes", "hung", ("pipe_cycle",), lambda s: [s.cc(C_HEAD + RING)], ready=R, needs=CC),
    Scenario("awk-runs-cat", "hung", ("input",), lambda _: ["awk", 'BEGIN { print "READY"; fflush(); system("cat") }'], io="pipe", ready=R),
    Scenario("bash-mapfile", "hung", ("input",), lambda _: ["bash", "-c", "echo READY; mapfile lines"], io="pipe", ready=R, needs=("bash",)),
    Scenario("cmake-runs-cat", "hung", ("input",), _cmake, io="pipe", ready=R, needs=("cmake",)),
    Scenario("ninja-console-asks", "hung", ("input",), _ninja, io="pty", ready=b"Deploy? ", needs=("ninja",), prompt="Deploy?"),
    Scenario("psql-prompt", "hung", ("input",), _psql, io="pty", ready=b"postgres=#", settle=1.0, needs=POSTGRES, nobody=True, prompt="postgres=#"),
    Scenario("redis-cli-prompt", "hung", ("input",), _redis, io="pty", ready=b"> ", settle=1.0, needs=(*REDIS, "redis-cli")),
    Scenario("patch-asks-for-a-file", "hung", ("input",), _patch, io="pty", ready=b"File to patch: ", needs=("patch",), prompt="File to patch:"),
    Scenario("git-add-p-asks", "hung", ("input",), _add_patch, io="pty", ready=b"?]? ", settle=1.0, needs=("git",), prompt="Stage"),
    Scenario("git-clean-asks", "hung", ("input",), _git_clean, io="pty", ready=b"What now", settle=1.0, needs=("git",), prompt="What now"),
    Scenario("rm-i-asks", "hung", ("input",), _rm, io="pty", ready=b"precious'? ", prompt="precious"),
    Scenario("zsh-interactive", "hung", ("input",), lambda _: ["env", "PS1=what now> ", "zsh", "-f", "-i"], io="pty", ready=b"what now> ", settle=1.0, needs=("zsh",)),
    Scenario("fish-interactive", "hung", ("input",), lambda _: ["fish", "--no-config", "-i", "-C", "function fish_prompt; echo 'what now> '; end"], io="pty", ready=b"what now> ", settle=2.0, needs=("fish",)),
    Scenario("busybox-vi", "hung", ("input",), lambda s: ["busybox", "vi", s.write("notes", "x\n")], io="pty", ready=b"notes", settle=1.0, needs=("busybox",)),
)  # fmt: skip
