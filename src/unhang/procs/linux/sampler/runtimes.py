"""Which language's runtime a process has, from what it maps and what its program file holds.

It is looked up only where it matters: a thread sits in a wait that may be a runtime's own. Each of these reads costs
some tenths of a millisecond, and most trees need none of them.
"""

from __future__ import annotations

import os
import signal
import struct
from collections.abc import Callable

from unhang.core.diagnosis.runtimes import (
    GO,
    JVM,
    NODE,
    OCAML,
    PYTHON,
    SWITCH,
    asks_again,
    is_sysmon,
    is_tick,
    named_runtime,
)
from unhang.core.diagnosis.samples import FOREVER, Thread
from unhang.procs.linux.procfs import executable, read_all
from unhang.procs.linux.sampler.local_files import is_local
from unhang.procs.linux.sampler.maps import mappings, path_of, read_maps, span_of

# Where a runtime that is linked into a program has its text: at the end of the code or in the constants, within the
# first megabytes.
MOST_PROGRAM = 32 << 20
_PART = 1 << 20
_PT_LOAD, _PT_NOTE = 1, 4
_WRITABLE = 2
# Go's linker puts this at the beginning of the data, within the first 64 KiB.
_BUILD_INFO = b"\xff Go buildinf:"
_MOST_DATA = 64 << 10
# A note, the masks of all, the wanted, the ignored and the pending signals, a state, a count, and whether it is in use.
_GO_SIGNALS = struct.Struct("<Q12III?")
# The head of Python's global lock.
_GIL = struct.Struct("<QQi4xQ")
# Where in a condition the words lie that its waiters sleep on: before glibc 2.41, and since.
_CONDITION_WORDS = (40, 32)
_GO_NOTE = struct.pack("<I", 4), b"Go\0\0"


def runtime_of(pid: int, threads: tuple[Thread, ...]) -> str:
    """Return the name of the runtime of a process; "" where none is recognised or none matters."""
    if len(threads) < 2:
        return ""
    name = named_runtime(threads)
    if name and (name != JVM or _maps(pid, "libjvm.so")):
        return name
    others = [thread for thread in threads if thread.tid != pid]
    if any(is_sysmon(each) for each in others) and is_go(pid):
        return GO
    if any(is_tick(pid, each) for each in others) and is_ocaml(pid):
        return OCAML
    if any(asks_again(each) for each in threads) and _maps_python(read_maps(pid)):
        return PYTHON
    return NODE if is_node(pid, threads) else ""


def marked(pid: int, threads: tuple[Thread, ...]) -> tuple[Thread, ...]:
    """Return the threads of a Python process; those whose lock word lies in the interpreter's image are marked
    `static`.
    """
    ranges = image_of(read_maps(pid), _is_python)
    return tuple(
        each._replace(static=True)
        if each.futex is not None and any(low <= each.futex < high for low, high in ranges)
        else each
        for each in threads
    )


def gil_handovers(pid: int, threads: tuple[Thread, ...]) -> int | None:
    """Return how often Python's global lock has passed from one thread to another; None where that is not known, or
    where the lock is free at this moment.

    Those that wait for the lock sleep in its condition, which stands in the middle of a structure: before it the
    interval of asking, the last holder, whether it is held, and the number.
    """
    words = {each.futex for each in threads if each.static and each.futex is not None and asks_again(each)}
    try:
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            for word in sorted(words):
                for offset in _CONDITION_WORDS:
                    at = (word & ~7) - offset - _GIL.size
                    if (number := gil_number(os.pread(memory.fileno(), _GIL.size, at))) is not None:
                        return number
    except (OSError, OverflowError, ValueError):
        pass
    return None


def gil_number(memory: bytes) -> int | None:
    """Return the number of handovers in what may be the head of Python's global lock; None where it is something else,
    or the lock is free.
    """
    if len(memory) < _GIL.size:
        return None
    interval, holder, held, number = _GIL.unpack(memory)
    asks = 0 < interval <= SWITCH * 1e6  # microseconds
    return int(number) if asks and holder and held == 1 else None


def wanted_by_go(pid: int, threads: tuple[Thread, ...]) -> int:
    """Return the signals that a Go program has asked for (`signal.Notify`), one bit each, as in `SigCgt`.

    Go handles every signal, asked for or not, so the kernel's mask says nothing. But where one was asked for, a thread
    sleeps until it comes, on the first word of `runtime.sig`: after that word and the signals that are let through
    stand those that are wanted.
    """
    words = {each.futex for each in threads if each.futex is not None and each.timeout == FOREVER}
    wanted = 0
    try:
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            for word in sorted(words):
                wanted |= go_signals(os.pread(memory.fileno(), _GO_SIGNALS.size, word))
    except (OSError, OverflowError, ValueError):
        pass
    return wanted


def go_signals(memory: bytes) -> int:
    """Return the wanted signals in what may be Go's `runtime.sig`; 0 where it is something else."""
    if len(memory) < _GO_SIGNALS.size:
        return 0
    words: tuple[int, ...] = _GO_SIGNALS.unpack(memory)[1:]
    masks, state, delivering, in_use = words[:12], words[12], words[13], words[14]
    # Three words hold the bits of 65 signals: the last of them one bit. And it receives, or its thread would not sleep.
    if any(high > 1 for high in masks[2::3]) or (state, delivering, in_use) != (1, 0, 1):
        return 0
    return (masks[3] | masks[4] << 32) >> 1 | masks[5] << 63


def has_own_timer(pid: int) -> bool:
    """Return whether the program has made a POSIX timer that may wake it.

    Ruby and Haskell make one with SIGVTALRM for themselves, to switch between their threads; that is no timer of the
    program.
    """
    signals = [
        int(line[7:].split(b"/", 1)[0])
        for line in read_all(f"/proc/{pid}/timers", 1 << 16).splitlines()
        if line.startswith(b"signal:")
    ]
    return bool(signals) and not (set(signals) == {signal.SIGVTALRM} and (maps_ruby(pid) or is_haskell(pid)))


def maps_ruby(pid: int) -> bool:
    """Return whether a process runs Ruby, by what it maps."""
    return any(is_ruby(path) for path in _mapped(read_maps(pid)))


def is_go(pid: int) -> bool:
    """Return whether the program was built by Go, whose linker leaves its mark also in stripped files."""
    try:
        if not is_local(pid, executable(pid)):
            return False
        with open(f"/proc/{pid}/exe", "rb", buffering=0) as program:
            return has_go_mark(program.fileno())
    except (OSError, OverflowError):  # a header may claim anything
        return False


def has_go_mark(fd: int) -> bool:
    """Return whether an ELF file of 64 bits, little-endian, has a note or a record of a build by Go."""
    head = os.pread(fd, 4096, 0)
    if head[:6] != b"\x7fELF\x02\x01" or len(head) < 64:
        return False
    offset, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
    table = os.pread(fd, size * min(count, 64), offset)
    for at in range(0, len(table) - 55, size or 56):
        kind, flags, where, _, _, length = struct.unpack_from("<IIQQQQ", table, at)
        if kind == _PT_NOTE:
            note = os.pread(fd, min(length, 4096), where)
            if any(note[i : i + 4] == _GO_NOTE[0] and note[i + 12 : i + 16] == _GO_NOTE[1] for i in _words(note)):
                return True
        elif kind == _PT_LOAD and flags & _WRITABLE and _BUILD_INFO in os.pread(fd, min(length, _MOST_DATA), where):
            return True
    return False


def _words(data: bytes) -> range:
    return range(0, max(0, len(data) - 15), 4)


def is_ocaml(pid: int) -> bool:
    """Return whether the program holds OCaml's runtime, which knows the variable that sets its options."""
    return _holds(pid, b"OCAMLRUNPARAM")


def is_haskell(pid: int) -> bool:
    """Return whether the program holds Haskell's runtime, which knows the variable that sets its options."""
    return _holds(pid, b"GHCRTS")


def _holds(pid: int, name: bytes) -> bool:
    try:
        if not is_local(pid, executable(pid)):
            return False
        with open(f"/proc/{pid}/exe", "rb", buffering=0) as program:
            # Read and not mapped: what is cut off meanwhile would kill us.
            before, at = b"", 0
            while at < MOST_PROGRAM and (part := os.pread(program.fileno(), _PART, at)):
                if name in before + part:
                    return True
                before, at = part[-len(name) :], at + len(part)
            return False
    except (OSError, ValueError):
        return False


def is_node(pid: int, threads: tuple[Thread, ...]) -> bool:
    """Return whether the program is Node: it is named so, whatever it calls itself, and its event loop or a wait for
    another thread (`Atomics.wait`) is the first thread.
    """
    if not any(each.tid == pid and ("epoll" in each.syscall or each.syscall == "futex") for each in threads):
        return False
    try:
        name = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return False
    return name.removesuffix(" (deleted)") in ("node", "nodejs")


def _mapped(maps: bytes) -> set[str]:
    return {os.path.basename(path) for each in mappings(maps) if (path := path_of(each))}


def _maps(pid: int, name: str) -> bool:
    return name in _mapped(read_maps(pid))


def _maps_python(maps: bytes) -> bool:
    return any(_is_python(name) for name in _mapped(maps))


def _is_python(name: str) -> bool:
    """The interpreter itself or its library; not the modules that it loads."""
    return name.startswith(("python3", "libpython3")) or name == "python"


def is_ruby(name: str) -> bool:
    """Return whether a file is Ruby's interpreter or its library."""
    return (
        name.startswith("libruby")
        or (name.startswith("ruby") and name[4:].replace(".", "").isdecimal())
        or name == "ruby"
    )


def image_of(maps: bytes, belongs: Callable[[str], bool]) -> list[tuple[int, int]]:
    """Return the address ranges of a program's file, and of the zeroed memory that follows it without a gap."""
    found: list[tuple[int, int]] = []
    for each in mappings(maps):
        path, (low, high) = path_of(each), span_of(each)
        if path and belongs(os.path.basename(path)):
            found.append((low, high))
        elif not path and found and found[-1][1] == low:
            found[-1] = found[-1][0], high
    return found
