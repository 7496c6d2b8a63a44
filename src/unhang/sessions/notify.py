"""Telling a person of an event: by a tmux message in the pane, and by a command of the user's choice."""

from __future__ import annotations

import json
import os
import subprocess

from unhang.core.values import text_of
from unhang.procs import clock
from unhang.sessions.tmux.client import Address, Tmux, TmuxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# A notification command that takes longer than this is ended: the watcher must not hang.
_LONGEST = 30.0
_MOST = 8


class Notifier:
    """Runs `command` (a shell line) with the event on its stdin and its main fields in the environment."""

    def __init__(self, command: str) -> None:
        self.command = command
        self._running: list[tuple[subprocess.Popen[bytes], float]] = []

    def tell(self, event: dict[str, Any]) -> None:
        """Start the command for this event; do nothing where no command is set or too many of them run."""
        if not self.command:
            return
        self.reap()
        if len(self._running) >= _MOST:
            return
        env = os.environ | {
            "UNHANG_PHASE": _word(event, "phase"),
            "UNHANG_MESSAGE": _word(event, "message"),
            "UNHANG_SESSION": _word(event, "sessionId"),
        }
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", self.command],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=env,
                start_new_session=True,
            )
        except (OSError, ValueError):
            return
        assert process.stdin is not None
        try:
            os.set_blocking(process.stdin.fileno(), False)
            process.stdin.write(json.dumps(event, ensure_ascii=True).encode() + b"\n")
            process.stdin.close()
        except OSError:
            pass  # it does not read
        self._running.append((process, clock.monotonic() + _LONGEST))

    def reap(self, *, last: bool = False) -> None:
        """Collect the commands that have ended, and end those that take too long (`last`: all of them)."""
        now = clock.monotonic()
        left: list[tuple[subprocess.Popen[bytes], float]] = []
        for process, until in self._running:
            if process.poll() is not None:
                continue
            if last or now > until:
                try:
                    os.killpg(process.pid, 9)
                except OSError:
                    process.kill()
                process.wait()
            else:
                left.append((process, until))
        self._running = left


def _word(event: dict[str, Any], name: str) -> str:
    """A field as an environment can hold it: without NUL and lone surrogates."""
    return text_of(event, name).replace("\0", " ").encode("utf-8", "replace").decode()


def show(tmux: Tmux, address: Address | None, session: str, text: str) -> None:
    """Show the text in the pane's status line, with the session and its window; a silent server is ignored."""
    if address is None:
        return
    try:
        tmux.show(address, f"unhang: {session} in {tmux.window(address)}: {text}")
    except TmuxError:
        pass
