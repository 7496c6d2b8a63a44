"""Nothing gets out of the tree: every known escape, ended by a limit and by a cancellation. (DESIGN, section 4)"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.escapes import ESCAPES, names, play_all
from tests.support.places import SOURCE, SUPPORT

ORDINARY_USER = 65533  # an ordinary user with nothing else running


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    return play_all(tmp_path_factory.mktemp("escapes"), ESCAPES)


@pytest.mark.parametrize("name", names(ESCAPES))
def test_no_escape_survives_the_end_of_its_job(problems: dict[str, list[str]], name: str) -> None:
    assert problems[name] == []


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that another user can reach, which tmp_path is not."""
    folder = Path(tempfile.mkdtemp(prefix="unhang-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def interpreter_for_user(uid: int) -> str | None:
    """This interpreter if an ordinary user may run it (one below /root may not), else the system's."""
    for candidate in (
        sys.executable,
        getattr(sys, "_base_executable", ""),
        "/usr/bin/python3",
        "/usr/local/bin/python3",
    ):
        try:
            asked = subprocess.run(
                [candidate, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"], user=uid, group=uid, check=False
            )
        except OSError:
            continue
        if asked.returncode == 0:
            return candidate
    return None


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="these tests run as an ordinary user already")
def test_no_escape_survives_when_everything_runs_as_an_ordinary_user_without_capabilities(open_folder: Path) -> None:
    python = interpreter_for_user(ORDINARY_USER)
    if python is None:
        pytest.skip("no Python that an ordinary user may run")
    shutil.copytree(SOURCE / "unhang", open_folder / "unhang", ignore=shutil.ignore_patterns("__pycache__"))
    tests = open_folder / "tests"
    shutil.copytree(SUPPORT, tests / "support", ignore=shutil.ignore_patterns("__pycache__"))
    (tests / "__init__.py").touch()
    work = open_folder / "work"
    work.mkdir()
    os.chown(work, ORDINARY_USER, ORDINARY_USER)
    done = subprocess.run(
        [python, "-m", "tests.support.escapes", str(work)],
        cwd=work,
        env={"PATH": os.defpath, "PYTHONPATH": str(open_folder), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(work)},
        user=ORDINARY_USER,
        group=ORDINARY_USER,
        extra_groups=[],
        capture_output=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    played = json.loads(done.stdout)
    assert played["uid"] == ORDINARY_USER
    assert played["problems"] == {name: [] for name in names(ESCAPES)}
