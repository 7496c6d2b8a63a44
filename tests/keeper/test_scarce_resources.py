"""Too few descriptors, processes or bytes to start a job: one clear line, no job id, nothing left behind."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.keeper.test_escapes import interpreter_for_user, open_folder
from tests.support.engine import Done, Engine, actor
from tests.support.places import SOURCE
from unhang.jobs.first_spare import FEWEST_DESCRIPTORS
from unhang.testing.liveness import RollCall

__all__ = ["open_folder"]

ORDINARY_USER = 65529  # an ordinary user with nothing else running


def limited(kind: int, number: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(kind, (number, number))


def call(engine: Engine, *words: object, **options: Any) -> Done:
    given: dict[str, Any] = {"stdin": subprocess.DEVNULL, "capture_output": True, "env": engine.env, "timeout": 60}
    done = subprocess.run(engine.command(*words), check=False, **(given | options))
    return Done(done.returncode, done.stdout, done.stderr)


def refused(done: Done) -> str:
    """The one line that says why nothing was started."""
    assert (done.code, done.out) == (125, b""), done
    [line] = done.err.decode().splitlines()
    assert line.startswith("unhang: ")
    return line


@pytest.mark.parametrize("command", ["run", "start"])
@pytest.mark.parametrize("number", [6, 8, 10, 12, 16, FEWEST_DESCRIPTORS - 1])
def test_too_few_descriptors_are_said_before_anything_is_made(engine: Engine, command: str, number: int) -> None:
    said = refused(call(engine, command, "--", "echo", "hi", preexec_fn=limited(resource.RLIMIT_NOFILE, number)))
    assert f"{number};" in said
    assert str(FEWEST_DESCRIPTORS) in said
    assert engine.jobs() == []


def test_the_fewest_descriptors_are_enough_to_run_a_tree_and_to_end_it(engine: Engine, roll: RollCall) -> None:
    few = limited(resource.RLIMIT_NOFILE, FEWEST_DESCRIPTORS)
    assert engine.run("--", "sh", "-c", "echo out; echo err >&2; exit 3", preexec_fn=few) == (3, b"out\n", b"err\n")
    words = ["--json", "--hard", "5", "--warn", "0", "--grace", "0.2", "--", *actor("setsid_child", roll.path)]
    result = engine.run(*words, preexec_fn=few).result
    assert (result["timeoutReason"], result["error"]["survivors"]) == ("exec_timeout", [])
    assert roll.is_empty()


# Hands down open descriptors until so many are left below the limit, then becomes the command.
_FILLED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = []
try:
    while True:
        held.append(os.open(os.devnull, os.O_RDONLY))
        os.set_inheritable(held[-1], True)
except OSError:
    pass
for fd in held[len(held) - int(sys.argv[1]):]:
    os.close(fd)
os.execv(sys.argv[2], sys.argv[2:])
"""


@pytest.mark.parametrize("command", ["run", "start"])
def test_with_few_descriptors_left_a_job_runs_or_is_refused_in_one_line(engine: Engine, command: str) -> None:
    """From hardly enough for an interpreter to enough for a job: nothing in between is silent, or half a start."""
    seen: dict[int, int] = {}
    for left in (4, 6, 7, 8, 9, 10, 11, 12, 14, 16, 18, 24):
        words = [sys.executable, "-c", _FILLED, str(left), *engine.command(command, "--", "echo", "hi")]
        done = engine.finish(
            subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=engine.env
            )
        )
        seen[left] = done.code
        if done.code:
            said = refused(done)
            assert "descriptors" in said or os.strerror(errno.EMFILE) in said
        else:
            assert (done.out == b"hi\n") == (command == "run")
            assert done.err == b""
    assert (seen[4], seen[24]) == (125, 0)


@pytest.mark.parametrize("command", ["run", "start"])
def test_where_no_file_may_have_a_byte_the_start_is_refused_and_nothing_is_left(engine: Engine, command: str) -> None:
    done = call(engine, command, "--", "echo", "hi", preexec_fn=limited(resource.RLIMIT_FSIZE, 0))
    assert os.strerror(errno.EFBIG) in refused(done)
    assert engine.jobs() == []


@pytest.mark.parametrize("size", [4096, 16384, 100_000])
def test_a_limit_on_the_size_of_files_costs_bytes_and_not_the_job(engine: Engine, size: int) -> None:
    """The keeper is under it too: it must hear of it as an error, and not die of a signal."""
    words = ["--json", "--", "sh", "-c", "head -c 300000 /dev/zero; exit 7"]
    done = engine.run(*words, preexec_fn=limited(resource.RLIMIT_FSIZE, size))
    assert (done.code, done.result["truncated"]) == (7, True)


def test_the_job_itself_dies_of_a_limit_on_the_size_of_files(engine: Engine, tmp_path: Path) -> None:
    line = f"exec head -c 300000 /dev/zero > {tmp_path / 'large'}"
    done = engine.run("--json", "--", "sh", "-c", line, preexec_fn=limited(resource.RLIMIT_FSIZE, 100_000))
    assert done.result["signal"] == "SIGXFSZ"


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: to be another user with few processes needs root")
@pytest.mark.parametrize("command", ["run", "start"])
def test_with_few_processes_allowed_a_job_runs_or_is_refused_in_one_line(
    engine: Engine, open_folder: Path, command: str
) -> None:
    python = interpreter_for_user(ORDINARY_USER)
    if python is None:
        pytest.skip("NOT TESTED: no Python that an ordinary user may run")
    shutil.copytree(SOURCE / "unhang", open_folder / "unhang", ignore=shutil.ignore_patterns("__pycache__"))
    home = open_folder / "home"
    home.mkdir(0o700)
    os.chown(home, ORDINARY_USER, ORDINARY_USER)
    keep = {"PATH": os.defpath, "PYTHONPATH": str(open_folder), "PYTHONDONTWRITEBYTECODE": "1"}
    env = engine.env | keep | {"UNHANG_HOME": str(home), "HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    seen: list[int] = []
    for number in (1, 2, 3, 4, 8):
        done = subprocess.run(
            [python, "-m", "unhang", command, "--", "true"],
            cwd=home, env=env, user=ORDINARY_USER, group=ORDINARY_USER, extra_groups=[], stdin=subprocess.DEVNULL,
            capture_output=True, timeout=60, check=False, preexec_fn=limited(resource.RLIMIT_NPROC, number),
        )  # fmt: skip
        seen.append(done.returncode)
        if done.returncode:
            refused(Done(done.returncode, done.stdout, done.stderr))
        engine.left_over()  # the next one counts them
    assert (seen[0], seen[-1]) == (125, 0)
