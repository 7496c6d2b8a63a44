"""Calls of the C library that Python has no function for, by the module below `ctypes`.

Importing `ctypes` itself takes longer than a keeper needs for a whole short job, and is memory in every one of them: it
makes a hundred types, and this module two.
"""

from __future__ import annotations

from _ctypes import (
    FUNCFLAG_CDECL,
    FUNCFLAG_USE_ERRNO,
    CFuncPtr,
    _SimpleCData,
    dlopen,
    dlsym,
    get_errno,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    Number = _SimpleCData[int]
else:
    Number = _SimpleCData

PR_SET_CHILD_SUBREAPER = 36
FALLOC_FL_KEEP_SIZE = 1


class _Int(Number):
    _type_ = "i"


class _Long(Number):
    """As wide as a register: what a call takes as `unsigned long` or `off_t`."""

    _type_ = "l"


class _Call(CFuncPtr):
    _flags_ = FUNCFLAG_CDECL | FUNCFLAG_USE_ERRNO
    _restype_ = _Int


class CLibrary:
    """Those functions of the C library in this process that a tree of processes needs."""

    def __init__(self) -> None:
        loaded = dlopen(None, 0)  # type: ignore[arg-type]  # None: this very process
        self._prctl = _Call(dlsym(loaded, "prctl"))
        self._fallocate = _Call(dlsym(loaded, "fallocate"))

    def become_subreaper(self) -> None:
        """Have every orphan below this process become its child; raise OSError if the kernel refuses."""
        if self._prctl(PR_SET_CHILD_SUBREAPER, _Long(1), _Long(0), _Long(0), _Long(0)):
            raise OSError(get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")

    def reserve(self, fd: int, offset: int, length: int) -> None:
        """Reserve blocks for a file beyond its end, without making it longer; raise OSError if there are none."""
        if self._fallocate(fd, FALLOC_FL_KEEP_SIZE, _Long(offset), _Long(length)):
            raise OSError(get_errno(), "fallocate")
