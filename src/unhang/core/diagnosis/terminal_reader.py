"""Whether a process reads its terminal now: what a person types is for the program only then, else for their shell.

Where lines are edited by the kernel, a line that no process has asked for stays in the terminal. The program that comes
next reads it, and that may be the shell again.
"""

from __future__ import annotations

from unhang.core.diagnosis.prompt import in_foreground
from unhang.core.diagnosis.samples import FullSample, ProcessSample, Thread
from unhang.core.diagnosis.syscalls import SLEEPS
from unhang.core.diagnosis.waits import is_dead, is_terminal

READS = "reads"  # a thread waits for the terminal
UNSEEN = "unseen"  # what a thread waits for cannot be seen
NAPS = "naps"  # a program sleeps for a moment; it may look at the terminal whenever it wakes, without waiting for it
BUSY = "busy"  # every thread works, or waits for something else

# A sleep that is longer than this is no pause between two looks at the terminal.
_NAP = 0.5
# It only sleeps, and reads nothing.
_SLEEPERS = frozenset({"sleep", "usleep"})
# Calls that do not tell what they wait for. After Ctrl-Z and `fg` the kernel shows the second for every poll.
_UNTOLD = ("io_uring", "restart_syscall")


def reading_of(sample: FullSample) -> str:
    """Say how the processes in front of the job's terminal stand to it: READS, UNSEEN, NAPS or BUSY, in this order."""
    if sample.terminal is None or not sample.processes:
        return UNSEEN
    found = {BUSY}
    for process in sample.processes.values():
        if not is_dead(process) and in_foreground(sample, process):
            found |= _readings(process)
    return next(each for each in (READS, UNSEEN, NAPS, BUSY) if each in found)


def _readings(process: ProcessSample) -> set[str]:
    if process.hidden:
        return {UNSEEN} if process.tty else {BUSY}
    if not any(is_terminal(target) for target in process.fds.values()):
        return {BUSY}
    unlooked = {UNSEEN} if len(process.threads) < process.thread_count else set()
    return {_reading(process, thread) for thread in process.threads} | unlooked


def _reading(process: ProcessSample, thread: Thread) -> str:
    if any(is_terminal(process.fds.get(fd, "")) for fd in thread.reads):
        return READS
    if thread.state != "S" or thread.syscall == "running":
        return BUSY
    if process.comm in _SLEEPERS:
        return BUSY
    if not thread.syscall or thread.unseen or thread.syscall.startswith(_UNTOLD):
        return UNSEEN
    return NAPS if thread.syscall in SLEEPS and thread.timeout is not None and thread.timeout < _NAP else BUSY
