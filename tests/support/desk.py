"""A person at a terminal: a real tmux with an interactive bash in its pane, in which `unhang` is a command."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

from tests.support import programs
from tests.support.engine import Engine, wait_until
from unhang.testing.liveness import Process

# An interactive shell in a crowd of busy processes may take its time.
PATIENCE = 60.0
PROMPT = "§ "


class Desk:
    """One tmux server of its own, with one pane of the given width."""

    def __init__(self, engine: Engine, *, columns: int = 80, rows: int = 24, policy: str = "") -> None:
        for name in ("tmux", "bash"):
            programs.need_command(name)
        self.engine = engine
        folder = engine.folder / "desk"
        (folder / "bin").mkdir(parents=True)
        command = folder / "bin" / "unhang"
        command.write_text(f'#!/bin/sh\nexec {sys.executable} -m unhang "$@"\n')
        command.chmod(0o755)
        self.folder = folder
        # a socket's path may have a hundred letters, and pytest's are longer
        self._sockets = tempfile.TemporaryDirectory(prefix="ud-")
        self._socket = str(Path(self._sockets.name) / "s")
        self.env = {k: v for k, v in engine.env.items() if not k.startswith(("TMUX", "LC_", "LS_", "LESS"))}
        self.env |= {
            "HOME": str(folder),
            "PATH": f"{folder}/bin:{os.environ['PATH']}",
            "LANG": "C.UTF-8",
        }
        self.env |= {"HISTFILE": "", "VIMINIT": "set nocp noswf vi="}
        if policy:
            (folder / "policy.toml").write_text(policy)
            self.env["UNHANG_POLICY"] = str(folder / "policy.toml")
        shell = f"exec env PS1={shlex.quote(PROMPT)} bash --norc --noprofile -i"
        size = ["-x", str(columns), "-y", str(rows)]
        self.tmux("new-session", "-d", *size, "-c", str(folder), shell)
        self._server = Process(int(self.tmux("display-message", "-p", "#{pid}")), "tmux")

    @property
    def shell(self) -> int:
        """The process of the shell."""
        return int(self.tmux("display-message", "-p", "#{pane_pid}"))

    def wait_for_shell(self) -> Desk:
        self.sees(PROMPT.strip())
        return self

    def tmux(self, *words: str) -> str:
        command = ["tmux", "-S", self._socket, "-f", "/dev/null", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=self.env).stdout

    def type(self, *keys: str) -> None:
        """Keys by tmux's names (Enter, C-c), or text."""
        self.tmux("send-keys", *keys)

    def enter(self, line: str) -> None:
        self.tmux("send-keys", "-l", line)
        self.type("Enter")

    def run(self, *words: str) -> None:
        """Enter a command by its words."""
        self.enter(shlex.join(words))

    def screen(self, *, colours: bool = False) -> str:
        return self.tmux("capture-pane", "-p", *(["-e"] if colours else []))

    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.screen().splitlines() if line.strip()]

    def sees(self, text: str, times: int = 1) -> str:
        """Wait until the pane shows a text so many times; return the whole pane."""

        def seen() -> str:
            shown = self.screen()
            return shown if shown.count(text) >= times else ""

        try:
            found = wait_until(seen, f"{text!r} on the screen", PATIENCE)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; it shows:\n{self.screen()}") from None
        return str(found)

    def matches(self, pattern: str) -> str:
        """Wait until the pane matches; return the match."""

        def seen() -> str:
            found = re.search(pattern, self.screen(), re.MULTILINE)
            return found.group(0) if found else ""

        try:
            return str(wait_until(seen, f"{pattern!r} on the screen", PATIENCE))
        except TimeoutError as error:
            raise TimeoutError(f"{error}; it shows:\n{self.screen()}") from None

    def is_back(self) -> None:
        """Wait until the shell has the terminal again: the last line is its prompt."""
        wait_until(lambda: self.lines()[-1:] == [PROMPT.strip()], "the prompt of the shell", PATIENCE)

    def takes_keys(self) -> None:
        """Wait until the terminal is set to pass on every key, and not to edit lines itself."""
        terminal = self.tmux("display-message", "-p", "#{pane_tty}").strip()

        def passes_on() -> bool:
            fd = os.open(terminal, os.O_RDONLY | os.O_NOCTTY)
            try:
                return not termios.tcgetattr(fd)[3] & (termios.ICANON | termios.ECHO)
            finally:
                os.close(fd)

        wait_until(passes_on, "a terminal that passes on every key", PATIENCE)

    def clear(self) -> None:
        self.enter("clear")
        wait_until(lambda: self.lines() == [PROMPT.strip()], "a clear screen", PATIENCE)

    def size(self, columns: int, rows: int) -> None:
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def close(self) -> None:
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], check=False, capture_output=True, env=self.env)
        assert self._server.wait_gone()
        self._server.close()
        self._sockets.cleanup()
