"""A tree of processes where there is no subreaper: a process group and a walk of the tree, by `ps`.

Weaker than linux.py, and honest about it (`proof` is False): a daemon that left both the group and the ancestry
cannot be found again. What was seen once is remembered by pid and start time, so an orphan of a known member is
still ended after its parent is gone.
"""

from __future__ import annotations

import errno
import os
import subprocess

from unhang.procs.base import Process, Reaped, Signalled

# Column order of the call below. `lstart` is five words (Sun Nov 15 19:25:01 2026): it is the rest of the line but
# one, because the command name may hold blanks too and comes last.
_PS = ["ps", "-A", "-o", "pid=,ppid=,pgid=,stat=,lstart=,comm="]


def process_table() -> dict[int, tuple[Process, int]]:
    """pid → (process, its process group)."""
    table: dict[int, tuple[Process, int]] = {}
    done = subprocess.run(_PS, capture_output=True, timeout=10, check=False, env={"PATH": os.defpath, "LC_ALL": "C"})
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        words = line.split(None, 9)
        if len(words) < 9:
            continue
        pid, ppid, group = int(words[0]), int(words[1]), int(words[2])
        name = words[9].strip() if len(words) > 9 else "?"
        table[pid] = (Process(pid, " ".join(words[4:9]), ppid, words[3][0], name), group)
    return table


class PosixTree:
    proof = False

    def __init__(self) -> None:
        self._leader: int | None = None
        self._reaped = False
        self._known: dict[int, str] = {}  # pid → start time

    def adopt(self) -> None:
        """No system call for it here: orphans go to init, and are found again by group or memory."""

    def allocate(self, fd: int, offset: int, length: int) -> None:  # noqa: ARG002 - the interface's
        raise OSError(errno.ENOTSUP, "no portable way")

    def spawned(self, leader: int) -> None:
        self._leader = leader

    def members(self) -> list[Process]:
        if self._leader is None:
            return []
        table = process_table()
        belongs = [] if self._reaped else [self._leader]  # its number may be somebody else's by now
        belongs += [pid for pid, (_, group) in table.items() if group == self._leader and pid != self._leader]
        belongs += [pid for pid, start in self._known.items() if pid in table and table[pid][0].start == start]
        ordered: list[Process] = []
        seen: set[int] = set()
        while belongs:
            pid = belongs.pop(0)
            if pid in seen:
                continue
            seen.add(pid)
            if pid in table and table[pid][0].state not in "ZX":
                ordered.append(table[pid][0])
            belongs += [p.pid for p, _ in table.values() if p.ppid == pid]
        self._known.update({p.pid: p.start for p in ordered})
        return ordered

    def signal(self, signals: tuple[int, ...], only: int | None = None) -> Signalled:
        reached: list[Process] = []
        denied: list[Process] = []
        for process in self.members():
            if only is not None and process.pid != only:
                continue
            try:
                for number in signals:
                    os.kill(process.pid, number)
                reached.append(process)
            except ProcessLookupError:
                continue
            except PermissionError:
                denied.append(process)
        return Signalled(reached, denied)

    def reap(self) -> Reaped:
        exits: dict[int, int] = {}
        while self._leader is not None:
            try:
                pid, status = os.waitpid(self._leader, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                return Reaped(exits, empty=False)
            exits[pid] = status
            self._reaped = True
        # without adoption only a walk can tell, and it is not a proof
        return Reaped(exits, empty=not self.members())
