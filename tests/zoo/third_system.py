# ruff: noqa: E501 - one scenario a line reads as the table it is
"""Shells, locks and their owners, databases, package managers, trickles, wrappers around prompts, servers."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from tests.zoo.scenario import Scenario, Stage
from tests.zoo.toolchains import found

R = b"READY"


def _sh(script: str) -> list[str]:
    return ["sh", "-c", script]


# --- shells -------------------------------------------------------------------------------------------------------


def _own_fifo(stage: Stage) -> list[str]:
    return _sh(f"mkfifo {stage.dir}/f; exec 3<>{stage.dir}/f; echo READY; read x <&3")


def _fifo_no_reader(stage: Stage) -> list[str]:
    return _sh(f"mkfifo {stage.dir}/f; echo READY; echo x > {stage.dir}/f")


def _fifo_from(stage: Stage, script: str) -> list[str]:
    """The reader opens it once the outsider is about to, so both ends are open when READY is read from it."""
    fifo = stage.dir / "f"
    subprocess.run(["mkfifo", str(fifo)], check=True)
    stage.outsider(f"exec 3>{fifo}; echo READY >&3; {script}")
    return _sh(f"{{ read first; echo $first; cat > /dev/null; }} < {fifo}")


SHELL_SCENARIOS = (
    Scenario("bash-waits-for-coproc", "hung", ("pipe_cycle",), lambda _: ["bash", "-c", "coproc cat; echo READY; wait"], ready=R, needs=("bash",)),
    Scenario("bash-waits-for-sleep-infinity", "hung", ("idle",), lambda _: ["bash", "-c", "trap 'exit 1' TERM; sleep infinity & echo READY; wait"], ready=R, needs=("bash",)),
    Scenario("bash-select-menu", "hung", ("input",), lambda _: ["bash", "-c", "PS3='Which one? '; select x in red blue; do break; done"], io="pty", ready=b"one? ", needs=("bash",), prompt="Which one?"),
    Scenario("zsh-read-q", "hung", ("input",), lambda _: ["zsh", "-f", "-c", "read -q 'x?Overwrite them all? '"], io="pty", ready=b"all? ", needs=("zsh",), prompt="Overwrite them all?"),
    Scenario("zsh-vared", "hung", ("input",), lambda _: ["zsh", "-f", "-c", "x=main; vared -p 'Branch: ' x"], io="pty", ready=b"main", needs=("zsh",), prompt="Branch:"),
    Scenario("dash-read-pipe", "hung", ("input",), lambda _: ["dash", "-c", "echo READY; read x"], io="pipe", ready=R, needs=("dash",)),
    Scenario("xargs-reads-stdin", "hung", ("input",), lambda _: _sh("echo READY; xargs -n 1 echo"), io="pipe", ready=R),
    # Was "hung": it has a name, and any process may open it, write a line and close it again.
    Scenario("sh-fifo-held-by-itself", "ambiguous", ("deadlock", "pipe_cycle", "input"), _own_fifo, ready=R),
    # Was "hung": any process may open it to read, and those are the first bytes that it gets.
    Scenario("sh-fifo-without-reader", "ambiguous", ("input", "pipe_cycle"), _fifo_no_reader, ready=R),
    Scenario("fifo-outsider-says-nothing", "ambiguous", ("input", "pipe_cycle"), lambda s: _fifo_from(s, "exec sleep infinity"), ready=R),
    Scenario("fifo-outsider-writes-later", "alive", ("input", "pipe_cycle"), lambda s: _fifo_from(s, "sleep 80; echo late >&3"), ready=R),
    Scenario("fifo-outsider-trickles", "alive", ("progress", "input", "pipe_cycle"), lambda s: _fifo_from(s, "while :; do sleep 1; echo line >&3; done"), ready=R),
    Scenario("sleep-300", "alive", ("timer",), lambda _: ["sleep", "300"]),
    Scenario("sh-sleep-300-in-between", "alive", ("timer",), lambda _: _sh("echo READY; sleep 300; echo done"), ready=R),
    Scenario("timeout-300-over-cat", "alive", ("timer", "input"), lambda _: ["timeout", "300", "cat"], io="pipe"),
    Scenario("timeout-300-over-a-lock", "alive", ("timer", "deadlock"), lambda s: ["timeout", "300", *s.py("import threading; l=threading.Lock(); l.acquire(); print('READY'); l.acquire()")], ready=R),
    Scenario("timeout-200-over-a-prompt", "alive", ("timer", "input"), lambda _: ["timeout", "--foreground", "200", "sh", "-c", "printf 'Name? '; read x"], io="pty", ready=b"Name? "),
    Scenario("bash-reads-a-sleeper", "alive", ("timer",), lambda _: ["bash", "-c", "echo READY; while read l; do :; done < <(sleep 70)"], ready=R, needs=("bash",)),
    Scenario("zsh-sleeps-in-a-pipe", "alive", ("timer",), lambda _: ["zsh", "-f", "-c", "echo READY; (sleep 75; echo x) | while read l; do :; done"], ready=R, needs=("zsh",)),
)  # fmt: skip

# --- locks and databases ------------------------------------------------------------------------------------------

HOLDS_FCNTL = "import fcntl,signal,sys; f=open(sys.argv[1],'w'); fcntl.lockf(f,fcntl.LOCK_EX); open(sys.argv[2],'w').close(); signal.pause()"


def _orphaned(stage: Stage, keeps: str) -> list[str]:
    """`flock` takes the lock and ends; what it locked stays open in a child of the shell."""
    lock = stage.write("stale.lock", "")
    return _sh(f"exec 9>{lock}; flock 9; {keeps} & exec 9>&-; echo READY; flock {lock} true")


def _orphaned_outside(stage: Stage) -> list[str]:
    lock = stage.write("stale.lock", "")
    up = stage.outsider(f"exec 9>{lock}; flock 9; sleep infinity & exec 9>&-; touch $UP; wait")
    return _sh(f"{up}; echo READY; flock {lock} true")


def _own_flock(stage: Stage) -> list[str]:
    lock = stage.write("mine.lock", "")
    return _sh(f"exec 9>{lock}; flock 9; echo READY; flock {lock} true")


def _held(stage: Stage) -> tuple[str, str]:
    lock = stage.write("held.lock", "")
    return lock, stage.outsider(f"exec flock {lock} sh -c 'touch {stage.dir}/up0; exec sleep infinity'")


def _flock_wait(stage: Stage) -> list[str]:
    lock, up = _held(stage)
    return _sh(f"{up}; echo READY; flock -w 100 {lock} true")


def _flock_again(stage: Stage) -> list[str]:
    lock, up = _held(stage)
    return _sh(f"{up}; echo READY; until flock -n {lock} true; do sleep 1; done")


def _sqlite(stage: Stage) -> list[str]:
    """The same script holds the lock that it waits for, for the ten minutes of its own timeout."""
    database = stage.dir / "app.db"
    subprocess.run(["sqlite3", str(database), "create table t(a)"], check=True)
    hold = "import sqlite3,sys; c=sqlite3.connect(sys.argv[1],isolation_level=None); c.execute('begin exclusive'); print('held'); sys.stdin.read()"
    script = (
        'coproc "$0" -u -c "$1" "$2"; read -u ${COPROC[0]} x; echo READY\n'
        'sqlite3 -cmd ".timeout 600000" "$2" "insert into t values(1)"; echo over'
    )
    return ["bash", "-c", script, stage.python, hold, str(database)]


def _apt(stage: Stage) -> list[str]:
    """The real apt-get, on an empty system of its own whose lock somebody else holds."""
    root = stage.dir / "system"
    for each in (
        "var/lib/dpkg/info",
        "var/lib/apt/lists/partial",
        "var/cache/apt/archives/partial",
        "etc/apt/apt.conf.d",
        "var/log/apt",
    ):
        (root / each).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    lock = root / "var/lib/dpkg/lock-frontend"
    up = stage.outsider(f'exec {stage.python} -c "$1" {lock} $UP', HOLDS_FCNTL)
    options = (
        f"Dir={root}",
        f"Dir::State::status={root}/var/lib/dpkg/status",
        "DPkg::Lock::Timeout=400",
        "APT::Sandbox::User=root",
    )
    apt = " ".join(f"-o {each}" for each in options)
    return _sh(f"{up}; echo READY; apt-get {apt} -y autoremove")


def postgres(stage: Stage) -> tuple[Path, str]:
    where = stage.scratch()
    data = where / "data"
    tools = Path(found("initdb") or "/").parent
    make = [
        str(tools / "initdb"),
        "-D",
        str(data),
        "-A",
        "trust",
        "-U",
        "zoo",
        "--no-sync",
        "--no-instructions",
        "--locale=C",
    ]
    subprocess.run(make, check=True, capture_output=True, env={"PATH": "/usr/bin:/bin", "HOME": str(where)})
    # Nothing in /dev/shm, and nothing listens but a socket in that directory.
    settings = (
        "listen_addresses=",
        f"unix_socket_directories={where}",
        "dynamic_shared_memory_type=mmap",
        "shared_buffers=1MB",
        "fsync=off",
    )
    server = " ".join([str(tools / "postgres"), "-D", str(data), *(f"-c {each}" for each in settings)])
    stage.endings.append(lambda: _postgres_ends(data / "postmaster.pid"))
    return where, server


def _postgres_ends(told: Path) -> None:
    """A killed one leaves its segment of shared memory behind, and says in this file which."""
    try:
        lines = told.read_text().splitlines()
    except OSError:
        return  # it has not even begun
    try:
        os.kill(int(lines[0]), signal.SIGQUIT)  # without delay, and without a trace
    except OSError:
        subprocess.run(["ipcrm", "-m", lines[6].split()[1]], capture_output=True, check=False)
        return
    until = time.monotonic() + 20
    while told.exists() and time.monotonic() < until:
        time.sleep(0.05)


def _postgres_lock(stage: Stage) -> list[str]:
    where, server = postgres(stage)
    up, psql = where / "up", f"psql -h {where} -U zoo -d postgres -q"
    stage.outsiders.append(
        _sh(
            f"exec >/dev/null 2>&1; {server} & until {psql} -c 'create table t(a int)'; do sleep 0.1; done\n"
            f"{psql} -c 'begin; lock table t; select pg_sleep(1000)' & "
            f"until {psql} -tA -c \"select 'held' from pg_locks where mode='AccessExclusiveLock' and granted\" | grep -q held; do sleep 0.1; done\n"
            f"touch {up}; wait"
        )
    )
    return _sh(f"until [ -e {up} ]; do sleep 0.05; done; echo READY; exec {psql} -c 'insert into t values(1)'")


def _postgres_server(stage: Stage) -> list[str]:
    return _sh(f"exec {postgres(stage)[1]} 2>&1")


def _redis(stage: Stage, script: str) -> list[str]:
    sock = stage.dir / "redis.sock"
    up = stage.outsider(
        f"redis-server --port 0 --unixsocket {sock} --save '' >/dev/null &\n"
        f"until redis-cli -s {sock} ping >/dev/null 2>&1; do sleep 0.05; done; touch $UP; wait"
    )
    return _sh(f"{up}; echo READY; exec redis-cli -s {sock} {script}")


FLOCK, POSTGRES, REDIS = ("flock",), ("psql", "postgres", "initdb"), ("redis-server", "redis-cli")
LOCK_SCENARIOS = (
    Scenario("flock-left-to-a-child", "hung", ("lock", "deadlock"), lambda s: _orphaned(s, "sleep infinity"), ready=R, needs=FLOCK, prompt="stale.lock"),
    Scenario("flock-left-to-a-child-outside", "hung", ("lock",), _orphaned_outside, ready=R, needs=FLOCK, prompt="sleep"),
    Scenario("flock-left-to-a-child-60s", "alive", ("lock", "timer"), lambda s: _orphaned(s, "sleep 60"), ready=R, needs=FLOCK, never="again and again"),
    Scenario("flock-own-file-twice", "hung", ("lock", "deadlock"), _own_flock, ready=R, needs=FLOCK, prompt="mine.lock"),
    Scenario("flock-w-100", "alive", ("lock", "timer"), _flock_wait, ready=R, needs=FLOCK),
    Scenario("flock-n-again-and-again", "ambiguous", ("lock", "poll", "timer"), _flock_again, ready=R, needs=FLOCK),
    Scenario("sqlite-own-transaction", "ambiguous", ("lock",), _sqlite, ready=R, needs=("bash", "sqlite3")),
    Scenario("apt-get-waits-for-lock", "ambiguous", ("lock", "poll"), _apt, ready=R, settle=1.5, needs=("apt-get",)),
    Scenario("postgres-table-locked", "ambiguous", ("network", "lock"), _postgres_lock, ready=R, settle=1.0, needs=POSTGRES, nobody=True),
    Scenario("postgres-server", "alive", ("listening",), _postgres_server, ready=b"ready to accept", settle=1.0, needs=POSTGRES, nobody=True),
    Scenario("redis-blpop", "ambiguous", ("network",), lambda s: _redis(s, "blpop queue 0"), ready=R, needs=REDIS),
    Scenario("redis-server", "alive", ("listening",), lambda s: ["redis-server", "--port", "0", "--unixsocket", str(s.dir / "r.sock"), "--save", ""], ready=b"accept connections", needs=REDIS),
)  # fmt: skip

# --- prompts behind something, and waits around a child ---------------------------------------------------------------


def _hook(stage: Stage) -> list[str]:
    repo = stage.git()
    hook = repo / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\nexec < /dev/tty\nprintf 'Tests fail. Commit anyway? '; read x\n")
    hook.chmod(0o755)
    return ["git", "-C", str(repo), "commit", "--allow-empty", "-m", "x"]


def _tmux(stage: Stage, command: str) -> list[str]:
    return ["tmux", "-S", str(stage.dir / "tmux.sock"), "-f", "/dev/null", "new-session", command]


def _make(stage: Stage, recipe: str, *flags: str) -> list[str]:
    stage.write("Makefile", f"all:\n\t@{recipe}\n")
    return ["make", *flags, "-s", "-C", str(stage.dir)]


def _strace(stage: Stage, *argv: str) -> list[str]:
    return ["strace", "-f", "-o", str(stage.dir / "trace"), *argv]


# Takes more of make's tokens than there are: make waits for it, and it for the tokens that nobody will give back.
TOKENS = "import os, select; [(select.select([3], [], []), os.read(3, 1)) for _ in range(9)]"
ASKS = "sh -c 'printf \"Install the hooks? [y/N] \"; read x'"
SPAWN = "spawn -noecho sh -c {printf 'Access token: '; read x}"
WRAPPED_SCENARIOS = (
    Scenario("strace-around-a-prompt", "hung", ("input",), lambda s: _strace(s, "sh", "-c", "printf 'Trace on? '; read x"), io="pty", ready=b"on? ", needs=("strace",), prompt="Trace on?"),
    Scenario("strace-around-a-sleep", "alive", ("timer",), lambda s: _strace(s, "sh", "-c", "echo READY; sleep 70; true"), ready=R, needs=("strace",)),
    Scenario("script-around-a-prompt", "hung", ("input",), lambda _: ["script", "-qfc", ASKS, "/dev/null"], io="pty", ready=b"[y/N]", needs=("script",), prompt="Install the hooks?"),
    Scenario("script-around-a-sleep", "alive", ("timer",), lambda _: ["script", "-qfc", "echo READY; sleep 80", "/dev/null"], ready=R, needs=("script",)),
    Scenario("expect-interacts", "hung", ("input",), lambda _: ["expect", "-c", f"{SPAWN}; interact"], io="pty", ready=b"token: ", needs=("expect",), prompt="Access token:"),
    Scenario("expect-never-said", "hung", ("pipe_cycle", "input", "deadlock"), lambda _: ["expect", "-c", f"set timeout -1; {SPAWN}; expect never; puts over"], ready=b"token: ", needs=("expect",)),
    Scenario("expect-gives-up-in-80s", "alive", ("timer", "input"), lambda _: ["expect", "-c", f"set timeout 80; {SPAWN}; expect never; puts over"], ready=b"token: ", needs=("expect",)),
    # tmux draws its own line anew within its first seconds, and a byte that moves is no standstill.
    Scenario("tmux-around-a-prompt", "hung", ("input",), lambda s: _tmux(s, ASKS), io="pty", ready=b"[y/N]", settle=6.0, needs=("tmux",), prompt="Install the hooks?"),
    Scenario("tmux-around-a-sleep", "alive", ("timer", "input"), lambda s: _tmux(s, "echo READY; sleep 90"), io="pty", ready=R, settle=1.5, needs=("tmux",)),
    Scenario("ssh-agent-around-a-prompt", "hung", ("input",), lambda _: ["ssh-agent", "sh", "-c", "printf 'Deploy where? '; read x"], io="pty", ready=b"where? ", needs=("ssh-agent",), prompt="Deploy where?"),
    Scenario("git-hook-asks", "hung", ("input",), _hook, io="pty", ready=b"anyway? ", needs=("git",), prompt="Commit anyway?"),
    Scenario("make-jobserver-token-lost", "hung", ("pipe_cycle", "deadlock"), lambda s: _make(s, f"+echo READY; exec {s.python} -c '{TOKENS}'", "-j2"), ready=R, needs=("make",)),
    Scenario("make-recipe-sleeps", "alive", ("timer",), lambda s: _make(s, "echo READY; sleep 85"), ready=R, needs=("make",)),
)  # fmt: skip

# --- slow, and alive --------------------------------------------------------------------------------------------------

THROTTLE = """
import os, signal, subprocess, sys, time
p = subprocess.Popen(["sh", "-c", "while :; do :; done"]); print("READY", flush=True)
while True: os.kill(p.pid, signal.SIGSTOP); time.sleep(1.9); os.kill(p.pid, signal.SIGCONT); time.sleep(0.1)
"""


def _limited(stage: Stage) -> list[str]:
    port = stage.server("bulk")
    return ["curl", "-s", "--http0.9", "--limit-rate", "300", "-o", str(stage.dir / "got"), f"http://127.0.0.1:{port}/"]


def _stranger(stage: Stage) -> list[str]:
    up = stage.outsider("echo $$ > $UP.new; mv $UP.new $UP; exec sleep 90")
    return _sh(f"{up}; echo READY; exec tail --pid=$(cat {stage.dir}/up0) -f /dev/null")


def _watches(stage: Stage) -> list[str]:
    return _sh(f"exec inotifywait -m {stage.dir} 2>&1")


def _appended(stage: Stage) -> list[str]:
    log = stage.write("build.log", "READY\n")
    stage.outsider(f"while :; do sleep 1; echo step >> {log}; done")
    return _sh(f"tail -f {log} | {{ read first; echo $first; while read line; do :; done; }}")


SLOW_SCENARIOS = (
    Scenario("curl-limit-rate", "alive", ("progress", "network", "timer", "poll"), _limited, settle=1.5, needs=("curl",), never="does nothing"),
    Scenario("stop-cont-throttle", "alive", ("progress", "busy", "stopped", "timer", "poll"), lambda s: s.py(THROTTLE), ready=R, settle=6.0, never="does nothing"),
    Scenario("sh-line-a-second-unseen", "alive", ("progress", "timer", "poll"), lambda _: _sh("echo READY; (while :; do echo line; sleep 1; done) | while read l; do :; done"), ready=R),
    Scenario("tail-follows-a-slow-log", "alive", ("progress", "listening", "poll"), _appended, ready=R),
    Scenario("tail-pid-of-a-stranger", "alive", ("poll", "timer", "idle", "listening"), _stranger, ready=R),
    Scenario("inotifywait", "alive", ("listening",), _watches, ready=b"established", needs=("inotifywait",)),
    Scenario("socat-listens", "alive", ("listening",), lambda s: ["socat", "-d", "-d", f"UNIX-LISTEN:{s.dir}/s", "PIPE"], ready=b"listening", needs=("socat",)),
    Scenario("socat-silent-peer", "ambiguous", ("network",), lambda s: ["socat", "-d", "-d", "-u", f"TCP:127.0.0.1:{s.server('silent')}", "STDOUT"], ready=b"starting data", needs=("socat",)),
)  # fmt: skip

SYSTEM = SHELL_SCENARIOS + LOCK_SCENARIOS + WRAPPED_SCENARIOS + SLOW_SCENARIOS
