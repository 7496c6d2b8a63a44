"""The maps of the code are true: what they name exists, and every public name says what it is for."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.support.places import ROOT, SOURCE, TESTS

SOURCES = sorted(SOURCE.rglob("*.py"))
ROOMS = SOURCE / "unhang"
# `keeper/loop.py`: below src/unhang or below the checkout
_FILE = re.compile(r"`((?:[\w-]+/)+[\w-]+\.py)`")
# a hop of a flow: | 1 | `keeper/loop.py` `Loop.run` | what happens there |
_HOP = re.compile(r"^\| \d+ \| `([\w/]+\.py)` `([\w.]+)` \|", re.MULTILINE)
MAPS = [ROOT / "docs" / "architecture.md", ROOT / "CONTRIBUTING.md", *sorted(ROOMS.rglob("README.md"))]


@pytest.mark.parametrize("document", MAPS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_that_a_map_names_exists(document: Path) -> None:
    named = _FILE.findall(document.read_text(encoding="utf-8"))
    places = (document.parent, ROOMS, ROOT)
    missing = [name for name in named if not any((place / name).exists() for place in places)]
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


@pytest.mark.parametrize("document", MAPS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_function_that_a_map_names_with_its_file_exists(document: Path) -> None:
    named = re.findall(r"`([\w/]+\.py): ([\w.]+)`", document.read_text(encoding="utf-8"))
    places = (document.parent, ROOMS)
    found = [(next((p / file for p in places if (p / file).exists()), None), name) for file, name in named]
    assert [(path, name) for path, name in found if path is None or not _has(path, name)] == []


def _has(path: Path, name: str) -> bool:
    return name in _names(path) or re.search(rf"^{name}\b", path.read_text(encoding="utf-8"), re.MULTILINE) is not None


def test_a_flow_has_at_most_eight_hops() -> None:
    numbers = re.findall(
        r"^\| (\d+) \| `", (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert max(map(int, numbers)) <= 8


@pytest.mark.parametrize("room", ["core", "keeper", "jobs", "agents", "sessions"])
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


def test_what_the_fast_tests_leave_out_exists() -> None:
    from tests.conftest import NOT_FAST

    assert [name for name in NOT_FAST if not (TESTS / name).exists()] == []
