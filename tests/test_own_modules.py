"""A module of unhang that is found by its name is the one that Python would find; any other is left to Python."""

from __future__ import annotations

import os
import py_compile
import subprocess
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path

import pytest

from tests.support.places import SOURCE
from unhang.own_modules import OwnModuleFinder

SUFFIX = f".{sys.implementation.cache_tag}.pyc"
FIELDS = ("name", "origin", "cached", "has_location", "parent", "submodule_search_locations", "loader_state")


def found(name: str, folder: Path) -> ModuleSpec | None:
    return OwnModuleFinder(SUFFIX).find_spec(name, [str(folder)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A module `a` and a package `b`, both compiled."""
    (tmp_path / "a.py").write_text("def a(): return __name__\n")
    (tmp_path / "b").mkdir()
    (tmp_path / "b/__init__.py").write_text("")
    compiled(tmp_path / "a.py")
    compiled(tmp_path / "b/__init__.py")
    return tmp_path


def compiled(path: Path) -> None:
    py_compile.compile(str(path), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP)


def cached(path: Path) -> Path:
    return path.parent / "__pycache__" / f"{path.stem}{SUFFIX}"


@pytest.mark.parametrize("name", ["unhang.a", "unhang.b"])
def test_a_module_is_described_as_python_does(folder: Path, name: str) -> None:
    ours, pythons = found(name, folder), PathFinder.find_spec(name, [str(folder)])
    assert ours is not None
    assert pythons is not None
    assert {field: getattr(ours, field) for field in FIELDS} == {field: getattr(pythons, field) for field in FIELDS}
    assert pythons.loader is not None
    assert isinstance(ours.loader, type(pythons.loader))


def test_the_code_is_that_of_the_source(folder: Path) -> None:
    spec = found("unhang.a", folder)
    assert spec is not None
    assert isinstance(spec.loader, SourceFileLoader)
    code, again = spec.loader.get_code("unhang.a"), spec.loader.get_code("unhang.a")
    source = (folder / "a.py").read_text()
    assert code == again == compile(source, str(folder / "a.py"), "exec", dont_inherit=True)
    assert spec.loader.get_source("unhang.a") == source


def test_the_code_knows_its_file_also_after_that_was_moved(folder: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in ("a.py", "__pycache__"):
        (folder / name).rename(moved / name)
    spec = found("unhang.a", moved)
    assert spec is not None
    assert isinstance(spec.loader, SourceFileLoader)
    code = spec.loader.get_code("unhang.a")
    assert code is not None
    assert code.co_filename == str(moved / "a.py")


@pytest.mark.parametrize("name", ["json", "unhang", "unhangx.a"])
def test_other_modules_are_left_to_python(folder: Path, name: str) -> None:
    assert found(name, folder) is None
    assert OwnModuleFinder(SUFFIX).find_spec(name, None) is None


def test_what_is_missing_is_left_to_python(folder: Path) -> None:
    assert found("unhang.c", folder) is None


def test_a_source_that_was_changed_is_left_to_python(folder: Path) -> None:
    before = (folder / "a.py").stat()
    (folder / "a.py").write_text("def a(): return __package__\n")
    os.utime(folder / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert found("unhang.a", folder) is None
    (folder / "a.py").write_text("def a(): return __name__\n")
    os.utime(folder / "a.py", (before.st_atime, before.st_mtime + 10))
    assert found("unhang.a", folder) is None
    os.utime(folder / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert found("unhang.a", folder) is not None


def test_a_source_without_byte_code_is_left_to_python(folder: Path) -> None:
    cached(folder / "a.py").unlink()
    assert found("unhang.a", folder) is None


def test_byte_code_without_its_source_is_left_to_python(folder: Path) -> None:
    (folder / "a.py").unlink()
    assert found("unhang.a", folder) is None


@pytest.mark.parametrize("head", [b"", b"\0" * 16, b"\xa7\r\r\n" + b"\0" * 3])
def test_byte_code_of_another_python_or_none_is_left_to_python(folder: Path, head: bytes) -> None:
    cached(folder / "a.py").write_bytes(head)
    assert found("unhang.a", folder) is None


def test_byte_code_that_was_cut_is_left_to_python(folder: Path) -> None:
    whole = cached(folder / "a.py").read_bytes()
    cached(folder / "a.py").write_bytes(whole[:-20])
    assert found("unhang.a", folder) is None


def test_byte_code_that_is_checked_by_the_contents_of_its_source_is_left_to_python(folder: Path) -> None:
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    py_compile.compile(str(folder / "a.py"), doraise=True, invalidation_mode=mode)
    assert found("unhang.a", folder) is None


def test_no_module_has_the_name_of_a_package() -> None:
    """A module is looked for first; Python has it the other way round."""
    packages = {path.parent for path in SOURCE.rglob("__init__.py")}
    assert [path for path in packages if path.with_suffix(".py").exists()] == []


_LOADED = (
    "import sys; sys.path.append({source!r}); sys.argv = ['unhang', '--version']; import os, unhang.__main__ as main;"
    "os._exit = lambda code: print(*(f'{{m.__name__}} {{type(m.__loader__).__module__}}' for m in"
    " list(sys.modules.values()) if m.__name__.startswith('unhang.')), *map(type, sys.meta_path), sep='\\n');"
    "main.main()"
)


def _run(*options: str) -> list[str]:
    code = _LOADED.format(source=str(SOURCE))
    words = [sys.executable, "-I", *options, "-c", code]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()


def test_a_command_line_finds_its_modules_without_a_search() -> None:
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(SOURCE / "unhang/faces/cli")], check=True)
    assert "unhang.faces.cli.main unhang.own_modules" in _run()


def test_an_optimised_python_has_byte_code_of_its_own() -> None:
    assert not any(line.endswith(" unhang.own_modules") or "OwnModuleFinder" in line for line in _run("-O"))


def test_the_library_leaves_the_search_of_its_process_alone() -> None:
    code = f"import sys; sys.path.append({str(SOURCE)!r}); a = list(sys.meta_path)"
    code += "; import unhang, unhang.jobs.api; assert sys.meta_path == a"
    subprocess.run([sys.executable, "-I", "-c", code], check=True)


def test_ctrl_c_while_it_is_set_up_ends_a_command_line_without_a_traceback() -> None:
    program = (
        "import sys, unhang.own_modules as o; from unhang.__main__ import main\n"
        "def pressed(): raise KeyboardInterrupt\n"
        "o.find_without_a_search = pressed; sys.argv = ['unhang', '--version']; main()"
    )
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (130, b"")
