"""The last step: end the agent and start it again in its pane, with its program, directory, environment and options.

The command that is typed into the pane's shell (or that the pane is restarted with) is this module, isolated from the
pane's directory, with a FILE: the file, readable by its owner only, holds what the agent was started with, so that no
secret of its environment shows on a command line. It is removed before the agent runs.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import time

from unhang.core.record import Record
from unhang.procs import clock, executable, identity
from unhang.procs.base import ProcessInfo
from unhang.procs.process_handle import ProcessHandle
from unhang.sessions import process_identity
from unhang.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.sessions.tmux.client import Address, Tmux

# Options that are kept, and how many values each takes. A prompt among the words must not be sent a second time.
_KEPT = {
    "--model": 1,
    "--permission-mode": 1,
    "--settings": 1,
    "--setting-sources": 1,
    "--mcp-config": 1,
    "--add-dir": 1,
    "--plugin-dir": 1,
    "--append-system-prompt": 1,
    "--system-prompt": 1,
    "--allowedTools": 1,
    "--allowed-tools": 1,
    "--disallowedTools": 1,
    "--disallowed-tools": 1,
    "--agent": 1,
    "--effort": 1,
    "--strict-mcp-config": 0,
    "--dangerously-skip-permissions": 0,
    "--allow-dangerously-skip-permissions": 0,
    "--verbose": 0,
    "--debug": 0,
    "--ide": 0,
}
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "mksh", "busybox"})
_GRACE = 6.0
_PROMPT = 3.0


class ResumeCommand(Record):
    """The command line, directory and environment to start the agent with again."""

    argv: list[str]
    cwd: str
    env: dict[str, str]


def resume_argv(argv: list[str], session_id: str) -> list[str]:
    """Return the command line that resumes the session, with the options that are safe to repeat."""
    kept: list[str] = []
    at = 1
    while at < len(argv):
        name, equals, _ = argv[at].partition("=")
        values = _KEPT.get(name)
        if values is None:
            at += 1
            continue
        take = 1 if equals else 1 + values
        kept += argv[at : at + take]
        at += take
    return [argv[0], "--resume", session_id, *kept]


def plan(pid: int, session_id: str) -> ResumeCommand:
    """Return the command that resumes this session, from the process that runs it; raise OSError if it has ended."""
    argv = [identity.executable(pid), *identity.argv(pid)[1:]]
    return ResumeCommand(resume_argv(argv, session_id), identity.working_directory(pid), identity.environment(pid))


def restart(tmux: Tmux, address: Address, pid: int, start: str, session_id: str, pane_pid: int, folder: str) -> str:
    """End the agent and start it again in its pane; return what was done, or raise StepRefused."""
    from unhang.sessions.steps import StepRefused

    shell = identity.find(pane_pid)
    if shell is None or (pane_pid != pid and shell.name not in _SHELLS):
        raise StepRefused("the pane runs neither the agent nor a known shell")
    try:
        planned = plan(pid, session_id)
        path = f"{folder}/resume.json"
        files.write_json(path, planned.to_dict())
    except OSError as error:
        raise StepRefused(f"its command cannot be saved: {error.strerror}") from None
    try:
        return _start_again(tmux, address, planned, shell, pid, start, path)
    except BaseException:
        os.unlink(path)  # it holds an environment that is not needed any more
        raise


def _start_again(
    tmux: Tmux, address: Address, planned: ResumeCommand, shell: ProcessInfo, pid: int, start: str, path: str
) -> str:
    from unhang.sessions.steps import StepRefused

    line = shlex.join(executable.module("unhang.sessions.claude.resume", path))
    if shell.pid == pid:
        tmux.call(address.socket, "set-option", "-p", "-t", address.pane, "remain-on-exit", "on")
    if not _end(pid, start):
        raise StepRefused("it survived SIGKILL")
    if shell.pid == pid:
        tmux.call(address.socket, "respawn-pane", "-t", address.pane, "-c", planned.cwd, line)
        tmux.call(address.socket, "set-option", "-p", "-u", "-t", address.pane, "remain-on-exit")
        return "the pane was started again"
    deadline = clock.monotonic() + _PROMPT
    while clock.monotonic() < deadline:  # a shell gives no sign when its prompt is back
        found = process_identity.alive(shell.pid, shell.start)
        if found is None:
            raise StepRefused("the pane's shell has ended")
        if found.foreground == found.group and tmux.send(address, shell.pid, "-l", f" {line}"):
            tmux.send(address, shell.pid, "Enter")
            return "typed into the pane's shell"
        time.sleep(0.05)
    raise StepRefused("the pane's shell did not come back")


def _end(pid: int, start: str) -> bool:
    """SIGTERM, then SIGKILL, to this process and no other."""
    try:
        handle = ProcessHandle(pid)
    except OSError:
        return True
    with handle:
        if process_identity.alive(pid, start) is None:
            return True
        return any(
            not handle.signal(number, signal.SIGCONT) or handle.wait(_GRACE)
            for number in (signal.SIGTERM, signal.SIGKILL)
        )


def main(path: str) -> None:
    """Become the agent again, in the pane."""
    with open(path, "rb") as file:
        value = json.load(file)
    os.unlink(path)
    here = {name: os.environ[name] for name in ("TMUX", "TMUX_PANE", "TERM") if name in os.environ}
    # a killed agent leaves the alternate screen on, the cursor hidden and the mouse captured
    sys.stdout.write("\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l")
    sys.stdout.flush()
    os.chdir(value["cwd"])
    os.execve(value["argv"][0], value["argv"], {**value["env"], **here})


if __name__ == "__main__":
    main(sys.argv[1])
