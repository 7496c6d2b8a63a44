# ruff: noqa: E501 - one scenario a line reads as the table it is
"""Held out too, but written after the rules were frozen: the fairest part of the zoo. Nothing was tuned on it."""

from __future__ import annotations

from tests.zoo.scenario import Scenario, Stage

CHANNEL = """
use std::sync::mpsc; use std::thread;
fn main() { let (tx, rx) = mpsc::channel::<u8>(); let keep = tx.clone();
  let t = thread::spawn(move || { for _ in rx {} }); println!("READY"); t.join().unwrap(); drop(keep); drop(tx); }
"""
EXECUTOR = """
import java.util.concurrent.*;
public class Pool { public static void main(String[] a) throws Exception {
  ExecutorService e = Executors.newFixedThreadPool(2); e.submit(() -> 1).get(); System.out.println("READY"); } }
"""
TEMPLATES = """
template<int N> struct F { static const unsigned long v = F<N-1>::v * 3 + F<N-2>::v; };
template<> struct F<0> { static const unsigned long v = 1; }; template<> struct F<1> { static const unsigned long v = 1; };
#include <map>
#include <regex>
#include <string>
int main() { std::map<std::string, std::regex> m; m["x"] = std::regex("a+b"); return F<800>::v & 1; }
"""
WAIT_FOR = """
#include <condition_variable>
#include <cstdio>
int main() { std::mutex m; std::condition_variable c; std::unique_lock<std::mutex> l(m); puts("READY"); fflush(stdout);
  for (;;) c.wait_for(l, std::chrono::milliseconds(500)); }
"""
SQLITE_PAIR = """
import os, sqlite3, sys, time
a = sqlite3.connect(sys.argv[1], isolation_level=None); a.execute("create table t(x)")
if os.fork() == 0:
    time.sleep(0.5); b = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None); b.execute("insert into t values(1)"); os._exit(0)
a.execute("begin exclusive"); print("READY"); time.sleep(25); a.execute("commit"); os.wait()
"""
MENU = "process.stdin.setRawMode(true);process.stdin.resume();process.stdout.write('? Pick one (use arrow keys)\\n> red\\n  blue\\n')"


def _rust(stage: Stage) -> list[str]:
    source, binary = stage.write("c.rs", CHANNEL), stage.dir / "channel"
    return ["sh", "-c", f"rustc -o {binary} {source} && exec {binary}"]


def _cpp(stage: Stage) -> list[str]:
    source = stage.write("w.cc", WAIT_FOR)
    return ["sh", "-c", f"c++ -o {stage.dir}/w {source} && exec {stage.dir}/w"]


def _templates(stage: Stage) -> list[str]:
    source = stage.write("t.cc", TEMPLATES)
    return ["sh", "-c", f"while :; do c++ -O2 -c -o {stage.dir}/t.o {source}; done"]


def _make_cat(stage: Stage) -> list[str]:
    stage.write("Makefile", "all:\n\t@echo READY; cat > /dev/null\n")
    return ["make", "-s", "-C", str(stage.dir)]


def _bc(stage: Stage) -> list[str]:
    return stage.py(
        "import subprocess; p=subprocess.Popen(['bc','-q'],stdin=-1,stdout=-1); print('READY'); p.stdout.readline()"
    )


def _wget(stage: Stage) -> list[str]:
    return ["curl", "-s", "--http0.9", "-N", "-o", "/dev/null", f"http://127.0.0.1:{stage.server('drip')}/"]


def _psql(stage: Stage) -> list[str]:
    return ["psql", "-h", "127.0.0.1", "-p", str(stage.server("silent")), "-U", "x", "x"]


def _zstd(stage: Stage) -> list[str]:
    return ["sh", "-c", f"head -c 300000000 /dev/urandom | zstd -q -19 -o {stage.dir}/z.zst"]


def _sqlite_pair(stage: Stage) -> list[str]:
    return [*stage.py(SQLITE_PAIR), str(stage.dir / "p.db")]


def _async_server(stage: Stage) -> list[str]:
    return stage.py(
        "import asyncio\nasync def m():\n s = await asyncio.start_server(lambda r, w: None, '127.0.0.1', 0); print('READY'); await s.serve_forever()\nasyncio.run(m())"
    )


R = b"READY"
LATE: tuple[Scenario, ...] = (
    Scenario("rust-channel-never-closed", "hung", ("deadlock",), _rust, ready=R, needs=("rustc",)),
    Scenario("java-executor-not-shut-down", "hung", ("deadlock", "idle"), lambda s: s.java("Pool", EXECUTOR), ready=R, needs=("java", "javac")),
    Scenario("bc-never-asked", "hung", ("pipe_cycle",), _bc, ready=R, needs=("bc",)),
    Scenario("perl-own-pipe", "hung", ("deadlock", "pipe_cycle"), lambda _: ["perl", "-e", "$|=1; pipe(R,W); print qq(READY\\n); <R>"], ready=R, needs=("perl",)),
    Scenario("make-recipe-reads-stdin", "hung", ("input",), _make_cat, io="pipe", ready=R, needs=("make",)),
    Scenario("ed-without-a-prompt", "hung", ("input",), lambda _: ["ed"], io="pty", needs=("ed",)),
    Scenario("pdb", "hung", ("input",), lambda s: s.py("x = 1; breakpoint(); print(x)"), io="pty", ready=b"(Pdb)", prompt="(Pdb)"),
    Scenario("menu-with-arrow-keys", "hung", ("input",), lambda s: s.node(MENU), io="pty", ready=b"blue", needs=("node",)),
    Scenario("script-nested-terminal", "hung", ("input",), lambda s: ["script", "-qc", "cat", str(s.dir / "typescript")], io="pty", needs=("script",)),
    Scenario("socket-stdin-cat", "hung", ("input",), lambda _: ["sh", "-c", "echo READY; cat > /dev/null; true"], io="socket", ready=R),
    Scenario("psql-silent-server", "ambiguous", ("network",), _psql, needs=("psql",)),
    Scenario("cpp-wait-for-half-second", "ambiguous", ("poll", "timer"), _cpp, ready=R, needs=("c++",)),
    Scenario("select-stdin-30s", "ambiguous", ("input", "timer"), lambda s: s.py("import select,sys; print('READY'); select.select([sys.stdin],[],[],30)"), io="pipe", ready=R),
    Scenario("threading-timer-15s", "alive", ("timer",), lambda s: s.py("import threading; print('READY'); threading.Timer(15, print).start()"), ready=R),
    Scenario("curl-unbuffered-drip", "alive", ("progress",), _wget, needs=("curl",)),
    Scenario("asyncio-server", "alive", ("listening",), _async_server, ready=R),
    Scenario("zstd-19", "alive", ("progress",), _zstd, needs=("zstd",)),
    Scenario("cpp-templates", "alive", ("progress",), _templates, needs=("c++",)),
    Scenario("bash-waits-for-background", "alive", ("timer",), lambda _: ["bash", "-c", "sleep 25 & wait"]),
    Scenario("watch-every-5s", "alive", ("timer", "poll", "progress"), lambda _: ["watch", "-n", "5", "true"], io="pty", needs=("watch",)),
    Scenario("sqlite-waits-for-sibling", "alive", ("lock", "timer", "poll"), _sqlite_pair, ready=R),
)  # fmt: skip
