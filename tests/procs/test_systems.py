"""Every system's folder fills the same interface: a front of `procs` finds in each what it takes from one."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

import pytest

from tests.support.places import SOURCE
from unhang.procs import base
from unhang.procs.linux.inotify import InotifyWatch
from unhang.procs.linux.tree import LinuxTree
from unhang.procs.posix.absent import AbsentFileWatch
from unhang.procs.posix.tree import PosixTree

PROCS = SOURCE / "unhang" / "procs"
SYSTEMS = ("unhang.procs.linux", "unhang.procs.posix")


def chosen(front: Path) -> list[tuple[str, str, str]]:
    """(module, its name there, its name in the front) of everything that this front takes from one system's folder.

    A whole module that is imported as `system` counts for each of its names that the front uses.
    """
    nodes = list(ast.walk(ast.parse(front.read_text(encoding="utf-8"))))
    used = [
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "system"
    ]
    found: list[tuple[str, str, str]] = []
    for node in nodes:
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(SYSTEMS):
            continue
        for name in node.names:
            if name.asname == "system":
                found += [(f"{node.module}.{name.name}", each, each) for each in used]
            else:
                found.append((str(node.module), name.name, name.asname or name.name))
    return found


FRONTS = sorted(path for path in [*PROCS.glob("*.py"), *(PROCS / "sampler").glob("*.py")] if chosen(path))


def signature(module: str, name: str) -> list[tuple[str, object]]:
    """Names, kinds and defaults of the parameters; of a class, those of its public methods."""
    value = getattr(importlib.import_module(module), name)
    members = [("", value)]
    if inspect.isclass(value):
        members = [(key, each) for key, each in vars(value).items() if not key.startswith("_") and callable(each)]
    return sorted(
        (f"{key}({parameter.name})", str(parameter.kind))
        for key, each in members
        for parameter in inspect.signature(each).parameters.values()
        if parameter.default is inspect.Parameter.empty or parameter.kind is inspect.Parameter.KEYWORD_ONLY
    )


@pytest.mark.parametrize("front", FRONTS, ids=lambda path: str(path.relative_to(PROCS)))
def test_a_front_takes_the_same_functions_from_every_system(front: Path) -> None:
    taken = [each for each in chosen(front) if each[1] not in ("LinuxTree", "PosixTree")]
    linux, posix = (
        {front_name: (module, name) for module, name, front_name in taken if module.startswith(system)}
        for system in SYSTEMS
    )
    assert set(linux) == set(posix)
    for front_name, there in linux.items():
        assert signature(*there) == signature(*posix[front_name]), front_name


def test_every_system_has_a_tree_and_a_file_watch() -> None:
    """The type checker compares each with the protocol; this keeps the comparison where it sees it."""
    trees: list[base.Tree] = [LinuxTree(), PosixTree()]
    watches: list[base.FileWatch] = [InotifyWatch(), AbsentFileWatch()]
    assert [tree.proof for tree in trees] == [True, False]
    assert [watch.fd >= 0 for watch in watches] == [True, False]
    for watch in watches:
        watch.close()
