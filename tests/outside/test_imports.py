"""No process of unhang's imports from the folder that it is started in, nor from what PYTHON* variables name."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.engine import wait_until
from tests.support.jobs import Jobs
from tests.support.mcp.raw import Raw, call
from tests.support.outside.trap import Trap
from tests.support.places import SOURCE
from tests.support.plugin.places import HOOK, MCP
from unhang.__main__ import _STEERING
from unhang.installers import watch_service
from unhang.procs import executable
from unhang.sessions import lock
from unhang.testing.liveness import Process

UNHANG = executable.command()
LIBRARY = """\
import os, sys, unhang
assert unhang.run(["echo", "hi"]).stdout == "hi\\n"
job = unhang.start("echo $PYTHONPATH; exit 3", shell=True)
assert job.wait(30).exit_code == 3
assert job.tail().strip() == os.environ.get("PYTHONPATH", "")
print(len(unhang.list_jobs()), flush=True)
"""


@pytest.fixture(autouse=True)
def the_trap_works(trap: Trap) -> None:
    assert trap.works()


def unhang(jobs: Jobs, trap: Trap, *words: str, **given: object) -> subprocess.CompletedProcess[str]:
    options: dict[str, object] = {"cwd": trap.project, "env": jobs.env, "stdin": subprocess.DEVNULL} | given
    return subprocess.run([*UNHANG, *words], capture_output=True, text=True, timeout=60, check=False, **options)  # type: ignore[call-overload, no-any-return]


def test_the_command_line_imports_nothing_from_the_current_folder(jobs: Jobs, trap: Trap) -> None:
    assert unhang(jobs, trap, "run", "--", "echo", "hi").stdout == "hi\n"
    assert unhang(jobs, trap, "run", "--pty", "--json", "--shell", "echo hi").returncode == 0
    job = unhang(jobs, trap, "start", "--", "true").stdout.strip()
    assert unhang(jobs, trap, "wait", job).returncode == 0
    looks = ("ps --all", f"status {job}", f"result {job}", f"logs {job}", f"events {job} --json", "history", "doctor")
    further = (
        "policy explain ls",
        f"diagnose --pid {os.getpid()}",
        "gc",
        "completion bash",
        "watch status",
        "mcp config zed",
    )
    for words in (*looks, *further):
        assert unhang(jobs, trap, *words.split()).returncode == 0, words
    assert trap.run_from_here() == {}


def test_the_module_imports_nothing_from_the_current_folder(jobs: Jobs, trap: Trap) -> None:
    """Python itself looks into the current folder first for what it needs to run a module: that cannot be helped."""
    trap.spare("runpy, sys")
    words = [sys.executable, "-m", "unhang", "run", "--", "echo", "hi"]
    done = subprocess.run(
        words, cwd=trap.project, env=jobs.env, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout, trap.run_from_here()) == ("hi\n", {})


def test_the_library_imports_nothing_from_the_current_folder(jobs: Jobs, trap: Trap) -> None:
    """The fork server above all."""
    words = [sys.executable, "-I", "-c", LIBRARY]
    done = subprocess.run(
        words, cwd=trap.project, env=jobs.env, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout, done.stderr, trap.run_from_here()) == ("0\n", "", {})


@pytest.mark.parametrize("command", [[*UNHANG, "mcp"], [str(MCP)]], ids=["installed", "plugin"])
def test_the_mcp_server_imports_nothing_from_the_current_folder(jobs: Jobs, trap: Trap, command: list[str]) -> None:
    """With its fork server and its lease."""
    env = jobs.env | {"PATH": f"{os.path.dirname(UNHANG[0])}:{jobs.env['PATH']}"}
    server = Raw(jobs.popen_program(*command, cwd=trap.project, env=env, stdin=subprocess.PIPE))
    server.shake_hands()
    server.send(call(2, "run", command="echo hi"))
    assert server.answer(2)["result"]["structuredContent"]["stdout"] == "hi\n"
    server.send(call(3, "run", command="echo $PPID; sleep 600", wait_sec=0.5))
    assert server.answer(3)["result"]["structuredContent"]["status"] == "running"
    assert server.process.stdin is not None
    server.process.stdin.close()
    assert server.process.wait(20) == 0
    assert trap.run_from_here() == {}


@pytest.mark.parametrize("command", [[*UNHANG, "hook"], [str(HOOK)]], ids=["installed", "plugin"])
def test_a_hook_and_its_watcher_import_nothing_from_the_current_folder(
    jobs: Jobs, trap: Trap, command: list[str]
) -> None:
    env = {name: value for name, value in jobs.env.items() if not name.startswith(("CLAUDE", "TMUX"))}
    env |= {"TMUX_PANE": "%1", "HOME": str(jobs.folder), "PATH": f"{os.path.dirname(UNHANG[0])}:{jobs.env['PATH']}"}
    payload = json.dumps({"session_id": "abc-1", "hook_event_name": "Stop"}).encode()
    done = subprocess.run(
        command, input=payload, cwd=trap.project, env=env, capture_output=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    wait_until(lambda: lock.holder(str(jobs.home)), "a watcher runs")

    def told_to_end() -> bool:
        """It leaves its starter, so it is not one process from the beginning to the end."""
        left = [Process(pid) for pid in jobs.marked()]
        for process in left:
            process.send(signal.SIGTERM)
            process.close()
        return not left and lock.holder(str(jobs.home)) is None

    wait_until(told_to_end, "it ends")
    assert trap.run_from_here() == {}


def test_an_installed_watcher_imports_nothing_from_the_current_folder(jobs: Jobs, trap: Trap) -> None:
    command = watch_service.plan_install(str(jobs.home), ["--json"], jobs.env, job=True).command
    env = jobs.env | {"HOME": str(jobs.folder)}
    watcher = jobs.popen_program(*command, cwd=trap.project, env=env)
    wait_until(lambda: lock.holder(str(jobs.home)), "it runs")
    watcher.terminate()
    assert jobs.finish(watcher).err == b""
    assert trap.run_from_here() == {}


AGENTS = {
    "codex": ("codex", "run", "task", "--wait"),
    "claude": ("claude", "run", "task", "--wait"),
    "acp": ("agent", "run", "gemini", "task", "--wait"),
}


@pytest.mark.parametrize("words", AGENTS.values(), ids=AGENTS)
def test_a_driver_imports_nothing_from_the_current_folder_and_hands_pythonpath_to_its_agent(
    jobs: Jobs, trap: Trap, words: tuple[str, ...]
) -> None:
    """Its agent is a program that says nothing and ends; by then the driver has loaded what it needs."""
    programs = jobs.folder / "programs"
    programs.mkdir()
    seen = jobs.folder / "seen"
    for name in ("codex", "claude", "gemini"):
        (programs / name).write_text(f'#!/bin/sh\n[ "$1" = --version ] || echo "$PYTHONPATH" > {seen}\nexit 7\n')
        (programs / name).chmod(0o755)
    env = jobs.env | {"PATH": f"{programs}:{jobs.env['PATH']}", "HOME": str(jobs.folder), "PYTHONPATH": "/meant/for/it"}
    done = unhang(jobs, trap, *words, env=env)
    assert done.returncode not in (0, 2, 127), done.stderr
    assert seen.read_text() == "/meant/for/it\n"
    assert trap.run_from_here() == {}


def test_a_resumed_session_imports_nothing_from_the_current_folder(trap: Trap, tmp_path: Path) -> None:
    file = tmp_path / "resume.json"
    file.write_text(json.dumps({"argv": ["/bin/echo", "resumed"], "cwd": str(trap.project), "env": {}}))
    words = executable.module("unhang.sessions.claude.resume", str(file))
    done = subprocess.run(words, cwd=trap.project, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout.endswith("resumed\n")
    assert trap.run_from_here() == {}


# --- variables ----------------------------------------------------------------------------------------------


def test_pythonpath_is_for_the_job_alone(jobs: Jobs, trap: Trap) -> None:
    """What Python and the script that pip made import before the first line of unhang's cannot be helped."""
    env = jobs.env | {"PYTHONPATH": str(trap.project)}
    words = [sys.executable, "-I", "-c", LIBRARY]
    done = subprocess.run(words, cwd="/", env=env, capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr, trap.run_from_here()) == ("0\n", "", {})
    trap.spare("re, sys")
    done = unhang(jobs, trap, "run", "--shell", "echo $PYTHONPATH", env=env)
    assert (done.stdout, trap.run_from_here()) == (f"{trap.project}\n", {})


# with nonsense in one of these this interpreter does not even start
FATAL = ("PYTHONHOME", "PYTHONPLATLIBDIR", "PYTHONEXECUTABLE", "PYTHON_PRESITE")
KEEPER = 'tr "\\0" " " < /proc/$PPID/cmdline'


@pytest.mark.parametrize("name", [name for name in _STEERING if name not in FATAL])
def test_each_variable_that_steers_python_is_for_the_job_alone(jobs: Jobs, trap: Trap, name: str) -> None:
    value = "ignore::trapped.Warn" if name == "PYTHONWARNINGS" else str(trap.project / "none")
    done = unhang(jobs, trap, "run", "--shell", f"{KEEPER}; echo; echo ${name}", env=jobs.env | {name: value})
    keeper, seen = done.stdout.splitlines()
    assert " -I -c " in keeper, "unhang has started itself anew, isolated"
    assert seen == value
    assert trap.run_from_here() == {}


def test_without_such_a_variable_nothing_is_started_twice(jobs: Jobs, trap: Trap) -> None:
    done = unhang(jobs, trap, "run", "--shell", KEEPER)
    assert done.stdout
    assert " -I " not in done.stdout


# --- where unhang may be -----------------------------------------------------------------------------------


@pytest.mark.parametrize("variable", ["", "PYTHONPATH"], ids=["plain", "started-anew"])
def test_an_unhang_that_was_installed_for_one_user_is_found_by_its_own_processes(
    jobs: Jobs, trap: Trap, variable: str
) -> None:
    """`pip install --user`: an isolated Python does not look there by itself, also not for the SDKs."""
    python = getattr(sys, "_base_executable", sys.executable)
    env = {name: value for name, value in jobs.env.items() if name != "VIRTUAL_ENV"} | {"HOME": str(jobs.folder)}
    where = "import site; print(site.ENABLE_USER_SITE, site.getusersitepackages())"
    asked = subprocess.run([python, "-c", where], env=env, capture_output=True, text=True, check=True)
    enabled, folder = asked.stdout.split(maxsplit=1)
    if enabled != "True":
        pytest.skip("NOT TESTED: this Python has no packages of a user's own")
    packages = Path(folder.strip())
    shutil.copytree(SOURCE / "unhang", packages / "unhang", ignore=shutil.ignore_patterns("__pycache__"))
    (packages / "an_sdk.py").write_text("print('found')")
    if variable:
        env[variable] = "/nowhere"
    words = [python, "-P", "-m", "unhang", "run", "--", "echo", "hi"]
    done = subprocess.run(words, cwd=trap.project, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr) == ("hi\n", "")
    code = "import subprocess; from unhang.procs.executable import isolated; subprocess.run(isolated('import an_sdk'))"
    words = [python, "-P", "-c", f"import unhang; assert unhang.run(['true']).exit_code == 0; {code}"]
    done = subprocess.run(words, cwd=trap.project, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr) == ("found\n", "")
    assert trap.run_from_here() == {}
