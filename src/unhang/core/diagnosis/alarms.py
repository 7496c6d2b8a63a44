"""Programs that may have set an alarm: one without a handler ends them, and no system call shows it.

What a command line says of it is all that remains where a program sets the alarm and then becomes another one
(`perl -e 'alarm shift; exec @ARGV' 300 make`): an alarm outlives that, and a fork does not hand it on.
"""

from __future__ import annotations

import re

from unhang.core.diagnosis.samples import FullSample

# Between them no letter, digit, dash or point of a file's name.
_NAMED = re.compile(r"(?<![\w-])(?:(?:u|pcntl_)?alarm|setitimer)(?![\w-]|\.\w)")


def in_text(text: str) -> bool:
    """Return whether a program's text, or a command line, names a call that sets an alarm for which it has no handler.

    One that names a handler as well sets its alarms while that stands, and the kernel shows that it does.
    """
    if "alarm" not in text and "setitimer" not in text:
        return False
    handles = "ALRM" in text and "SIG_DFL" not in text and "DEFAULT" not in text
    return not handles and _NAMED.search(text) is not None


def may_have_alarm(sample: FullSample) -> frozenset[int]:
    """Return the processes that may have an alarm which no handler tells of.

    One that says so itself may have become another program since: what a shell says may be true of its children, and
    the command of the job of its first process.
    """
    says = {pid for pid, process in sample.processes.items() if process.sets_alarm or in_text(process.cmd)}
    below = {pid for pid, process in sample.processes.items() if process.ppid in says}
    first = {sample.leader} if sample.leader is not None and in_text(sample.command) else set()
    return frozenset(says | below | first)
