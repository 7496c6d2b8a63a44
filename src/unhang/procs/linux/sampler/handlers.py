"""Which handlers of signals a program has that its runtime hides: PHP, Ruby and the JVM handle some always themselves.

All of them keep what the program asked for in variables that they export, and those are read here.
"""

from __future__ import annotations

import struct

from unhang.procs.linux.sampler.blocks import Blocks
from unhang.procs.linux.sampler.exports import UNREADABLE, Exports, exporter_of
from unhang.procs.linux.sampler.maps import read_maps
from unhang.procs.linux.sampler.runtimes import is_ruby

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

# What they export.
_PHP_STATE, _RUBY_MACHINE, _JVM_TABLE = b"zend_signal_globals", b"ruby_current_vm_ptr", b"gHotSpotVMStructs"
# In front of PHP's handlers: depth, blocked, running, active, and two marks. Then flags and a handler for each signal.
_PHP_HEAD = struct.Struct("<iiii??6x")
_PHP_ENTRY = struct.Struct("<i4xQ")
_SIGNALS = 64
_DEFAULT, _IGNORE = 0, 1
# The class that a program handles signals with. Nothing else of Java needs it.
_JAVA_SIGNAL = b"sun/misc/Signal"
# What the JVM tells debuggers of its structures: (type, field) of what leads from the classes to their names.
_CLASSES = {
    (b"ClassLoaderDataGraph", b"_head"), (b"ClassLoaderData", b"_next"), (b"ClassLoaderData", b"_klasses"),
    (b"Klass", b"_next_link"), (b"Klass", b"_name"), (b"Symbol", b"_length"), (b"Symbol", b"_body"),
}  # fmt: skip
# A server of many libraries has ten thousand classes.
MOST_CLASSES = 20_000
_MOST_LOADERS = 2_048
# So many blocks are kept: every keeper may look at a JVM of a hundred megabytes of classes.
_MOST_ROWS = 4_096

# In the state of Ruby's machine stands a list of what `trap` was given. Where in it is another place in each version,
# but no other procedures stand there. An object begins with its kind and its class, and one of a type that C has made
# goes on with that.
_RUBY_STATE = 16_384
_RUBY_NEAR = 512  # words
_RUBY_NAMES = 2
_OBJECT = struct.Struct("<QQQ")
_KINDS, _THING, _TEXT, _DATA, _PROCEDURE = 0x1F, 0x01, 0x05, 0x0C, 0x100
_PROCEDURES = b"proc\0", b"method\0"
_LOWEST, _HIGHEST = 1 << 16, 1 << 47


def handled_by_php(pid: int) -> int | None:
    """Return the signals that a PHP program has handlers for, one bit each, as in `SigCgt`; None: not known."""
    found = exporter_of(pid, read_maps(pid), lambda name: name.startswith(("php", "libphp")), _PHP_STATE)
    if found is None:
        return None
    try:
        with _open(pid) as memory:
            at = _known(found, _PHP_STATE)
            return php_handlers(Blocks(memory.fileno()).read(at, _PHP_HEAD.size + _SIGNALS * _PHP_ENTRY.size))
    except (*UNREADABLE, KeyError):
        return None
    finally:
        found.close()


def php_handlers(memory: bytes) -> int | None:
    """Return the handlers in what may be PHP's `zend_signal_globals`; None where it is something else."""
    if len(memory) < _PHP_HEAD.size + _SIGNALS * _PHP_ENTRY.size:
        return None
    depth, blocked, running, active, *_ = _PHP_HEAD.unpack_from(memory)
    if min(depth, blocked, running) < 0 or active not in (0, 1):
        return None
    handlers = [handler for _, handler in _PHP_ENTRY.iter_unpack(memory[_PHP_HEAD.size :][: _SIGNALS * 16])]
    return sum(1 << n for n, handler in enumerate(handlers) if handler not in (_DEFAULT, _IGNORE))


def java_handles_signals(pid: int) -> bool:
    """Return whether a Java program may handle signals itself: it has loaded the class for that, or it is not known."""
    found = exporter_of(pid, read_maps(pid), lambda name: name == "libjvm.so", _JVM_TABLE)
    if found is None:
        return True
    try:
        with _open(pid) as memory:
            return _loaded(Blocks(memory.fileno()), found)
    except (*UNREADABLE, KeyError):
        return True  # it has ended, or changed meanwhile
    finally:
        found.close()


def ruby_traps(pid: int) -> bool | None:
    """Return whether a Ruby program has called `trap`, for whichever signal; None: not known."""
    found = exporter_of(pid, read_maps(pid), is_ruby, _RUBY_MACHINE)
    if found is None:
        return None
    try:
        with _open(pid) as file:
            machine = Blocks(file.fileno()).word(_known(found, _RUBY_MACHINE))
        return holds_trap(pid, machine, _RUBY_STATE)
    except (*UNREADABLE, KeyError):
        return None
    finally:
        found.close()


def holds_trap(pid: int, state: int, size: int) -> bool:
    """Return whether something that `trap` was given stands among the words at an address of a process.

    That is a procedure anywhere; or, near the beginning, a text beside the two names of the program, or an object
    beside the exceptions that are kept ready, which stand in one row.
    """
    with _open(pid) as file:
        memory = Blocks(file.fileno())
        data = memory.some(state, size)
        words = struct.unpack(f"<{len(data) // 8}Q", data[: len(data) // 8 * 8])
        kinds = [_kind(memory, word) for word in words]
    near = kinds[:_RUBY_NEAR]
    rows = sum(1 for n, kind in enumerate(near) if kind == _THING and near[n - 1 : n] != [_THING])
    return _PROCEDURE in kinds or near.count(_TEXT) > _RUBY_NAMES or rows > 1


def _kind(memory: Blocks, address: int) -> int:
    """The kind of the object of Ruby's at an address; 0: another kind, or there is none."""
    if address % 8 or not _LOWEST <= address < _HIGHEST:
        return 0
    try:
        flags, owner, kind = _OBJECT.unpack(memory.read(address, _OBJECT.size))
        if owner % 8 or owner < _LOWEST:
            return 0
        if flags & _KINDS != _DATA:
            return flags & _KINDS if flags & _KINDS in (_THING, _TEXT) else 0
        name = memory.word(kind)
        return _PROCEDURE if any(memory.read(name, len(each)) == each for each in _PROCEDURES) else 0
    except UNREADABLE:
        return 0  # it is no address, or nothing is there


def _loaded(memory: Blocks, jvm: Exports) -> bool:
    fields = _fields(memory, jvm)
    if not fields.keys() >= _CLASSES:
        return True
    following, named = fields[b"Klass", b"_next_link"], fields[b"Klass", b"_name"]
    low, high = min(following, named), max(following, named) + 8
    length, body = fields[b"Symbol", b"_length"], fields[b"Symbol", b"_body"]
    wanted = struct.pack("<H", len(_JAVA_SIGNAL))
    loader, classes = memory.word(fields[b"ClassLoaderDataGraph", b"_head"]), 0
    for _ in range(_MOST_LOADERS):
        if not loader:
            return False
        each = memory.word(loader + fields[b"ClassLoaderData", b"_klasses"])
        while each:
            classes += 1
            if classes > MOST_CLASSES:
                return True
            part = memory.read(each + low, high - low)
            name = struct.unpack_from("<Q", part, named - low)[0]
            symbol = memory.read(name, body + len(_JAVA_SIGNAL))
            if symbol[length : length + 2] == wanted and symbol[body:] == _JAVA_SIGNAL:
                return True
            each = struct.unpack_from("<Q", part, following - low)[0]
        loader = memory.word(loader + fields[b"ClassLoaderData", b"_next"])
    return True


def _fields(memory: Blocks, jvm: Exports) -> dict[tuple[bytes, bytes], int]:
    """The offsets of the fields of _CLASSES, and the address of the one that is static."""
    columns = [
        memory.word(_known(jvm, f"gHotSpotVMStructEntry{name}".encode()))
        for name in ("TypeNameOffset", "FieldNameOffset", "IsStaticOffset", "OffsetOffset", "AddressOffset")
    ]
    stride = memory.word(_known(jvm, b"gHotSpotVMStructEntryArrayStride"))
    if not 0 < stride <= 256 or max(columns) + 8 > stride:
        return {}
    found: dict[tuple[bytes, bytes], int] = {}
    first = memory.word(_known(jvm, _JVM_TABLE))
    rows = memory.some(first, stride * _MOST_ROWS)
    for at in range(0, len(rows) - stride + 1, stride):
        kind, field, static, offset, address = (
            struct.unpack_from("<I" if column is columns[2] else "<Q", rows, at + column)[0] for column in columns
        )
        if not kind:
            break
        name = jvm.text(kind), jvm.text(field)
        if name in _CLASSES:
            found[name] = address if static else offset
    return found


def _known(jvm: Exports, name: bytes) -> int:
    at = jvm.address(name)
    if at is None:
        raise KeyError(name)
    return at


def _open(pid: int) -> BinaryIO:
    return open(f"/proc/{pid}/mem", "rb", buffering=0)
