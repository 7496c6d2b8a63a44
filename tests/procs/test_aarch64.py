"""The numbers of aarch64's system calls, against the headers of its kernel and against an emulator that knows them.

What cannot be tried without such a machine: under qemu-user `/proc/PID/syscall` shows the host's calls, which the
emulator makes for its guest, so a look at an aarch64 process on an aarch64 kernel is not among these tests.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from tests.support.places import ROOT
from tests.support.programs import unavailable
from unhang.procs.linux.sampler.syscalls import AARCH64, TABLES, X86_64

# Debian's packages linux-libc-dev-arm64-cross, and linux-libc-dev of an amd64 and of an arm64 system.
HEADERS = {
    "aarch64": ("/usr/aarch64-linux-gnu/include/asm-generic/unistd.h", "/usr/include/asm-generic/unistd.h"),
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
}
DEFINED = re.compile(r"^#\s*define\s+__NR(?:3264)?_(\w+)\s+(\d+)\s*$", re.MULTILINE)
_EXIT = 93


def numbers(machine: str) -> dict[str, int]:
    """The system calls in the headers of a machine."""
    path = next((path for path in HEADERS[machine] if os.path.exists(path)), None)
    if path is None:
        unavailable(f"the kernel headers of {machine} are not installed (scripts/test-programs)")
    return {name: int(number) for name, number in DEFINED.findall(Path(path).read_text())}


@pytest.mark.parametrize("machine", sorted(TABLES))
def test_the_numbers_are_those_of_the_kernel_headers(machine: str) -> None:
    listed = numbers(machine)
    table = {name: number for number, name in TABLES[machine].items()}
    # A header that is older than a call does not know it.
    assert {name: listed[name] for name in table if name in listed} == {
        name: number for name, number in table.items() if name in listed
    }
    assert len(table.keys() & listed.keys()) >= len(table) - 4


def test_what_aarch64_has_is_in_its_table() -> None:
    """A call that unhang knows on x86_64 is known on aarch64, wherever its kernel has it."""
    assert set(X86_64.values()) & numbers("aarch64").keys() <= set(AARCH64.values())


def program(calls: list[int]) -> bytes:
    """An ELF file for aarch64 that makes these calls, each with -1 in every register, and ends."""
    words = []
    for number in calls:
        words += [0x92800000 | register for register in range(6)]  # movn xN, #0
        words += [0xD2800000 | number << 5 | 8, 0xD4000001]  # movz x8, #number; svc #0
    words += [0xD2800000, 0xD2800000 | _EXIT << 5 | 8, 0xD4000001]
    code = struct.pack(f"<{len(words)}I", *words)
    base, offset = 0x400000, 64 + 56
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    head = ident + struct.pack("<HHIQQQIHHHHHH", 2, 183, 1, base + offset, 64, 0, 0, 64, 56, 1, 64, 0, 0)
    size = offset + len(code)
    return head + struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, size, size, 0x10000) + code


def test_an_emulator_of_aarch64_gives_the_numbers_the_same_names(tmp_path: Path) -> None:
    emulator = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64", path=str(ROOT / ".cache" / "qemu"))
    if emulator is None:
        unavailable("qemu-aarch64 is not there (scripts/test-programs)")
    # With -1 everywhere each of them fails at once, except these: what they do depends on what was before.
    asked = sorted(AARCH64.keys() - {128})  # restart_syscall
    file = tmp_path / "calls"
    file.write_bytes(program(asked))
    file.chmod(0o755)
    done = subprocess.run([emulator, "-strace", str(file)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    said = re.findall(r"^\d+ (\w+)[ (](\d*)", done.stderr, re.MULTILINE)
    assert len(said) >= len(asked), done.stderr
    known = 0
    for number, (name, unknown) in zip(asked, said, strict=False):
        if name == "Unknown":
            assert number >= 426, (number, unknown, "only the newest are unknown to an older emulator")
            continue
        known += 1
        assert name.removeprefix("_") == AARCH64[number], number
    assert known >= 40
