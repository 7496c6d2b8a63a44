"""How often threads of a JVM woke up for a monitor and found it still taken.

A thread that waits for `synchronized` does not sleep for ever: HotSpot wakes it about once a second to look
again, so that from outside a deadlock looks like a program that sleeps in short steps. But the JVM counts
those futile wake-ups, in a small file that it keeps mapped for tools like jstat (on unless -XX:-UsePerfData).
"""

from __future__ import annotations

import pwd
import struct

from unhang.procs.linux.procfs import read

_NAME = b"sun.rt._sync_FutileWakeups\0"
_MAGIC = b"\xca\xfe\xc0\xc0"


def futile_wakeups(pid: int, uid: int) -> int | None:
    """Return the counter, or None where there is no such file."""
    inner = pid
    status = read(f"/proc/{pid}/status")
    if (at := status.find(b"\nNSpid:")) >= 0:
        inner = int(status[at + 7 :].split(b"\n", 1)[0].split()[-1])
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        return None
    return counter(read(f"/proc/{pid}/root/tmp/hsperfdata_{user}/{inner}"))


def counter(data: bytes) -> int | None:
    """Return a counter by name; an entry is its length, the offset of its name, …, the offset of its value, all from
    its beginning.
    """
    at = data.find(_NAME)
    if data[:4] != _MAGIC or at < 0 or len(data) < 32:
        return None
    order = "<" if data[4] == 1 else ">"
    first, count = struct.unpack_from(order + "ii", data, 24)
    entry = first
    for _ in range(min(count, 4096)):
        if entry < 0 or entry + 20 > len(data):
            return None
        length, name, _vector, _kinds, value = struct.unpack_from(order + "iiiii", data, entry)
        if entry + name == at and 0 <= entry + value <= len(data) - 8:
            found: int = struct.unpack_from(order + "q", data, entry + value)[0]
            return found
        if length <= 0:
            return None
        entry += length
    return None
