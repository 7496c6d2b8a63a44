# ruff: noqa: E501 - one scenario a line reads as the table it is
"""Services, consumers, watchers and builds that rest: what agents start and look at again an hour later."""

from __future__ import annotations

import subprocess

from tests.zoo.scenario import Scenario, Stage
from tests.zoo.third_system import POSTGRES, REDIS, postgres

R = b"READY"


def _sh(script: str) -> list[str]:
    return ["sh", "-c", script]


# --- servers ----------------------------------------------------------------------------------------------------------


def _fpm(stage: Stage) -> list[str]:
    pool = f"[zoo]\nlisten = {stage.dir}/fpm.sock\npm = static\npm.max_children = 2\n"
    conf = stage.write("fpm.conf", f"[global]\nerror_log = /proc/self/fd/2\ndaemonize = no\n{pool}")
    return ["php-fpm8.2", "-n", "-R", "-F", "-y", conf]


def _puma(stage: Stage) -> list[str]:
    rack = stage.write("config.ru", "run lambda { |env| [200, {}, ['x']] }\n")
    return ["puma", "-b", "tcp://127.0.0.1:0", "-t", "1:2", rack]


WEBRICK = "s = WEBrick::HTTPServer.new(BindAddress: '127.0.0.1', Port: 0, AccessLog: []); puts 'READY'; s.start"
CLUSTER = "const c = require('cluster'), h = require('http'); if (c.isPrimary) { let up = 0; c.fork(); c.fork(); c.on('listening', () => { if (++up == 2) console.log('READY') }) } else h.createServer((q, r) => r.end('x')).listen(0, '127.0.0.1')"
POOL_ON_INTERVAL = "const w = require('worker_threads'); const t = new w.Worker(\"const p = require('worker_threads').parentPort; p.on('message', m => p.postMessage(m))\", {eval: true}); t.on('message', () => {}); t.on('online', () => console.log('READY')); setInterval(() => t.postMessage(1), 70000)"
FORK_ANSWERS = "const c = require('child_process'), fs = require('fs'); fs.writeFileSync('child.js', \"process.on('message', m => setTimeout(() => process.send(m), 70000))\"); const k = c.fork('child.js'); k.send('x'); k.on('message', () => process.exit()); console.log('READY')"
LONG_POLL = "const h = require('http'), fs = require('fs'); const s = h.createServer((q, r) => { console.log('READY'); s.held = r }); s.listen(0, '127.0.0.1', () => { fs.writeFileSync('port.new', String(s.address().port)); fs.renameSync('port.new', 'port') })"
GO_LONG_POLL = """
func main() { l, _ := net.Listen("tcp", "127.0.0.1:0"); go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Println("READY"); <-time.After(90 * time.Second) })); http.Get("http://" + l.Addr().String()) }
"""


def _long_poll(stage: Stage) -> list[str]:
    port = stage.dir / "port"
    stage.outsider(
        f"until [ -s {port} ]; do sleep 0.05; done; exec curl -s http://127.0.0.1:$(cat {port})/wait >/dev/null"
    )
    return ["sh", "-c", f'cd {stage.dir}; exec "$@"', "sh", *stage.node(LONG_POLL)]


def _certificate(stage: Stage) -> str:
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=zoo -days 2"
    subprocess.run(f"{make} -keyout key -out cert", shell=True, check=True, cwd=stage.dir, capture_output=True)
    return f"-key {stage.dir}/key -cert {stage.dir}/cert"


def _s_server(stage: Stage) -> list[str]:
    return _sh(f"exec openssl s_server {_certificate(stage)} -accept 127.0.0.1:0")


def _git_daemon(stage: Stage) -> list[str]:
    port = stage.server("silent")  # taken already: the next one is mostly free
    return _sh(
        f"exec git daemon --verbose --listen=127.0.0.1 --port={port + 1 if port < 65000 else port - 9} --base-path={stage.dir} 2>&1"
    )


# --- databases and queues, with their server inside of the job or outside ---------------------------------------------


def _with_postgres(stage: Stage, script: str) -> list[str]:
    where, server = postgres(stage)
    psql = f"psql -h {where} -U zoo -d postgres -q"
    return _sh(f"{server} >/dev/null 2>&1 & until {psql} -c 'create table t(a int)' >/dev/null 2>&1; do sleep 0.1; done; PSQL='{psql}'; {script}")  # fmt: skip


IDLE_TRANSACTION = "(echo 'begin; lock table t;'; echo '\\! echo READY'; sleep 90) | $PSQL & sleep 1; $PSQL -c 'insert into t values(1)'"


def _with_redis(stage: Stage, script: str) -> list[str]:
    sock = stage.dir / "r"
    cli = f"redis-cli -s {sock}"
    return _sh(f"redis-server --port 0 --unixsocket {sock} --save '' >/dev/null & until {cli} ping >/dev/null 2>&1; do sleep 0.05; done; CLI='{cli}'; {script}")  # fmt: skip


def _subscriber(stage: Stage) -> list[str]:
    sock = stage.dir / "r"
    cli = f"redis-cli -s {sock}"
    up = stage.outsider(f"redis-server --port 0 --unixsocket {sock} --save '' >/dev/null & until {cli} ping >/dev/null 2>&1; do sleep 0.05; done; touch $UP; sleep 80; {cli} publish news x")  # fmt: skip
    return _sh(f"{up}; echo READY; exec {cli} subscribe news")


# --- builds -----------------------------------------------------------------------------------------------------------


def _make_in_order(stage: Stage) -> list[str]:
    stage.write("Makefile", "all: a b c\na b c:\n\t@echo $@; sleep 80\n")
    return _sh(f"echo READY; exec make -s -j3 -Otarget -C {stage.dir}")


def _ninja(stage: Stage) -> list[str]:
    stage.write("build.ninja", "rule nap\n command = sleep 80 && touch $out\nbuild a: nap\nbuild b: nap\n")
    return _sh(f"echo READY; exec ninja -C {stage.dir}")


def _two_cargos(stage: Stage) -> list[str]:
    """The first one's build script takes its time; the second waits for the first one's lock."""
    (stage.dir / "src").mkdir()
    stage.write("src/main.rs", "fn main() {}")
    stage.write("build.rs", 'fn main() { std::fs::write("started", "x").unwrap(); std::thread::sleep(std::time::Duration::from_secs(90)); }')  # fmt: skip
    stage.write("Cargo.toml", '[package]\nname = "zoo"\nversion = "0.1.0"\nedition = "2021"\n')
    return _sh(f"cd {stage.dir}; cargo build --offline -q & until [ -e started ]; do sleep 0.1; done; echo READY; cargo build --offline -q")  # fmt: skip


def _git_gc(stage: Stage) -> list[str]:
    repo = stage.git()
    return _sh(
        f"cd {repo}; for n in $(seq 400); do seq $n 7 9000 > f$n; done; git add . >/dev/null 2>&1; git commit -qm files; echo READY; while :; do git gc --aggressive -q --prune=now; git repack -qfad --depth=200 --window=200; done"
    )


# --- watchers and daemons ---------------------------------------------------------------------------------------------


def _watched(stage: Stage, script: str) -> list[str]:
    inbox = stage.dir / "inbox"
    inbox.mkdir()
    (inbox / "a").touch()
    stage.outsider(f"while sleep 80; do touch {inbox}/$(date +%s); done")
    return ["sh", "-c", script, "sh", str(inbox)]


def _bus(stage: Stage) -> list[str]:
    policy = '<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>'
    conf = f"<busconfig><type>session</type><listen>unix:tmpdir={stage.dir}</listen><auth>EXTERNAL</auth>{policy}</busconfig>"
    made = stage.write("bus.conf", conf)
    return ["dbus-run-session", f"--config-file={made}", "--", "sh", "-c", "echo READY; exec dbus-monitor"]


def _socat_terminals(stage: Stage) -> list[str]:
    return _sh(
        f"socat PTY,link={stage.dir}/a,raw PTY,link={stage.dir}/b,raw & until [ -e {stage.dir}/b ]; do sleep 0.05; done; echo READY; wait"
    )


def _tmux_wait(stage: Stage) -> list[str]:
    tmux = f"tmux -S {stage.dir}/t -f /dev/null"
    return _sh(f"{tmux} new-session -d 'sleep 80; {tmux} wait-for -S done'; echo READY; exec {tmux} wait-for done")


def _java_watches(stage: Stage) -> list[str]:
    source = 'import java.nio.file.*; class Main { public static void main(String[] a) throws Exception { WatchService w = FileSystems.getDefault().newWatchService(); Path.of(a[0]).register(w, StandardWatchEventKinds.ENTRY_CREATE); System.out.println("READY"); while (true) { w.take().reset(); } } }'
    return [*stage.java("Main", source), str(stage.dir)]


JAVA_SELECTOR = 'import java.net.*; import java.nio.channels.*; class Main { public static void main(String[] a) throws Exception { Selector s = Selector.open(); ServerSocketChannel c = ServerSocketChannel.open(); c.bind(new InetSocketAddress("127.0.0.1", 0)); c.configureBlocking(false); c.register(s, SelectionKey.OP_ACCEPT); System.out.println("READY"); while (true) s.select(); } }'
JAVA_GARBAGE = 'import java.util.*; class Main { public static void main(String[] a) { List<byte[]> keep = new ArrayList<>(); for (int i = 0; i < 150; i++) keep.add(new byte[100000]); System.out.println("READY"); for (int i = 0; ; i++) keep.set(i % 150, new byte[100000]); } }'
JAVA_WAITS_90 = 'import java.util.concurrent.*; class Main { public static void main(String[] a) throws Exception { Process p = new ProcessBuilder("sleep", "infinity").start(); System.out.println("READY"); p.waitFor(90, TimeUnit.SECONDS); p.destroy(); } }'
JAVA_OR_TIMEOUT = 'import java.util.concurrent.*; class Main { public static void main(String[] a) throws Exception { CompletableFuture<Integer> f = new CompletableFuture<>(); System.out.println("READY"); f.orTimeout(90, TimeUnit.SECONDS).join(); } }'

PY_IMAP = "import multiprocessing, time\nwith multiprocessing.Pool(3) as p:\n    print('READY')\n    for x in p.imap(time.sleep, [90] * 3): pass"
PY_MANAGER = "import multiprocessing as m, os, tempfile, time\ntempfile.tempdir = os.getcwd()\ndef late(q): time.sleep(80); q.put(1)\nif __name__ == '__main__':\n    with m.Manager() as g: q = g.Queue(); m.Process(target=late, args=(q,)).start(); print('READY'); q.get()"
PY_FUTURE = "import concurrent.futures as c, threading\nf = c.Future(); threading.Timer(80, f.set_result, [1]).start(); print('READY'); f.result()"
PY_ASYNC_CHILD = "import asyncio\nasync def main():\n    p = await asyncio.create_subprocess_shell('sleep 80; echo x', stdout=-1); print('READY'); await p.communicate()\nasyncio.run(main())"
PY_CALL_LATER = "import asyncio\nasync def main():\n    e = asyncio.Event(); asyncio.get_running_loop().call_later(100, e.set); print('READY'); await e.wait()\nasyncio.run(main())"
PY_SCHED = "import sched; s = sched.scheduler(); s.enter(70, 1, print, ('x',)); print('READY'); s.run()"

NODE, JAVA = ("node",), ("java", "javac")
SERVICES = (
    Scenario("php-fpm-waits", "alive", ("listening",), _fpm, ready=b"ready to handle", settle=1.0, needs=("php-fpm8.2",)),
    Scenario("puma-serves", "alive", ("listening",), _puma, ready=b"Use Ctrl-C", settle=1.0, needs=("puma",)),
    Scenario("webrick-serves", "alive", ("listening",), lambda _: ["ruby", "-rwebrick", "-e", f"$stdout.sync = true; {WEBRICK}"], ready=R, settle=1.0, needs=("puma",)),
    Scenario("node-cluster-serves", "alive", ("listening",), lambda s: ["node", s.write("cluster.js", CLUSTER)], ready=R, settle=1.0, needs=NODE),
    Scenario("node-posts-to-a-worker-every-70s", "alive", ("timer",), lambda s: s.node(POOL_ON_INTERVAL), ready=R, needs=NODE),
    Scenario("node-fork-answers-in-70s", "alive", ("timer",), lambda s: s.node(FORK_ANSWERS), ready=R, needs=NODE),
    Scenario("node-holds-a-long-poll", "alive", ("listening", "network"), _long_poll, ready=R, settle=1.0, needs=("node", "curl")),
    Scenario("go-polls-its-own-server", "alive", ("listening", "timer", "network"), lambda s: s.go(GO_LONG_POLL, "fmt", "net", "net/http", "time"), ready=R, settle=1.0, needs=("go",)),
    Scenario("openssl-serves-beside-a-quiet-stdin", "alive", ("listening",), _s_server, io="pipe", ready=b"ACCEPT", needs=("openssl",)),
    Scenario("git-daemon-serves", "alive", ("listening",), _git_daemon, ready=b"Ready to rumble", needs=("git",)),
    Scenario("postgres-inside-sleeps-for-its-client", "alive", ("timer", "listening", "network"), lambda s: _with_postgres(s, "echo READY; $PSQL -c 'select pg_sleep(90)'"), ready=R, settle=1.0, needs=POSTGRES, nobody=True),
    Scenario("postgres-inside-locked-by-a-slow-client", "alive", ("timer", "listening", "network", "lock"), lambda s: _with_postgres(s, IDLE_TRANSACTION), ready=R, settle=1.0, needs=POSTGRES, nobody=True),
    Scenario("redis-inside-fed-in-80s", "alive", ("timer", "listening", "network", "poll"), lambda s: _with_redis(s, "(sleep 80; $CLI lpush q x) & echo READY; exec $CLI blpop q 0"), ready=R, needs=REDIS),
    Scenario("redis-subscriber", "alive", ("network",), _subscriber, ready=R, needs=REDIS),
    Scenario("make-j3-prints-in-order", "alive", ("timer",), _make_in_order, ready=R, settle=1.0, needs=("make",)),
    Scenario("ninja-waits-for-its-recipes", "alive", ("timer",), _ninja, ready=R, settle=1.0, needs=("ninja",)),
    Scenario("cargo-beside-a-live-cargo", "alive", ("timer", "lock"), _two_cargos, ready=R, settle=1.5, needs=("cargo", "rustc")),
    Scenario("git-gc-again-and-again", "alive", ("progress",), _git_gc, ready=R, needs=("git",)),
    Scenario("inotifywait-into-a-loop", "alive", ("listening",), lambda s: _watched(s, 'inotifywait -m "$1" 2>&1 | while read x; do echo $x; done'), ready=b"Watches established", needs=("inotifywait",)),
    Scenario("entr-waits-for-a-change", "alive", ("listening",), lambda s: _watched(s, 'ls "$1"/a | entr -n echo READY'), ready=R, settle=1.0, needs=("entr",)),
    Scenario("tail-waits-for-a-file-to-come", "alive", ("listening", "timer", "poll"), lambda s: _sh(f"echo READY; tail -F {s.dir}/not-yet | grep --line-buffered x"), ready=R, settle=1.0),
    Scenario("dbus-monitor-on-its-own-bus", "alive", ("listening", "network"), _bus, ready=R, settle=1.0, needs=("dbus-run-session", "dbus-monitor")),
    Scenario("socat-offers-two-terminals", "alive", ("unknown", "listening", "input"), _socat_terminals, ready=R, needs=("socat",)),
    Scenario("tmux-waits-for-its-pane", "alive", ("timer", "listening"), _tmux_wait, ready=R, settle=1.0, needs=("tmux",)),
    Scenario("java-watches-a-directory", "alive", ("listening",), _java_watches, ready=R, settle=1.0, needs=JAVA),
    Scenario("java-selects", "alive", ("listening",), lambda s: s.java("Main", JAVA_SELECTOR), ready=R, settle=1.0, needs=JAVA),
    Scenario("java-collects-garbage", "alive", ("progress",), lambda s: [*s.java("Main", JAVA_GARBAGE)[:1], "-Xmx24m", "-XX:+UseSerialGC", *s.java("Main", JAVA_GARBAGE)[1:]], ready=R, needs=JAVA),
    Scenario("java-waits-90s-for-a-child", "alive", ("timer",), lambda s: s.java("Main", JAVA_WAITS_90), ready=R, settle=1.0, needs=JAVA),
    Scenario("java-future-with-a-timeout", "alive", ("timer",), lambda s: s.java("Main", JAVA_OR_TIMEOUT), ready=R, settle=1.0, needs=JAVA),
    Scenario("python-pool-imap-sleeps", "alive", ("timer",), lambda s: s.py(PY_IMAP), ready=R),
    Scenario("python-manager-queue-fed-in-80s", "alive", ("timer", "listening"), lambda s: [s.python, "-u", s.write("manager.py", PY_MANAGER)], ready=R, settle=1.0),
    Scenario("python-future-set-in-80s", "alive", ("timer",), lambda s: s.py(PY_FUTURE), ready=R),
    Scenario("python-asyncio-child-sleeps", "alive", ("timer",), lambda s: s.py(PY_ASYNC_CHILD), ready=R),
    Scenario("python-asyncio-call-later", "alive", ("timer",), lambda s: s.py(PY_CALL_LATER), ready=R),
    Scenario("python-sched-70s", "alive", ("timer",), lambda s: s.py(PY_SCHED), ready=R),
    Scenario("bash-waits-for-the-first-to-end", "alive", ("timer",), lambda _: ["bash", "-c", "echo READY; sleep 80 & sleep infinity & wait -n"], ready=R, needs=("bash",)),
    Scenario("busybox-timeout-over-a-fifo", "alive", ("timer", "input"), lambda s: _sh(f"mkfifo {s.dir}/f; echo READY; busybox timeout 100 cat {s.dir}/f"), ready=R, needs=("busybox",)),
    Scenario("busybox-httpd", "alive", ("listening",), lambda s: _sh(f"echo READY; exec busybox httpd -f -p 127.0.0.1:0 -h {s.dir}"), ready=R, needs=("busybox",)),
)  # fmt: skip
