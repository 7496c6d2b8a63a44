"""Open descriptors: of this process, and of others as far as the system shows them."""

from __future__ import annotations

import os
import sys

if sys.platform == "linux":
    from unhang.procs.linux import descriptors as system
else:
    from unhang.procs.posix import absent as system


# What each system answers in its own way.
change_mode = system.change_mode
mount_of = system.mount_of
open_numbers = system.open_numbers
open_of = system.open_of
path_in = system.path_in
reopen = system.reopen
target = system.target
targets = system.targets


def reopen_for_writing(fd: int) -> int:
    """Open what is behind `fd` a second time, for writes that never wait.

    That flag belongs to the open file, which a shell or a parent may share: setting it on `fd` would change theirs.
    OSError: it is a socket, a terminal of another user, or the system cannot.
    """
    return reopen(fd, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)


def keep_from_children(above: int = 2) -> None:
    """Let no program that is started from now on inherit a descriptor above this number."""
    for number in open_numbers():
        if number > above:
            try:
                os.set_inheritable(number, False)
            except OSError:
                pass  # it was open only to list them
