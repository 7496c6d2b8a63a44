# ruff: noqa: E501 - one scenario a line reads as the table it is
"""Tools that agents run, and what they wait for: installers, git and ssh, editors, REPLs, locks, pipes, queues."""

from __future__ import annotations

import socket
import subprocess

from tests.zoo.scenario import Scenario, Stage
from tests.zoo.third_compiled import C_HEAD

R = b"READY"

# Answers every request with an endless body, so many bytes at a time; or, for 0, with nothing at all.
SLOW_HTTP = """
import http.server, os, sys, time
size, pause, told = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
class Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if not size: time.sleep(9999)
        self.send_response(200); self.send_header("Content-Type", "application/octet-stream"); self.send_header("Content-Length", "99999999"); self.end_headers()
        while True: self.wfile.write(b"x" * size); time.sleep(pause)
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
with open(told + ".new", "w") as f: f.write(str(s.server_port))
os.rename(told + ".new", told); s.serve_forever()
"""


def _sh(script: str) -> list[str]:
    return ["sh", "-c", script]


def _from_http(stage: Stage, size: int, pause: float, script: str) -> list[str]:
    """`script` finds the address of the server in $URL."""
    up = stage.outsider(f'exec {stage.python} -c "$1" {size} {pause} $UP', SLOW_HTTP)
    return _sh(f"{up}; URL=http://127.0.0.1:$(cat {stage.dir}/up0); echo READY; {script}")


def _pip(stage: Stage, size: int) -> list[str]:
    flags = "--disable-pip-version-check --no-cache-dir --no-deps --no-index"
    return _from_http(
        stage, size, 0.5, f"exec {stage.python} -m pip download {flags} -d {stage.dir} $URL/zoo-1.0.tar.gz"
    )


def _npm(stage: Stage, size: int) -> list[str]:
    stage.write("package.json", '{"name": "zoo", "version": "1.0.0"}')
    quiet = "npm_config_update_notifier=false npm_config_audit=false"
    return _from_http(stage, size, 0.5, f"{quiet} npm_config_registry=$URL/ npm install $URL/zoo-1.0.0.tgz")


def _git_ssh(stage: Stage, transport: str) -> list[str]:
    wrapper = stage.write("transport", f"#!/bin/sh\n{transport}\n")
    return _sh(
        f"chmod +x {wrapper}; echo READY; GIT_SSH={wrapper} GIT_SSH_VARIANT=simple git clone -q zoo:x {stage.dir}/x"
    )


def _rsync(stage: Stage) -> list[str]:
    wrapper = stage.write("remote", "#!/bin/sh\nexec sleep infinity\n")
    return _sh(f"chmod +x {wrapper}; echo READY; rsync -e {wrapper} zoo:/x {stage.dir}/x")


def _rebase(stage: Stage) -> list[str]:
    return ["env", "EDITOR=vim -N -u NONE", "git", "-C", str(stage.git()), "rebase", "-i", "HEAD~3"]


def _host_key(stage: Stage) -> list[str]:
    where = stage.scratch()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(where / "key")], check=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = f"-o Port={port} -o ListenAddress=127.0.0.1 -o PidFile=none -o UsePAM=no"
    stage.outsiders.append(_sh(f"exec /usr/sbin/sshd -D -e -f /dev/null -h {where}/key {options} 2>/dev/null"))
    known = f"-o UserKnownHostsFile={where}/known -o GlobalKnownHostsFile=/dev/null -F /dev/null"
    return _sh(
        f"until ssh-keyscan -p {port} 127.0.0.1 2>/dev/null | grep -q ssh; do sleep 0.1; done; exec ssh {known} -p {port} zoo@127.0.0.1"
    )


def _gpg(stage: Stage) -> list[str]:
    home = stage.scratch()  # its sockets' names are short there
    secret = stage.write("secret", "x")
    return _sh(f"export GPG_TTY=$(tty); exec gpg --homedir {home} -c {secret}")


def _gzip(stage: Stage) -> list[str]:
    stage.write("log.gz", "")
    return ["gzip", stage.write("log", "x")]


def _make_tree(stage: Stage) -> list[str]:
    """Two sub-makes share one token: one sleeps with it, the other waits for its turn."""
    for each in ("one", "two"):
        (stage.dir / each).mkdir()
        (stage.dir / each / "Makefile").write_text("all: a b c\na b c:\n\t@sleep 80\n")
    stage.write("Makefile", "all: one two\none two:\n\t@$(MAKE) -s -C $@\n.PHONY: all one two\n")
    return _sh(f"echo READY; exec make -s -j2 -C {stage.dir}")


def _make_compiles(stage: Stage) -> list[str]:
    lines = "\n".join(f"int f{n}(int x) {{ return x * {n} + (x ^ {n}); }}" for n in range(4000))
    stage.write("big.c", lines)
    stage.write("Makefile", "all: a.o b.o c.o d.o\n%.o: big.c\n\tcc -O2 -c -o $@ big.c\n")
    return _sh(f"echo READY; while :; do make -s -B -j2 -C {stage.dir}; done")


def _redis_worker(stage: Stage) -> list[str]:
    """As the workers of Celery do it: ask for work, for a second each time."""
    sock = stage.dir / "r"
    up = stage.outsider(
        f"cd {stage.dir}; redis-server --port 0 --unixsocket r --save '' >/dev/null &\n"
        f"until redis-cli -s {sock} ping >/dev/null 2>&1; do sleep 0.05; done; touch $UP; wait"
    )
    work = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('r'); print('READY')\nwhile True: s.sendall(b'*3\\r\\n$5\\r\\nBRPOP\\r\\n$1\\r\\nq\\r\\n$1\\r\\n1\\r\\n'); s.recv(99)"
    return ["sh", "-c", f'{up}; cd {stage.dir}; exec "$@"', "sh", *stage.py(work)]


def _cargo(stage: Stage) -> list[str]:
    """Cargo waits for the lock on its build directory, which another one holds for a while."""
    (stage.dir / "src").mkdir()
    stage.write("src/main.rs", "fn main() {}")
    stage.write("Cargo.toml", '[package]\nname = "zoo"\nversion = "0.1.0"\nedition = "2021"\n')
    lock = stage.dir / "target/debug/.cargo-lock"
    up = stage.outsider(
        f"mkdir -p {lock.parent}; exec flock {lock} sh -c 'touch {stage.dir}/up0; sleep 70; exec sleep 70'"
    )
    return _sh(f"{up}; cd {stage.dir}; echo READY; exec cargo build --offline -q")


def _grep_follows(stage: Stage) -> list[str]:
    log = stage.write("app.log", "READY\n")
    stage.outsider(f"while sleep 20; do echo nothing >> {log}; done")
    return _sh(f"echo READY; tail -n +1 -f {log} | grep --line-buffered ERROR")


def _fifos_crossed(stage: Stage) -> list[str]:
    a, b = stage.dir / "a", stage.dir / "b"
    return _sh(f"mkfifo {a} {b}; (exec 3>{a} 4<{b}; echo x) & echo READY; exec 3>{b} 4<{a}; wait")


def _fifos_in_turn(stage: Stage) -> list[str]:
    a = stage.dir / "a"
    return _sh(f"mkfifo {a}; (sleep 70; echo x > {a}) & echo READY; read x < {a}")


def _idle_client(stage: Stage) -> list[str]:
    serve = "import socketserver as s; v = s.ThreadingTCPServer(('127.0.0.1', 0), s.StreamRequestHandler); print(v.server_address[1]); v.serve_forever()"
    client = "import socket, sys; c = socket.create_connection(('127.0.0.1', int(sys.stdin.readline()))); print('READY'); sys.stdin.read()"
    source = stage.write(
        "serve.py",
        serve.replace(
            "s.StreamRequestHandler", "type('H', (s.BaseRequestHandler,), {'handle': lambda h: h.request.recv(9)})"
        ),
    )
    return ["sh", "-c", f'{stage.python} -u {source} | "$@"', "sh", *stage.py(client)]


SQL_HOLDS = "import sqlite3, sys, time; c = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=300); c.execute('begin immediate'); print('READY' if len(sys.argv) > 2 else 'held'); time.sleep(60)"
FLOCKS = """
import fcntl, os, sys
n = int(sys.argv[1]); mine, next = os.open(f"l{n}", os.O_CREAT | os.O_RDWR), os.open(f"l{(n + 1) % 3}", os.O_CREAT | os.O_RDWR)
fcntl.flock(mine, fcntl.LOCK_EX); open(f"held{n}", "w").close()
while not all(os.path.exists(f"held{i}") for i in range(3)): pass
print("READY"); fcntl.flock(next, fcntl.LOCK_EX)
"""


def _three_flocks(stage: Stage) -> list[str]:
    source = stage.write("locks.py", FLOCKS)
    return _sh(f"cd {stage.dir}; for n in 0 1 2; do {stage.python} -u {source} $n & done; wait")


SEM_DEAD = "int main(void) { sem_t *s = mmap(0, 4096, PROT_READ|PROT_WRITE, MAP_SHARED|MAP_ANONYMOUS, -1, 0); sem_init(s, 1, 0); if (fork() == 0) _exit(0); wait(0); ready(); sem_wait(s); }"
SEM_LATER = "int main(void) { sem_t *s = mmap(0, 4096, PROT_READ|PROT_WRITE, MAP_SHARED|MAP_ANONYMOUS, -1, 0); sem_init(s, 1, 0); if (fork() == 0) { sleep(80); sem_post(s); _exit(0); } ready(); sem_wait(s); }"
ROBUST_HELD = """int main(void) { pthread_mutexattr_t a; pthread_mutex_t *m = mmap(0, 4096, PROT_READ|PROT_WRITE, MAP_SHARED|MAP_ANONYMOUS, -1, 0); int p[2]; char c; pipe(p);
  pthread_mutexattr_init(&a); pthread_mutexattr_setpshared(&a, 1); pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST); pthread_mutex_init(m, &a);
  if (fork() == 0) { pthread_mutex_lock(m); write(p[1], "", 1); sleep(80); _exit(0); } read(p[0], &c, 1); ready(); pthread_mutex_lock(m); }"""
BARRIER = """static pthread_barrier_t b; static void *one(void *x) { pthread_barrier_wait(&b); return x; }
int main(void) { pthread_t t; pthread_barrier_init(&b, 0, 3); pthread_create(&t, 0, one, 0); ready(); pthread_barrier_wait(&b); }"""
OFD = """int main(int n, char **v) { struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1}; int p[2], q[2]; char c; (void)n; pipe(p); pipe(q);
  int child = fork() == 0, fd = open(v[1], O_RDWR|O_CREAT, 0600); l.l_start = child; fcntl(fd, F_OFD_SETLK, &l);
  if (child) { write(p[1], "", 1); read(q[0], &c, 1); } else { write(q[1], "", 1); read(p[0], &c, 1); ready(); } l.l_start = !child; fcntl(fd, F_OFD_SETLKW, &l); }"""
OFD_HOLDS = """int main(int n, char **v) { struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1}; int fd = open(v[1], O_RDWR|O_CREAT, 0600);
  if (n > 2) { fcntl(fd, F_OFD_SETLK, &l); close(open(v[2], O_CREAT, 0600)); sleep(100); return 0; } ready(); fcntl(fd, F_OFD_SETLKW, &l); }"""


def _ofd_outside(stage: Stage) -> list[str]:
    actor = stage.cc(C_HEAD + OFD_HOLDS)
    return _sh(f"{stage.outsider(f'exec {actor} {stage.dir}/f $UP')}; exec {actor} {stage.dir}/f")


THROTTLED = "sh -c 'while :; do :; done' & p=$!; echo READY; trap 'kill -CONT $p; kill $p' TERM; while :; do kill -STOP $p; sleep 6; kill -CONT $p; sleep 0.3; done"
ONE_A_MINUTE = "echo READY; while :; do sleep 60; echo line; done"
CC = ("cc",)
SEM = C_HEAD.replace("#include <time.h>", "#include <time.h>\n#include <semaphore.h>")

TOOLS = (
    Scenario("pip-downloads-slowly", "alive", ("progress", "network"), lambda s: _pip(s, 300), ready=R, settle=3.0),
    Scenario("pip-gets-no-answer", "ambiguous", ("network",), lambda s: _pip(s, 0), ready=R, settle=3.0),
    Scenario("npm-installs-slowly", "alive", ("progress", "network"), lambda s: _npm(s, 300), ready=R, settle=4.0, needs=("npm",)),
    Scenario("npm-gets-no-answer", "ambiguous", ("network", "timer"), lambda s: _npm(s, 0), ready=R, settle=4.0, needs=("npm",)),
    Scenario("curl-ten-bytes-every-two-seconds", "alive", ("progress", "network"), lambda s: _from_http(s, 10, 1.8, f"exec curl -s -o {s.dir}/got $URL/x"), ready=R, settle=1.5, needs=("curl",)),
    Scenario("curl-gives-up-in-100s", "alive", ("network", "timer"), lambda s: _from_http(s, 0, 1, "exec curl -s -m 100 $URL/x"), ready=R, settle=1.5, needs=("curl",)),
    Scenario("git-clone-over-a-dead-transport", "hung", ("pipe_cycle", "idle"), lambda s: _git_ssh(s, "exec sleep infinity"), ready=R, settle=1.0, needs=("git",)),
    Scenario("git-clone-over-a-slow-transport", "alive", ("timer",), lambda s: _git_ssh(s, "sleep 70"), ready=R, settle=1.0, needs=("git",)),
    Scenario("rsync-over-a-dead-transport", "ambiguous", ("pipe_cycle", "idle", "timer", "poll"), _rsync, ready=R, settle=1.0, needs=("rsync",)),
    Scenario("git-rebase-in-an-editor", "hung", ("input",), _rebase, io="pty", ready=b"pick", settle=6.0, needs=("git", "vim")),
    Scenario("ssh-asks-for-the-host-key", "hung", ("input",), _host_key, io="pty", ready=b"fingerprint])?", settle=1.0, needs=("sshd", "ssh"), nobody=True, prompt="continue connecting"),
    # It was called hung at first; but pinentry gives up after a minute, by an alarm, and gpg with it.
    Scenario("gpg-pinentry", "alive", ("input", "timer"), _gpg, io="pty", ready=b"assphrase", settle=1.5, needs=("gpg", "pinentry-curses")),
    Scenario("gzip-asks-to-overwrite", "hung", ("input",), _gzip, io="pty", ready=b"overwrite (y", needs=("gzip",), prompt="overwrite"),
    Scenario("openssl-req-asks", "hung", ("input",), lambda s: ["openssl", "req", "-new", "-newkey", "rsa:1024", "-nodes", "-keyout", f"{s.dir}/k", "-out", f"{s.dir}/c"], io="pty", ready=b"]:", needs=("openssl",), prompt="Country Name"),
    Scenario("sqlite-shell", "hung", ("input",), lambda _: ["sqlite3"], io="pty", ready=b"sqlite> ", needs=("sqlite3",), prompt="sqlite>"),
    Scenario("ghci", "hung", ("input",), lambda _: ["ghci", "-v0", "-ignore-dot-ghci"], io="pty", ready=b"> ", settle=6.0, needs=("ghci",)),
    Scenario("ocaml-toplevel", "hung", ("input",), lambda _: ["ocaml", "-noinit"], io="pty", ready=b"# ", settle=1.0, needs=("ocaml",)),
    Scenario("php-interactive", "hung", ("input",), lambda _: ["php", "-a"], io="pty", ready=b"php > ", settle=1.0, needs=("php",), prompt="php >"),
    Scenario("sort-reads-stdin", "hung", ("input",), lambda _: _sh("echo READY; sort | uniq -c"), io="pipe", ready=R),
    Scenario("bash-while-read", "hung", ("input",), lambda _: ["bash", "-c", "echo READY; while IFS= read -r line; do :; done"], io="pipe", ready=R, needs=("bash",)),
    Scenario("bash-read-t-100", "alive", ("timer", "input"), lambda _: ["bash", "-c", "echo READY; read -t 100 x; echo on"], io="pipe", ready=R, needs=("bash",)),
    Scenario("bash-waits-for-its-own-tee", "hung", ("pipe_cycle", "deadlock"), lambda _: ["bash", "-c", "exec 7>&1; echo READY; exec 8> >(cat >/dev/null); wait $!"], ready=R, needs=("bash",)),
    Scenario("pipe-kept-by-a-daemon", "hung", ("idle", "pipe_cycle", "leak"), lambda _: _sh("echo READY; (sleep infinity & true) | cat"), ready=R),
    Scenario("make-j2-one-token-sleeps", "alive", ("timer",), _make_tree, ready=R, settle=1.0, needs=("make",)),
    Scenario("make-j2-compiles", "alive", ("progress",), _make_compiles, ready=R, needs=("make", "cc")),
    Scenario("redis-worker-asks-each-second", "alive", ("progress", "network", "poll"), _redis_worker, ready=R, needs=("redis-server",)),
    Scenario("cargo-waits-for-its-lock", "alive", ("lock",), _cargo, ready=R, settle=1.5, needs=("cargo", "rustc", "flock")),
    Scenario("tail-f-into-grep-of-a-slow-log", "alive", ("listening", "poll", "progress"), _grep_follows, ready=R, settle=1.0),
    Scenario("xargs-p4-sleeps", "alive", ("timer",), lambda _: _sh("echo READY; echo 70 71 72 73 | xargs -n 1 -P 4 sleep"), ready=R),
    # Was "hung": any process may open one of them to read, and both go on.
    Scenario("fifos-opened-crosswise", "ambiguous", ("input", "pipe_cycle", "deadlock"), _fifos_crossed, ready=R),
    Scenario("fifo-of-a-sleeping-sibling", "alive", ("timer", "input"), _fifos_in_turn, ready=R),
    Scenario("server-with-an-idle-client-inside", "alive", ("listening",), _idle_client, ready=R),
    Scenario("sqlite-holder-sleeps-inside", "alive", ("timer", "lock", "poll"), lambda s: ["sh", "-c", f'"$1" -c "$2" {s.dir}/a.db & sleep 0.7; "$1" -u -c "$2" {s.dir}/a.db x & echo READY; wait', "sh", s.python, SQL_HOLDS], ready=R, settle=1.0),
    Scenario("three-flocks-in-a-ring", "hung", ("deadlock", "lock"), _three_flocks, ready=R, settle=1.0),
    Scenario("ofd-locks-crossed", "hung", ("deadlock", "lock"), lambda s: [s.cc(C_HEAD + OFD), f"{s.dir}/f"], ready=R, needs=CC),
    Scenario("ofd-lock-of-a-sleeping-outsider", "alive", ("lock",), _ofd_outside, ready=R, needs=CC),
    Scenario("semaphore-whose-poster-died", "hung", ("deadlock", "lock"), lambda s: [s.cc(SEM + SEM_DEAD)], ready=R, needs=CC),
    Scenario("semaphore-posted-in-80s", "alive", ("timer", "lock"), lambda s: [s.cc(SEM + SEM_LATER)], ready=R, needs=CC),
    Scenario("robust-mutex-of-a-sleeper", "alive", ("timer", "lock", "deadlock"), lambda s: [s.cc(C_HEAD + ROBUST_HELD)], ready=R, needs=CC),
    Scenario("barrier-one-missing", "hung", ("deadlock",), lambda s: [s.cc(C_HEAD + BARRIER)], ready=R, needs=CC),
    Scenario("throttled-six-seconds-at-a-time", "alive", ("timer", "stopped", "progress", "busy", "poll"), lambda _: _sh(THROTTLED), ready=R, settle=1.5),
    Scenario("one-line-a-minute", "alive", ("timer",), lambda _: _sh(ONE_A_MINUTE), ready=R),
    Scenario("sleep-50-minutes", "alive", ("timer",), lambda _: ["sleep", "50m"]),
)  # fmt: skip
