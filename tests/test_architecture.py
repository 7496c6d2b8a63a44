"""The shape of the code, as far as a test can see it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT, SOURCE

SOURCES = sorted(SOURCE.rglob("*.py"))

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


# --- what the documents say about the code ------------------------------------------------------------------------

ROOMS = SOURCE / "unhang"
# `keeper/loop.py`: below src/unhang or below the checkout
_FILE = re.compile(r"`((?:[\w-]+/)+[\w-]+\.py)`")
# a hop of a flow: | 1 | `keeper/loop.py` `Loop.run` | what happens there |
_HOP = re.compile(r"^\| \d+ \| `([\w/]+\.py)` `([\w.]+)` \|", re.MULTILINE)
MAPS = [ROOT / "docs" / "architecture.md", ROOT / "CONTRIBUTING.md", *sorted(ROOMS.rglob("README.md"))]


@pytest.mark.parametrize("document", MAPS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_that_a_map_names_exists(document: Path) -> None:
    named = _FILE.findall(document.read_text(encoding="utf-8"))
    missing = [name for name in named if not (ROOMS / name).exists() and not (ROOT / name).exists()]
    assert named
    assert missing == []


def _names(path: Path) -> set[str]:
    """Every function, class and method of a file, methods as Class.method."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {
                f"{node.name}.{method.name}"
                for method in node.body
                if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
            }
    return found


def test_every_hop_of_the_flows_names_a_function_that_exists() -> None:
    hops = _HOP.findall((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
    assert hops
    missing = [(file, name) for file, name in hops if name not in _names(ROOMS / file)]
    assert missing == []


def test_a_flow_has_at_most_eight_hops() -> None:
    numbers = re.findall(
        r"^\| (\d+) \| `", (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert max(map(int, numbers)) <= 8


@pytest.mark.parametrize("room", ["core", "keeper", "agents", "sessions"])
def test_a_big_room_has_a_map_of_one_screen(room: str) -> None:
    lines = (ROOMS / room / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 60


def _public(path: Path) -> list[tuple[str, str | None]]:
    """The public names of a file with their docstrings: itself, its functions, classes and their methods."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [("the file", ast.get_docstring(tree))] if tree.body else []
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    for node in tree.body:
        if isinstance(node, kinds) and not node.name.startswith("_"):
            found.append((node.name, ast.get_docstring(node)))
            inside = node.body if isinstance(node, ast.ClassDef) else []
            found += [
                (f"{node.name}.{part.name}", ast.get_docstring(part))
                for part in inside
                if isinstance(part, kinds) and not part.name.startswith("_")
            ]
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_public_name_has_a_docstring_that_is_a_sentence(path: Path) -> None:
    for name, docstring in _public(path):
        assert docstring, f"{name} has none"
        first = docstring.split("\n\n")[0].rstrip()
        assert first.endswith((".", "?", ":")), f"{name}: {first}"
