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


def chosen(front: Path) -> list[tuple[str, str]]:
    """(module, name) of everything that this front takes from the folder of one system."""
    tree = ast.parse(front.read_text(encoding="utf-8"))
    systems = ("unhang.procs.linux", "unhang.procs.posix")
    return [
        (node.module, name.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith(systems)
        for name in node.names
    ]


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
    taken = [(module, name) for module, name in chosen(front) if name not in ("LinuxTree", "PosixTree")]
    linux = {name: module for module, name in taken if module.startswith("unhang.procs.linux")}
    posix = {name: module for module, name in taken if module.startswith("unhang.procs.posix")}
    assert set(linux) == set(posix)
    for name, module in linux.items():
        assert signature(module, name) == signature(posix[name], name), name


def test_every_system_has_a_tree_and_a_file_watch() -> None:
    """The type checker compares each with the protocol; this keeps the comparison where it sees it."""
    trees: list[base.Tree] = [LinuxTree(), PosixTree()]
    watches: list[base.FileWatch] = [InotifyWatch(), AbsentFileWatch()]
    assert [tree.proof for tree in trees] == [True, False]
    assert [watch.fd >= 0 for watch in watches] == [True, False]
    for watch in watches:
        watch.close()
