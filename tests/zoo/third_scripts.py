# ruff: noqa: E501 - one scenario a line reads as the table it is
"""Ruby, Perl, PHP, Python, Node, Lua, Tcl, Erlang and Elixir: what their own schedulers hide from the kernel."""

from __future__ import annotations

import json

from tests.zoo.scenario import Scenario, Stage

R = b"READY"

# Ruby ends a program whose threads all sleep for ever; one that reads keeps it quiet.
RUBY_QUEUE = "r, w = IO.pipe; Thread.new { r.read }; q = Queue.new; puts 'READY'; q.pop; w.close"
RUBY_CONDITION = (
    "r, w = IO.pipe; m = Mutex.new; c = ConditionVariable.new; t = Thread.new { m.synchronize { c.wait(m) } }\n"
    "Thread.new { r.read }; puts 'READY'; t.join; w.close"
)
RUBY_MUTEX = (
    "m = Mutex.new; held = Queue.new; cat = IO.popen('cat', 'r+')\n"
    "Thread.new { m.synchronize { held << 1; cat.gets } }; held.pop; puts 'READY'; m.synchronize { cat.puts 'x' }"
)
RUBY_POPEN = "cat = IO.popen('cat', 'r+'); cat.write 'x'; puts 'READY'; cat.read"
RUBY_JOIN = "t = Thread.new { sleep 80 }; puts 'READY'; t.join"
RUBY_TIMEOUT = "require 'timeout'; puts 'READY'; Timeout.timeout(90) { Queue.new.pop }"
RUBY_SERVE = "require 'socket'; s = TCPServer.new('127.0.0.1', 0); puts 'READY'; s.accept"
# It is ready when its heap has found its size: until then it takes new memory, and is seen to work.
RUBY_WORKS = (
    "$n = 0; Thread.new { loop { (1..60_000).map { |i| i.to_s * 9 }.sort; puts 'READY' if ($n += 1) == 25 } }.join"
)
RUBY = ("ruby",)
RUBY_SCENARIOS = (
    Scenario("ruby-queue-pop", "hung", ("deadlock", "pipe_cycle", "idle"), lambda s: s.ruby(RUBY_QUEUE), ready=R, needs=RUBY),
    Scenario("ruby-condition-never", "hung", ("deadlock", "pipe_cycle", "idle"), lambda s: s.ruby(RUBY_CONDITION), ready=R, needs=RUBY),
    Scenario("ruby-mutex-over-a-child", "hung", ("deadlock", "pipe_cycle"), lambda s: s.ruby(RUBY_MUTEX), ready=R, needs=RUBY),
    Scenario("ruby-popen-not-closed", "hung", ("pipe_cycle",), lambda s: s.ruby(RUBY_POPEN), ready=R, needs=RUBY),
    # Was labelled hung. Ruby handles all signals, so nothing tells a program that one of them wakes (`trap`) from this one.
    Scenario("ruby-sleep-for-ever", "ambiguous", ("idle", "deadlock"), lambda s: s.ruby("puts 'READY'; sleep"), ready=R, needs=RUBY),
    Scenario("ruby-gets", "hung", ("input",), lambda s: s.ruby("print 'Gem name: '; $stdin.gets"), io="pty", ready=b"name: ", needs=RUBY, prompt="Gem name:"),
    Scenario("ruby-gets-in-a-thread", "hung", ("input",), lambda s: s.ruby("t = Thread.new { print 'Really drop it? '; $stdin.gets }; t.join"), io="pty", ready=b"it? ", needs=RUBY, prompt="Really drop it?"),
    Scenario("ruby-irb", "hung", ("input",), lambda _: ["irb", "-f", "--nomultiline", "--nosingleline"], io="pty", ready=b"irb(main)", needs=("irb",), prompt="irb(main)"),
    # It has asked the terminal where its cursor is, and a terminal that nobody looks at does not answer.
    Scenario("ruby-irb-asks-the-terminal", "hung", ("input",), lambda _: ["irb", "-f"], io="pty", ready=b"\x1b[6n", needs=("irb",)),
    Scenario("ruby-stdin-pipe", "hung", ("input",), lambda s: s.ruby("puts 'READY'; $stdin.read"), io="pipe", ready=R, needs=RUBY),
    Scenario("ruby-sleep-80s", "alive", ("timer",), lambda s: s.ruby("puts 'READY'; sleep 80"), ready=R, needs=RUBY),
    Scenario("ruby-joins-a-sleeper", "alive", ("timer",), lambda s: s.ruby(RUBY_JOIN), ready=R, needs=RUBY),
    Scenario("ruby-timeout-90s", "alive", ("timer",), lambda s: s.ruby(RUBY_TIMEOUT), ready=R, needs=RUBY),
    Scenario("ruby-tcp-server", "alive", ("listening",), lambda s: s.ruby(RUBY_SERVE), ready=R, needs=RUBY),
    Scenario("ruby-thread-works", "alive", ("progress", "busy"), lambda s: s.ruby(RUBY_WORKS), ready=R, needs=RUBY),
)  # fmt: skip

PERL_OPEN3 = "use IPC::Open3; my $p = open3(my $in, my $out, undef, 'sh', '-c', 'seq 1 300000'); print qq(READY\\n); waitpid $p, 0"
# The usual way to bound one step, and it is over: no handler, no alarm, and nothing left that could wake it.
PERL_ALARM_OVER = (
    "eval { local $SIG{ALRM} = sub { die }; alarm 50; my $x = 1; alarm 0; }; pipe R, W; print qq(READY\\n); <R>"
)
PERL_ALARM_KILLS = "alarm 90; print qq(READY\\n); exec 'cat'"
PERL_FORK_PIPE = (
    "pipe R, W; my $p = fork; if (!$p) { my $x = <R>; exit } print qq(READY\\n); waitpid $p, 0; print W 'x'"
)
PERL_SELECT = "print qq(READY\\n); select undef, undef, undef, 75"
PERL_LINES = (
    "my $p = open my $f, '-|', q(while :; do echo step; sleep 1; done); print qq(READY\\n); while (<$f>) { $n++ }"
)
PERL = ("perl",)
PERL_SCENARIOS = (
    Scenario("perl-open3-full-pipe", "hung", ("pipe_cycle",), lambda s: s.perl(PERL_OPEN3), ready=R, needs=PERL),
    Scenario("perl-alarm-is-over", "hung", ("deadlock", "pipe_cycle"), lambda s: s.perl(PERL_ALARM_OVER), ready=R, needs=PERL, never="a lock"),
    Scenario("perl-child-reads-our-pipe", "hung", ("pipe_cycle",), lambda s: s.perl(PERL_FORK_PIPE), ready=R, needs=PERL),
    Scenario("perl-alarm-will-kill-cat", "ambiguous", ("input", "timer"), lambda s: s.perl(PERL_ALARM_KILLS), io="pipe", ready=R, needs=PERL),
    Scenario("perl-select-75s", "alive", ("timer",), lambda s: s.perl(PERL_SELECT), ready=R, needs=PERL),
    Scenario("perl-reads-a-line-a-second", "alive", ("progress", "timer", "poll"), lambda s: s.perl(PERL_LINES), ready=R, needs=PERL),
)  # fmt: skip

PHP_FLOCK = "$a = fopen('own.lock', 'c'); flock($a, LOCK_EX); $b = fopen('own.lock', 'c'); echo \"READY\\n\"; flock($b, LOCK_EX);"
PHP_SELECT = (
    "$p = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0); $r = [$p[0]]; $w = $e = null;"
    ' echo "READY\\n"; stream_select($r, $w, $e, null);'
)
PHP_STDERR = (
    "$p = proc_open(['sh', '-c', 'seq 1 300000 >&2'], [1 => ['pipe', 'w'], 2 => ['pipe', 'w']], $pipes);"
    ' echo "READY\\n"; stream_get_contents($pipes[1]);'
)
PHP_ASK = "echo 'Composer package: '; fgets(STDIN);"
PHP = ("php",)


def _php_serve(stage: Stage) -> list[str]:
    stage.write("index.php", "<?php echo 1;")
    return ["sh", "-c", f"exec php -S 127.0.0.1:0 -t {stage.dir} 2>&1"]


def _php_outside(stage: Stage) -> list[str]:
    lock = stage.write("deploy.lock", "")
    held = stage.outsider(f"exec flock {lock} sh -c 'touch {stage.dir}/up0; sleep 60; exec sleep 60'")
    code = f"$f = fopen('{lock}', 'c'); echo \"READY\\n\"; flock($f, LOCK_EX);"
    return ["sh", "-c", f'{held}; exec php -r "$0"', code]


PHP_SCENARIOS = (
    Scenario("php-flock-own-file-twice", "hung", ("lock", "deadlock"), lambda s: s.php(PHP_FLOCK), ready=R, needs=PHP, prompt="own.lock"),
    Scenario("php-select-own-pair", "hung", ("deadlock", "pipe_cycle", "idle"), lambda s: s.php(PHP_SELECT), ready=R, needs=PHP),
    Scenario("php-stderr-fills-up", "hung", ("pipe_cycle",), lambda s: s.php(PHP_STDERR), ready=R, needs=PHP),
    Scenario("php-fgets", "hung", ("input",), lambda s: s.php(PHP_ASK), io="pty", ready=b"package: ", needs=PHP, prompt="Composer package:"),
    Scenario("php-stdin-pipe", "hung", ("input",), lambda s: s.php('echo "READY\\n"; while (fgets(STDIN));'), io="pipe", ready=R, needs=PHP),
    Scenario("php-flock-held-outside-60s", "alive", ("lock",), _php_outside, ready=R, needs=("php", "flock"), prompt="deploy.lock"),
    Scenario("php-sleep-90s", "alive", ("timer",), lambda s: s.php('echo "READY\\n"; sleep(90);'), ready=R, needs=PHP),
    Scenario("php-built-in-server", "alive", ("listening",), _php_serve, ready=b"started", needs=PHP),
)  # fmt: skip

PY_SEMAPHORE = """
import multiprocessing as m
def other(a, b, up):
    a.acquire(); up.set(); b.acquire()
if __name__ == "__main__":
    m.set_start_method("fork"); a, b, up = m.Lock(), m.Lock(), m.Event()
    b.acquire(); p = m.Process(target=other, args=(a, b, up)); p.start(); up.wait(); print("READY"); a.acquire()
"""
PY_UNREAD_QUEUE = """
import multiprocessing as m
def work(q): q.put(b"x" * 3_000_000)
if __name__ == "__main__":
    m.set_start_method("fork"); q = m.Queue(); p = m.Process(target=work, args=(q,)); p.start(); print("READY"); p.join(); q.get()
"""
PY_FORKED_LOCK = """
import os, threading, time
lock = threading.Lock(); held = threading.Event(); go = threading.Event()
def holder():
    with lock: held.set(); go.wait()
t = threading.Thread(target=holder); t.start(); held.wait()
if (pid := os.fork()) == 0:
    print("READY"); lock.acquire(); os._exit(0)
go.set(); t.join(); os.waitpid(pid, 0)
"""
PY_STARVED = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(1) as pool:
    def outer(): print("READY"); return pool.submit(int).result()
    pool.submit(outer).result()
"""
PY_POOL = """
import multiprocessing as m
def work(n): lock.acquire(); return n
def begin(l): global lock; lock = l
if __name__ == "__main__":
    m.set_start_method("fork"); l = m.Lock()
    with m.Pool(2, begin, (l,)) as pool:
        got = pool.imap_unordered(work, range(2)); next(got); print("READY"); next(got)
"""
PY_ASYNC_CHILD = """
import asyncio
async def main():
    p = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1); p.stdin.write(b"x"); await p.stdin.drain()
    print("READY"); await p.stdout.read(); p.stdin.close()
asyncio.run(main())
"""
PY_ASYNC_ASK = "import asyncio\nasync def m(): await asyncio.to_thread(input, 'Continue with main? ')\nasyncio.run(m())"
PY_OWN_PAIR = "import socket; a, b = socket.socketpair(); print('READY'); a.recv(1)"
PY_EVENT = "import threading; print('READY'); threading.Event().wait(70)"
PY_TRICKLE = """
import subprocess, sys
p = subprocess.Popen(["sh", "-c", "while :; do echo line; sleep 1; done"], stdout=-1); print("READY")
for line in p.stdout: pass
"""
PY_TIMER_OVER_LOCK = """
import signal, threading
def late(*a): raise TimeoutError
signal.signal(signal.SIGALRM, late); signal.setitimer(signal.ITIMER_REAL, 60); print("READY"); l = threading.Lock(); l.acquire(); l.acquire()
"""
PY_PIDFD = """
import os, select, sys
fd = os.pidfd_open(int(open(sys.argv[1]).read())); print("READY"); select.select([fd], [], [])
"""
PY_SERVER = "import http.server as h; s = h.ThreadingHTTPServer(('127.0.0.1', 0), h.SimpleHTTPRequestHandler); print('READY', flush=True); s.serve_forever()"
# A development tool: its own connection to somebody outside stays silent, the server that it is for is its child.
PY_WRAPPER = """
import socket, subprocess, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1]))); p = subprocess.Popen([sys.executable, "-u", "-c", sys.argv[2]]); s.recv(1)
"""


def _file(stage: Stage, source: str) -> list[str]:
    return [stage.python, "-u", stage.write("actor.py", source)]


def _pdb(stage: Stage) -> list[str]:
    return [stage.python, "-m", "pdb", stage.write("debugged.py", "x = 1\nprint(x)\n")]


def _pidfd(stage: Stage) -> list[str]:
    up = stage.outsider("echo $$ > $UP.new; mv $UP.new $UP; exec sleep 90")
    return ["sh", "-c", f'{up}; exec "$@"', "sh", *stage.py(PY_PIDFD), str(stage.dir / "up0")]


def _wrapper(stage: Stage) -> list[str]:
    return [*stage.py(PY_WRAPPER), str(stage.server("silent")), PY_SERVER]


PYTHON_SCENARIOS = (
    Scenario("python-process-locks-crossed", "hung", ("deadlock", "lock"), lambda s: _file(s, PY_SEMAPHORE), ready=R),
    Scenario("python-joins-before-get", "hung", ("pipe_cycle",), lambda s: _file(s, PY_UNREAD_QUEUE), ready=R),
    Scenario("python-forked-with-a-lock", "hung", ("deadlock",), lambda s: s.py(PY_FORKED_LOCK), ready=R, settle=1.0),
    Scenario("python-pool-starves-itself", "hung", ("deadlock",), lambda s: s.py(PY_STARVED), ready=R),
    Scenario("python-pool-lock-not-released", "hung", ("deadlock", "lock", "pipe_cycle", "poll"), lambda s: _file(s, PY_POOL), ready=R),
    Scenario("python-asyncio-cat", "hung", ("pipe_cycle",), lambda s: s.py(PY_ASYNC_CHILD), ready=R),
    Scenario("python-own-socketpair", "hung", ("deadlock", "pipe_cycle"), lambda s: s.py(PY_OWN_PAIR), ready=R, never="a lock"),
    Scenario("python-asyncio-input", "hung", ("input",), lambda s: s.py(PY_ASYNC_ASK), io="pty", ready=b"main? ", prompt="Continue with main?"),
    Scenario("python-m-pdb", "hung", ("input",), _pdb, io="pty", ready=b"(Pdb)", prompt="(Pdb)"),
    Scenario("python-event-70s", "alive", ("timer",), lambda s: s.py(PY_EVENT), ready=R),
    Scenario("python-line-a-second", "alive", ("progress", "timer", "poll"), lambda s: s.py(PY_TRICKLE), ready=R),
    Scenario("python-itimer-over-lock", "alive", ("timer", "deadlock"), lambda s: s.py(PY_TIMER_OVER_LOCK), ready=R),
    Scenario("python-pidfd-of-a-stranger", "alive", ("idle", "unknown", "timer"), _pidfd, ready=R, never="child"),
    Scenario("python-child-serves", "alive", ("listening",), _wrapper, ready=R),
)  # fmt: skip

# V8 looks once or twice, 8 s apart, whether memory can be given back. Until then its loop has a timeout, like a timer of
# the program.
V8 = 18.0
NODE_CHILD = (
    "const p=require('child_process').spawn('cat');p.stdin.write('x');p.on('close',()=>{});console.log('READY')"
)
NODE_EXEC_SYNC = "console.log('READY');require('child_process').execSync('cat',{stdio:['inherit','pipe','inherit']})"
NODE_SPAWN_FULL = (
    "const p=require('child_process').spawn('sh',['-c','seq 1 300000']);p.stdout.pause();"
    "p.on('close',()=>{});console.log('READY')"
)
NODE_INTERVAL = "console.log('READY');setInterval(()=>{},45000)"
NODE_WATCH_FILE = "require('fs').watchFile('/etc/hostname',{interval:2000},()=>{});console.log('READY')"
NODE_KEEP_ALIVE = "const s=require('net').connect(%d,'127.0.0.1',()=>{s.setKeepAlive(true);console.log('READY')})"
NODE_TRICKLE = "let n=0;require('net').connect(%d,'127.0.0.1',()=>console.log('READY')).on('data',d=>n+=d.length)"
NODE = ("node",)


def _npm(stage: Stage, script: str) -> list[str]:
    stage.write("package.json", json.dumps({"name": "zoo", "version": "1.0.0", "scripts": {"it": script}}))
    # It would ask its registry for a newer npm: nothing here talks to anybody beyond this machine.
    quiet = ("npm_config_update_notifier=false", "npm_config_registry=http://127.0.0.1:9/")
    return ["env", *quiet, "npm", "run", "--silent", "it"]


def _npm_serves(stage: Stage) -> list[str]:
    stage.write("serve.js", "require('http').createServer(()=>{}).listen(0,'127.0.0.1',()=>console.log('READY'))")
    return _npm(stage, "node serve.js")


NODE_SCENARIOS = (
    Scenario("node-cat-stdin-open", "hung", ("pipe_cycle",), lambda s: s.node(NODE_CHILD), ready=R, needs=NODE),
    Scenario("node-pauses-child-output", "hung", ("pipe_cycle",), lambda s: s.node(NODE_SPAWN_FULL), ready=R, needs=NODE),
    Scenario("node-exec-sync-reads-stdin", "hung", ("input",), lambda s: s.node(NODE_EXEC_SYNC), io="pipe", ready=R, needs=NODE),
    Scenario("npm-run-asks", "hung", ("input",), lambda s: _npm(s, "printf 'Publish to latest? [y/N] '; read answer"), io="pty", ready=b"[y/N]", settle=V8, needs=("npm",), prompt="Publish to latest?"),
    Scenario("npm-run-serves", "alive", ("listening",), _npm_serves, ready=R, settle=1.0, needs=("npm",)),
    Scenario("node-interval-45s", "alive", ("timer",), lambda s: s.node(NODE_INTERVAL), ready=R, needs=NODE),
    Scenario("node-watch-file", "alive", ("listening", "timer", "poll"), lambda s: s.node(NODE_WATCH_FILE), ready=R, needs=NODE),
    Scenario("node-six-bytes-a-second", "alive", ("progress", "network"), lambda s: s.node(NODE_TRICKLE % s.server("beat")), ready=R, needs=NODE),
    Scenario("node-keep-alive-silent", "ambiguous", ("network",), lambda s: s.node(NODE_KEEP_ALIVE % s.server("silent")), ready=R, needs=NODE),
    Scenario("node-inspect-brk", "ambiguous", ("listening", "idle"), lambda _: ["node", "--inspect-brk=127.0.0.1:0", "-e", "1"], ready=b"listening", needs=NODE),
)  # fmt: skip

ERL_RECEIVE = 'io:format("READY~n"), receive never -> ok end.'
ERL_CALL = (
    'P = spawn(fun() -> receive never -> ok end end), io:format("READY~n"), gen_server:call(P, please, infinity).'
)
ERL_SLEEP = 'io:format("READY~n"), timer:sleep(80000), halt().'
ERL_SERVE = '{ok, L} = gen_tcp:listen(0, [{ip, {127,0,0,1}}]), io:format("READY~n"), gen_tcp:accept(L).'
ELIXIR_RECEIVE = 'IO.puts("READY"); receive do :never -> 1 end'
ELIXIR_ASK = 'IO.gets("Application name: ")'
ELIXIR_SLEEP = 'IO.puts("READY"); Process.sleep(80_000)'
TCL_SERVE = "socket -server {apply {args {}}} -myaddr 127.0.0.1 0; puts READY; vwait never"
TCL_TRICKLE = "set f [open {|sh -c {while :; do echo tick; sleep 1; done}}]; fileevent $f readable {gets $f line}; puts READY; vwait never"
LUA_CAT = "local p = io.popen('cat', 'r'); print('READY'); p:read('a')"
ERL, ELIXIR, TCL, LUA = ("erl",), ("elixir",), ("tclsh",), ("lua5.4",)
MORE_SCENARIOS = (
    Scenario("erlang-receive-never", "hung", ("deadlock", "idle"), lambda s: s.erlang(ERL_RECEIVE), ready=R, settle=1.5, needs=ERL),
    Scenario("erlang-call-never-answered", "hung", ("deadlock", "idle"), lambda s: s.erlang(ERL_CALL), ready=R, settle=1.5, needs=ERL),
    Scenario("erlang-shell", "hung", ("input",), lambda _: ["erl", "-boot", "start_clean"], io="pty", ready=b"1> ", settle=1.5, needs=ERL, prompt="1>"),
    Scenario("erlang-sleep-80s", "alive", ("timer",), lambda s: s.erlang(ERL_SLEEP), ready=R, settle=1.5, needs=ERL),
    Scenario("erlang-accepts", "alive", ("listening",), lambda s: s.erlang(ERL_SERVE), ready=R, settle=1.5, needs=ERL),
    Scenario("elixir-receive-never", "hung", ("deadlock", "idle"), lambda s: s.elixir(ELIXIR_RECEIVE), ready=R, settle=1.5, needs=ELIXIR),
    Scenario("elixir-gets", "hung", ("input",), lambda s: s.elixir(ELIXIR_ASK), io="pty", ready=b"name: ", settle=1.5, needs=ELIXIR, prompt="Application name:"),
    Scenario("elixir-sleep-80s", "alive", ("timer",), lambda s: s.elixir(ELIXIR_SLEEP), ready=R, settle=1.5, needs=ELIXIR),
    Scenario("tcl-vwait-for-ever", "hung", ("idle", "deadlock"), lambda s: s.tcl("puts READY; vwait never"), ready=R, needs=TCL),
    Scenario("tcl-gets", "hung", ("input",), lambda s: s.tcl("puts -nonewline {Port number: }; gets stdin"), io="pty", ready=b"number: ", needs=TCL, prompt="Port number:"),
    Scenario("tcl-after-60s", "alive", ("timer",), lambda s: s.tcl("after 60000 {set done 1}; puts READY; vwait done"), ready=R, needs=TCL),
    Scenario("tcl-server", "alive", ("listening",), lambda s: s.tcl(TCL_SERVE), ready=R, needs=TCL),
    Scenario("tcl-reads-a-line-a-second", "alive", ("progress", "timer", "poll"), lambda s: s.tcl(TCL_TRICKLE), ready=R, needs=TCL),
    Scenario("lua-io-read", "hung", ("input",), lambda s: s.lua("io.write('Rock name: ') io.read()"), io="pty", ready=b"name: ", needs=LUA, prompt="Rock name:"),
    Scenario("lua-popen-cat", "hung", ("input",), lambda s: s.lua(LUA_CAT), io="pipe", ready=R, needs=LUA),
    Scenario("lua-execute-sleep", "alive", ("timer",), lambda s: s.lua("print('READY') os.execute('sleep 90')"), ready=R, needs=LUA),
)  # fmt: skip

SCRIPTS = RUBY_SCENARIOS + PERL_SCENARIOS + PHP_SCENARIOS + PYTHON_SCENARIOS + NODE_SCENARIOS + MORE_SCENARIOS
