"""Commands in surroundings of their own: another PID or time namespace, no /proc, another boot id. Needs root."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.support.programs import unavailable

OTHER_BOOT = "11111111-2222-3333-4444-555555555555"


def need_namespaces() -> None:
    """Skips with a loud reason on a user's machine; where CI=true it is a failure."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        unavailable("NOT TESTED: making a PID namespace needs root and unshare")
    if not os.path.exists("/proc/self/ns/time"):
        unavailable("NOT TESTED: this kernel has no time namespaces")


def in_pid_namespace(words: list[str], *, own_proc: bool = True) -> list[str]:
    """`own_proc`: as a container has it; without, /proc still shows the processes outside."""
    return ["unshare", "--pid", "--fork", *(["--mount-proc"] if own_proc else []), *words]


def in_time_namespace(words: list[str]) -> list[str]:
    """With clocks that are a day ahead of those outside, and so are the start times of all processes."""
    return ["unshare", "--time", "--boottime", "86400", "--monotonic", "86400", "--fork", *words]


def without_proc(words: list[str]) -> list[str]:
    return _in_mounts("mount -t tmpfs none /proc", words)


def in_another_boot(words: list[str], folder: Path) -> list[str]:
    """As another machine with the same home and the same name: the boot id differs, and nothing else."""
    fake = folder / "boot_id"
    fake.write_text(OTHER_BOOT + "\n")
    return _in_mounts(f"mount --bind {fake} /proc/sys/kernel/random/boot_id", words)


def _in_mounts(mount: str, words: list[str]) -> list[str]:
    return ["unshare", "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh", *words]
