"""The page about installing names what there is, and each way to install unhang that it names works."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.support.places import ROOT
from tests.support.programs import unavailable

# As scripts/test-programs makes it. Its interpreter runs the programs: their scripts name the path they were made at.
TOOLS = ROOT / ".cache" / "installers"
PYTHON = str(TOOLS / "bin" / "python")


def test_every_extra_is_on_the_page_about_installing() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    rows = text.partition("<!-- extras -->")[2].partition("<!-- /extras -->")[0]
    assert [name for name in project["optional-dependencies"] if name != "dev" and f"| `{name}` |" not in rows] == []


def _wheel(folder: Path, env: dict[str, str]) -> str:
    """Build the wheel of this very source, in a copy: the build writes the man pages beside it."""
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "hatch_build.py"):
        shutil.copy(ROOT / name, source)
    for name in ("src", "scripts"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    _done([PYTHON, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "-w", str(folder), str(source)], env)
    (wheel,) = folder.glob("unhang-*.whl")
    return str(wheel)


def _done(command: list[str], env: dict[str, str]) -> str:
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=500, check=False, cwd=env["HOME"])
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_wheel_of_this_source_is_installed_by_pip_pipx_and_uv_and_runs_a_command(tmp_path: Path) -> None:
    if not (TOOLS / ".installed").exists():
        unavailable(
            "pipx, uv and hatchling are not in .cache/installers; run scripts/test-programs (it needs a network)"
        )
    home = tmp_path / "home"
    home.mkdir()
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "UNHANG_HOME": str(tmp_path / "state"),
        # no index and no settings of the person who runs the tests: unhang needs nothing but Python
        "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_CACHE_DIR": "1",
        "PIP_NO_COMPILE": "1",  # most of what an install costs; Python does it when a module is first imported
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIPX_HOME": str(tmp_path / "pipx"),
        "PIPX_BIN_DIR": str(tmp_path / "pipx-bin"),
        "PIPX_MAN_DIR": str(tmp_path / "pipx-man"),
        "PIPX_DEFAULT_PYTHON": PYTHON,
        "UV_CACHE_DIR": str(tmp_path / "uv-cache"),
        "UV_TOOL_DIR": str(tmp_path / "uv"),
        "UV_TOOL_BIN_DIR": str(tmp_path / "uv-bin"),
        "UV_NO_CONFIG": "1",
        "UV_OFFLINE": "1",
        "UV_PYTHON_DOWNLOADS": "never",
    }
    wheel = _wheel(tmp_path, env)
    _done([PYTHON, "-m", "venv", "--without-pip", str(tmp_path / "pip")], env)
    _done([PYTHON, "-m", "pip", "--python", str(tmp_path / "pip/bin/python"), "install", wheel], env)
    _done([PYTHON, "-m", "pipx", "install", wheel], env)
    _done([str(TOOLS / "bin" / "uv"), "tool", "install", "--no-index", "--python", PYTHON, wheel], env)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    for folder in ("pip/bin", "pipx-bin", "uv-bin"):
        unhang = str(tmp_path / folder / "unhang")
        assert _done([unhang, "--version"], env) == f"unhang {version}\n"
        assert _done([unhang, "run", "--", "echo", folder], env) == f"{folder}\n"
    for page in (tmp_path / "pip/share/man/man1/unhang-run.1", tmp_path / "pipx-man/man1/unhang-run.1"):
        assert page.exists(), page
