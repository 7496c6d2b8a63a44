"""Registers and memory to waits, without a target; the same behind both tables."""

from __future__ import annotations

import struct

import pytest

from unhang.core.diagnosis.samples import FOREVER
from unhang.procs.linux.sampler.syscalls import AARCH64, READS, TABLES, WRITES, X86_64, Call, decode

MINUS_ONE = 0xFFFFFFFF


def call(name: str, *args: int, memory: dict[int, bytes] | None = None, now: float = 100.0) -> Call:
    def at(address: int, size: int) -> bytes:
        return (memory or {}).get(address, b"")[:size]

    return decode(name, [*args, 0, 0, 0, 0, 0, 0][:6], at, lambda _clock: now)


def timespec(seconds: int, nanoseconds: int = 0) -> bytes:
    return struct.pack("<qq", seconds, nanoseconds)


def test_the_tables_name_the_same_calls() -> None:
    """aarch64 has no open, poll, select, pause, epoll_wait: newer calls do their work there."""
    assert set(AARCH64.values()) <= set(X86_64.values())
    old = {"open", "poll", "select", "pause", "epoll_wait"}
    assert set(X86_64.values()) - set(AARCH64.values()) == old
    for table in TABLES.values():
        assert len(set(table.values())) == len(table)


@pytest.mark.parametrize(("machine", "read", "futex"), [("x86_64", 0, 202), ("aarch64", 63, 98)])
def test_the_tables_have_the_numbers_of_read_and_futex(machine: str, read: int, futex: int) -> None:
    assert (TABLES[machine][read], TABLES[machine][futex]) == ("read", "futex")


@pytest.mark.parametrize("name", sorted(READS))
def test_a_read_is_endless_and_names_its_descriptor(name: str) -> None:
    assert call(name, 3) == Call(reads=(3,), timeout=FOREVER)


@pytest.mark.parametrize("name", sorted(WRITES))
def test_a_write_is_endless_and_names_its_descriptor(name: str) -> None:
    assert call(name, 3) == Call(writes=(3,), timeout=FOREVER)


def test_poll_reads_its_set_from_memory() -> None:
    fds = struct.pack("<ihhihhihh", 0, 1, 0, 5, 4, 0, -1, 1, 0)
    assert call("poll", 0x1000, 3, 2500, memory={0x1000: fds}) == Call(reads=(0,), writes=(5,), timeout=2.5)
    assert call("poll", 0x1000, 3, MINUS_ONE, memory={0x1000: fds}).timeout == FOREVER


def test_sigwait_reads_its_set_from_memory() -> None:
    wanted = struct.pack("<Q", 1 << 9 | 1 << 63)
    seen = call("rt_sigtimedwait", 0x1000, memory={0x1000: wanted})
    assert seen == Call(timeout=FOREVER, signals=1 << 9 | 1 << 63)
    assert call("rt_sigtimedwait", 0x1000).signals == 0, "it could not be read"


def test_a_descriptor_of_which_only_the_end_is_asked_for_is_not_read() -> None:
    fds = struct.pack("<ihhihhihh", 0, 1, 0, 5, 0, 0, -1, 0, 0)
    assert call("poll", 0x1000, 3, MINUS_ONE, memory={0x1000: fds}) == Call(reads=(0,), hangups=(5,), timeout=FOREVER)


def test_the_third_set_of_select_is_waited_for_as_well() -> None:
    memory = {0x20: struct.pack("<Q", 1 << 3), 0x40: struct.pack("<Q", 1 << 5)}
    assert call("select", 6, 0x20, 0, 0x40, 0, memory=memory) == Call(reads=(3, 5), timeout=FOREVER)
    assert call("pselect6", 6, 0, 0x20, 0x40, 0, memory=memory) == Call(reads=(5,), writes=(3,), timeout=FOREVER)


def test_a_set_that_cannot_be_read_is_said_to_be_unseen() -> None:
    assert call("ppoll", 0x1000, 3, 0).unseen
    assert call("poll", 0x1000, 5000, 0, memory={0x1000: b"\0" * 40000}).unseen
    assert call("pselect6", 8, 0x1000).unseen
    assert not call("ppoll", 0, 0, 0).unseen


def test_select_reads_its_sets_and_its_timeout() -> None:
    bits = struct.pack("<Q", 0b1001)
    found = call("pselect6", 8, 0x10, 0, 0, 0x20, memory={0x10: bits, 0x20: timespec(1, 500_000_000)})
    assert found == Call(reads=(0, 3), timeout=1.5)
    assert call("select", 8, 0x10, 0, 0, 0x20, memory={0x10: bits, 0x20: timespec(1, 500_000)}).timeout == 1.5


def test_a_sleep_has_its_length_or_the_time_until_its_moment() -> None:
    assert call("clock_nanosleep", 1, 1, 0x10, memory={0x10: timespec(130)}) == Call(timeout=30.0, until=30.0)
    assert call("clock_nanosleep", 1, 0, 0x10, memory={0x10: timespec(30)}) == Call(timeout=30.0)
    assert call("nanosleep", 0x10).timeout is None, "memory that cannot be read is not known, not endless"


def test_a_contended_mutex_says_who_holds_it() -> None:
    mutex = struct.pack("<IIiI", 2, 0, 4711, 1)
    found = call("futex", 0x10, 128, 2, 0, memory={0x10: mutex})
    assert found == Call(timeout=FOREVER, futex=0x10, owner=4711)


def test_a_join_waits_for_a_thread_by_its_number() -> None:
    found = call("futex", 0x10, 9 | 256, 4712, 0)
    assert (found.owner, found.shared, found.timeout) == (4712, True, FOREVER)


def test_a_futex_with_an_absolute_deadline_is_read_as_the_time_that_is_left() -> None:
    assert call("futex", 0x10, 128 | 9, 0, 0x20, memory={0x20: timespec(107)}).until == 7.0


def test_a_wait_names_its_child() -> None:
    assert call("wait4", MINUS_ONE).child is None
    assert call("wait4", 812).child == 812
    assert call("waitid", 1, 812).child == 812
    assert call("wait4", MINUS_ONE, 0, 0x40000000).traces
    assert call("waitid", 0, 0, 0, 0x40000000).traces
    assert not call("wait4", MINUS_ONE, 0, 2).traces


def test_opening_names_the_path_also_across_a_page() -> None:
    assert call("openat", MINUS_ONE, 0x1000, memory={0x1000: b"/tmp/ff\0rest"}).path == "/tmp/ff"
    halves = {0x1FFE: b"/t", 0x2000: b"mp/ff\0"}
    assert call("openat", MINUS_ONE, 0x1FFE, memory=halves).path == "/tmp/ff"


@pytest.mark.parametrize("name", sorted(set(X86_64.values())))
@pytest.mark.parametrize("value", [0, 1, (1 << 64) - 1])
def test_any_registers_can_be_decoded(name: str, value: int) -> None:
    call(name, *[value] * 6)
