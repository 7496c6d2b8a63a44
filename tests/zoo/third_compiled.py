# ruff: noqa: E501 - one scenario a line reads as the table it is
"""Go, Rust, Java, C#, Haskell, OCaml and C, each with its own compiler and its runtime's own threads."""

from __future__ import annotations

import ctypes
import os

from tests.zoo.scenario import Scenario, Stage

R = b"READY"
FMT_OS = ("fmt", "os", "os/signal")

# Go ends a program whose goroutines all wait, unless something keeps its eyes open: a signal handler, its poller.
NOTIFY = "func watch() { c := make(chan os.Signal, 1); signal.Notify(c, os.Interrupt) }\n"
GO_MUTEX = NOTIFY + 'func main() { watch(); var m sync.Mutex; m.Lock(); fmt.Println("READY"); m.Lock() }'
GO_ORDER = (
    NOTIFY
    + """
func main() { watch(); var a, b sync.Mutex; var both sync.WaitGroup; both.Add(2); done := make(chan int)
  take := func(x, y *sync.Mutex) { x.Lock(); both.Done(); both.Wait(); y.Lock(); done <- 1 }
  go take(&a, &b); go take(&b, &a); both.Wait(); fmt.Println("READY"); <-done; <-done }
"""
)
GO_OWN_PIPE = """
var keep *os.File
func main() { r, w, _ := os.Pipe(); keep = w; got := make(chan int)
  go func() { io.ReadAll(r); got <- 1 }(); fmt.Println("READY"); <-got; keep.Close() }
"""
GO_WORKERS = (
    NOTIFY
    + """
func main() { watch(); jobs := make(chan int); var all sync.WaitGroup
  for i := 0; i < 8; i++ { all.Add(1); go func() { defer all.Done(); for range jobs { } }() }
  for i := 0; i < 100; i++ { jobs <- i }; fmt.Println("READY"); all.Wait() }
"""
)
GO_GRANDCHILD = """
func main() { fmt.Println("READY"); exec.Command("sh", "-c", "sleep infinity & echo started").Output() }
"""
GO_CAT = """
func main() { cat := exec.Command("cat"); in, _ := cat.StdinPipe(); var out bytes.Buffer; cat.Stdout = &out; cat.Start()
  in.Write([]byte("one line\\n")); var all sync.WaitGroup; all.Add(1)
  go func() { defer all.Done(); cat.Wait() }(); fmt.Println("READY"); all.Wait(); in.Close() }
"""
GO_TEST = """
package main
import ("fmt"; "os"; "os/signal"; "sync"; "testing")
func TestWaits(t *testing.T) { c := make(chan os.Signal, 1); signal.Notify(c, os.Interrupt)
  var w sync.WaitGroup; w.Add(1); go func() { var m sync.RWMutex; m.RLock(); m.Lock(); w.Done() }(); fmt.Println("READY"); w.Wait() }
"""
GO_SHUTDOWN = """
func main() { l, _ := net.Listen("tcp", "127.0.0.1:0"); in := make(chan int)
  s := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { in <- 1; select {} })}
  go s.Serve(l); go http.Get("http://" + l.Addr().String()); <-in; fmt.Println("READY"); s.Shutdown(context.Background()) }
"""
GO_ASK = 'func main() { fmt.Print("Release which version? "); var v string; fmt.Scanln(&v); fmt.Println(v) }'
GO_READ = 'func main() { fmt.Println("READY"); s := bufio.NewScanner(os.Stdin); for s.Scan() { } }'
GO_SLEEP = 'func main() { fmt.Println("READY"); time.Sleep(90 * time.Second) }'
GO_TICKER = 'func main() { fmt.Println("READY"); for range time.Tick(4 * time.Second) { } }'
GO_DEADLINE = """
func main() { c, stop := context.WithTimeout(context.Background(), 100*time.Second); defer stop()
  never := make(chan int); fmt.Println("READY"); select { case <-never: case <-c.Done(): } }
"""
GO_HELD = """
func main() { var m sync.Mutex; held := make(chan int)
  go func() { m.Lock(); held <- 1; time.Sleep(80 * time.Second); m.Unlock() }(); <-held; fmt.Println("READY"); m.Lock() }
"""
GO_SERVE = """
func main() { l, _ := net.Listen("tcp", "127.0.0.1:0"); fmt.Println("READY"); http.Serve(l, nil) }
"""
GO_COMPUTE = """
func main() { fmt.Println("READY"); work := make(chan int)
  go func() { for { m := map[int][]byte{}; for i := 0; i < 20000; i++ { m[i] = make([]byte, 300) }; work <- len(m) } }()
  for range work { } }
"""


def _go_test(stage: Stage) -> list[str]:
    source = stage.write("waits_test.go", GO_TEST.lstrip())
    variables = [f"{name}={value}" for name, value in stage.go_env.items()]
    return ["env", *variables, "go", "test", "-v", "-timeout", "0", source]


def _go_run(stage: Stage) -> list[str]:
    source = stage.write("ask.go", f'package main\nimport "fmt"\n{GO_ASK}')
    return ["env", *(f"{name}={value}" for name, value in stage.go_env.items()), "go", "run", source]


def _go_build(stage: Stage) -> list[str]:
    source = stage.write(
        "big.go", 'package main\nimport ("net/http"; "fmt")\nfunc main() { fmt.Println(http.Get("")) }'
    )
    variables = " ".join(f"{name}={value}" for name, value in stage.go_env.items())
    build = f"{variables} go build -a -o {stage.dir}/big {source}"
    return ["sh", "-c", f"echo READY; while :; do {build}; done"]


GO = ("go",)
GO_SCENARIOS = (
    Scenario("go-mutex-twice", "hung", ("deadlock",), lambda s: s.go(GO_MUTEX, *FMT_OS, "sync"), ready=R, needs=GO),
    Scenario("go-lock-order", "hung", ("deadlock",), lambda s: s.go(GO_ORDER, *FMT_OS, "sync"), ready=R, needs=GO),
    Scenario("go-channel-and-own-pipe", "hung", ("deadlock", "pipe_cycle", "idle"), lambda s: s.go(GO_OWN_PIPE, "fmt", "io", "os"), ready=R, needs=GO),
    Scenario("go-workers-never-told", "hung", ("deadlock", "idle"), lambda s: s.go(GO_WORKERS, *FMT_OS, "sync"), ready=R, needs=GO),
    Scenario("go-grandchild-holds-pipe", "hung", ("leak", "pipe_cycle", "idle"), lambda s: s.go(GO_GRANDCHILD, "fmt", "os/exec"), ready=R, needs=GO),
    Scenario("go-waitgroup-over-cat", "hung", ("pipe_cycle",), lambda s: s.go(GO_CAT, "bytes", "fmt", "os/exec", "sync"), ready=R, needs=GO),
    # `go` has a timer of its own for a second after it has compiled: what is looked at before that moves in between.
    Scenario("go-test-timeout-0", "hung", ("deadlock",), _go_test, ready=R, settle=3.0, needs=GO),
    Scenario("go-scanln", "hung", ("input",), lambda s: s.go(GO_ASK, "fmt"), io="pty", ready=b"version? ", needs=GO, prompt="Release which version?"),
    Scenario("go-run-scanln", "hung", ("input",), _go_run, io="pty", ready=b"version? ", needs=GO, prompt="Release which version?"),
    Scenario("go-scanner-on-pipe", "hung", ("input",), lambda s: s.go(GO_READ, "bufio", "fmt", "os"), io="pipe", ready=R, needs=GO),
    Scenario("go-shutdown-waits-for-handler", "ambiguous", ("poll", "timer", "network", "deadlock"), lambda s: s.go(GO_SHUTDOWN, "context", "fmt", "net", "net/http"), ready=R, needs=GO),
    Scenario("go-sleep-90s", "alive", ("timer",), lambda s: s.go(GO_SLEEP, "fmt", "time"), ready=R, needs=GO),
    Scenario("go-ticker-4s", "alive", ("timer", "poll"), lambda s: s.go(GO_TICKER, "fmt", "time"), ready=R, needs=GO),
    Scenario("go-context-100s", "alive", ("timer",), lambda s: s.go(GO_DEADLINE, "context", "fmt", "time"), ready=R, needs=GO),
    Scenario("go-mutex-held-by-sleeper", "alive", ("timer", "deadlock"), lambda s: s.go(GO_HELD, "fmt", "sync", "time"), ready=R, needs=GO),
    Scenario("go-http-server", "alive", ("listening",), lambda s: s.go(GO_SERVE, "fmt", "net", "net/http"), ready=R, needs=GO),
    Scenario("go-allocates", "alive", ("progress", "busy"), lambda s: s.go(GO_COMPUTE, "fmt"), ready=R, needs=GO),
    Scenario("go-build-again", "alive", ("progress",), _go_build, ready=R, needs=GO),
)  # fmt: skip

RUST_MUTEX = """
use std::sync::Mutex;
fn main() { let m = Mutex::new(1); let _a = m.lock().unwrap(); println!("READY"); let _b = m.lock().unwrap(); }
"""
RUST_CONDVAR = """
use std::sync::{Arc, Condvar, Mutex}; use std::thread;
fn main() { let p = Arc::new((Mutex::new(false), Condvar::new()));
  let all: Vec<_> = (0..3).map(|_| { let p = p.clone(); thread::spawn(move || {
    let mut go = p.0.lock().unwrap(); while !*go { go = p.1.wait(go).unwrap(); } }) }).collect();
  println!("READY"); for t in all { t.join().unwrap(); } }
"""
RUST_CAT = """
use std::io::{Read, Write}; use std::process::{Command, Stdio};
fn main() { let mut c = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
  let mut i = c.stdin.take().unwrap(); i.write_all(b"x").unwrap(); println!("READY");
  let mut s = String::new(); c.stdout.take().unwrap().read_to_string(&mut s).unwrap(); drop(i); }
"""
RUST_PARK = 'fn main() { let t = std::thread::spawn(|| std::thread::park()); println!("READY"); t.join().unwrap(); }'
RUST_ASK = """
use std::io::{stdin, stdout, Write};
fn main() { print!("Crate name: "); stdout().flush().unwrap(); let mut s = String::new(); stdin().read_line(&mut s).unwrap(); }
"""
RUST_SLEEP = 'fn main() { println!("READY"); std::thread::sleep(std::time::Duration::from_secs(100)); }'
RUST_SERVE = 'fn main() { let l = std::net::TcpListener::bind("127.0.0.1:0").unwrap(); println!("READY"); for _ in l.incoming() {} }'
RUST_RECHECK = """
use std::{sync::mpsc::channel, time::Duration};
fn main() { let (tx, rx) = channel::<u8>(); println!("READY"); for _ in 0..90 { let _ = rx.recv_timeout(Duration::from_secs(3)); } drop(tx); }
"""
RUST = ("rustc",)
RUST_SCENARIOS = (
    Scenario("rust-mutex-twice", "hung", ("deadlock",), lambda s: s.rust(RUST_MUTEX), ready=R, needs=RUST),
    Scenario("rust-condvar-never", "hung", ("deadlock",), lambda s: s.rust(RUST_CONDVAR), ready=R, needs=RUST),
    Scenario("rust-park-join", "hung", ("deadlock",), lambda s: s.rust(RUST_PARK), ready=R, needs=RUST),
    Scenario("rust-cat-stdin-open", "hung", ("pipe_cycle",), lambda s: s.rust(RUST_CAT), ready=R, needs=RUST),
    Scenario("rust-read-line", "hung", ("input",), lambda s: s.rust(RUST_ASK), io="pty", ready=b"name: ", needs=RUST, prompt="Crate name:"),
    Scenario("rust-sleep-100s", "alive", ("timer",), lambda s: s.rust(RUST_SLEEP), ready=R, needs=RUST),
    Scenario("rust-listener", "alive", ("listening",), lambda s: s.rust(RUST_SERVE), ready=R, needs=RUST),
    Scenario("rust-recv-timeout-3s", "alive", ("timer", "poll"), lambda s: s.rust(RUST_RECHECK), ready=R, needs=RUST),
)  # fmt: skip


def _main(name: str, body: str) -> tuple[str, str]:
    head = (
        "import java.util.*; import java.util.concurrent.*; import java.util.concurrent.locks.*; import java.net.*;\n"
    )
    return name, f"{head}public class {name} {{ public static void main(String[] x) throws Exception {{ {body} }} }}\n"


JAVA_TAKE = _main("Take", 'System.out.println("READY"); new LinkedBlockingQueue<String>().take();')
JAVA_WAIT = _main("Waits", 'Object o = new Object(); System.out.println("READY"); synchronized (o) { o.wait(); }')
JAVA_PARK = _main("Parks", 'System.out.println("READY"); for (;;) LockSupport.park();')
JAVA_STARVED = _main(
    "Starved",
    "ExecutorService e = Executors.newFixedThreadPool(1); Future<Integer> f = e.submit(() -> { Future<Integer> g = e.submit(() -> 1);"
    ' System.out.println("READY"); return g.get(); }); f.get(); e.shutdown();',
)
JAVA_CHILD = _main(
    "Child",
    'Process p = new ProcessBuilder("sh", "-c", "seq 1 200000").start(); System.out.println("READY"); p.waitFor();',
)
JAVA_ASK = _main("Ask", 'System.out.print("Group id: "); System.out.flush(); new Scanner(System.in).nextLine();')
JAVA_LATER = _main(
    "Later",
    "ScheduledExecutorService s = Executors.newScheduledThreadPool(1); s.schedule(() -> {}, 100, TimeUnit.SECONDS);"
    ' System.out.println("READY"); s.shutdown(); s.awaitTermination(1, TimeUnit.DAYS);',
)
JAVA_SLEEP = _main("Sleeps", 'System.out.println("READY"); Thread.sleep(100_000);')
JAVA_HTTP = _main(
    "Http",
    'com.sun.net.httpserver.HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0).start(); System.out.println("READY");',
)
JAVA = ("java", "javac")
JAVA_SCENARIOS = (
    Scenario("java-queue-take", "hung", ("deadlock",), lambda s: s.java(*JAVA_TAKE), ready=R, settle=1.0, needs=JAVA),
    Scenario("java-object-wait", "hung", ("deadlock",), lambda s: s.java(*JAVA_WAIT), ready=R, settle=1.0, needs=JAVA),
    Scenario("java-park", "hung", ("deadlock",), lambda s: s.java(*JAVA_PARK), ready=R, settle=1.0, needs=JAVA),
    Scenario("java-pool-starves-itself", "hung", ("deadlock",), lambda s: s.java(*JAVA_STARVED), ready=R, settle=1.0, needs=JAVA),
    Scenario("java-waits-for-full-pipe", "hung", ("pipe_cycle",), lambda s: s.java(*JAVA_CHILD), ready=R, settle=1.0, needs=JAVA),
    Scenario("java-scanner", "hung", ("input",), lambda s: s.java(*JAVA_ASK), io="pty", ready=b"id: ", settle=1.0, needs=JAVA, prompt="Group id:"),
    Scenario("java-scheduled-100s", "alive", ("timer",), lambda s: s.java(*JAVA_LATER), ready=R, settle=1.0, needs=JAVA),
    Scenario("java-sleep-100s", "alive", ("timer",), lambda s: s.java(*JAVA_SLEEP), ready=R, settle=1.0, needs=JAVA),
    Scenario("java-http-server", "alive", ("listening",), lambda s: s.java(*JAVA_HTTP), ready=R, settle=1.0, needs=JAVA),
)  # fmt: skip

CS = "using System; using System.Net; using System.Net.Sockets; using System.Threading; using System.Collections.Concurrent;\nclass Actor { "
CS_ORDER = (
    CS
    + """static object a = new object(), b = new object(); static Barrier both = new Barrier(2);
  static void Take(object x, object y) { lock (x) { both.SignalAndWait(); lock (y) { } } }
  static void Main() { var t = new Thread(() => Take(b, a)); t.Start(); Console.WriteLine("READY"); Take(a, b); } }
"""
)
CS_EVENT = CS + 'static void Main() { Console.WriteLine("READY"); new ManualResetEvent(false).WaitOne(); } }'
CS_ASK = CS + 'static void Main() { Console.Write("Feed key: "); Console.ReadLine(); } }'
CS_SLEEP = CS + 'static void Main() { Console.WriteLine("READY"); Thread.Sleep(90000); } }'
CS_SERVE = (
    CS
    + 'static void Main() { var l = new TcpListener(IPAddress.Loopback, 0); l.Start(); Console.WriteLine("READY"); l.AcceptTcpClient(); } }'
)
HS_MVAR = """
import Control.Concurrent; import Foreign.StablePtr; import System.IO
main :: IO ()
main = do { m <- newEmptyMVar :: IO (MVar ()); _ <- newStablePtr m; _ <- forkIO (takeMVar m); putStrLn "READY"; hFlush stdout; takeMVar m }
"""
HS_ASK = 'import System.IO\nmain :: IO ()\nmain = putStr "Package name? " >> hFlush stdout >> getLine >>= putStrLn\n'
HS_DELAY = 'import Control.Concurrent; import System.IO\nmain :: IO ()\nmain = putStrLn "READY" >> hFlush stdout >> threadDelay 90000000\n'
OCAML_CONDITION = """
let () = let m = Mutex.create () and c = Condition.create () in
  let t = Thread.create (fun () -> Mutex.lock m; Condition.wait c m) () in print_string "READY\\n"; flush stdout; Thread.join t
"""
OCAML_ASK = 'let () = print_string "Opam switch: "; flush stdout; ignore (read_line ())'
OCAML_DELAY = """
let () = let t = Thread.create (fun () -> Thread.delay 80.0) () in print_string "READY\\n"; flush stdout; Thread.join t
"""
MONO, GHC, OCAML = ("mono", "mcs"), ("ghc",), ("ocamlopt",)
OTHER_RUNTIMES = (
    Scenario("csharp-lock-order", "hung", ("deadlock",), lambda s: s.csharp(CS_ORDER), ready=R, settle=1.0, needs=MONO),
    Scenario("csharp-event-never", "hung", ("deadlock",), lambda s: s.csharp(CS_EVENT), ready=R, settle=1.0, needs=MONO),
    Scenario("csharp-read-line", "hung", ("input",), lambda s: s.csharp(CS_ASK), io="pty", ready=b"key: ", settle=1.0, needs=MONO, prompt="Feed key:"),
    Scenario("csharp-sleep-90s", "alive", ("timer",), lambda s: s.csharp(CS_SLEEP), ready=R, settle=1.0, needs=MONO),
    Scenario("csharp-listener", "alive", ("listening",), lambda s: s.csharp(CS_SERVE), ready=R, settle=1.0, needs=MONO),
    Scenario("haskell-mvar-never", "hung", ("deadlock", "idle"), lambda s: s.haskell(HS_MVAR), ready=R, settle=1.0, needs=GHC),
    Scenario("haskell-get-line", "hung", ("input",), lambda s: s.haskell(HS_ASK), io="pty", ready=b"name? ", settle=1.0, needs=GHC, prompt="Package name?"),
    Scenario("haskell-delay-90s", "alive", ("timer",), lambda s: s.haskell(HS_DELAY), ready=R, settle=1.0, needs=GHC),
    Scenario("ocaml-condition-never", "hung", ("deadlock",), lambda s: s.ocaml(OCAML_CONDITION), ready=R, needs=OCAML),
    Scenario("ocaml-read-line", "hung", ("input",), lambda s: s.ocaml(OCAML_ASK), io="pty", ready=b"switch: ", needs=OCAML, prompt="Opam switch:"),
    Scenario("ocaml-delay-80s", "alive", ("timer",), lambda s: s.ocaml(OCAML_DELAY), ready=R, needs=OCAML),
)  # fmt: skip

C_HEAD = """
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void ready(void) { puts("READY"); fflush(stdout); }
static pthread_mutex_t *shared(int fd, int fresh) { pthread_mutexattr_t a; pthread_mutex_t *m;
  m = mmap(0, 4096, PROT_READ|PROT_WRITE, fd < 0 ? MAP_SHARED|MAP_ANONYMOUS : MAP_SHARED, fd, 0); if (!fresh) return m;
  pthread_mutexattr_init(&a); pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED); pthread_mutex_init(m, &a); return m; }
"""
DEAD_OWNER = "int main(void) { pthread_mutex_t *m = shared(-1, 1); if (fork() == 0) { pthread_mutex_lock(m); _exit(0); } wait(0); ready(); pthread_mutex_lock(m); }"
SHARED_ORDER = """int main(void) { pthread_mutex_t *a = shared(-1, 1), *b = shared(-1, 1); int p[2], q[2]; char c; pipe(p); pipe(q);
  if (fork() == 0) { pthread_mutex_lock(b); write(p[1], "", 1); read(q[0], &c, 1); pthread_mutex_lock(a); _exit(0); }
  pthread_mutex_lock(a); write(q[1], "", 1); read(p[0], &c, 1); ready(); pthread_mutex_lock(b); }"""
# One program in two roles: a holder outside of the tree that lets go after its nap, and the job that waits for it.
MAPPED = """int main(int n, char **v) { int hold = n > 2, fd = open(v[1], O_RDWR|O_CREAT, 0600); ftruncate(fd, 4096); pthread_mutex_t *m = shared(fd, hold);
  if (hold) { pthread_mutex_lock(m); close(open(v[2], O_CREAT, 0600)); sleep(100); pthread_mutex_unlock(m); return 0; }
  ready(); pthread_mutex_lock(m); }"""
ROBUST = """static pthread_mutex_t m; static void *dies(void *x) { pthread_mutex_lock(&m); return x; }
int main(void) { pthread_mutexattr_t a; pthread_t t; pthread_mutexattr_init(&a); pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&m, &a); pthread_create(&t, 0, dies, 0); pthread_join(t, 0); if (pthread_mutex_lock(&m) != EOWNERDEAD) return 1;
  ready(); sleep(90); }"""
SEMAPHORES = """int main(int n, char **v) { int s = atoi(v[1]); struct sembuf a = {0, -1, 0}, b = {1, -1, 0}; (void)n; ready();
  if (fork() == 0) { semop(s, &a, 1); b.sem_op = 1; semop(s, &b, 1); _exit(0); } semop(s, &b, 1); a.sem_op = 1; semop(s, &a, 1); wait(0); }"""
QUEUE = "int main(int n, char **v) { struct { long t; char c; } x; (void)n; ready(); msgrcv(atoi(v[1]), &x, 1, 0, 0); }"
TIMERFD = """int main(void) { int t = timerfd_create(CLOCK_MONOTONIC, 0), e = epoll_create1(0); struct epoll_event v = {EPOLLIN, {0}};
  struct itimerspec s = {{0, 0}, {%s, 0}}, off = {{0, 0}, {0, 0}}; timerfd_settime(t, 0, &s, 0); if (%s) timerfd_settime(t, 0, &off, 0);
  epoll_ctl(e, EPOLL_CTL_ADD, t, &v); ready(); epoll_wait(e, &v, 1, -1); }"""
POSIX_TIMER = """int main(void) { timer_t t; struct sigevent e = {0}; struct itimerspec s = {{0, 0}, {80, 0}}; sigset_t set; int got;
  e.sigev_notify = SIGEV_SIGNAL; e.sigev_signo = SIGRTMIN; sigemptyset(&set); sigaddset(&set, SIGRTMIN); sigprocmask(SIG_BLOCK, &set, 0);
  timer_create(CLOCK_MONOTONIC, &e, &t); timer_settime(t, 0, &s, 0); if (%s) timer_delete(t); ready(); sigwait(&set, &got); }"""
ITIMER = """#include <sys/time.h>
static void on(int s) { (void)s; _exit(0); }
int main(void) { struct itimerval t = {{0, 0}, {70, 0}}; int p[2]; char c; pipe(p); signal(SIGALRM, on); setitimer(ITIMER_REAL, &t, 0); ready(); read(p[0], &c, 1); }"""
EVENTFD = "int main(void) { uint64_t n; int e = eventfd(0, 0); ready(); read(e, &n, 8); }"


def _mapped(stage: Stage) -> list[str]:
    actor = stage.cc(C_HEAD + MAPPED)
    held = stage.outsider(f"exec {actor} {stage.dir}/mutex $UP")
    return ["sh", "-c", f"{held}; exec {actor} {stage.dir}/mutex"]


def _semaphores(stage: Stage) -> list[str]:
    libc = ctypes.CDLL(None, use_errno=True)
    made = libc.semget(0, 2, 0o600)
    if made < 0:
        raise OSError(ctypes.get_errno(), "semget")
    stage.endings.append(lambda: libc.semctl(made, 0, 0))  # IPC_RMID
    return [stage.cc(C_HEAD + SEMAPHORES), str(made)]


def _queue(stage: Stage) -> list[str]:
    libc = ctypes.CDLL(None, use_errno=True)
    made = libc.msgget(0x20000000 | os.getpid(), 0o1600)
    if made < 0:
        raise OSError(ctypes.get_errno(), "msgget")
    stage.endings.append(lambda: libc.msgctl(made, 0, None))
    return [stage.cc(C_HEAD + QUEUE), str(made)]


CC = ("cc",)
C_SCENARIOS = (
    Scenario("c-shared-mutex-owner-died", "hung", ("deadlock", "lock"), lambda s: [s.cc(C_HEAD + DEAD_OWNER)], ready=R, needs=CC),
    Scenario("c-shared-mutexes-crossed", "hung", ("deadlock", "lock"), lambda s: [s.cc(C_HEAD + SHARED_ORDER)], ready=R, needs=CC),
    Scenario("c-shared-mutex-held-outside", "alive", ("deadlock", "lock", "unknown"), _mapped, ready=R, needs=CC),
    Scenario("c-robust-mutex-taken-over", "alive", ("timer",), lambda s: [s.cc(C_HEAD + ROBUST)], ready=R, needs=CC),
    Scenario("c-semaphores-crossed", "hung", ("deadlock", "lock"), _semaphores, ready=R, needs=CC),
    Scenario("c-message-queue-with-a-key", "ambiguous", ("idle", "unknown", "lock", "input"), _queue, ready=R, needs=CC),
    Scenario("c-timerfd-disarmed", "hung", ("idle", "deadlock"), lambda s: [s.cc(C_HEAD + TIMERFD % ("80", "1"))], ready=R, needs=CC),
    Scenario("c-timerfd-in-epoll-80s", "alive", ("timer",), lambda s: [s.cc(C_HEAD + TIMERFD % ("80", "0"))], ready=R, needs=CC),
    Scenario("c-posix-timer-80s", "alive", ("timer", "idle"), lambda s: [s.cc(C_HEAD + POSIX_TIMER % "0")], ready=R, needs=CC),
    # Was "hung": it waits for a real-time signal, and any process may send one.
    Scenario("c-posix-timer-deleted", "ambiguous", ("idle",), lambda s: [s.cc(C_HEAD + POSIX_TIMER % "1")], ready=R, needs=CC),
    Scenario("c-itimer-70s-over-own-pipe", "alive", ("timer", "deadlock", "pipe_cycle", "idle"), lambda s: [s.cc(C_HEAD + ITIMER)], ready=R, needs=CC),
    Scenario("c-own-eventfd", "hung", ("deadlock", "idle"), lambda s: [s.cc(C_HEAD + EVENTFD)], ready=R, needs=CC, never="a lock"),
)  # fmt: skip

COMPILED = GO_SCENARIOS + RUST_SCENARIOS + JAVA_SCENARIOS + OTHER_RUNTIMES + C_SCENARIOS
