# ruff: noqa: E501 - one scenario a line reads as the table it is
"""Threads, pools, channels and children in fifteen languages, live and hung, as programs of every day use them."""

from __future__ import annotations

import json

from tests.zoo.scenario import Scenario, Stage
from tests.zoo.third_compiled import NOTIFY

R = b"READY"

GO_COND = (
    NOTIFY
    + 'func main() { watch(); var m sync.Mutex; c := sync.NewCond(&m); fmt.Println("READY"); m.Lock(); c.Wait() }'
)
GO_PIPELINE = (
    NOTIFY
    + """
func main() { watch(); in, out := make(chan int), make(chan int)
  go func() { for i := 0; i < 9; i++ { in <- i } }(); go func() { for v := range in { out <- v } ; close(out) }()
  fmt.Println("READY"); for range out { } }
"""
)
GO_CHILD_STDIN = """
func main() { c := exec.Command("cat"); c.Stdin = os.Stdin; fmt.Println("READY"); c.Run() }
"""
GO_BACKOFF = """
func main() { done := make(chan int); fmt.Println("READY"); for i := 0; i < 9; i++ { select { case <-done: case <-time.After(40 * time.Second): } } }
"""
GO_CHILD_SLEEPS = 'func main() { fmt.Println("READY"); exec.Command("sleep", "70").Run() }'
GO_ONE_WORKS = """
func main() { work, done := make(chan int), make(chan int); for i := 0; i < 6; i++ { go func() { <-work }() }
  go func() { x := []int{}; for { x = append(x, len(x)); if len(x) > 1<<22 { x = nil } } }(); fmt.Println("READY"); <-done }
"""
GO_TRICKLE = """
func main() { c, _ := net.Dial("tcp", os.Args[1]); fmt.Println("READY"); io.Copy(io.Discard, c) }
"""

RUST_RECV = """
use std::sync::mpsc::channel;
fn main() { let (tx, rx) = channel::<u8>(); let t = std::thread::spawn(move || rx.recv()); println!("READY"); let _ = t.join(); drop(tx); }
"""
RUST_RWLOCK = """
use std::sync::RwLock;
fn main() { let l = RwLock::new(1); let _r = l.read().unwrap(); println!("READY"); let _w = l.write().unwrap(); }
"""
RUST_BARRIER = """
use std::sync::{Arc, Barrier};
fn main() { let b = Arc::new(Barrier::new(4)); let all: Vec<_> = (0..2).map(|_| { let b = b.clone(); std::thread::spawn(move || { b.wait(); }) }).collect();
  println!("READY"); b.wait(); for t in all { t.join().unwrap(); } }
"""
RUST_WORKS = """
fn main() { println!("READY"); std::thread::spawn(|| loop { let v: Vec<u64> = (0..3_000_000).rev().collect(); std::hint::black_box(v); }).join().unwrap(); }
"""
RUST_AGAIN = """
use std::sync::{Condvar, Mutex}; use std::time::Duration;
fn main() { let (m, c) = (Mutex::new(0), Condvar::new()); println!("READY");
  for _ in 0..9 { let g = m.lock().unwrap(); let _ = c.wait_timeout(g, Duration::from_secs(50)).unwrap(); } }
"""


def _main(name: str, body: str) -> tuple[str, str]:
    head = "import java.util.*; import java.util.concurrent.*; import java.io.*;\n"
    return name, f"{head}public class {name} {{ public static void main(String[] x) throws Exception {{ {body} }} }}\n"


JAVA_LATCH = _main(
    "Latch",
    "ExecutorService e = Executors.newFixedThreadPool(8); for (int i = 0; i < 8; i++) e.submit(() -> 1).get();"
    ' System.out.println("READY"); new CountDownLatch(1).await();',
)
JAVA_RING = _main(
    "Ring",
    "Object[] o = {new Object(), new Object(), new Object()}; CyclicBarrier b = new CyclicBarrier(3);"
    " for (int i = 0; i < 3; i++) { int n = i; new Thread(() -> { synchronized (o[n]) { try { b.await(); } catch (Exception e) { }"
    ' synchronized (o[(n + 1) % 3]) { } } }).start(); } System.out.println("READY");',
)
JAVA_FUTURE = _main(
    "Later", 'CompletableFuture<Integer> f = new CompletableFuture<>(); System.out.println("READY"); f.join();'
)
JAVA_STREAM = _main(
    "Computes",
    'System.out.println("READY"); for (;;) { double s = 0; for (Object d : new Random().doubles(200000).boxed().sorted().toArray()) s += (Double) d; }',
)
JAVA_POOL = _main(
    "Pool",
    "CountDownLatch l = new CountDownLatch(1); ExecutorService e = Executors.newFixedThreadPool(4);"
    " e.submit(() -> { Thread.sleep(80_000); l.countDown(); return 1; });"
    ' System.out.println("READY"); l.await(); e.shutdown();',
)
JAVA_CHILD = _main(
    "Lines",
    'Process p = new ProcessBuilder("sh", "-c", "while :; do echo step; sleep 1; done").start(); System.out.println("READY");'
    " BufferedReader r = p.inputReader(); while (r.readLine() != null) { }",
)

NODE_WORKER_IDLE = (
    "const {Worker}=require('worker_threads');new Worker(\"require('worker_threads').parentPort.on('message',()=>{})\",{eval:true});"
    "console.log('READY')"
)
NODE_WORKER_BUSY = (
    "const {Worker}=require('worker_threads');new Worker(\"for(;;){const a=[];for(let i=0;i<1e5;i++)a.push({i});a.sort()}\",{eval:true});"
    "console.log('READY')"
)
NODE_LINE = "const r=require('readline').createInterface({input:process.stdin,output:process.stdout});r.question('Scope: ',()=>{})"
NODE_FORK = (
    "if(process.argv[1]=='c'){process.on('message',()=>{})}else{const p=require('child_process').fork(__filename,['c']);"
    "p.on('message',()=>process.exit());console.log('READY')}"
)
NODE_WATCH = (
    "const fs=require('fs');fs.watch('.',{recursive:true},()=>{});"
    "require('http').createServer((q,r)=>r.end()).listen(0,'127.0.0.1',()=>console.log('READY'))"
)

PY_JOIN = """
import queue, threading
q = queue.Queue(); [threading.Thread(target=q.get, daemon=True).start() for _ in range(4)]; q.put(1); print("READY"); q.join()
"""
PY_ASYNC_LOCK = """
import asyncio
async def main():
    lock = asyncio.Lock(); await lock.acquire(); print("READY"); await lock.acquire()
asyncio.run(main())
"""
PY_GATHER = """
import asyncio
async def main():
    e = asyncio.Event()
    async def later(): await asyncio.sleep(70); e.set()
    print("READY"); await asyncio.gather(e.wait(), e.wait(), later())
asyncio.run(main())
"""
PY_CRON = "import time\nprint('READY')\nwhile True: time.sleep(60 - time.time() % 60 + 30)"
PY_MINUTE = """
import subprocess
p = subprocess.Popen(["sh", "-c", "while :; do sleep 60; echo line; done"], stdout=-1, text=True); print("READY")
for line in p.stdout: pass
"""
XDIST_LOCK = "import threading\ndef test_a():\n    l = threading.Lock(); l.acquire(); open('begun', 'w').close(); l.acquire()\ndef test_b(): pass\n"
XDIST_SLOW = "import time\ndef test_a():\n    open('begun', 'w').close(); time.sleep(90)\ndef test_b(): pass\n"


def _xdist(stage: Stage, source: str) -> list[str]:
    stage.write("test_it.py", source)
    flags = f"-p no:randomly -p no:cacheprovider -n 2 --rootdir {stage.dir} -c /dev/null"
    begun = "until [ -e begun ]; do sleep 0.05; done; echo READY"
    return ["sh", "-c", f"cd {stage.dir}; ({begun}) & {stage.python} -m pytest {flags} test_it.py"]


RUBY_WAIT = "r, w = IO.pipe; pid = fork { w.close; r.read }; $stdout.puts 'READY'; Process.wait pid; w.close"
RUBY_STDERR = "require 'open3'; i, o, e, t = Open3.popen3('seq 1 300000 >&2'); puts 'READY'; o.read; t.join"
RUBY_QUEUE_LATER = "q = Queue.new; Thread.new { sleep 65; q << 1 }; puts 'READY'; q.pop"
RUBY_SYSTEM = "puts 'READY'; system('sleep 75')"
PERL_THREADS = "use threads; use threads::shared; my $x :shared; my $t = async { lock $x; cond_wait $x; }; print qq(READY\\n); $t->join"
PERL_TRICKLE = "use IO::Socket::INET; my $s = IO::Socket::INET->new(q(127.0.0.1:) . $ARGV[0]); print qq(READY\\n); while (sysread $s, my $b, 99) {}"
PERL_FORKS = "for my $n (1..3) { if (!fork) { sleep 60 + $n; exit } } print qq(READY\\n); 1 while wait > 0"
PHP_FORK = '$p = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0); $c = pcntl_fork(); if (!$c) { fread($p[0], 1); exit; } echo "READY\\n"; pcntl_waitpid($c, $s); fwrite($p[1], "x");'
PHP_READLINE = "readline('Table to drop: ');"
PHP_WAITS = '$s = stream_socket_server("tcp://127.0.0.1:0"); echo "READY\\n"; for (;;) @stream_socket_accept($s, 45);'
PHP_STEPS = '$f = popen("while :; do echo step; sleep 1; done", "r"); echo "READY\\n"; while (fgets($f));'
CS = "using System; using System.Threading; using System.Threading.Tasks; using System.Diagnostics;\nclass Actor { "
CS_TASK = (
    CS + 'static void Main() { var t = new TaskCompletionSource<int>(); Console.WriteLine("READY"); t.Task.Wait(); } }'
)
CS_MONITOR = (
    CS
    + 'static object o = new object(); static void Main() { new Thread(() => { lock (o) Monitor.Wait(o); }).Start(); Console.WriteLine("READY"); } }'
)
CS_TIMER = (
    CS
    + 'static void Main() { var e = new ManualResetEvent(false); var t = new Timer(x => e.Set(), null, 70000, 0); Console.WriteLine("READY"); e.WaitOne(); GC.KeepAlive(t); } }'
)
CS_CHILD = (
    CS + 'static void Main() { var p = Process.Start("sleep", "70"); Console.WriteLine("READY"); p.WaitForExit(); } }'
)
HS_STM = """
import Control.Concurrent.MVar; import Control.Concurrent; import Foreign.StablePtr; import System.IO
main :: IO ()
main = do { a <- newEmptyMVar :: IO (MVar ()); b <- newEmptyMVar :: IO (MVar ()); _ <- newStablePtr a; _ <- newStablePtr b
          ; _ <- forkIO (takeMVar a >> putMVar b ()); putStrLn "READY"; hFlush stdout; takeMVar b; putMVar a () }
"""
HS_WORKS = """
import Control.Concurrent; import System.IO
main :: IO ()
main = do { d <- newEmptyMVar; _ <- forkIO (print (length (filter even (scanl (+) 1 [1 :: Integer ..]))) >> putMVar d ()); putStrLn "READY"; hFlush stdout; takeMVar d }
"""
OCAML_ORDER = """
let () = let a = Mutex.create () and b = Mutex.create () in
  let take x y = Mutex.lock x; Thread.delay 0.3; Mutex.lock y in
  let t = Thread.create (fun () -> take a b) () in print_string "READY\\n"; flush stdout; take b a; Thread.join t
"""
OCAML_EVENT = """
let () = let c : int Event.channel = Event.new_channel () in
  let t = Thread.create (fun () -> ignore (Event.sync (Event.receive c))) () in print_string "READY\\n"; flush stdout; Thread.join t
"""
OCAML_WORKS = """
let () = let t = Thread.create (fun () -> while true do ignore (List.sort compare (List.init 50000 (fun i -> i * 7919 mod 10007))) done) () in
  print_string "READY\\n"; flush stdout; Thread.join t
"""
ERL_WORKS = (
    'io:format("READY~n"), F = fun G(N) -> lists:sort([X rem 977 || X <- lists:seq(1, 20000)]), G(N + 1) end, F(0).'
)
ERL_LINES = 'P = open_port({spawn, "sh -c \'while :; do echo x; sleep 1; done\'"}, []), io:format("READY~n"), F = fun G() -> receive {P, _} -> G() end end, F().'
ELIXIR_TASK = 'IO.puts("READY"); Task.await(Task.async(fn -> Process.sleep(90_000) end), :infinity)'
ELIXIR_CALL = '{:ok, p} = Agent.start(fn -> 1 end); IO.puts("READY"); Agent.get(p, fn _ -> receive do :never -> 1 end end, :infinity)'
TCL_EXEC = "puts READY; exec sh -c {sleep 75}"
LUA_LINES = "local p = io.popen('while :; do echo x; sleep 1; done') print('READY') for l in p:lines() do end"

GO, RUST, JAVA, NODE = ("go",), ("rustc",), ("java", "javac"), ("node",)
MONO, GHC, OCAML, ERL = ("mono", "mcs"), ("ghc",), ("ocamlopt",), ("erl",)


def _node_file(stage: Stage, source: str) -> list[str]:
    return ["node", stage.write("actor.js", source.replace("process.argv[1]", "process.argv[2]"))]


def _node_watch(stage: Stage) -> list[str]:
    return ["node", "--watch", stage.write("watched.js", "console.log('READY')\n")]


def _npm_test(stage: Stage) -> list[str]:
    """`node --test` runs each file in a child; the test of this one waits for what never comes."""
    never = "require('node:test')('never', async () => { require('fs').writeFileSync('begun', ''); const h = setInterval(() => {}, 9e8); await new Promise(() => {}) })"
    stage.write("never.test.js", never)
    stage.write("package.json", json.dumps({"name": "zoo", "version": "1.0.0", "scripts": {"test": "node --test"}}))
    begun = "until [ -e begun ]; do sleep 0.05; done; echo READY"
    quiet = "npm_config_update_notifier=false npm_config_registry=http://127.0.0.1:9/"
    return ["sh", "-c", f"({begun}) & {quiet} npm test --silent"]


LANGUAGES = (
    Scenario("go-cond-never-signalled", "hung", ("deadlock",), lambda s: s.go(GO_COND, "fmt", "os", "os/signal", "sync"), ready=R, needs=GO),
    Scenario("go-pipeline-not-closed", "hung", ("deadlock",), lambda s: s.go(GO_PIPELINE, "fmt", "os", "os/signal"), ready=R, needs=GO),
    Scenario("go-child-reads-stdin", "hung", ("input",), lambda s: s.go(GO_CHILD_STDIN, "fmt", "os", "os/exec"), io="pipe", ready=R, needs=GO),
    Scenario("go-backoff-40s", "alive", ("timer",), lambda s: s.go(GO_BACKOFF, "fmt", "time"), ready=R, needs=GO),
    Scenario("go-child-sleeps-70s", "alive", ("timer",), lambda s: s.go(GO_CHILD_SLEEPS, "fmt", "os/exec"), ready=R, needs=GO),
    Scenario("go-one-of-many-works", "alive", ("progress", "busy"), lambda s: s.go(GO_ONE_WORKS, "fmt"), ready=R, needs=GO),
    Scenario("go-copies-a-trickle", "alive", ("progress", "network"), lambda s: [*s.go(GO_TRICKLE, "fmt", "io", "net", "os"), f"127.0.0.1:{s.server('beat')}"], ready=R, needs=GO),
    Scenario("rust-thread-receives-never", "hung", ("deadlock",), lambda s: s.rust(RUST_RECV), ready=R, needs=RUST),
    Scenario("rust-rwlock-upgraded", "hung", ("deadlock",), lambda s: s.rust(RUST_RWLOCK), ready=R, needs=RUST),
    Scenario("rust-barrier-one-missing", "hung", ("deadlock",), lambda s: s.rust(RUST_BARRIER), ready=R, needs=RUST),
    Scenario("rust-thread-works", "alive", ("progress", "busy"), lambda s: s.rust(RUST_WORKS), ready=R, needs=RUST),
    Scenario("rust-condvar-50s", "alive", ("timer",), lambda s: s.rust(RUST_AGAIN), ready=R, needs=RUST),
    Scenario("java-latch-over-an-idle-pool", "hung", ("deadlock",), lambda s: s.java(*JAVA_LATCH), ready=R, settle=1.0, needs=JAVA),
    Scenario("java-three-monitors", "hung", ("deadlock",), lambda s: s.java(*JAVA_RING), ready=R, settle=1.5, needs=JAVA),
    Scenario("java-future-never", "hung", ("deadlock",), lambda s: s.java(*JAVA_FUTURE), ready=R, settle=1.0, needs=JAVA),
    Scenario("java-computes", "alive", ("progress", "busy"), lambda s: s.java(*JAVA_STREAM), ready=R, needs=JAVA),
    Scenario("java-latch-over-a-sleeping-pool", "alive", ("timer",), lambda s: s.java(*JAVA_POOL), ready=R, settle=1.0, needs=JAVA),
    Scenario("java-reads-a-line-a-second", "alive", ("progress", "timer", "poll"), lambda s: s.java(*JAVA_CHILD), ready=R, needs=JAVA),
    # Two engines, and V8 looks after the memory of each in its own time.
    Scenario("node-worker-never-told", "hung", ("idle", "deadlock"), lambda s: s.node(NODE_WORKER_IDLE), ready=R, settle=28.0, needs=NODE),
    Scenario("node-forked-child-never-told", "hung", ("idle", "deadlock", "pipe_cycle"), lambda s: _node_file(s, NODE_FORK), ready=R, settle=18.0, needs=NODE),
    Scenario("node-readline-question", "hung", ("input",), lambda s: s.node(NODE_LINE), io="pty", ready=b"Scope: ", settle=18.0, needs=NODE, prompt="Scope:"),
    Scenario("node-worker-computes", "alive", ("progress", "busy"), lambda s: s.node(NODE_WORKER_BUSY), ready=R, needs=NODE),
    Scenario("node-watches-and-serves", "alive", ("listening",), lambda s: s.node(NODE_WATCH), ready=R, needs=NODE),
    Scenario("node-watch-mode", "alive", ("listening", "idle", "timer"), _node_watch, ready=R, needs=NODE),
    Scenario("npm-test-with-a-far-interval", "ambiguous", ("timer", "idle", "deadlock", "pipe_cycle"), _npm_test, ready=R, settle=2.0, needs=("npm",)),
    Scenario("python-queue-join", "hung", ("deadlock",), lambda s: s.py(PY_JOIN), ready=R),
    Scenario("python-asyncio-lock-twice", "hung", ("idle", "deadlock"), lambda s: s.py(PY_ASYNC_LOCK), ready=R),
    # Its controller asks every two seconds whether a worker has died, so "poll" was added to what is right.
    Scenario("pytest-xdist-test-deadlocks", "hung", ("deadlock", "pipe_cycle", "poll"), lambda s: _xdist(s, XDIST_LOCK), ready=R, settle=3.0),
    Scenario("pytest-xdist-test-sleeps", "alive", ("timer", "poll"), lambda s: _xdist(s, XDIST_SLOW), ready=R, settle=3.0),
    Scenario("python-gathers-a-sleeper", "alive", ("timer",), lambda s: s.py(PY_GATHER), ready=R),
    Scenario("python-cron-loop", "alive", ("timer",), lambda s: s.py(PY_CRON), ready=R),
    Scenario("python-line-a-minute", "alive", ("timer",), lambda s: s.py(PY_MINUTE), ready=R),
    Scenario("ruby-child-reads-our-pipe", "hung", ("pipe_cycle",), lambda s: s.ruby(RUBY_WAIT), ready=R, needs=("ruby",)),
    Scenario("ruby-open3-full-stderr", "hung", ("pipe_cycle",), lambda s: s.ruby(RUBY_STDERR), ready=R, needs=("ruby",)),
    Scenario("ruby-queue-filled-in-65s", "alive", ("timer",), lambda s: s.ruby(RUBY_QUEUE_LATER), ready=R, needs=("ruby",)),
    Scenario("ruby-system-sleep", "alive", ("timer",), lambda s: s.ruby(RUBY_SYSTEM), ready=R, needs=("ruby",)),
    Scenario("perl-threads-condition-never", "hung", ("deadlock",), lambda s: s.perl(PERL_THREADS), ready=R, needs=("perl",)),
    Scenario("perl-reads-a-trickle", "alive", ("progress", "network"), lambda s: [*s.perl(PERL_TRICKLE), str(s.server("beat"))], ready=R, needs=("perl",)),
    Scenario("perl-waits-for-sleeping-forks", "alive", ("timer",), lambda s: s.perl(PERL_FORKS), ready=R, needs=("perl",)),
    # Was "hung": PHP gives up reading a socket after 60 s (default_socket_timeout), and goes on.
    Scenario("php-fork-over-a-socketpair", "alive", ("timer",), lambda s: s.php(PHP_FORK), ready=R, needs=("php",)),
    Scenario("php-readline", "hung", ("input",), lambda s: s.php(PHP_READLINE), io="pty", ready=b"drop: ", needs=("php",), prompt="Table to drop:"),
    Scenario("php-accepts-for-45s-each", "alive", ("listening", "timer"), lambda s: s.php(PHP_WAITS), ready=R, needs=("php",)),
    Scenario("php-reads-a-line-a-second", "alive", ("progress", "timer", "poll"), lambda s: s.php(PHP_STEPS), ready=R, needs=("php",)),
    Scenario("csharp-task-never", "hung", ("deadlock",), lambda s: s.csharp(CS_TASK), ready=R, settle=1.0, needs=MONO),
    Scenario("csharp-monitor-wait-never", "hung", ("deadlock",), lambda s: s.csharp(CS_MONITOR), ready=R, settle=1.0, needs=MONO),
    Scenario("csharp-timer-70s", "alive", ("timer",), lambda s: s.csharp(CS_TIMER), ready=R, settle=1.0, needs=MONO),
    Scenario("csharp-waits-for-a-sleeper", "alive", ("timer",), lambda s: s.csharp(CS_CHILD), ready=R, settle=1.0, needs=MONO),
    Scenario("haskell-mvars-crossed", "hung", ("deadlock", "idle"), lambda s: s.haskell(HS_STM), ready=R, settle=1.0, needs=GHC),
    Scenario("haskell-thread-works", "alive", ("progress", "busy"), lambda s: s.haskell(HS_WORKS), ready=R, needs=GHC),
    Scenario("ocaml-mutex-order", "hung", ("deadlock",), lambda s: s.ocaml(OCAML_ORDER), ready=R, settle=1.5, needs=OCAML),
    Scenario("ocaml-event-never", "hung", ("deadlock",), lambda s: s.ocaml(OCAML_EVENT), ready=R, needs=OCAML),
    Scenario("ocaml-thread-works", "alive", ("progress", "busy"), lambda s: s.ocaml(OCAML_WORKS), ready=R, needs=OCAML),
    Scenario("erlang-works", "alive", ("progress", "busy"), lambda s: s.erlang(ERL_WORKS), ready=R, needs=ERL),
    Scenario("erlang-reads-a-line-a-second", "alive", ("progress", "timer", "poll"), lambda s: s.erlang(ERL_LINES), ready=R, settle=1.0, needs=ERL),
    Scenario("elixir-awaits-a-task-90s", "alive", ("timer",), lambda s: s.elixir(ELIXIR_TASK), ready=R, settle=1.5, needs=("elixir",)),
    Scenario("elixir-agent-never-answers", "hung", ("deadlock", "idle"), lambda s: s.elixir(ELIXIR_CALL), ready=R, settle=1.5, needs=("elixir",)),
    Scenario("tcl-exec-sleeps", "alive", ("timer",), lambda s: s.tcl(TCL_EXEC), ready=R, needs=("tclsh",)),
    Scenario("lua-reads-a-line-a-second", "alive", ("progress", "timer", "poll"), lambda s: s.lua(LUA_LINES), ready=R, needs=("lua5.4",)),
)  # fmt: skip
