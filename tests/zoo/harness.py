"""Puts a scenario on stage: stagehand -> keeper -> job, two looks, one verdict.

The keeper is a subreaper whose pid is the root of the look, as in real use; what a scenario needs outside of
its tree is started by the stagehand above it. Everything ends through the keeper: it kills what is below it
until the kernel says that it has no children, and the stagehand ends what it started itself.
"""

from __future__ import annotations

import ctypes
import json
import os
import pty
import pwd
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tests.zoo import recording
from tests.zoo.scenario import Scenario, Stage
from unhang.core.diagnosis.progress import progressed
from unhang.core.diagnosis.prompt import waits_for_input
from unhang.core.diagnosis.rules import diagnose
from unhang.core.diagnosis.samples import FullSample
from unhang.procs.sampler.cheap import cheap
from unhang.procs.sampler.full import full

PR_SET_CHILD_SUBREAPER = 36
PR_SET_SECUREBITS = 28
NOBODY = 65534
READY_WITHIN = 100.0
QUIET_WITHIN = 20.0
STAGED_WITHIN = 220
WINDOW = 2.5


NOTHING: dict[str, Any] = {"state": "", "cause": "", "reason": "", "prompt": "", "took_ms": 0.0}


class Outcome(NamedTuple):
    scenario: Scenario
    state: str
    cause: str
    reason: str
    prompt: str
    took_ms: float
    error: str = ""
    detail: dict[str, Any] = {}  # noqa: RUF012


def perform(scenario: Scenario, directory: Path, *, record: bool = False) -> Outcome:
    """Blocking; run several in threads. One stagehand process for each, so that a crash stays with it."""
    directory = directory / scenario.name
    directory.mkdir()
    argv = [sys.executable, "-m", "tests.zoo.harness", scenario.name, str(directory)]
    if record:
        argv.append("--record")
    try:
        done = subprocess.run(argv, capture_output=True, timeout=300, stdin=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired as late:
        return Outcome(scenario, "", "", "", "", 0.0, error=str(late))
    shutil.rmtree(directory, ignore_errors=True)
    try:
        told = json.loads(done.stdout)
    except ValueError:
        return Outcome(
            scenario, "", "", "", "", 0.0, error=(done.stderr or done.stdout)[-600:].decode(errors="replace")
        )
    looks = told.pop("looks", None)
    if looks is not None:
        _keep(scenario, directory, looks)
    return Outcome(scenario, **told)


def _keep(scenario: Scenario, directory: Path, looks: list[Any]) -> None:
    before, after = (recording.unpacked(look, FullSample) for look in looks)
    names = (scenario.name, scenario.truth, scenario.causes, scenario.prompt, scenario.never)
    host = f'\\"{os.uname().nodename}\\"'
    renamed = (
        (host, '\\"host\\"'),
        (str(directory), "/zoo"),
        (sys.executable, "/usr/bin/python3"),
        (os.getcwd(), "/unhang"),
    )
    recording.write(recording.Recording(*names, before, after), renamed)


def _stagehand(scenario: Scenario, directory: Path, record: bool) -> dict[str, Any]:
    home = directory / "home"
    home.mkdir()
    if os.geteuid() == 0:
        _drop(scenario)
        if scenario.nobody:
            directory = home = Path("/")  # ours lies below directories that are closed to others
    stage = Stage(directory)
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "xterm", "LC_ALL": "C.UTF-8", "USER": "zoo"}
    toolchains = os.environ.get("RUSTUP_HOME", os.path.expanduser("~/.rustup"))
    if os.path.isdir(toolchains):
        env["RUSTUP_HOME"] = toolchains  # rustc is a shim that looks there, and HOME is not the user's
    helpers: list[subprocess.Popen[bytes]] = []
    keeper = 0
    signal.signal(signal.SIGALRM, _late)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)  # a background job, or nohup, ignores them, and what it starts does, too
    signal.alarm(STAGED_WITHIN)
    try:
        # The command is built before the fork: a scenario's outside helpers must be no children of the keeper.
        argv = scenario.build(stage)
        helpers += [subprocess.Popen(each, env=env, stdin=subprocess.DEVNULL) for each in stage.outsiders]
        read_end, write_end = os.pipe()
        keeper = os.fork()
        if keeper == 0:
            os.close(read_end)
            try:
                told = _keeper(scenario, argv, env, directory, record)
            except BaseException:
                told = NOTHING | {"error": traceback.format_exc()}
            os.write(write_end, json.dumps(told).encode())
            os._exit(0)
        os.close(write_end)
        parts = []
        while part := os.read(read_end, 1 << 16):
            parts.append(part)
        os.waitpid(keeper, 0)
        keeper = 0
        result: dict[str, Any] = json.loads(b"".join(parts))
    except Exception:
        result = NOTHING | {"error": traceback.format_exc()}
    finally:
        signal.alarm(0)
        if keeper:
            _kill([*cheap(keeper).processes, keeper])
            os.waitpid(keeper, 0)
        for ending in reversed(stage.endings):
            ending()
        for helper in helpers:
            _kill(cheap(helper.pid).processes)
            helper.kill()
            helper.wait()
    return result


def _late(*_: object) -> None:
    raise TimeoutError("the scenario took too long to be put on stage")


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it ended with its parent


def _drop(scenario: Scenario) -> None:
    """The sampler promises to need no privilege: give them all up, keeping the user where nothing else is asked."""
    libc = ctypes.CDLL(None, use_errno=True)
    if scenario.nobody:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        return
    libc.prctl(PR_SET_SECUREBITS, 0b11, 0, 0, 0)  # NOROOT, locked: uid 0 means nothing at exec
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    if libc.capset(header, (ctypes.c_uint32 * 6)()) != 0:
        raise OSError(ctypes.get_errno(), "capset")
    # Giving up capabilities makes us undumpable to ourselves; a new program would be dumpable again.
    libc.prctl(4, 1, 0, 0, 0)


def _keeper(scenario: Scenario, argv: list[str], env: dict[str, str], directory: Path, record: bool) -> dict[str, Any]:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    master, leader, out, kept = _spawn(scenario, argv, env, directory)
    try:
        screen = bytearray()
        if scenario.ready:
            _listen(out, screen, scenario.ready, READY_WITHIN)
        if {"progress", "busy", "poll"}.isdisjoint(scenario.causes):
            _quiet(out, screen, scenario.settle)
        else:
            _listen(out, screen, b"", scenario.settle)
        root = os.getpid()
        glance = cheap(root)
        light = full(root, screen=bytes(screen), pty_master=master, network=False, leader=leader)
        asked = waits_for_input(light)
        before = full(root, screen=bytes(screen), pty_master=master, leader=leader)
        _listen(out, screen, b"", WINDOW)
        after = full(root, screen=bytes(screen), pty_master=master, leader=leader)
        before, after = (look._replace(command=" ".join(argv)[: recording.MOST_COMMAND]) for look in (before, after))
        moved = progressed(glance, cheap(root))
        verdict = diagnose(before, after)
        detail = verdict.to_json()
        detail["progressed"] = [moved.alive, moved.reason]
        detail["threads"] = [
            [
                t.tid,
                t.comm,
                t.state,
                t.syscall,
                t.wchan,
                list(t.reads)[:8],
                str(t.timeout),
                t.switches,
                t.owner,
            ]
            for p in after.processes.values()
            for t in p.threads[:40]
        ]
        told = {
            "state": verdict.state,
            "cause": verdict.cause,
            "reason": verdict.reason,
            "prompt": asked.reason if asked is not None else "",
            "took_ms": after.took * 1000,
            "detail": detail,
        }
        return told | {"looks": [recording.packed(look) for look in (before, after)]} if record else told
    finally:
        pids = list(cheap(os.getpid()).processes)
        _end_all()
        for pid in pids:
            # What a killed JVM leaves behind, outside of its own directory.
            Path(f"/tmp/hsperfdata_{pwd.getpwuid(os.getuid()).pw_name}/{pid}").unlink(missing_ok=True)
        for fd in kept:
            os.close(fd)


def _spawn(
    scenario: Scenario, argv: list[str], env: dict[str, str], directory: Path
) -> tuple[int | None, int, int, list[int]]:
    if scenario.io == "pty":
        leader, master = pty.fork()
        if leader == 0:
            os.chdir(directory)
            os.execvpe(argv[0], argv, env)
        return master, leader, master, [master]
    out, theirs = os.pipe()
    kept = [out]
    if scenario.io == "pipe":
        stdin, ours = os.pipe()
        kept.append(ours)
    elif scenario.io == "socket":
        one, other = socket.socketpair()
        stdin, ours = one.detach(), other.detach()
        kept.append(ours)
    else:
        stdin = os.open(os.devnull, os.O_RDONLY)
    job = subprocess.Popen(
        argv, stdin=stdin, stdout=theirs, stderr=theirs, env=env, cwd=directory, start_new_session=True
    )
    job.returncode = 0  # reaped by _end_all with everything else
    os.close(theirs)
    os.close(stdin)
    return None, job.pid, out, kept


def _listen(out: int, screen: bytearray, until: bytes, within: float) -> None:
    """Read what it prints until the mark is there, or for the whole time where there is none."""
    deadline = time.monotonic() + within
    while (left := deadline - time.monotonic()) > 0:
        if until and until in screen:
            return
        if not select.select([out], [], [], left)[0]:
            continue
        try:
            data = os.read(out, 1 << 16)
        except OSError:
            data = b""
        if not data:
            if until and until not in screen:
                raise RuntimeError(f"ended before it was ready; printed: {bytes(screen[-400:])!r}")
            time.sleep(max(0.0, deadline - time.monotonic()))
            return
        screen += data
    if until:
        raise RuntimeError(f"not ready in time; printed: {bytes(screen[-400:])!r}")


def _quiet(out: int, screen: bytearray, seconds: float) -> None:
    """Until nobody in the tree has run for that long: on a busy machine, what comes after READY takes its time.

    One that must rest for long (V8 looks at its memory twice, 8 s apart) may run twice before it does.
    """
    began = since = time.monotonic()
    last: tuple[object, ...] = ()
    while (now := time.monotonic()) - began < QUIET_WITHIN + 3 * seconds:
        _listen(out, screen, b"", 0.1)
        states, *ran = _ran()
        if "R" in states or ran != list(last):
            last, since = tuple(ran), now
        elif now - since >= seconds:
            return


def _ran() -> tuple[set[str], int, int]:
    """The states of all threads, how many there are, and the CPU that they have used."""
    states, threads, ticks = set(), 0, 0
    for pid in cheap(os.getpid()).processes:
        for path in Path(f"/proc/{pid}/task").glob("*/stat"):
            try:
                fields = path.read_text(errors="replace").rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            states.add(fields[0])
            threads += 1
            ticks += int(fields[11]) + int(fields[12])
    return states, threads, ticks


def _end_all() -> None:
    while True:
        for pid in cheap(os.getpid()).processes:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:
            return


def main() -> int:
    from tests.zoo.fifth import FIFTH
    from tests.zoo.fourth import FOURTH
    from tests.zoo.holdout import HOLDOUT
    from tests.zoo.late import LATE
    from tests.zoo.sixth import SIXTH
    from tests.zoo.third import THIRD
    from tests.zoo.tuned import TUNED

    name, where = sys.argv[1:3]
    scenario = next(each for each in TUNED + HOLDOUT + THIRD + FOURTH + LATE + FIFTH + SIXTH if each.name == name)
    sys.stdout.write(json.dumps(_stagehand(scenario, Path(where), "--record" in sys.argv)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
