# ruff: noqa: E501 - one scenario a line reads as the table it is
"""The third kept apart: written before the rules, never tuned on. Change a label only when it is wrong, and say so.

Judged by the same runner and reported on its own line; only "no live job is called hung" is asserted.
"""

from __future__ import annotations

from tests.zoo.holdout_late import LATE
from tests.zoo.scenario import Scenario, Stage

LATCH = """
import java.util.concurrent.*; import java.util.concurrent.locks.*;
public class Latch { public static void main(String[] a) throws Exception {
  CountDownLatch never = new CountDownLatch(1); ReentrantLock lock = new ReentrantLock(); lock.lock();
  Thread t = new Thread(() -> { lock.lock(); never.countDown(); }); t.start();
  System.out.println("READY"); never.await(); } }
"""
RELOCK = """
#include <pthread.h>
#include <stdio.h>
int main(void){ pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_mutex_lock(&m);
  puts("READY"); fflush(stdout); pthread_mutex_lock(&m); return 0; }
"""
TWO_FLOCKS = """
import fcntl, os, sys
a, b = sys.argv[1:3]
def go(first, second, told, tells):
    x = open(first, "w"); fcntl.flock(x, fcntl.LOCK_EX); os.write(tells, b"1"); os.read(told, 1)
    y = open(second, "w"); fcntl.flock(y, fcntl.LOCK_EX)
r1, w1 = os.pipe(); r2, w2 = os.pipe()
if os.fork() == 0: go(b, a, r1, w2)
print("READY"); go(a, b, r2, w1)
"""
CHILD_GET = """
import multiprocessing as m
def work(q): q.get()
if __name__ == "__main__":
    m.set_start_method("fork"); q = m.Queue(); p = m.Process(target=work, args=(q,)); p.start(); print("READY"); p.join()
"""
BIG_C = """
import sys
with open(sys.argv[1], "w") as f:
    for i in range(6000):
        f.write(f"int f{i}(int a,int b){{int s=0;for(int i=0;i<a;i++){{s+=i*b^{i};if(s%7==0)s-=b;}}return s;}}\\n")
    f.write("int main(void){return f1(2,3);}\\n")
"""


def _relock(stage: Stage) -> list[str]:
    return [stage.cc(RELOCK)]


def _latch(stage: Stage) -> list[str]:
    return stage.java("Latch", LATCH)


def _flock_outside(stage: Stage) -> list[str]:
    lock = stage.write("x.lock", "")
    stage.outsiders.append(["flock", lock, "sleep", "infinity"])
    return ["sh", "-c", f"sleep 0.3; echo READY; flock {lock} echo done"]


def _two_flocks(stage: Stage) -> list[str]:
    return [*stage.py(TWO_FLOCKS), stage.write("a.lock", ""), stage.write("b.lock", "")]


def _pager(stage: Stage) -> list[str]:
    return ["env", "GIT_PAGER=less", "LESS=", "git", "-C", str(stage.git()), "log"]


def _keygen(stage: Stage) -> list[str]:
    key = stage.write("id_test", "old")
    return ["ssh-keygen", "-t", "ed25519", "-N", "", "-f", key]


def _stdin_unread(stage: Stage) -> list[str]:
    source = (
        "import subprocess; p=subprocess.Popen(['cat'],stdin=-1,stdout=-1);"
        "print('READY'); p.stdin.write(b'x'*4_000_000); p.stdin.close(); p.stdout.read()"
    )
    return stage.py(source)


def _fifo(stage: Stage) -> list[str]:
    return ["sh", "-c", f"mkfifo {stage.dir}/ff; echo READY; perl -e 'open F, q(<), $ARGV[0]' {stage.dir}/ff"]


def _compile(stage: Stage) -> list[str]:
    big = str(stage.dir / "big.c")
    script = stage.write("gen.py", BIG_C)
    out = stage.dir
    return [
        "sh",
        "-c",
        f"{stage.python} {script} {big} && for i in 1 2 3 4; do cc -O2 -c {big} -o {out}/b.o; done",
    ]


def _make(stage: Stage) -> list[str]:
    rules = (
        "all: $(foreach n,$(shell seq 400),o/$(n).o)\no/%.o:\n\t@mkdir -p o; cp s.c o/$*.c; cc -O1 -c o/$*.c -o $@\n"
    )
    stage.write("Makefile", rules)
    stage.write("s.c", '#include <stdio.h>\nint f(void){return printf("x");}\n')
    return ["make", "-s", "-j2", "-C", str(stage.dir)]


def _curl(stage: Stage) -> list[str]:
    return ["curl", "-s", f"http://127.0.0.1:{stage.server('silent')}/"]


def _backlog(stage: Stage) -> list[str]:
    return stage.py(
        f"import socket; s=socket.socket(); print('READY'); s.connect(('127.0.0.1',{stage.server('full')}))"
    )


def _tls(stage: Stage) -> list[str]:
    return ["openssl", "s_client", "-connect", f"127.0.0.1:{stage.server('silent')}"]


def _drip(stage: Stage) -> list[str]:
    port = stage.server("drip")
    return stage.py(
        f"import socket; s=socket.create_connection(('127.0.0.1',{port})); print('READY')\nwhile s.recv(4096): pass"
    )


def _retry(stage: Stage) -> list[str]:
    return stage.py(
        "import socket,time; print('READY')\nwhile True:\n try: socket.create_connection(('127.0.0.1',1))\n"
        " except OSError: time.sleep(5)"
    )


def _xz(stage: Stage) -> list[str]:
    out = stage.dir / "out.xz"
    return ["sh", "-c", f"head -c 60000000 /dev/urandom | xz -T1 -9 > {out}"]


def _sqlite_work(stage: Stage) -> list[str]:
    sql = (
        "create table t(a,b); with recursive n(i) as (select 1 union all select i+1 from n where i<20000000)"
        " insert into t select i, hex(randomblob(20)) from n;"
    )
    return ["sqlite3", str(stage.dir / "w.db"), sql]


def _tail(stage: Stage) -> list[str]:
    return ["tail", "-f", stage.write("log.txt", "READY\n")]


def _captured_tests(stage: Stage) -> list[str]:
    source = (
        "import hashlib, unittest\nclass T(unittest.TestCase):\n def test(self):\n  d=b''\n"
        "  while True: d=hashlib.sha256(d*1000+b'x').digest(); x=[bytes(500) for _ in range(20000)]\n"
    )
    return [stage.python, "-m", "unittest", "-b", "-q", stage.write("test_t.py", source)]


def _waker(stage: Stage) -> list[str]:
    return stage.node(
        "const {Worker}=require('worker_threads');const w=new Worker("
        "'const a=new Int32Array(new SharedArrayBuffer(4));"
        'require("worker_threads").parentPort.postMessage(1);Atomics.wait(a,0,0)\',{eval:true});'
        "w.on('message',()=>console.log('READY'))"
    )


def _readline(stage: Stage) -> list[str]:
    return stage.node(
        "require('readline').createInterface({input:process.stdin,output:process.stdout})"
        ".question('Project name: ',()=>process.exit())"
    )


EARLY: tuple[Scenario, ...] = (
    Scenario(
        "python-queue-get",
        "hung",
        ("deadlock",),
        lambda s: s.py(
            "import queue,threading; q=queue.Queue(); threading.Thread(target=q.get).start();"
            "print('READY'); queue.Queue().get()"
        ),
        ready=b"READY",
    ),
    Scenario("c-relock-own-mutex", "hung", ("deadlock",), _relock, ready=b"READY", needs=("cc",)),
    Scenario("java-latch-never", "hung", ("deadlock",), _latch, ready=b"READY", needs=("java", "javac")),
    Scenario(
        "node-readline",
        "hung",
        ("input",),
        _readline,
        io="pty",
        ready=b"name: ",
        needs=("node",),
        prompt="Project",
    ),
    Scenario(
        "bash-read-p",
        "hung",
        ("input",),
        lambda _: ["bash", "-c", "read -p 'Deploy to production? [y/N] ' x"],
        io="pty",
        ready=b"[y/N]",
        prompt="Deploy to production? [y/N]",
    ),
    Scenario("git-log-pager", "hung", ("input",), _pager, io="pty", ready=b"change", needs=("git", "less")),
    Scenario(
        "ssh-keygen-overwrite",
        "hung",
        ("input",),
        _keygen,
        io="pty",
        ready=b"(y/n)",
        needs=("ssh-keygen",),
        prompt="Overwrite",
    ),
    Scenario(
        "openssl-enc-password",
        "hung",
        ("input",),
        lambda _: ["openssl", "enc", "-aes-256-cbc", "-pbkdf2", "-in", "/etc/hostname"],
        io="pty",
        ready=b"password",
        needs=("openssl",),
        prompt="password",
    ),
    Scenario(
        "cat-pipe-wc",
        "hung",
        ("input",),
        lambda _: ["sh", "-c", "echo READY; cat | wc -l"],
        io="pipe",
        ready=b"READY",
    ),
    Scenario(
        "flock-held-outside",
        "hung",
        ("lock",),
        _flock_outside,
        ready=b"READY",
        needs=("flock",),
        prompt="x.lock",
    ),
    Scenario("flock-crossed", "hung", ("deadlock", "lock"), _two_flocks, ready=b"READY"),
    Scenario("python-communicate-by-hand", "hung", ("pipe_cycle",), _stdin_unread, ready=b"READY"),
    Scenario(
        "child-stops-itself",
        "ambiguous",  # was "hung": it cannot be told from one that a stranger has stopped, and will continue
        ("stopped",),
        lambda _: ["sh", "-c", "echo READY; perl -e 'kill STOP => $$'; echo after"],
        ready=b"READY",
        needs=("perl",),
    ),
    Scenario(
        "background-cat-sigttin",
        "hung",
        ("stopped",),
        # Was `bash -c 'set -m; cat & wait'`, which does not hang: `wait` returns for a stopped job, and bash ends.
        lambda _: [
            "perl",
            "-e",
            "$|=1; my $p=fork(); if(!$p){setpgrp(0,0); print qq(READY\\n); my $x=<STDIN>; exit} waitpid($p,0)",
        ],
        io="pty",
        ready=b"READY",
    ),
    Scenario(
        "leader-leaves-sleeper",
        "hung",
        ("leak",),
        lambda _: ["sh", "-c", "sleep 1000 & echo READY; exit 0"],
        ready=b"READY",
    ),
    Scenario(
        "multiprocessing-child-get",
        "hung",
        ("deadlock", "pipe_cycle", "lock", "idle"),
        lambda s: [s.python, "-u", s.write("child_get.py", CHILD_GET)],
        ready=b"READY",
    ),
    Scenario("node-worker-atomics-wait", "hung", ("deadlock", "idle"), _waker, ready=b"READY", needs=("node",)),
    # Was "hung": a FIFO has a name, and any process may open it at any moment.
    Scenario("perl-opens-fifo", "ambiguous", ("input",), _fifo, ready=b"READY", needs=("perl",)),
    Scenario(
        "sqlite3-shell",
        "hung",
        ("input",),
        lambda _: ["sqlite3"],
        io="pty",
        ready=b"sqlite> ",
        needs=("sqlite3",),
        prompt="sqlite>",
    ),
    Scenario(
        "bc-on-pipe",
        "hung",
        ("input",),
        lambda _: ["sh", "-c", "echo READY; exec bc -q"],
        io="pipe",
        ready=b"READY",
        needs=("bc",),
    ),
    Scenario(
        "asyncio-event-never",
        "hung",
        ("idle", "deadlock"),
        lambda s: s.py(
            "import asyncio\nasync def m():\n print('READY'); await asyncio.Event().wait()\nasyncio.run(m())"
        ),
        ready=b"READY",
    ),
    Scenario("curl-silent-server", "ambiguous", ("network",), _curl, needs=("curl",)),
    Scenario("connect-full-backlog", "ambiguous", ("network",), _backlog, ready=b"READY"),
    Scenario("tls-handshake-stalls", "ambiguous", ("network",), _tls, needs=("openssl",)),
    Scenario(
        "node-spin",
        "ambiguous",
        ("busy",),
        lambda s: s.node("console.log('READY');for(;;);"),
        ready=b"READY",
        needs=("node",),
    ),
    Scenario(
        "shell-polls-for-file",
        "ambiguous",
        ("poll", "timer"),
        lambda _: ["sh", "-c", "echo READY; until [ -e /nonexistent/x ]; do sleep 0.5; done"],
        ready=b"READY",
    ),
    Scenario("cc-large-file", "alive", ("progress",), _compile, needs=("cc",), settle=1.5),
    Scenario("make-many-small", "alive", ("progress",), _make, needs=("cc", "make")),
    Scenario("xz-random-data", "alive", ("progress",), _xz, needs=("xz",)),
    Scenario("python-drip-download", "alive", ("progress",), _drip, ready=b"READY"),
    Scenario("unittest-captured", "alive", ("progress", "busy"), _captured_tests),
    Scenario("sqlite-bulk-insert", "alive", ("progress", "busy"), _sqlite_work, needs=("sqlite3",)),
    Scenario("connect-retry-5s", "alive", ("timer", "poll"), _retry, ready=b"READY"),
    Scenario(
        "http-server",
        "alive",
        ("listening",),
        lambda s: [s.python, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"],
        ready=b"Serving",
    ),
    Scenario("tail-f-log", "alive", ("listening", "poll"), _tail, ready=b"READY"),
    Scenario(
        "find-whole-usr",
        "alive",
        ("progress",),
        lambda _: ["sh", "-c", "while :; do find /usr /etc -name '*.zzz'; done"],
    ),
    Scenario("sleep-20", "alive", ("timer",), lambda _: ["sleep", "20"]),
)

HOLDOUT = EARLY + LATE
