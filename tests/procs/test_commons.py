"""What the sampler finds out about runtimes, locks and shared memory, on small real things and written tables."""

from __future__ import annotations

import ctypes
import fcntl
import io
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from unhang.core.diagnosis.samples import Lock
from unhang.procs.linux.sampler.commons import is_nameless, mapping
from unhang.procs.linux.sampler.full import full
from unhang.procs.linux.sampler.runtimes import gil_number, go_signals, has_go_mark, image_of, is_go, is_ocaml

MAPS = b"""\
00400000-00484000 r-xp 00000000 fe:00 101 /usr/bin/python3.11
00a00000-00b00000 rw-p 00100000 fe:00 101 /usr/bin/python3.11
00b00000-00b40000 rw-p 00000000 00:00 0
01c00000-01d00000 rw-p 00000000 00:00 0 [heap]
7f0000000000-7f0000001000 rw-s 00000000 00:01 34288 /dev/zero (deleted)
7f0000002000-7f0000003000 rw-s 00000000 fe:00 77 /var/lib/x/mutex
"""


def elf(path: Path, note: bytes) -> Path:
    """A file of nothing but a header, one program header and its note."""
    head = b"\x7fELF\x02\x01".ljust(32, b"\0") + struct.pack("<Q", 64)
    head = head.ljust(54, b"\0") + struct.pack("<HH", 56, 1)
    table = struct.pack("<IIQQQQQQ", 4, 4, 120, 0, 0, len(note), len(note), 4)
    path.write_bytes(head.ljust(64, b"\0") + table + note)
    return path


@pytest.mark.parametrize(
    ("note", "go"),
    [
        (struct.pack("<III", 4, 8, 4) + b"Go\0\0" + b"buildid\0", True),
        (struct.pack("<III", 4, 4, 3) + b"GNU\0" + b"abcd" + struct.pack("<III", 4, 4, 4) + b"Go\0\0abcd", True),
        (struct.pack("<III", 4, 4, 3) + b"GNU\0" + b"abcd", False),
        (b"", False),
        (b"Go\0\0", False),
    ],
    ids=["Go", "Go's linker and the system's", "C", "none", "too short"],
)
def test_a_program_of_go_is_known_by_its_note(tmp_path: Path, note: bytes, go: bool) -> None:
    with elf(tmp_path / "program", note).open("rb") as program:
        assert has_go_mark(program.fileno()) is go


def test_a_program_of_go_without_an_id_is_known_by_its_data(tmp_path: Path) -> None:
    path = elf(tmp_path / "program", b"\xff Go buildinf:\x08\x02")
    content = bytearray(path.read_bytes())
    struct.pack_into("<II", content, 64, 1, 6)  # to be loaded, and written to
    path.write_bytes(content)
    with path.open("rb") as program:
        assert has_go_mark(program.fileno())


@pytest.mark.parametrize(
    "content",
    [b"", b"#!/bin/sh\n", b"\x7fELF\x02\x01", b"\x7fELF\x02\x01" + b"\xff" * 90],
    ids=["nothing", "a script", "a part of a header", "nonsense"],
)
def test_whatever_else_is_run_is_no_program_of_go(
    tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "program"
    path.write_bytes(content)
    monkeypatch.setattr("builtins.open", lambda *_, **__: io.FileIO(path))
    assert not is_go(os.getpid())


def test_this_interpreter_is_not_ocaml() -> None:
    assert not is_ocaml(os.getpid())


def test_the_image_of_an_interpreter_ends_with_its_zeroed_memory() -> None:
    ranges = image_of(MAPS, lambda name: name.startswith("python3"))
    assert ranges == [(0x400000, 0x484000), (0xA00000, 0xB40000)]


def test_a_path_with_a_carriage_return_is_one_line() -> None:
    maps = b"1000-2000 rw-s 00000000 00:01 7 /tmp/a\r3000-zz r w x 8\n3000-4000 rw-p 00000000 00:00 0 \n"
    assert mapping(maps, 0x1000) == (True, "00:01:7", "/tmp/a\r3000-zz r w x 8")
    assert mapping(maps, 0x3000) == (False, "00:00:0", "")


def test_an_address_leads_to_its_mapping() -> None:
    assert mapping(MAPS, 0x7F0000000010) == (True, "00:01:34288", "/dev/zero (deleted)")
    assert mapping(MAPS, 0x1C00010) == (False, "00:00:0", "[heap]")
    assert mapping(MAPS, 0x10) is None


@pytest.mark.parametrize(
    ("path", "none"),
    [
        ("/dev/zero (deleted)", True),
        ("/dev/shm/sem.X (deleted)", True),
        ("/x/mutex", False),
        ("/SYSV0 (deleted)", False),
    ],
)
def test_shared_memory_without_a_name_is_known_by_its_path(path: str, none: bool) -> None:
    assert is_nameless(path) is none


WANTS = "import fcntl, sys; f = open(sys.argv[1]); print('up', flush=True); fcntl.flock(f, fcntl.LOCK_EX)"


def _lock_wanted(path: Path) -> tuple[int, Lock | None]:
    """The lock that a child waits for, once it does."""
    with subprocess.Popen([sys.executable, "-c", WANTS, str(path)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        try:
            lock = None
            while lock is None and child.poll() is None:
                lock = full(child.pid, include_root=True).processes[child.pid].lock
                lock = lock if lock is not None and lock.blocked else None
            return child.pid, lock
        finally:
            child.kill()


def test_a_lock_outlives_the_process_that_took_it(tmp_path: Path) -> None:
    """The child that locks ends at once; this process has the same open file, and so the lock."""
    path = tmp_path / "x.lock"
    with path.open("w") as held:
        if (pid := os.fork()) == 0:
            fcntl.flock(held, fcntl.LOCK_EX)
            os._exit(0)
        os.waitpid(pid, 0)
        _, lock = _lock_wanted(path)
    assert lock is not None
    assert lock.owners == (os.getpid(),)


def test_the_numbers_of_a_semaphore_can_be_asked_for() -> None:
    """The call that tells the last user of a semaphore takes no fourth argument."""
    libc = ctypes.CDLL(None, use_errno=True)
    made = libc.semget(0, 1, 0o600)
    if made < 0:
        pytest.skip("this system has no System V semaphores")
    try:
        assert libc.semctl(made, 0, 11) in (0, os.getpid())
    finally:
        libc.semctl(made, 0, 0)


def go_memory(wanted: int, state: int = 1, delivering: int = 0, used: bool = True, high: int = 0) -> bytes:
    """Go's `runtime.sig`, as it stands in memory while a thread waits for a signal."""
    masks = [0, 0, 0, wanted << 1 & 0xFFFFFFFF, wanted >> 31 & 0xFFFFFFFF, high, 0, 0, 0, 0, 0, 0]
    return struct.pack("<Q12III?", 0, *masks, state, delivering, used)


USR1, ALRM, RT = 1 << 9, 1 << 13, 1 << 35


@pytest.mark.parametrize("wanted", [USR1, ALRM, USR1 | ALRM, RT, 0])
def test_the_signals_that_a_program_of_go_has_asked_for(wanted: int) -> None:
    assert go_signals(go_memory(wanted)) == wanted
    assert go_signals(go_memory(wanted, high=1)) == wanted | 1 << 63


@pytest.mark.parametrize(
    "memory",
    [
        b"",
        go_memory(USR1)[:-1],
        go_memory(USR1, state=0),
        go_memory(USR1, delivering=1),
        go_memory(USR1, used=False),
        go_memory(USR1, high=2),
    ],
)
def test_memory_that_is_something_else_asks_for_no_signal(memory: bytes) -> None:
    assert go_signals(memory) == 0


def gil_memory(interval: int = 5000, holder: int = 1 << 40, held: int = 1) -> bytes:
    """The head of Python's global lock."""
    return struct.pack("<QQi4xQ", interval, holder, held, 17)


def test_the_handovers_of_the_gil_are_read_from_its_memory() -> None:
    assert gil_number(gil_memory()) == 17


@pytest.mark.parametrize(
    "memory",
    [
        b"",
        gil_memory()[:-1],
        gil_memory(interval=0),
        gil_memory(interval=200_000),
        gil_memory(holder=0),
        gil_memory(held=0),
        gil_memory(held=2),
    ],
)
def test_memory_that_is_no_gil_or_a_free_one_has_no_handovers(memory: bytes) -> None:
    assert gil_number(memory) is None


HOLDS_THE_GIL = """
import ctypes, os, sys, threading
def asks():
    while True: os.read(0, 1)  # gives the lock up, and wants it again
if sys.argv[1] == "turns":
    def spins():
        while True: pass
    threading.Thread(target=spins, daemon=True).start()
threading.Thread(target=asks, daemon=True).start()
ctypes.CDLL(None).poll(None, 0, -1) if sys.argv[1] == "turns" else ctypes.PyDLL(None).poll(None, 0, -1)
"""


def handovers(job: subprocess.Popen[bytes], beyond: int = -1) -> int:
    """Those of the GIL of a child, in the first look after its main thread went to wait that knows more than these."""
    while True:
        seen = full(os.getpid()).processes[job.pid]
        waits = bool(seen.threads) and seen.threads[0].syscall in ("poll", "ppoll")
        if waits and seen.handovers is not None and seen.handovers > beyond:
            return seen.handovers
        assert job.poll() is None


@pytest.mark.parametrize("how", ["kept", "turns"])
def test_the_handovers_of_the_gil_grow_only_where_threads_take_turns(how: str) -> None:
    """They grow where threads take turns, and stay as they are where one keeps the lock in C, whatever others ask."""
    argv = [sys.executable, "-c", HOLDS_THE_GIL, how]
    with open("/dev/zero", "rb") as zeros, subprocess.Popen(argv, stdin=zeros) as job:
        try:
            first = handovers(job)
            if how == "turns":
                assert handovers(job, beyond=first) > first
            else:
                assert {handovers(job) for _ in range(5)} == {first}
        finally:
            job.kill()
