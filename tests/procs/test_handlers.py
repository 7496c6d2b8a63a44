"""Handlers of signals that a runtime hides, as its exported variables tell them."""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import struct
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhang.procs.linux.sampler.blocks import Blocks
from unhang.procs.linux.sampler.exports import UNREADABLE, Exports, exporter_of
from unhang.procs.linux.sampler.handlers import (
    handled_by_php,
    holds_trap,
    java_handles_signals,
    php_handlers,
    ruby_traps,
)
from unhang.procs.linux.sampler.maps import mappings, path_of, read_maps

HEAD = struct.pack("<iiii??6x", 0, 0, 0, 1, True, False)


def _entries(*handled: int) -> bytes:
    rows = [struct.pack("<i4xQ", 0, 0x55550000 + n if n in handled else 0) for n in range(1, 65)]
    return b"".join(rows)


def test_the_handlers_of_a_php_program_are_those_that_are_set() -> None:
    found = php_handlers(HEAD + _entries(signal.SIGUSR1, signal.SIGTERM))
    assert found == 1 << signal.SIGUSR1 - 1 | 1 << signal.SIGTERM - 1
    assert php_handlers(HEAD + _entries()) == 0


def test_a_signal_that_php_ignores_has_no_handler() -> None:
    ignores = HEAD + _entries()[:-16] + struct.pack("<i4xQ", 0, 1)
    assert php_handlers(ignores) == 0


def test_what_is_not_the_head_of_phps_handlers_says_nothing() -> None:
    assert php_handlers(b"") is None
    assert php_handlers(b"\xff" * 2048) is None
    assert php_handlers((HEAD + _entries())[:-1]) is None


STDOUT = b"_IO_2_1_stdout_"


def test_an_exported_variable_is_found_where_the_loader_has_put_it() -> None:
    found = exporter_of(os.getpid(), read_maps(os.getpid()), lambda name: name.startswith("lib"), STDOUT)
    assert found is not None
    try:
        mine = ctypes.addressof(ctypes.c_void_p.in_dll(ctypes.CDLL("libc.so.6"), STDOUT.decode()))
        assert found.address(STDOUT) == mine
        assert found.address(b"no_such_variable") is None
    finally:
        found.close()


def test_a_file_that_is_no_program_exports_nothing() -> None:
    assert exporter_of(os.getpid(), read_maps(os.getpid()), lambda name: name == "no such file", STDOUT) is None
    line = f"1000-2000 r--p 00000000 00:00 1 {__file__}\n".encode()
    assert exporter_of(os.getpid(), line, lambda _: True, STDOUT) is None


def test_a_library_that_is_cut_off_while_we_look_does_no_harm(tmp_path: Path) -> None:
    library = next(path_of(each) for each in mappings(read_maps(os.getpid())) if "/libc.so" in path_of(each))
    copy = tmp_path / "libc.so.6"
    copy.write_bytes(Path(library).read_bytes())
    found = Exports(str(copy), 0)
    try:
        os.truncate(copy, 100)
        with pytest.raises(UNREADABLE):
            found.address(STDOUT)
    finally:
        found.close()


@given(st.binary(max_size=400))
def test_a_broken_program_exports_nothing(rest: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"\x7fELF\x02\x01" + rest)
        file.flush()
        line = f"1000-2000 r--p 00000000 00:00 1 {file.name}\n".encode()
        assert exporter_of(os.getpid(), line, lambda _: True, STDOUT) is None


def _object(kind: int, name: bytes) -> tuple[int, list[object]]:
    """The address of an object of Ruby's, of a type with that name; and what must stay for it to be there."""
    text = ctypes.create_string_buffer(name)
    table = (ctypes.c_uint64 * 1)(ctypes.addressof(text))
    thing = (ctypes.c_uint64 * 3)(kind, ctypes.addressof(table), ctypes.addressof(table))
    return ctypes.addressof(thing), [text, table, thing]


EXCEPTION, TEXT, TYPED, HASH = 0x01, 0x05, 0x0C, 0x08


@pytest.mark.parametrize(
    ("kind", "name", "traps"),
    [
        (TYPED, b"proc", True),
        (TYPED | 0x8_1020, b"proc", True),
        (TYPED, b"method", True),
        (TYPED, b"fiber", False),
        (TYPED, b"procedures", False),
        (HASH, b"proc", False),
        (TEXT, b"", True),
        (EXCEPTION, b"", True),
    ],
)
@pytest.mark.parametrize("signal_number", [0, 3])
def test_what_trap_was_given_is_found_in_the_state_of_rubys_machine(
    kind: int, name: bytes, traps: bool, signal_number: int
) -> None:
    given, kept = _object(kind, name)
    row, names, odd = _object(EXCEPTION, b""), _object(TEXT, b""), [7, 12, 1 << 16, 1 << 60]
    handlers = [0] * 5
    usual = [*odd, row[0], row[0], row[0], 0, *handlers, 0, names[0], names[0]]
    handlers[signal_number] = given
    trapped = [*odd, row[0], row[0], row[0], 0, *handlers, 0, names[0], names[0]]
    for words, found in ((usual, False), (trapped, traps)):
        state = (ctypes.c_uint64 * len(words))(*words)
        assert holds_trap(os.getpid(), ctypes.addressof(state), ctypes.sizeof(state)) is found
    assert kept


def test_of_a_process_without_such_a_runtime_nothing_is_known() -> None:
    assert handled_by_php(os.getpid()) is None
    assert ruby_traps(os.getpid()) is None
    assert java_handles_signals(os.getpid()) is True


def test_a_pipe_in_the_place_of_a_mapped_library_holds_up_no_look(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "libphp.so")
    assert _finds_no_state(tmp_path / "libphp.so")


def test_a_library_without_buckets_exports_nothing(tmp_path: Path) -> None:
    _library(tmp_path / "libphp.so", 3 * 16)
    assert _finds_no_state(tmp_path / "libphp.so")


def test_of_a_file_that_calls_itself_one_huge_table_little_is_read(tmp_path: Path) -> None:
    size = 64 << 20
    _library(tmp_path / "libphp.so", size)
    os.truncate(tmp_path / "libphp.so", 2 * size)  # a hole
    tracemalloc.start()
    try:
        assert _finds_no_state(tmp_path / "libphp.so")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8 << 20


def _library(path: Path, table: int) -> None:
    """An ELF file with a table for the loader, so long, whose hash table has no buckets."""
    head = b"\x7fELF\x02\x01".ljust(32, b"\0") + struct.pack("<Q14xHH6x", 64, 56, 2)
    begin = 64 + 2 * 56
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 1 << 30, 1 << 30, 4096)
    dynamic = struct.pack("<IIQQQQQQ", 2, 6, begin, begin, begin, table, table, 8)
    rows = struct.pack("<6Q", 5, 4096, 6, 4096, 0x6FFFFEF5, 4096)
    path.write_bytes((head + load + dynamic + rows).ljust(8192, b"\0"))


def _finds_no_state(path: Path) -> bool:
    maps = f"7f0000000000-7f0000001000 r-xp 00000000 08:01 1 {path}\n".encode()
    return exporter_of(os.getpid(), maps, lambda name: name == path.name, b"zend_signal_globals") is None


def test_a_look_through_much_memory_of_a_process_takes_little_of_its_own() -> None:
    """As through the classes of a large Java program, by each keeper that looks at one."""
    size = 64 << 20
    with mmap.mmap(-1, size) as large, open("/proc/self/mem", "rb", buffering=0) as file:
        begin = ctypes.addressof(ctypes.c_char.from_buffer(large))
        tracemalloc.start()
        try:
            memory = Blocks(file.fileno())
            assert not any(memory.word(begin + at) for at in range(0, size, 4096))
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert most < 8 << 20
