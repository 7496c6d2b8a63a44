"""Handlers of signals that a runtime hides, as its exported variables tell them."""

from __future__ import annotations

import ctypes
import os
import signal
import struct

from unhang.procs.linux.sampler.exports import exports_of
from unhang.procs.linux.sampler.handlers import handled_by_php, java_handles_signals, php_handlers
from unhang.procs.linux.sampler.maps import read_maps

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


def test_an_exported_variable_is_found_where_the_loader_has_put_it() -> None:
    found = exports_of(os.getpid(), read_maps(os.getpid()), lambda name: name.startswith("libc.so"))
    assert found is not None
    try:
        mine = ctypes.addressof(ctypes.c_void_p.in_dll(ctypes.CDLL("libc.so.6"), "_IO_2_1_stdout_"))
        assert found.address(b"_IO_2_1_stdout_") == mine
        assert found.address(b"no_such_variable") is None
    finally:
        found.close()


def test_a_file_that_is_no_program_exports_nothing() -> None:
    assert exports_of(os.getpid(), read_maps(os.getpid()), lambda name: name == "no such file") is None
    line = f"1000-2000 r--p 00000000 00:00 1 {__file__}\n".encode()
    assert exports_of(os.getpid(), line, lambda _: True) is None


def test_of_a_process_without_such_a_runtime_nothing_is_known() -> None:
    assert handled_by_php(os.getpid()) is None
    assert java_handles_signals(os.getpid()) is True
