"""`unhang diagnose --pid`, as a newcomer would use it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.support.diagnosis.actors import actor, until_blocked
from unhang.core.diagnosis.verdict import Diagnosis, ProcessLine
from unhang.faces.cli.commands.diagnose import render

READS = "import os; print('READY'); os.read(0, 1)"


def diagnose(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "unhang", "diagnose", *args],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **env},
    )


def test_the_tree_shows_what_each_process_waits_for() -> None:
    with actor("import subprocess, sys; print('READY'); subprocess.run(['sleep', '300'])") as job:
        done = diagnose("--pid", str(job.pid))
        assert done.returncode == 0
        assert done.stderr == ""
        assert f"[{job.pid}]" in done.stdout
        assert "child sleep" in done.stdout
        assert "in 4m 5" in done.stdout
        assert "\x1b" not in done.stdout, "no colour where stdout is no terminal"
        [sleeper] = [line for line in done.stdout.splitlines() if line.startswith("  sleep [")]
        os.kill(int(sleeper.split("[")[1].split("]")[0]), signal.SIGKILL)


SHELL = "{python} -m unhang diagnose --json --pid $$ | cat; exit 0"


def test_a_shell_that_asks_of_itself_is_not_explained_by_the_command_that_it_asks_with() -> None:
    line = SHELL.format(python=sys.executable)
    asked = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    told = json.loads(asked.stdout)
    assert told["state"] == "alive"
    assert "runs this very command" in told["reason"]
    assert [
        each["cmd"] for each in told["processes"] if "unhang diagnose" in each["cmd"] and "$$" not in each["cmd"]
    ] == []


def test_what_else_a_shell_runs_is_seen_when_it_asks_of_itself() -> None:
    line = f"sleep 3000 & {SHELL.format(python=sys.executable).replace('exit', 'kill $!; exit')}"
    asked = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    told = json.loads(asked.stdout)
    assert (told["state"], told["cause"]) == ("alive", "timer")


def test_json_is_the_diagnosis_object() -> None:
    with actor(READS) as job:
        until_blocked(job.pid, "read")
        told = json.loads(diagnose("--pid", str(job.pid), "--json").stdout)
        assert list(told) == ["state", "cause", "reason", "evidence", "processes"]
        assert told["cause"] == "input"
        assert told["state"] == "unsure", "a process outside holds the other end: it may yet come"
        assert told["processes"][0]["pid"] == job.pid


def test_watch_ends_with_the_process() -> None:
    with actor("import time; print('READY'); time.sleep(300)") as job:
        watch = subprocess.Popen(
            [sys.executable, "-m", "unhang", "diagnose", "--pid", str(job.pid), "--watch", "--json"],
            stdout=subprocess.PIPE,
        )
        assert watch.stdout is not None
        with watch.stdout:
            assert json.loads(watch.stdout.readline())["cause"] == "timer"
            job.kill()
            job.wait()
            watch.stdout.read()
        assert watch.wait() in (0, 125)


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        ([], 2, "--pid"),
        (["x", "--pid", "1"], 2, ""),
        (["--pid", "0"], 2, "0"),
        (["--pid", "4194304"], 125, "4194304"),
        (["--pid", "zwei"], 2, "--pid"),
    ],
)
def test_a_mistake_is_one_line_and_its_exit_code(args: list[str], code: int, says: str) -> None:
    done = diagnose(*args)
    assert done.returncode == code
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_text_of_a_process_cannot_act_on_the_terminal() -> None:
    line = ProcessLine(2, 1, "\x1b[2Jevil", "x", "S", 0.0, "waits\x07", 3.0)
    shown = "\n".join(render(Diagnosis("hung", "input", "asks \x1b]0;x\x07", {"notes": ["\x1b"]}, [line])))
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "\x1b[1;31m" in "\n".join(render(Diagnosis("hung", "input", "x", {}, []), colour=True))


def test_the_lines_of_a_deep_tree_stay_short() -> None:
    lines = [ProcessLine(pid, pid - 1, f"p{pid}", "", "S", 0.0, "waits", None) for pid in range(10, 400)]
    shown = render(Diagnosis("unsure", "unknown", "x", {}, lines))
    assert len(shown) > 390
    assert max(len(line) for line in shown) < 200
