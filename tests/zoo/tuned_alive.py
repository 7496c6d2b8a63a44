# ruff: noqa: E501 - one scenario a line reads as the table it is
"""Scenarios that are quiet and well; not one of them may ever be called hung."""

from __future__ import annotations

from tests.zoo.scenario import Scenario, Stage

BIG_C = """
import sys
with open(sys.argv[1], "w") as f:
    for i in range(4000):
        f.write(f"double g{i}(double a){{double s=1;for(int k=0;k<50;k++)s=s*a+{i};return s;}}\\n")
"""
PYTEST = """
import time, pytest
@pytest.mark.parametrize("n", range(200))
def test_step(n):
    total = sum(len(str(k) * 3) for k in range(200_000)); time.sleep(0.05); assert total
"""
POOL = """
import multiprocessing as m
def work(n):
    return sum(len([k] * 50) for k in range(3_000_000))
if __name__ == "__main__":
    m.set_start_method("fork")
    with m.Pool(2) as pool: pool.map(work, range(400))
"""
JOINED = """
import threading, time
def work():
    for _ in range(100): time.sleep(1.5); open("/dev/null").close()
t = threading.Thread(target=work); t.start(); print("READY"); t.join()
"""
ALARM = "$|=1; $SIG{ALRM}=sub{$n++; alarm 4}; alarm 4; print qq(READY\\n); while(1){ sleep }"
THROTTLED = """
import os, signal, subprocess, sys, time
p = subprocess.Popen(["sh", "-c", "while :; do :; done"]); print("READY", flush=True)
while True: os.kill(p.pid, signal.SIGSTOP); time.sleep(0.4); os.kill(p.pid, signal.SIGCONT); time.sleep(0.4)
"""
LOCK_WORKER = """
import fcntl, hashlib, sys
f = open(sys.argv[1], "w"); fcntl.flock(f, fcntl.LOCK_EX); d = b""
while True: d = hashlib.sha256(d * 100).digest()
"""
LOCK_STEPPER = "import fcntl,sys,time; f=open(sys.argv[1],'w'); fcntl.flock(f,fcntl.LOCK_EX)\nwhile True: time.sleep(3)"
HTTP_JAVA = """
import java.net.*;
public class Serve { public static void main(String[] x) throws Exception {
  ServerSocket s = new ServerSocket(0); System.out.println("READY"); s.accept(); } }
"""
DEV_SERVER = (
    "require('http').createServer(()=>{}).listen(0,'127.0.0.1',()=>{process.stdin.setRawMode(true);"
    "process.stdin.resume();console.log('READY\\n  press h + enter to show help')})"
)
TTY_AND_NET = """
import select, socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1]))); print("READY")
while True:
    for f in select.select([s, sys.stdin], [], [])[0]:
        if f is s: s.recv(4096)
"""


def _cc(stage: Stage) -> list[str]:
    script, big = stage.write("gen.py", BIG_C), str(stage.dir / "g.c")
    return [
        "sh",
        "-c",
        f"{stage.python} {script} {big}; echo READY; while :; do cc -O2 -c {big} -o {stage.dir}/g.o; done",
    ]


def _download(stage: Stage) -> list[str]:
    return [
        "curl",
        "-s",
        "--http0.9",
        "-o",
        str(stage.dir / "f"),
        f"http://127.0.0.1:{stage.server('drip')}/",
    ]


def _pytest(stage: Stage) -> list[str]:
    path = stage.write("test_slow.py", PYTEST)
    return [
        stage.python,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--no-header",
        path,
    ]


def _npm(stage: Stage) -> list[str]:
    for name in ("a", "b"):
        (stage.dir / name).mkdir()
        stage.write(f"{name}/package.json", f'{{"name":"zoo-{name}","version":"1.0.0"}}')
    loop = "while :; do npm install --offline --no-audit --no-fund --silent ../a; rm -rf node_modules; done"
    return ["sh", "-c", f"cd {stage.dir}/b && {loop}"]


def _retry(_: Stage) -> list[str]:
    return ["sh", "-c", "while :; do curl -s http://127.0.0.1:1/; sleep 1; done"]


def _held_by_worker(stage: Stage) -> list[str]:
    path = stage.write("w.lock", "")
    stage.outsiders.append([stage.python, "-c", LOCK_WORKER, path])
    return ["sh", "-c", f"sleep 0.5; echo READY; flock {path} true"]


def _held_by_stepper(stage: Stage) -> list[str]:
    path = stage.write("s.lock", "")
    stage.outsiders.append([stage.python, "-c", LOCK_STEPPER, path])
    return ["sh", "-c", f"sleep 0.5; echo READY; flock {path} true"]


def _index(stage: Stage) -> list[str]:
    sql = (
        "create table t(a,b); with recursive n(i) as (select 1 union all select i+1 from n where i<3000000)"
        " insert into t select random(), i from n; create index x on t(a,b); create index y on t(b,a);"
        " select count(*) from t u join t v on u.a%1000=v.b%1000;"
    )
    return ["sqlite3", str(stage.dir / "i.db"), sql]


def _fsck(stage: Stage) -> list[str]:
    repo = stage.git()
    return ["sh", "-c", f"while :; do git -C {repo} fsck --full >/dev/null 2>&1; done"]


def _javac(stage: Stage) -> list[str]:
    body = "".join(f"static int f{i}(int a){{return a*{i}+f{max(0, i - 1)}(a-1);}}" for i in range(1500))
    source = stage.write("Big.java", f"public class Big {{ {body} }}")
    return ["sh", "-c", f"while :; do javac -d {stage.dir} {source}; done"]


def _rustc(stage: Stage) -> list[str]:
    body = "".join(f"pub fn f{i}(a:u64)->Vec<u64>{{(0..a).map(|x|x*{i}).collect()}}\n" for i in range(1500))
    source = stage.write("lib.rs", body)
    rustc = f"rustc --crate-type lib -C opt-level=3 -o {stage.dir}/lib.rlib {source}"
    return ["sh", "-c", f"while :; do {rustc}; done"]


def _unix_server(stage: Stage) -> list[str]:
    return stage.py(
        f"import socket; s=socket.socket(socket.AF_UNIX); s.bind({str(stage.dir / 'u.sock')!r}); s.listen(); print('READY'); s.accept()"
    )


def _watch(stage: Stage) -> list[str]:
    return stage.node(f"require('fs').watch({str(stage.dir)!r},()=>{{}});console.log('READY')")


def _copy(stage: Stage) -> list[str]:
    return [
        "sh",
        "-c",
        f"while :; do dd if=/dev/zero of={stage.dir}/z bs=64k count=200 conv=fsync status=none; done",
    ]


def _tar(stage: Stage) -> list[str]:
    return [
        "sh",
        "-c",
        f"while :; do tar czf {stage.dir}/x.tgz /usr/lib/python3* /usr/include 2>/dev/null; done",
    ]


def _tty_net(stage: Stage) -> list[str]:
    return [*stage.py(TTY_AND_NET), str(stage.server("drip"))]


INPUT_AND_WORKER = """
import threading, time
def work():
    while True: time.sleep(4)
threading.Thread(target=work, daemon=True).start(); input("READY, press Enter to stop: ")
"""
LOCK_UNDER_ALARM = """
import signal, threading
def late(*a): raise TimeoutError
signal.signal(signal.SIGALRM, late); signal.alarm(25); lock = threading.Lock(); lock.acquire(); print("READY"); lock.acquire()
"""
LEADER_THREAD_GONE = """
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
void *work(void *x){ for(;;){ sleep(4); } return x; }
int main(void){ pthread_t t; pthread_create(&t,0,work,0); puts("READY"); fflush(stdout); pthread_exit(0); }
"""
TIMERFD = """
#include <sys/timerfd.h>
#include <stdio.h>
#include <stdint.h>
#include <unistd.h>
int main(void){ int fd = timerfd_create(CLOCK_MONOTONIC, 0); struct itimerspec t = {{8,0},{8,0}}; uint64_t n;
  timerfd_settime(fd,0,&t,0); puts("READY"); fflush(stdout); for(;;) if(read(fd,&n,8)<0) return 1; }
"""
MESSAGE_QUEUE = """
#include <sys/ipc.h>
#include <sys/msg.h>
#include <stdio.h>
#include <unistd.h>
#include <signal.h>
struct m { long t; char c; };
int main(void){ int q = msgget(IPC_PRIVATE, 0600); struct m x = {1,0}; msgctl(q, IPC_STAT, 0);
  puts("READY"); fflush(stdout); if(fork()==0){ sleep(25); msgsnd(q,&x,1,0); return 0; }
  msgrcv(q,&x,1,0,0); msgctl(q, IPC_RMID, 0); return 0; }
"""


def _node_connect(stage: Stage) -> list[str]:
    return stage.node(f"console.log('READY');require('net').connect({stage.server('full')},'127.0.0.1')")


def _async_connect(stage: Stage) -> list[str]:
    port = stage.server("full")
    return stage.py(
        f"import asyncio; print('READY'); asyncio.run(asyncio.wait_for(asyncio.open_connection('127.0.0.1',{port}),None))"
    )


def _late_writer(stage: Stage) -> list[str]:
    fifo = stage.dir / "late"
    return ["sh", "-c", f"mkfifo {fifo}; echo READY; (sleep 20; echo x > {fifo}) & cat {fifo}"]


def _lock_inside(stage: Stage) -> list[str]:
    path = stage.write("in.lock", "")
    return ["sh", "-c", f"flock {path} sleep 20 & sleep 0.3; echo READY; flock {path} true"]


MONITOR_STEPPER = """
public class Stepper { public static void main(String[] x) throws Exception {
  final Object a = new Object();
  Thread t = new Thread(() -> { synchronized (a) { for (;;) try { Thread.sleep(700); } catch (InterruptedException e) { } } });
  t.start(); Thread.sleep(300); System.out.println("READY"); synchronized (a) { System.out.println("no"); } } }
"""
MONITOR_SLEEPER = MONITOR_STEPPER.replace("700", "30000").replace("Stepper", "Sleeper")

R = b"READY"
ALIVE: tuple[Scenario, ...] = (
    Scenario("cc-again-and-again", "alive", ("progress",), _cc, ready=R, needs=("cc",)),
    Scenario("tar-usr", "alive", ("progress",), _tar, needs=("tar",)),
    Scenario("curl-slow-download", "alive", ("progress",), _download, needs=("curl",)),
    Scenario("pytest-captured", "alive", ("progress", "busy"), _pytest, settle=2.0),
    Scenario("npm-install-local", "alive", ("progress",), _npm, needs=("npm",)),
    Scenario("retry-loop-curl", "alive", ("progress", "poll"), _retry, needs=("curl",)),
    Scenario("sqlite-index", "alive", ("progress", "busy"), _index, needs=("sqlite3",)),
    Scenario("git-fsck", "alive", ("progress",), _fsck, needs=("git",)),
    Scenario("javac-loop", "alive", ("progress",), _javac, needs=("javac",)),
    Scenario("rustc-loop", "alive", ("progress",), _rustc, needs=("rustc",)),
    Scenario("dd-fsync", "alive", ("progress",), _copy),
    Scenario("python-pool-works", "alive", ("progress", "busy"), lambda s: [s.python, s.write("p.py", POOL)]),
    Scenario("join-of-a-stepper", "alive", ("timer", "poll"), lambda s: s.py(JOINED), ready=R),
    Scenario("alarm-wakes-it", "alive", ("idle", "timer", "unknown"), lambda _: ["perl", "-e", ALARM], ready=R, needs=("perl",)),
    Scenario("cpu-throttled-by-stop", "alive", ("progress", "busy", "stopped"), lambda s: s.py(THROTTLED), ready=R),
    Scenario("lock-held-by-worker", "alive", ("lock",), _held_by_worker, ready=R, needs=("flock",)),
    Scenario("lock-held-by-stepper", "alive", ("lock",), _held_by_stepper, ready=R, needs=("flock",)),
    Scenario("timeout-sleep", "alive", ("timer",), lambda _: ["timeout", "60", "sleep", "30"]),
    Scenario("node-server", "alive", ("listening",), lambda s: s.node("require('http').createServer(()=>{}).listen(0,'127.0.0.1',()=>console.log('READY'))"), ready=R, needs=("node",)),
    Scenario("java-server", "alive", ("listening",), lambda s: s.java("Serve", HTTP_JAVA), ready=R, needs=("java", "javac")),
    Scenario("unix-socket-server", "alive", ("listening",), _unix_server, ready=R),
    Scenario("node-fs-watch", "alive", ("listening",), _watch, ready=R, needs=("node",)),
    Scenario("dev-server-raw-terminal", "alive", ("listening",), lambda s: s.node(DEV_SERVER), io="pty", ready=R, needs=("node",)),
    Scenario("terminal-and-download", "alive", ("progress",), _tty_net, io="pty", ready=R),
    Scenario("node-timer-20s", "alive", ("timer",), lambda s: s.node("console.log('READY');setTimeout(()=>{},20000)"), ready=R, needs=("node",)),
    Scenario("java-monitor-held-by-stepper", "alive", ("poll", "timer", "deadlock"), lambda s: s.java("Stepper", MONITOR_STEPPER), ready=R, needs=("java", "javac")),
    Scenario("java-monitor-held-by-sleeper", "alive", ("poll", "timer", "deadlock"), lambda s: s.java("Sleeper", MONITOR_SLEEPER), ready=R, needs=("java", "javac")),
    Scenario("node-connects", "ambiguous", ("network",), _node_connect, ready=R, needs=("node",)),
    Scenario("asyncio-connects", "ambiguous", ("network",), _async_connect, ready=R),
    Scenario("input-and-worker-thread", "alive", ("input", "timer", "poll"), lambda s: s.py(INPUT_AND_WORKER), io="pty", ready=R),
    Scenario("lock-under-alarm", "alive", ("deadlock", "timer"), lambda s: s.py(LOCK_UNDER_ALARM), ready=R),
    Scenario("first-thread-has-ended", "alive", ("timer", "poll"), lambda s: [s.cc(LEADER_THREAD_GONE)], ready=R, needs=("cc",)),
    Scenario("timerfd-every-8s", "alive", ("timer", "unknown"), lambda s: [s.cc(TIMERFD)], ready=R, needs=("cc",)),
    Scenario("message-queue-late", "alive", ("timer", "unknown"), lambda s: [s.cc(MESSAGE_QUEUE)], ready=R, needs=("cc",)),
    Scenario("fifo-late-writer", "alive", ("timer", "input"), _late_writer, ready=R),
    Scenario("pipe-from-a-sleeper", "alive", ("timer",), lambda _: ["sh", "-c", "(sleep 20; echo x) | cat"]),
    Scenario("lock-held-by-sibling", "alive", ("timer", "lock"), _lock_inside, ready=R, needs=("flock",)),
    Scenario("timeout-over-cat", "alive", ("input",), lambda _: ["timeout", "25", "cat"], io="pipe"),
    Scenario(
        "asks-under-alarm",
        "alive",
        ("input",),
        lambda _: ["perl", "-e", "$|=1; $SIG{ALRM}=sub{exit}; alarm 25; print q(Name [zoo]: ); <STDIN>"],
        io="pty",
        ready=b"Name",
        needs=("perl",),
    ),
    Scenario(
        "asks-while-working",
        "alive",
        ("progress", "input", "busy"),
        lambda _: ["sh", "-c", "(while :; do head -c 3000000 /dev/urandom | gzip > /dev/null; done) & printf 'Stop? '; read x"],
        io="pty",
        ready=b"Stop",
    ),
    Scenario("tail-into-grep", "alive", ("listening", "poll"), lambda s: ["sh", "-c", f"echo READY; tail -f {s.write('l', 'x')} | grep y"], ready=R),
)  # fmt: skip
