"""The shape of the code, as far as a test can see it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))

# What `unhang run` may not load: each costs more start-up time than it is worth there.
HEAVY = ["typing", "dataclasses", "socket", "asyncio", "subprocess", "sqlite3", "threading", "datetime", "inspect"]


def test_starting_a_command_loads_nothing_heavy() -> None:
    code = (
        "import sys; import unhang.faces.cli.main, unhang.faces.cli.parser, unhang.faces.cli.commands.run;"
        "import unhang.keeper.main, unhang.keeper.prefork.guard, unhang.procs.linux.tree; print(*sys.modules)"
    )
    loaded = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    before = subprocess.run(
        [sys.executable, "-I", "-c", "import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    assert not (set(loaded) - set(before.stdout.split())) & set(HEAVY)


def test_importing_the_library_loads_nothing_but_itself() -> None:
    code = "import sys; before = set(sys.modules); import unhang; print(*(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.split() in (["unhang"], ["unhang", "__future__"], ["__future__", "unhang"])


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_say_what_they_are_for(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if text.strip():
        assert text.lstrip().startswith('"""'), "no docstring at the top"


def test_nothing_names_this_machine_or_a_download_address() -> None:
    tracked = subprocess.run(["git", "ls-files"], capture_output=True, text=True, cwd=ROOT, check=False).stdout.split()
    for name in tracked:
        path = ROOT / name
        if path.suffix in {".svg", ".png"} or not path.is_file() or path == Path(__file__).resolve():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        found = re.search(r"""(?<![\w}])/(?:root|work)/|"resolved": "http""", text)
        assert found is None, f"{name} holds {found.group()}"


# The kernel's own interfaces. Only `procs` speaks to them, so that another system is one more folder there.
OF_THE_SYSTEM = {"pidfd_open", "pidfd_send_signal", "prctl", "inotify_init", "inotify_init1", "inotify_add_watch"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_procs_speaks_to_the_kernel(path: Path) -> None:
    if "procs" in path.relative_to(ROOT).parts:
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        where = f"line {getattr(node, 'lineno', '?')}"
        if isinstance(node, ast.Attribute | ast.Name):
            name = node.attr if isinstance(node, ast.Attribute) else node.id
            assert name not in OF_THE_SYSTEM, f"{where}: {name} belongs in procs"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert not re.match("/proc(/|$)", node.value), f"{where}: {node.value} belongs in procs"
        elif isinstance(node, ast.ImportFrom | ast.Import):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [name.name for name in node.names]
            assert "ctypes" not in modules, f"{where}: ctypes belongs in procs"
            assert not any(re.match(r"unhang\.procs\.(linux|posix)\b", name) for name in modules), (
                f"{where}: ask the fronts of procs, not one system"
            )
