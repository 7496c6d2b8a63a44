"""Finds the modules of unhang without a search, for a process that is unhang's own: a command line starts in less time.

Python looks for each module in every way that it knows, one package after the other, which takes half as long as to
load what it finds. Where a module of unhang is follows from its name. This reads the byte code there if it is what
Python itself would take: compiled by this Python from the file beside it, as that is now. The rest is left to Python.

There is no `from __future__` here: see `__main__`.
"""

import marshal
import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader
from _imp import _fix_co_filename  # type: ignore[attr-defined]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType

_HEAD = 16
# What byte code begins with that is checked by the time and the size of its source, which follow.
_CHECKED_BY_TIME = MAGIC_NUMBER + bytes(4)


class _Loader(SourceFileLoader):
    """Python's own, with the byte code at hand that it is asked for once."""

    def __init__(self, name: str, path: str, code: "CodeType") -> None:
        super().__init__(name, path)
        self._code: CodeType | None = code

    def get_code(self, fullname: str) -> "CodeType | None":
        """Return the code of the module."""
        code, self._code = self._code, None
        return super().get_code(fullname) if code is None else code


class OwnModuleFinder:
    """Finds modules of unhang by their names, as an entry of `sys.meta_path`."""

    def __init__(self, suffix: str) -> None:
        """`suffix`: how the names of files with byte code end."""
        self._suffix = suffix

    def find_spec(
        self,
        fullname: str,
        path: "Sequence[str] | None",
        target: "ModuleType | None" = None,  # noqa: ARG002 - of the protocol
        /,
    ) -> ModuleSpec | None:
        """Return how to load a module of unhang; None: Python has to look for it."""
        if path is None or not fullname.startswith("unhang."):
            return None
        folder, name = path[0], fullname.rpartition(".")[2]
        return self._spec(fullname, folder, name) or self._spec(fullname, f"{folder}/{name}", "__init__")

    def _spec(self, fullname: str, folder: str, name: str) -> ModuleSpec | None:
        source, cached = f"{folder}/{name}.py", f"{folder}/__pycache__/{name}{self._suffix}"
        try:
            code = _read(source, cached)
        except (EOFError, OSError, TypeError, ValueError):  # not there, or damaged
            return None
        if code is None:
            return None
        package = name == "__init__"
        spec = ModuleSpec(fullname, _Loader(fullname, source, code), origin=source, is_package=package)
        if package:
            spec.submodule_search_locations = [folder]
        spec.cached = cached
        spec.has_location = True
        return spec


def _read(source: str, cached: str) -> "CodeType | None":
    """The code of a source file, from the file that it is cached in; None: that is of another Python or another day."""
    state = os.stat(source)
    fd = os.open(cached, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.read(fd, os.fstat(fd).st_size)
    finally:
        os.close(fd)
    head = b"".join((_CHECKED_BY_TIME, _four_bytes(int(state.st_mtime)), _four_bytes(state.st_size)))
    if data[:_HEAD] != head:
        return None
    code: CodeType = marshal.loads(memoryview(data)[_HEAD:])
    _fix_co_filename(code, source)  # it was compiled by another name of the file, or in another place
    return code


def _four_bytes(number: int) -> bytes:
    return (number & 0xFFFF_FFFF).to_bytes(4, "little")


def find_without_a_search() -> None:
    """Have this process find the modules of unhang by their names, where Python keeps byte code beside them."""
    suffix = sys.implementation.cache_tag
    if suffix and sys.pycache_prefix is None and not sys.flags.optimize:
        sys.meta_path.insert(0, OwnModuleFinder(f".{suffix}.pyc"))
