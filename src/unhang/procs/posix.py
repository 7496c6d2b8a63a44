"""A tree of processes where there is no subreaper: a process group and a walk of the tree, by `ps`.

Weaker than linux.py, and honest about it (`proof` is False): a daemon that left both the group and the ancestry
cannot be found again. What was seen once is remembered by pid and start time, so an orphan of a known member is
still ended after its parent is gone. Where `ps` cannot be run, the leader and its group are signalled all the same.
"""

from __future__ import annotations

import errno
import os
import subprocess

from unhang.procs.base import UNKNOWN, Process, Reaped, Signalled, Survey

# Column order of the call below. `lstart` is five words (Sun Nov 15 19:25:01 2026): it is the rest of the line but
# one, because the command name may hold blanks too and comes last.
_PS = ["ps", "-A", "-o", "pid=,ppid=,pgid=,stat=,lstart=,comm="]


def process_table() -> dict[int, tuple[Process, int]]:
    """pid → (process, its process group). OSError: it cannot be had."""
    table: dict[int, tuple[Process, int]] = {}
    plain = {"PATH": os.defpath, "LC_ALL": "C"}
    try:
        done = subprocess.run(_PS, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=True, env=plain)
    except subprocess.SubprocessError as error:
        raise OSError(errno.EIO, f"ps failed: {error}") from None
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
        self._reaped = self._group_gone = False
        self._known: dict[int, str] = {}  # pid → start time

    def adopt(self) -> None:
        """No system call for it here: orphans go to init, and are found again by group or memory."""

    def allocate(self, fd: int, offset: int, length: int) -> None:  # noqa: ARG002 - the interface's
        raise OSError(errno.ENOTSUP, "no portable way")

    def spawned(self, leader: int) -> None:
        self._leader = leader
        self._reaped = self._group_gone = False

    def survey(self) -> Survey:
        if self._leader is None:
            return Survey([])
        try:
            table = process_table()
        except OSError as error:
            unseen = f"ps cannot be run: {error.strerror}"
            return Survey([] if self._reaped else [Process(self._leader, UNKNOWN, 0, UNKNOWN, UNKNOWN)], unseen)
        belongs = [] if self._reaped else [self._leader]  # its number may be another process's by now
        if not self._group_gone:
            grouped = [pid for pid, (_, group) in table.items() if group == self._leader and pid != self._leader]
            self._group_gone = self._reaped and not grouped  # from now on its number may be another group's
            belongs += grouped
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
        return Survey(ordered)

    def signal(self, signals: tuple[int, ...], only: int | None = None) -> Signalled:
        seen = self.survey()
        group = self._signal_group(signals) if seen.unseen and only is None else None
        reached: list[Process] = []
        denied: list[Process] = []
        for process in seen.found:
            if only is not None and process.pid != only:
                continue
            try:
                for number in signals if group is None else ():  # the group has got them already
                    os.kill(process.pid, number)
                reached.append(process)
            except ProcessLookupError:
                continue
            except PermissionError:
                denied.append(process)
        return Signalled(reached, denied, group, seen.unseen)

    def _signal_group(self, signals: tuple[int, ...]) -> int | None:
        """The leader's, while its number is certainly ours: until the leader has been reaped."""
        if self._leader is None or self._reaped:
            return None
        try:
            for number in signals:
                os.killpg(self._leader, number)
        except (ProcessLookupError, PermissionError):
            return None
        return self._leader

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
        seen = self.survey()
        return Reaped(exits, empty=not seen.found and not (seen.unseen and self._group_lives()))

    def _group_lives(self) -> bool:
        """Where no walk can be made: whether any process is in the leader's group."""
        if self._leader is None or self._group_gone:
            return False
        try:
            os.killpg(self._leader, 0)
        except ProcessLookupError:
            self._group_gone = True
        except PermissionError:
            pass
        return not self._group_gone
