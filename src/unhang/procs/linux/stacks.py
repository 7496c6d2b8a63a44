"""Stacks, for `diagnose --deep`: what each program itself says about where it stands.

Unlike everything in the sampler this may touch the target: a debugger stops it for a fraction of a second, a
JVM answers a signal. So each tool is used only where it cannot harm: py-spy only on Python and without pausing
it; jstack only on a JVM that answers SIGQUIT with a dump and not with its death (`-Xrs`); a node report only
from a node that was started to write one; a debugger only on a process that is not traced. Each is bounded in
time, and a target that a killed debugger leaves stopped is continued.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from typing import Any

from unhang.procs.base import Stack
from unhang.procs.linux import procfs
from unhang.procs.linux.procfs import read, short_name

# jstack takes 0.3 s, gdb 0.5 s, on a loaded machine ten times that.
WITHIN = 8.0
GIVE_UP = 2.0
MOST_TEXT = 64 * 1024
MOST_PROCESSES = 12


def stacks(pids: list[int]) -> list[Stack]:
    """Return one for each process, in order; processes beyond the first dozen are left out."""
    found = []
    for pid in pids[:MOST_PROCESSES]:
        comm = short_name(pid)
        found.append(_stack(pid, comm))
    return found


def _stack(pid: int, comm: str) -> Stack:
    try:
        exe = os.path.basename(procfs.executable(pid))
    except OSError:
        return Stack(pid, comm, "", "cannot be looked into: it has ended, or is another user's or setuid")
    if _traced(pid):
        return Stack(pid, comm, "", "is being traced by another debugger: not touched")
    if _state(pid) in ("T", "t", "Z", "X"):
        return Stack(pid, comm, "", "is stopped or has ended: not touched")
    if exe == "node" and (text := _node_report(pid)):
        return Stack(pid, comm, "node report", text)
    for tool, argv in choose(exe, pid, procfs.argv(pid), _variables(pid)):
        text = _run(argv, pid)
        if text:
            return Stack(pid, comm, tool, text)
    return Stack(pid, comm, "", "no tool here that can show its stack (py-spy, jstack, eu-stack, gdb)")


def choose(exe: str, pid: int, command: list[str], environment: list[str]) -> list[tuple[str, list[str]]]:
    """Return which tools may be tried on this program, best first."""
    found: list[tuple[str, list[str]]] = []
    if exe.startswith("python"):
        found.append(("py-spy", ["py-spy", "dump", "--nonblocking", "--pid", str(pid)]))
    if exe == "java":
        silent = ("-Xrs", "-XX:+ReduceSignalUsage", "-XX:+DisableAttachMechanism")
        options = command + [word for entry in environment if entry.startswith("J") for word in entry.split()]
        if not any(word.endswith(silent) for word in options):
            found.append(("jstack", ["jstack", str(pid)]))
    found.append(("eu-stack", ["eu-stack", "-p", str(pid), "-n", "30"]))
    found.append(("gdb", ["gdb", "-nx", "-batch", "-p", str(pid), "-ex", "thread apply all bt 20", "-ex", "detach"]))
    return [(tool, argv) for tool, argv in found if shutil.which(argv[0])]


def _run(argv: list[str], pid: int) -> str:
    """What the tool printed; its exit code says nothing (eu-stack prints a good stack and returns 1)."""
    env = {**os.environ, "DEBUGINFOD_URLS": "", "LC_ALL": "C.UTF-8"}
    try:
        tool = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env
        )
    except OSError:
        return ""
    try:
        out = tool.communicate(timeout=WITHIN)[0]
    except subprocess.TimeoutExpired:
        # Asked politely first: a debugger then lets go of its target.
        tool.terminate()
        try:
            out = tool.communicate(timeout=GIVE_UP)[0]
        except subprocess.TimeoutExpired:
            tool.kill()
            out = tool.communicate()[0]
        if _state(pid) == "T":
            # It was not stopped before we came: the killed debugger has left it so.
            os.kill(pid, signal.SIGCONT)
    return out[:MOST_TEXT].decode("utf-8", "replace").strip()


def _node_report(pid: int) -> str:
    """The report of a node that was started with --report-on-signal; it goes on running.

    Any other node is left alone: without that option SIGUSR2 ends it, and SIGUSR1 opens a debugger's port.
    """
    options = " ".join([*procfs.argv(pid), procfs.environment(pid).get("NODE_OPTIONS", "")])
    status = read(f"/proc/{pid}/status")
    at = status.find(b"\nSigCgt:")
    caught = at >= 0 and int(status[at + 8 :].split(None, 1)[0], 16) >> (signal.SIGUSR2 - 1) & 1
    if "--report-on-signal" not in options or "--report-signal" in options or not caught:
        return ""
    where = f"/proc/{pid}/cwd"
    known = _reports(where, pid)
    os.kill(pid, signal.SIGUSR2)
    until = time.monotonic() + GIVE_UP
    while time.monotonic() < until:
        for name in _reports(where, pid) - known:
            try:
                with open(f"{where}/{name}", encoding="utf-8") as file:
                    report = json.load(file)
            except (OSError, ValueError):
                break  # still being written
            os.unlink(f"{where}/{name}")
            return _summary(report)
        time.sleep(0.05)
    return ""


def _reports(where: str, pid: int) -> set[str]:
    try:
        return {name for name in os.listdir(where) if name.startswith("report.") and f".{pid}." in name}
    except OSError:
        return set()


def _summary(report: dict[str, Any]) -> str:
    stack = report.get("javascriptStack", {})
    lines = [str(stack.get("message", "")), *(str(frame) for frame in stack.get("stack", ()))]
    lines += [f"native: {frame.get('symbol', '')}" for frame in report.get("nativeStack", ())[:20]]
    lines += [f"handle: {handle.get('type')} active={handle.get('is_active')}" for handle in report.get("libuv", ())]
    return "\n".join(line for line in lines if line)


def _traced(pid: int) -> bool:
    status = read(f"/proc/{pid}/status")
    at = status.find(b"\nTracerPid:")
    return at >= 0 and status[at + 11 :].split(None, 1)[0] != b"0"


def _state(pid: int) -> str:
    found = procfs.find(pid)
    return found.state if found is not None else ""


def _variables(pid: int) -> list[str]:
    return [f"{name}={value}" for name, value in procfs.environment(pid).items()]
