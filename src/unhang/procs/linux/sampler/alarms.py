"""Whether a program may have set itself an alarm that ends it, since no handler stands against that.

The kernel shows neither `alarm` nor `setitimer` of another process. But the text of a script names them, and a program
that was compiled imports them. Programs of the system are left out: those that set alarms handle them.
"""

from __future__ import annotations

import os
import stat
from itertools import pairwise

from unhang.core.diagnosis.alarms import in_text
from unhang.procs import identity
from unhang.procs.linux.procfs import executable
from unhang.procs.linux.sampler.exports import UNREADABLE, Exports
from unhang.procs.linux.sampler.local_files import find_local, is_local

_SYSTEM = ("/usr/", "/bin/", "/sbin/", "/lib", "/opt/", "/snap/", "/nix/", "/gnu/")
_INTERPRETERS = (
    "python", "pypy", "perl", "ruby", "php", "lua", "tclsh", "guile", "sh", "bash", "dash", "zsh", "ksh", "fish",
    "busybox",
)  # fmt: skip
# Also where a person has built them: they set alarms for a part of their work, with a handler.
_HANDLE_THEM = frozenset(
    {"git", "vim", "wget", "gdb", "strace", "socat", "rsync", "openssl", "timeout", "flock", "ssh"}
)
_CALLS = (b"alarm", b"setitimer", b"ualarm")
# A script that is longer is no script, but a bundle; and among its first arguments it stands.
_MOST_TEXT = 256 << 10
_MOST_WORDS = 8


def may_set_alarm(pid: int, known: dict[str, bool]) -> bool:
    """Return whether the program of a process calls for an alarm. `known` keeps what was found in files."""
    try:
        program = executable(pid)
    except OSError:
        return False
    name = os.path.basename(program)
    if name.startswith(_INTERPRETERS):
        return _script_names_it(pid, known)
    if program.startswith(_SYSTEM) or name in _HANDLE_THEM:
        return False
    if program not in known:
        known[program] = is_local(pid, program) and _imports_it(f"/proc/{pid}/exe")
    return known[program]


def _script_names_it(pid: int, known: dict[str, bool]) -> bool:
    """Whether its command line names one, or the first of its arguments that is a file."""
    words = identity.argv(pid, _MOST_TEXT)
    if any(in_text(word) for word in words[1:]):
        return True
    for before, word in pairwise(words[: 1 + _MOST_WORDS]):
        if word.startswith("-") or "\n" in word:
            continue
        if before.startswith("-") and before.endswith("c") and " " in word:
            return False  # a program of one line
        path = find_local(pid, word)
        if path is not None:
            if path not in known:
                known[path] = _text_names_it(path)
            return known[path]
        if word.startswith("/"):
            return False
    return False


def _text_names_it(path: str) -> bool:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb", buffering=0) as file:
            return in_text(file.read(_MOST_TEXT).decode("utf-8", "replace"))
    except OSError:
        return False


def _imports_it(path: str) -> bool:
    try:
        program = Exports(path, 0)
    except UNREADABLE:
        return False
    try:
        return any(program.names(call) for call in _CALLS)
    except (*UNREADABLE, KeyError):
        return False
    finally:
        program.close()
