"""Does the tree wait for a person's input? The answer comes from one light sample, within milliseconds.

Sure cases: the main thread of a process in the foreground sits in a read of the terminal, or of a stdin that no process
of the job writes to. Nothing in the program can go on until a person types.

Less sure: an event loop that watches the terminal *and* connections (ssh running a remote build, npm with an idle
keep-alive), or a second thread that reads keys. Then the screen decides: an unfinished line that ends like a question.
And a process that cannot be looked into (su, sudo) is judged by the terminal it sits at: echo off while lines are still
edited by the kernel is what asking for a password looks like, whatever program asks.
"""

from __future__ import annotations

from typing import NamedTuple

from unhang.core.diagnosis.runtimes import own_threads
from unhang.core.diagnosis.samples import FOREVER, FullSample, ProcessSample, Thread
from unhang.core.diagnosis.screen import full_screen, last_line, line_at_cursor, looks_like_a_question, unfinished
from unhang.core.diagnosis.syscalls import wait_of
from unhang.core.diagnosis.waits import TERMINAL, SampleView, Wait, is_dead, terminal_number
from unhang.core.plain_text import quoted, visible

# What a thread waits for that waits for its fellows only.
IDLE_FELLOWS = frozenset({"futex", "parked", "loop", "self_pipe"})


class NeedsInput(NamedTuple):
    """A process that waits for input, and what it asks."""

    pid: int
    channel: str  # where the answer is expected: waits.TERMINAL, STDIN or DESCRIPTOR
    prompt: str  # the last line on the screen; may be empty
    password: bool
    reason: str  # for people
    endless: bool = True  # False: it will stop asking by itself


# They pass every key on to a program elsewhere. What that does cannot be seen from here; the person at the keys knows.
_FAR_TERMINALS = frozenset(
    {
        "ssh",
        "mosh-client",
        "telnet",
        "docker",
        "podman",
        "kubectl",
        "lxc",
        "tmux: client",
        "screen",
        "picocom",
        "minicom",
    }
)


def waits_for_input(sample: FullSample, *, attended: bool = False) -> NeedsInput | None:
    """Return the newest process of a sample that waits for input; None where there is none.

    `attended`: a person sits at the terminal; a program that passes all their keys on to another one waits for them.
    """
    return asks(SampleView.of(sample), attended=attended)


def asks(view: SampleView, *, attended: bool = False) -> NeedsInput | None:
    """Do as `waits_for_input` does, for a sample whose view is there already."""
    sample = view.sample
    line = last_line(sample.screen)
    question = unfinished(sample.screen) and looks_like_a_question(line)
    terminal = sample.terminal
    password = terminal is not None and terminal.own and terminal.canonical and not terminal.echo
    raw = terminal is not None and not terminal.canonical
    at = _Prompt(sample.screen, line, password)
    newest = sorted(sample.processes.values(), key=lambda each: (each.start, each.pid), reverse=True)
    for process in newest:
        if is_dead(process) or not in_foreground(sample, process):
            continue
        for thread in sorted(process.threads, key=lambda each: (each.tid != process.pid, each.tid)):
            wait = wait_of(view, process, thread)
            if wait.kind != "input":
                continue
            hidden_answer = password and wait.channel == TERMINAL
            far = attended and raw and wait.channel == TERMINAL and process.comm in _FAR_TERMINALS
            if question or hidden_answer or far or _certain(view, process, thread, wait, raw):
                nested = _nested(sample, process)
                if nested and wait.channel == TERMINAL and full_screen(sample.screen):
                    at = at._replace(line=line_at_cursor(sample.screen))  # the last line is tmux's own, with its clock
                return _asked(process, wait, at, nested)
    for process in newest:
        if not process.hidden or is_dead(process) or terminal is None or not process.tty:
            continue
        if terminal.foreground in (0, process.pgid) and (password or question):
            return _asked(process, Wait("input", "waits for input on its terminal", channel=TERMINAL), at)
    return None


def _nested(sample: FullSample, process: ProcessSample) -> bool:
    """Whether the process sits at a terminal that another one of the tree has made."""
    return any(process.tty == terminal_number(path) for path in sample.masters)


class _Prompt(NamedTuple):
    raw: str
    line: str
    password: bool


def _certain(view: SampleView, process: ProcessSample, thread: Thread, wait: Wait, raw: bool) -> bool:
    if wait.shared or not (thread.tid == process.pid or _alone(view, process, thread)):
        return False
    # A timeout beside the terminal: a program that fills the screen, in raw mode, still waits for keys; `read -t` and a
    # list that is drawn again every few seconds do not.
    return wait.ends == FOREVER or (raw and wait.channel == TERMINAL and full_screen(view.sample.screen))


def _alone(view: SampleView, process: ProcessSample, thread: Thread) -> bool:
    """Whether every other thread only waits for its fellows: the JVM reads stdin in its second, joined by the first."""
    others = [each for each in own_threads(process) if each.tid != thread.tid]
    return all(wait_of(view, process, each).kind in IDLE_FELLOWS for each in others)


def in_foreground(sample: FullSample, process: ProcessSample) -> bool:
    """Return whether a process may read the terminal: one in the background is stopped when it does."""
    terminal = sample.terminal
    if terminal is None or not process.tty:
        return True
    group = process.tpgid if _nested(sample, process) else terminal.foreground or process.tpgid
    return group <= 0 or group == process.pgid


def _asked(process: ProcessSample, wait: Wait, at: _Prompt, nested: bool = False) -> NeedsInput:
    endless = not wait.stranger and wait.ends == FOREVER
    if wait.channel != TERMINAL:
        return NeedsInput(process.pid, wait.channel, at.line, False, visible(wait.text), endless)
    what = f"waits for {'a password' if at.password else 'input'} on its terminal"
    if full_screen(at.raw) and not nested:
        what = f"waits for keys on its terminal, in {visible(process.comm)}, which fills the screen"
    reason = f"{what}: {quoted(at.line)}" if at.line else what
    return NeedsInput(process.pid, TERMINAL, at.line, at.password, reason, endless)
