"""Programs that may set themselves an alarm: scripts that name it, and programs of one's own that import it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.programs import need_command
from unhang.procs.linux.sampler.alarms import may_set_alarm

WAITS = "print('READY', flush=True); input()"
RELATIVE, BLANK = "relative", "has a blank.py"


def may_set_one(folder: Path, *command: str) -> bool:
    """What is said of a program that is ready."""
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as job:
        try:
            assert job.stdout is not None
            assert job.stdout.readline() == b"READY\n"
            return may_set_alarm(job.pid, {})
        finally:
            job.kill()


@pytest.mark.parametrize(
    ("text", "named"),
    [(f"import signal; signal.alarm(80); {WAITS}", True), (f"alarms = 'fire-alarm'; {WAITS}", False), (WAITS, False)],
)
@pytest.mark.parametrize("where", ["", RELATIVE, BLANK])
def test_a_script_that_names_an_alarm_may_set_one(tmp_path: Path, text: str, named: bool, where: str) -> None:
    (tmp_path / "script.py").write_text(text)
    (tmp_path / BLANK).write_text(text)
    path = "script.py" if where == RELATIVE else str(tmp_path / (where or "script.py"))
    assert may_set_one(tmp_path, sys.executable, "-u", path) is named


def test_a_program_on_the_command_line_is_read_to_its_end() -> None:
    for text, named in (
        (f"{WAITS} # {'x' * 9000}\nimport signal; signal.alarm(80)", True),
        (f"{WAITS} # {'x' * 9000}", False),
    ):
        with subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as job:
            try:
                assert job.stdout is not None
                assert job.stdout.readline() == b"READY\n"
                assert may_set_alarm(job.pid, {}) is named
            finally:
                job.kill()


@pytest.mark.parametrize(("call", "named"), [("alarm(80)", True), ("getpid()", False)])
def test_a_program_of_ones_own_that_imports_it_may_set_one(tmp_path: Path, call: str, named: bool) -> None:
    need_command("cc")
    (tmp_path / "p.c").write_text(
        f"#include <stdio.h>\n#include <unistd.h>\n"
        f'int main(void) {{ {call}; puts("READY"); fflush(stdout); getchar(); }}'
    )
    subprocess.run(["cc", "-o", "p", "p.c"], cwd=tmp_path, check=True)
    assert may_set_one(tmp_path, str(tmp_path / "p")) is named


def test_programs_of_the_system_are_left_out() -> None:
    with subprocess.Popen(["sleep", "99"]) as job:
        try:
            assert may_set_alarm(job.pid, {}) is False
        finally:
            job.kill()
