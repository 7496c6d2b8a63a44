# ruff: noqa: E501 - one scenario a line reads as the table it is
"""Live jobs that are easily called hung: their next step is far away, and comes from where a look does not reach."""

from __future__ import annotations

from tests.zoo.scenario import Scenario, Stage
from tests.zoo.third_strangers import GIVES

R = b"READY"
# Often enough to be a fact of the job, seldom enough to be missed by any two looks.
SELDOM = 20


def _sh(script: str) -> list[str]:
    return ["sh", "-c", script]


def _fed(stage: Stage, script: str) -> list[str]:
    """A stranger opens the FIFO, writes a line, and closes it again."""
    fifo = stage.dir / "control"
    stage.outsider(f"until [ -p {fifo} ]; do sleep 0.05; done; while sleep {SELDOM}; do echo go > {fifo}; done")
    return _sh(f"mkfifo {fifo}; {script.format(fifo)}")


def _hangup(stage: Stage) -> list[str]:
    """It waits for nothing but the end of a stranger, who holds the other end of its FIFO."""
    fifo = stage.dir / "alive"
    up = stage.outsider(f"mkfifo {fifo}; touch $UP; exec 3>{fifo}; exec sleep 80")
    wait = "import os, select, sys; fd = os.open(sys.argv[1], os.O_RDONLY); p = select.poll(); p.register(fd, 0); print('READY'); p.poll()"
    return [*_sh(f'{up}; exec "$@"'), "sh", *stage.py(wait), str(fifo)]


def _suspended(stage: Stage) -> list[str]:
    """As a batch system does it that has something more urgent to run."""
    pid = stage.dir / "pid"
    stage.outsider(
        f"until [ -s {pid} ]; do sleep 0.05; done; p=$(cat {pid}); while kill -STOP $p; do sleep {SELDOM}; kill -CONT $p; sleep 0.3; done"
    )
    return _sh(f"(exec sh -c 'echo $$ > {pid}; while :; do :; done') & sleep 0.5; echo READY; wait")


def _signalled(stage: Stage, *argv: str) -> list[str]:
    """The job's own argument is where it writes its pid; a stranger sends it SIGUSR1 now and then."""
    pid = stage.dir / "pid"
    stage.outsider(f"until [ -s {pid} ]; do sleep 0.05; done; while sleep {SELDOM}; do kill -USR1 $(cat {pid}); done")
    return [*argv, str(pid)]


WAKES = """
import asyncio, os, signal, sys
async def main():
    come = asyncio.Event(); asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, come.set)
    open(sys.argv[1], "w").write(str(os.getpid())); print("READY")
    while True: await come.wait(); come.clear()
asyncio.run(main())
"""
TRAP = "trap 'n=$((n + 1))' USR1; echo $$ > $1; sleep infinity & echo READY; while :; do wait; done"
GO_USR1 = """
func main() { c := make(chan os.Signal, 1); signal.Notify(c, syscall.SIGUSR1)
  os.WriteFile(os.Args[1], []byte(strconv.Itoa(os.Getpid())), 0o600); fmt.Println("READY"); for range c { } }
"""
GO_ALARM = """
func main() { c := make(chan os.Signal, 1); signal.Notify(c, syscall.SIGALRM); every := [4]int64{60, 0, 60, 0}
  syscall.Syscall(syscall.SYS_SETITIMER, 0, uintptr(unsafe.Pointer(&every)), 0); fmt.Println("READY"); for range c { } }
"""
GO_NOTIFY = ("fmt", "os", "os/signal", "strconv", "syscall")
GO_TIMER = ("fmt", "os", "os/signal", "syscall", "unsafe")


def _holder_sleeps(stage: Stage) -> list[str]:
    lock = stage.write("nightly.lock", "")
    held = stage.outsider(f"exec flock {lock} sh -c 'touch {stage.dir}/up0; sleep 900; true'")
    return _sh(f"{held}; echo READY; flock {lock} true")


def _node_prompt(stage: Stage) -> list[str]:
    log = str(stage.dir / "log")
    code = f"setInterval(()=>require('fs').appendFileSync('{log}','step\\n'),7000);require('readline').createInterface({{input:process.stdin,output:process.stdout}}).question('Stop the sync? ',()=>process.exit())"
    return stage.node(code)


def _erlang_prompt(stage: Stage) -> list[str]:
    work = f'timer:apply_interval({SELDOM * 1000}, file, write_file, ["{stage.dir}/log", "step"]).'
    return ["erl", "-boot", "start_clean", "-eval", work]


# A menu below a watcher that looks at the time of a file once a second.
MENU = """
import os, select, sys, termios, tty
kept = termios.tcgetattr(0); tty.setcbreak(0); sys.stdout.write("[r]un again, [q]uit: "); sys.stdout.flush()
seen = os.stat(sys.argv[1]).st_mtime
while not select.select([0], [], [], 1.0)[0]:
    if os.stat(sys.argv[1]).st_mtime != seen: seen = os.stat(sys.argv[1]).st_mtime; os.system("true")
"""


def _menu(stage: Stage) -> list[str]:
    source = stage.write("source.c", "")
    stage.outsider(f"while sleep {SELDOM}; do touch {source}; done")
    return [*stage.py(MENU), source]


# It takes the end of a socket that a stranger gives it for its stdin, as a child of Node or an inetd gets it.
SERVES = """
import os, socket, sys, time
os.chdir(os.path.dirname(sys.argv[1]))
while True:
    s = socket.socket(socket.AF_UNIX)
    try: s.connect(os.path.basename(sys.argv[1])); break
    except OSError: time.sleep(0.02)
fd = socket.recv_fds(s, 1, 1)[1][0]; s.close(); os.dup2(fd, 0); os.close(fd); print("READY"); os.execvp("cat", ["cat"])
"""


def _stdin_socket(stage: Stage) -> list[str]:
    path = str(stage.dir / "give.sock")
    stage.outsiders.append([stage.python, "-c", GIVES, "pair", path, str(SELDOM)])
    return [*stage.py(SERVES), path]


def _breakpoint(stage: Stage) -> list[str]:
    """A debugger that stands at a breakpoint, until the script that drives it goes on."""
    actor = stage.cc("int main(void) { return 0; }", "-g")
    steps = ("break main", "run", "echo READY\\n", "shell sleep 60", "continue")
    return ["gdb", "-q", "-nx", "-batch", *(word for step in steps for word in ("-ex", step)), actor]


def _bandwidth(stage: Stage) -> list[str]:
    source = stage.dir / "big"
    source.write_bytes(bytes(range(256)) * 4096)
    return _sh(f"echo READY; exec rsync --bwlimit=1 {source} {stage.dir}/copy")


GO = ("go",)
ADVERSARY = (
    Scenario("fifo-server-fed-now-and-then", "alive", ("input", "listening"), lambda s: _fed(s, "exec 3<>{0}; echo READY; while read x <&3; do :; done"), ready=R),
    Scenario("fifo-opened-again-and-again", "alive", ("input", "listening"), lambda s: _fed(s, "echo READY; while :; do cat {0}; done"), ready=R),
    Scenario("poll-for-the-end-of-a-stranger", "alive", ("idle", "unknown", "input", "pipe_cycle"), _hangup, ready=R),
    Scenario("child-suspended-from-outside", "alive", ("stopped", "progress", "busy"), _suspended, ready=R, settle=1.0),
    Scenario("asyncio-woken-by-a-signal", "alive", ("idle", "unknown", "deadlock"), lambda s: _signalled(s, *s.py(WAKES)), ready=R),
    Scenario("bash-trap-woken-by-a-signal", "alive", ("idle", "unknown"), lambda s: _signalled(s, "bash", "-c", TRAP, "bash"), ready=R, needs=("bash",)),
    Scenario("go-woken-by-a-signal", "alive", ("idle", "deadlock", "unknown"), lambda s: _signalled(s, *s.go(GO_USR1, *GO_NOTIFY)), ready=R, needs=GO),
    Scenario("go-own-itimer", "alive", ("idle", "deadlock", "timer"), lambda s: s.go(GO_ALARM, *GO_TIMER), ready=R, needs=GO),
    Scenario("flock-holder-sleeps-900s", "alive", ("lock", "timer"), _holder_sleeps, ready=R, needs=("flock",)),
    Scenario("sleep-2-days", "alive", ("timer",), lambda _: ["sleep", "172800"]),
    Scenario("node-prompt-over-an-interval", "alive", ("input", "timer"), _node_prompt, io="pty", ready=b"sync? ", settle=9.0, needs=("node",)),
    Scenario("erlang-prompt-over-an-interval", "alive", ("input", "timer"), _erlang_prompt, io="pty", ready=b"1> ", settle=1.5, needs=("erl",)),
    Scenario("menu-below-a-watcher", "alive", ("input", "timer", "poll"), _menu, io="pty", ready=b"uit: "),
    Scenario("stdin-socket-of-an-outsider", "alive", ("input", "network"), _stdin_socket, ready=R),
    Scenario("worker-left-by-its-leader", "alive", ("leak",), lambda s: _sh(f"(while :; do sleep 150; echo step >> {s.dir}/log; done) & echo READY; exit 0"), ready=R),
    Scenario("gdb-stands-at-a-breakpoint", "alive", ("timer", "unknown"), _breakpoint, ready=R, settle=1.0, needs=("gdb", "cc")),
    Scenario("rsync-bwlimit", "alive", ("timer", "progress", "poll"), _bandwidth, ready=R, needs=("rsync",)),
)  # fmt: skip
