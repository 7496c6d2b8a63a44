# ruff: noqa: E501 - one scenario a line reads as the table it is
"""Scenarios that hang, or that nobody outside can judge; the rules may be tuned on them."""

from __future__ import annotations

import subprocess

from tests.zoo.scenario import Scenario, Stage

MUTEXES = """
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER; pthread_barrier_t both;
void *other(void *x){ pthread_mutex_lock(&b); pthread_barrier_wait(&both); pthread_mutex_lock(&a); return x; }
int main(void){ pthread_t t; pthread_barrier_init(&both,0,2); pthread_create(&t,0,other,0);
  pthread_mutex_lock(&a); pthread_barrier_wait(&both); puts("READY"); fflush(stdout);
  pthread_mutex_lock(&b); pthread_join(t,0); return 0; }
"""
CONDITION = """
#include <pthread.h>
#include <stdio.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t c = PTHREAD_COND_INITIALIZER;
void *wait_for_it(void *x){ pthread_mutex_lock(&m); pthread_cond_wait(&c,&m); pthread_mutex_unlock(&m); return x; }
int main(void){ pthread_t t[4]; for(int i=0;i<4;i++) pthread_create(&t[i],0,wait_for_it,0);
  puts("READY"); fflush(stdout); for(int i=0;i<4;i++) pthread_join(t[i],0); return 0; }
"""
SPIN = '#include <stdio.h>\nint main(void){ puts("READY"); fflush(stdout); for(;;); }\n'
MONITORS = """
public class Monitors { public static void main(String[] x) throws Exception {
  final Object a = new Object(), b = new Object();
  Thread t = new Thread(() -> { synchronized (b) { nap(); synchronized (a) { System.out.println("no"); } } });
  t.start(); synchronized (a) { nap(); System.out.println("READY"); synchronized (b) { System.out.println("no"); } } }
  static void nap() { try { Thread.sleep(300); } catch (InterruptedException e) { } } }
"""
JAVA_IN = """
public class In { public static void main(String[] x) throws Exception {
  System.out.println("READY"); System.in.read(); } }
"""
PY_LOCKS = """
import threading
a, b = threading.Lock(), threading.Lock(); both = threading.Barrier(2)
def other():
    with b:
        both.wait()
        with a: pass
t = threading.Thread(target=other); t.start()
with a:
    both.wait(); print("READY")
    with b: pass
"""
POOL = """
import multiprocessing as m, os
def work(n):
    print("READY", flush=True); os._exit(1)
if __name__ == "__main__":
    m.set_start_method("fork")
    with m.Pool(1) as pool: pool.map(work, [1])
"""
HEARTBEAT = """
import socket, sys, threading, time
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
def beat():
    while True: s.sendall(b"ping"); time.sleep(1)
threading.Thread(target=beat, daemon=True).start(); print("READY"); threading.Lock().acquire(); x = threading.Lock(); x.acquire(); x.acquire()
"""
HOLDS_POSIX = "import fcntl,sys,signal; f=open(sys.argv[1],'w'); fcntl.lockf(f,fcntl.LOCK_EX); signal.pause()"
SOCKETPAIR = """
import os, socket
a, b = socket.socketpair()
if os.fork() == 0:
    a.close(); b.recv(1)
else:
    b.close(); print("READY"); a.recv(1)
"""
TTIN = """
import os, sys
if (pid := os.fork()) == 0:
    os.setpgid(0, 0); print("READY"); sys.stdin.readline()
else:
    os.waitpid(pid, 0)
"""


def _posix(stage: Stage) -> list[str]:
    path = stage.write("data.lock", "")
    stage.outsiders.append([stage.python, "-c", HOLDS_POSIX, path])
    source = "import fcntl,sys,time; time.sleep(0.5); print('READY'); fcntl.lockf(open(sys.argv[1],'w'),fcntl.LOCK_EX)"
    return [*stage.py(source), path]


def _flock_child(stage: Stage) -> list[str]:
    path = stage.write("build.lock", "")
    stage.outsiders.append(["flock", path, "sh", "-c", "sleep infinity; true"])
    return ["sh", "-c", f"sleep 0.3; echo READY; flock {path} true"]


def _sqlite_busy(stage: Stage) -> list[str]:
    path = str(stage.dir / "busy.db")
    subprocess.run(["sqlite3", path, "create table t(a)"], check=True)
    hold = "import sqlite3,signal,sys; c=sqlite3.connect(sys.argv[1],isolation_level=None); c.execute('begin exclusive'); signal.pause()"
    stage.outsiders.append([stage.python, "-c", hold, path])
    return [
        "sh",
        "-c",
        f"sleep 0.5; echo READY; sqlite3 -cmd '.timeout 60000' {path} 'insert into t values(1)'",
    ]


def _apt_like(stage: Stage) -> list[str]:
    path = stage.write("lock-frontend", "")
    stage.outsiders.append([stage.python, "-c", HOLDS_POSIX, path])
    source = (
        "import fcntl,sys,time; f=open(sys.argv[1],'w'); time.sleep(0.5); print('READY')\nwhile True:\n"
        " try: fcntl.lockf(f,fcntl.LOCK_EX|fcntl.LOCK_NB); break\n except OSError: time.sleep(1)"
    )
    return [*stage.py(source), path]


def _editor(stage: Stage) -> list[str]:
    return ["env", "GIT_EDITOR=vi", "git", "-C", str(stage.git()), "commit", "--allow-empty"]


def _credentials(_: Stage) -> list[str]:
    ask = "printf 'protocol=https\\nhost=example.invalid\\n\\n' | git credential fill"
    return ["sh", "-c", ask]


def _passphrase(stage: Stage) -> list[str]:
    key = str(stage.dir / "id")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", key], check=True, capture_output=True)
    return ["ssh-keygen", "-y", "-f", key]


def _make_asks(stage: Stage) -> list[str]:
    stage.write("Makefile", "all:\n\t@printf 'Really install? [y/N] '; read x\n")
    return ["make", "-C", str(stage.dir)]


def _full_stdout(stage: Stage) -> list[str]:
    return stage.py(
        "import subprocess; p=subprocess.Popen(['sh','-c','yes | head -c 3000000'],stdout=-1); print('READY'); p.wait()"
    )


def _beats(stage: Stage) -> list[str]:
    return [*stage.py(HEARTBEAT), str(stage.server("beat"))]


def _urllib(stage: Stage) -> list[str]:
    return stage.py(
        f"import urllib.request as u; print('READY'); u.urlopen('http://127.0.0.1:{stage.server('silent')}/')"
    )


def _fetch(stage: Stage) -> list[str]:
    return stage.node(f"console.log('READY'); fetch('http://127.0.0.1:{stage.server('silent')}/')")


def _half(stage: Stage) -> list[str]:
    return ["curl", "-s", "-o", str(stage.dir / "got"), f"http://127.0.0.1:{stage.server('mute_http')}/"]


def _ssh(stage: Stage) -> list[str]:
    return ["ssh", "-F", "/dev/null", "-p", str(stage.server("silent")), "127.0.0.1", "true"]


def _clone(stage: Stage) -> list[str]:
    return ["git", "clone", "-q", f"http://127.0.0.1:{stage.server('silent')}/x.git", str(stage.dir / "x")]


def _mpool(stage: Stage) -> list[str]:
    return [stage.python, "-u", stage.write("pool.py", POOL)]


def _fifo(stage: Stage) -> list[str]:
    return ["sh", "-c", f"mkfifo {stage.dir}/f; echo READY; cat {stage.dir}/f"]


R = b"READY"
# V8 looks once or twice, 8 s apart, whether memory can be given back. Until then its loop has a timeout, like a timer of
# the program.
V8 = 18.0
HUNG: tuple[Scenario, ...] = (
    Scenario("python-lock-order", "hung", ("deadlock",), lambda s: s.py(PY_LOCKS), ready=R),
    Scenario("c-mutex-order", "hung", ("deadlock",), lambda s: [s.cc(MUTEXES)], ready=R, needs=("cc",), prompt="two threads"),
    Scenario("c-condition-never", "hung", ("deadlock",), lambda s: [s.cc(CONDITION)], ready=R, needs=("cc",)),
    Scenario("java-monitors", "hung", ("deadlock",), lambda s: s.java("Monitors", MONITORS), ready=R, settle=2.5, needs=("java", "javac")),
    Scenario(
        "node-atomics-main",
        "hung",
        ("deadlock",),
        lambda s: s.node("console.log('READY');Atomics.wait(new Int32Array(new SharedArrayBuffer(4)),0,0)"),
        ready=R,
        needs=("node",),
    ),
    Scenario(
        "node-message-port",
        "hung",
        ("idle", "deadlock"),
        lambda s: s.node("console.log('READY');new MessageChannel().port1.on('message',()=>{})"),
        ready=R,
        needs=("node",),
    ),
    Scenario("cat-pipe", "hung", ("input",), lambda _: ["cat"], io="pipe"),
    Scenario("cat-terminal", "hung", ("input",), lambda _: ["cat"], io="pty"),
    Scenario("python-socket-stdin", "hung", ("input",), lambda s: s.py("import sys; print('READY'); sys.stdin.read()"), io="socket", ready=R),
    Scenario("python-input-pipe", "hung", ("input",), lambda s: s.py("print('READY'); input()"), io="pipe", ready=R),
    Scenario("java-system-in", "hung", ("input",), lambda s: s.java("In", JAVA_IN), io="pipe", ready=R, needs=("java", "javac")),
    Scenario("node-stdin-pipe", "hung", ("input",), lambda s: s.node("process.stdin.resume();console.log('READY')"), io="pipe", ready=R, needs=("node",)),
    # Was "hung": a FIFO has a name, and any process may open it at any moment.
    Scenario("cat-fifo", "ambiguous", ("input",), _fifo, ready=R),
    Scenario("git-commit-vi", "hung", ("input",), _editor, io="pty", ready=b"~", settle=4.5, needs=("git", "vi")),  # its swap timer fires once
    Scenario("git-credential", "hung", ("input",), _credentials, io="pty", ready=b"Username", needs=("git",), prompt="Username for"),
    Scenario("ssh-passphrase", "hung", ("input",), _passphrase, io="pty", ready=b"passphrase", needs=("ssh-keygen",), prompt="password"),
    Scenario("su-password", "hung", ("input",), lambda _: ["su", "root", "-c", "true"], io="pty", ready=b"assword", needs=("su",), nobody=True, prompt="Password:"),
    Scenario("npm-init", "hung", ("input",), lambda _: ["npm", "init"], io="pty", ready=b"package name", settle=V8, needs=("npm",), prompt="package name"),
    Scenario(
        "apt-like-continue",
        "hung",
        ("input",),
        lambda _: ["perl", "-e", "$|=1; print qq(After this, 3 MB will be used.\\nDo you want to continue? [Y/n] ); <STDIN>"],
        io="pty",
        ready=b"[Y/n]",
        needs=("perl",),
        prompt="Do you want to continue? [Y/n]",
    ),
    Scenario("python-repl", "hung", ("input",), lambda s: [s.python, "-q"], io="pty", ready=b">>>", prompt=">>>"),
    Scenario("node-repl", "hung", ("input",), lambda _: ["node"], io="pty", ready=b"> ", settle=V8, needs=("node",)),
    Scenario("python-getpass", "hung", ("input",), lambda s: s.py("import getpass; getpass.getpass('Token: ')"), io="pty", ready=b"Token", prompt="password"),
    Scenario("man-pager", "hung", ("input",), lambda _: ["sh", "-c", "seq 500 | less"], io="pty", ready=b"20", needs=("less",)),
    Scenario("make-recipe-asks", "hung", ("input",), _make_asks, io="pty", ready=b"[y/N]", needs=("make",), prompt="Really install"),
    Scenario("bash-interactive", "hung", ("input",), lambda _: ["bash", "--norc", "-i"], io="pty", ready=b"bash-"),
    Scenario("gdb-prompt", "hung", ("input",), lambda _: ["gdb", "-q", "-nx"], io="pty", ready=b"(gdb)", needs=("gdb",), prompt="(gdb)"),
    Scenario("posix-lock-outside", "hung", ("lock",), _posix, ready=R, prompt="data.lock"),
    Scenario("flock-outside-with-child", "hung", ("lock",), _flock_child, ready=R, needs=("flock",), prompt="build.lock"),
    Scenario("popen-wait-full-pipe", "hung", ("pipe_cycle",), _full_stdout, ready=R),
    Scenario("socketpair-both-read", "hung", ("pipe_cycle",), lambda s: s.py(SOCKETPAIR), ready=R),
    Scenario("bash-coproc", "hung", ("pipe_cycle",), lambda _: ["bash", "-c", "coproc cat; echo READY; read -u ${COPROC[0]} x"], ready=R),
    # Was "hung": it cannot be told from one that a stranger has stopped, and will continue.
    Scenario("stops-itself", "ambiguous", ("stopped",), lambda _: ["sh", "-c", "echo READY; kill -STOP $$"], ready=R),
    Scenario("background-reads-terminal", "hung", ("stopped",), lambda s: s.py(TTIN), io="pty", ready=R, prompt="SIGTTIN"),
    Scenario("leak-setsid", "hung", ("leak",), lambda _: ["sh", "-c", "setsid sleep infinity & echo READY"], ready=R),
    Scenario("leak-cat", "hung", ("leak",), lambda _: ["sh", "-c", "exec 3<&0; cat <&3 & echo READY"], io="pipe", ready=R),
    Scenario("sleep-infinity", "hung", ("idle",), lambda _: ["sleep", "infinity"]),
    Scenario("perl-pause", "hung", ("idle",), lambda _: ["perl", "-e", "sleep"], needs=("perl",)),
    Scenario("pool-worker-died", "hung", ("deadlock", "pipe_cycle", "poll", "timer"), _mpool, ready=R),
    Scenario("tail-dev-null", "ambiguous", ("idle", "poll", "timer"), lambda _: ["tail", "-f", "/dev/null"]),
    Scenario("sqlite-busy-timeout", "ambiguous", ("lock", "poll"), _sqlite_busy, ready=R, needs=("sqlite3",)),
    Scenario("apt-like-lock-poll", "ambiguous", ("lock", "poll"), _apt_like, ready=R, prompt="lock-frontend"),
    Scenario("heartbeat-over-hung-main", "ambiguous", ("deadlock", "timer", "poll", "network"), _beats, ready=R),
    Scenario("urllib-silent", "ambiguous", ("network",), _urllib, ready=R, prompt="127.0.0.1:"),
    Scenario("node-fetch-silent", "ambiguous", ("network",), _fetch, ready=R, needs=("node",), prompt="127.0.0.1:"),
    Scenario("curl-half-answer", "ambiguous", ("network",), _half, needs=("curl",)),
    Scenario("ssh-no-banner", "ambiguous", ("network",), _ssh, needs=("ssh",)),
    Scenario("git-clone-silent", "ambiguous", ("network",), _clone, needs=("git",)),
    Scenario("python-spin", "ambiguous", ("busy",), lambda s: s.py("print('READY')\nwhile True: pass"), ready=R),
    Scenario("c-spin", "ambiguous", ("busy",), lambda s: [s.cc(SPIN)], ready=R, needs=("cc",)),
    Scenario("python-poll-loop", "ambiguous", ("poll",), lambda s: s.py("import time; print('READY')\nwhile True: time.sleep(0.02)"), ready=R),
    Scenario("sleep-600", "ambiguous", ("timer",), lambda _: ["sleep", "600"]),
    Scenario("read-with-timeout", "ambiguous", ("input", "timer"), lambda _: ["bash", "-c", "read -t 60 -p 'Name: ' x"], io="pty", ready=b"Name"),
)  # fmt: skip
