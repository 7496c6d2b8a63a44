# ruff: noqa: E501 - one scenario a line reads as the table it is
"""Live jobs whose next step comes from outside of their tree, by ways that are easily overlooked."""

from __future__ import annotations

import ctypes
import os

from tests.zoo.scenario import Scenario, Stage

R = b"READY"

# An outsider keeps one end, and uses it after a while. The job has got the other over a socket that is closed again.
GIVES = """
import os, socket, sys, time
kind, path, pause = sys.argv[1], sys.argv[2], float(sys.argv[3])
os.chdir(os.path.dirname(path)); s = socket.socket(socket.AF_UNIX); s.bind(os.path.basename(path)); s.listen()
if kind == "pipe": theirs, mine = os.pipe()
elif kind == "pair": a, b = socket.socketpair(); theirs, mine = a.detach(), b.detach()
elif kind == "eventfd": theirs = mine = os.eventfd(0)
c, _ = s.accept(); socket.send_fds(c, [b"x"], [theirs]); c.close(); s.close()
if theirs != mine: os.close(theirs)
while True: time.sleep(pause); os.write(mine, (1).to_bytes(8, "little"))
"""
# The address of a Unix socket has room for 107 bytes, so each goes to the folder and uses the bare name.
TAKES = """
import os, socket, sys, time
os.chdir(os.path.dirname(sys.argv[1]))
while True:
    s = socket.socket(socket.AF_UNIX)
    try: s.connect(os.path.basename(sys.argv[1])); break
    except OSError: time.sleep(0.02)
fd = socket.recv_fds(s, 1, 1)[1][0]; s.close(); print("READY")
while True: os.read(fd, 8)
"""


def _given(stage: Stage, kind: str, pause: int) -> list[str]:
    path = str(stage.dir / "give.sock")
    stage.outsiders.append([stage.python, "-c", GIVES, kind, path, str(pause)])
    return [*stage.py(TAKES), path]


MQ = """
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int n, char **v) { struct mq_attr a = {0, 4, 8, 0}; char b[8]; mqd_t q = mq_open(v[1], O_RDWR|O_CREAT, 0600, &a); if (q < 0) return 1;
  if (n > 2) { close(open(v[2], O_CREAT, 0600)); sleep(90); mq_send(q, "x", 1, 0); return 0; }
  puts("READY"); fflush(stdout); mq_receive(q, b, 8, 0); return 0; }
"""


def _message_queue(stage: Stage) -> list[str]:
    actor, name = stage.cc(MQ, "-lrt"), f"/zoo-{os.getpid()}"
    stage.endings.append(lambda: ctypes.CDLL(None).mq_unlink(name.encode()))
    up = stage.outsider(f"exec {actor} {name} $UP")
    return ["sh", "-c", f"{up}; exec {actor} {name}"]


SIGNALLED = "$SIG{USR1} = sub { $n++ }; open F, '>', $ARGV[0]; print F $$; close F; print qq(READY\\n); sleep while 1"
TERMINAL = """
import os, pty, sys, termios, time
m, s = pty.openpty(); a = termios.tcgetattr(s); a[3] &= ~termios.ECHO; termios.tcsetattr(s, termios.TCSANOW, a)
f = open(sys.argv[1] + ".new", "w"); f.write(os.ttyname(s)); f.close(); os.rename(sys.argv[1] + ".new", sys.argv[1])
while True: time.sleep(float(sys.argv[2])); os.write(m, b"line\\n")
"""
DATAGRAMS = "import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind('notify.sock'); print('READY'); s.recv(99)"
NODE_UDP = "require('dgram').createSocket('udp4').bind(0,'127.0.0.1',()=>console.log('READY'))"
GIL = "import ctypes, threading, time\nfor _ in range(2): threading.Thread(target=lambda: [time.sleep(0.01) for _ in range(9**9)], daemon=True).start()\nprint('READY'); ctypes.PyDLL(None).pause()"
ASKS_AND_RECEIVES = """
import socket, sys, threading
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
def receive():
    while s.recv(4096): pass
threading.Thread(target=receive, daemon=True).start(); input("READY, Enter to stop: ")
"""


def _signalled(stage: Stage) -> list[str]:
    pid = stage.dir / "pid"
    stage.outsider(f"until [ -s {pid} ]; do sleep 0.05; done; while sleep 1; do kill -USR1 $(cat {pid}); done")
    return [*stage.perl(SIGNALLED), str(pid)]


def _throttled(stage: Stage) -> list[str]:
    """As cpulimit does it, from outside."""
    pid = stage.dir / "pid"
    stage.outsider(
        f"until [ -s {pid} ]; do sleep 0.05; done; p=$(cat {pid}); while kill -STOP $p; do sleep 1.6; kill -CONT $p; sleep 0.2; done"
    )
    return ["sh", "-c", f"echo READY; echo $$ > {pid}; while :; do :; done"]


def _terminal(stage: Stage) -> list[str]:
    path = stage.dir / "tty"
    stage.outsiders.append([stage.python, "-c", TERMINAL, str(path), "2"])
    return ["sh", "-c", f"until [ -e {path} ]; do sleep 0.02; done; echo READY; exec cat $(cat {path}) > /dev/null"]


def _less(stage: Stage) -> list[str]:
    log = stage.write("build.log", "READY\n")
    stage.outsider(f"while :; do sleep 3; echo step >> {log}; done")
    return ["less", "+F", log]


def _gdb(stage: Stage) -> list[str]:
    script = stage.write("nap.sh", "echo READY\nsleep 90\ntrue\n")
    return ["gdb", "-q", "-nx", "-batch", "-ex", "run", "--args", "sh", script]


STRANGERS = (
    Scenario("pipe-end-given-to-an-outsider", "alive", ("pipe_cycle", "input", "unknown"), lambda s: _given(s, "pipe", 80), ready=R, never="both ends"),
    Scenario("pipe-end-of-a-slow-outsider", "alive", ("pipe_cycle", "input", "unknown", "progress"), lambda s: _given(s, "pipe", 2), ready=R, never="both ends"),
    Scenario("socketpair-end-given-to-an-outsider", "alive", ("network", "pipe_cycle", "input", "unknown"), lambda s: _given(s, "pair", 80), ready=R, never="a lock"),
    Scenario("eventfd-shared-with-an-outsider", "alive", ("idle", "unknown", "lock", "input"), lambda s: _given(s, "eventfd", 80), ready=R, never="a lock that no other"),
    Scenario("posix-queue-of-an-outsider", "alive", ("idle", "unknown", "input", "network"), _message_queue, ready=R, needs=("cc",)),
    Scenario("perl-woken-by-an-outsider", "alive", ("idle", "poll", "unknown", "progress"), _signalled, ready=R, needs=("perl",)),
    Scenario("sh-throttled-from-outside", "alive", ("progress", "busy", "stopped"), _throttled, ready=R),
    Scenario("cat-terminal-of-an-outsider", "alive", ("input", "progress", "unknown"), _terminal, ready=R, never="password"),
    Scenario("python-unix-datagrams", "alive", ("listening", "network"), lambda s: s.py(DATAGRAMS), ready=R),
    Scenario("node-udp-bound", "alive", ("listening", "network"), lambda s: s.node(NODE_UDP), ready=R, needs=("node",)),
    Scenario("ip-monitor", "alive", ("listening", "network", "idle", "unknown"), lambda _: ["ip", "monitor"], needs=("ip",)),
    Scenario("findmnt-poll", "alive", ("listening", "idle", "unknown"), lambda _: ["findmnt", "--poll"], needs=("findmnt",)),
    Scenario("less-follows-a-file", "alive", ("listening", "poll", "timer", "input", "progress"), _less, io="pty", ready=b"READY", settle=1.0, needs=("less",)),
    Scenario("top-every-5s", "alive", ("timer", "poll", "progress", "input"), lambda _: ["top", "-d", "5"], io="pty", ready=b"Tasks", needs=("top",)),
    Scenario("gdb-runs-a-sleeper", "alive", ("timer", "unknown"), _gdb, ready=R, settle=1.5, needs=("gdb",)),
    Scenario("asks-while-a-thread-receives", "alive", ("input", "network", "progress"), lambda s: [*s.py(ASKS_AND_RECEIVES), str(s.server("beat"))], io="pty", ready=R),
    Scenario("asks-beside-a-slow-child", "alive", ("input", "timer", "poll", "progress"), lambda s: ["sh", "-c", f"(while :; do echo step; sleep 1; done) > {s.dir}/log & printf 'Stop it? '; read x"], io="pty", ready=b"it? "),
    Scenario("python-holds-the-gil-in-c", "hung", ("deadlock", "idle", "poll"), lambda s: s.py(GIL), ready=R),
)  # fmt: skip
