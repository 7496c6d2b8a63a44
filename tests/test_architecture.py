"""The shape of the code, as far as a test can see it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))

# What `unhang run` may not load: each costs more start-up time than it is worth there.
HEAVY = [
    *("typing", "dataclasses", "socket", "asyncio", "subprocess", "sqlite3", "threading", "datetime", "inspect"),
    *("argparse", "collections", "ctypes", "enum", "functools", "importlib", "json", "re", "signal", "warnings"),
]


def test_starting_a_command_loads_nothing_heavy() -> None:
    code = (
        f"import sys; sys.path.append({str(ROOT / 'src')!r});"
        "import unhang.__main__, unhang.own_modules, unhang.faces.cli.main, unhang.faces.cli.plain_line;"
        "import unhang.faces.cli.commands.run, unhang.jobs.launcher;"
        "import unhang.keeper.main, unhang.keeper.prefork.guard, unhang.procs.linux.tree; print(*sys.modules)"
    )
    loaded = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    before = subprocess.run(
        [sys.executable, "-I", "-S", "-c", "import sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not (set(loaded) - set(before.stdout.split())) & set(HEAVY)


def test_importing_the_library_loads_nothing_but_itself() -> None:
    code = "import sys; before = set(sys.modules); import unhang; print(*(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.split() in (["unhang"], ["unhang", "__future__"], ["__future__", "unhang"])


def test_files_say_what_they_are_for() -> None:
    texts = {path: path.read_text(encoding="utf-8").lstrip() for path in SOURCES}
    assert [str(path) for path, text in texts.items() if text and not text.startswith('"""')] == []


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


def test_only_procs_speaks_to_the_kernel() -> None:
    found = [line for path in SOURCES if "procs" not in path.relative_to(ROOT).parts for line in _talks_to_it(path)]
    assert found == []


def _talks_to_it(path: Path) -> list[str]:
    """What in a file belongs in `procs`, with its line."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Attribute | ast.Name):
            name = node.attr if isinstance(node, ast.Attribute) else node.id
            names = [name] if name in OF_THE_SYSTEM else []
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = [node.value] if re.match("/proc(/|$)", node.value) else []
        elif isinstance(node, ast.ImportFrom | ast.Import):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [name.name for name in node.names]
            # the fronts of procs are asked, and not one system
            names = [name for name in modules if name == "ctypes" or re.match(r"unhang\.procs\.(linux|posix)\b", name)]
        found += [f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', '?')}: {name}" for name in names]
    return found
