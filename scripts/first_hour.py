"""Plays the first hour of a new user: a fresh clone, an empty home, a terminal of 80 columns (a real tmux).

    python scripts/first_hour.py            plays the README and the tutorial; ends with 1 where a step looks different
    python scripts/first_hour.py --write    writes what the terminal showed into docs/tutorial.md
    python scripts/first_hour.py --here     without the clone and the installation: with this checkout's unhang

The tutorial's terminal blocks (```console recorded) are both the script and its recording: `$ ` stands before what is
typed, and below it is what the terminal showed. `install`: only in a fresh clone. `at=TEXT press=KEY`: this key
is pressed when the text is on the screen. `again`: typed again until it shows what was recorded, as a person would who
waits for something to happen. `live`: how far things have come differs, so all labels must be the same and most words.
`codes=124`: the exit codes of the commands that fail, in this order; all others end with 0.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.support.docs.blocks import Block, blocks, shape, stage, transcript  # noqa: E402 - from the checkout

TUTORIAL = ROOT / "docs" / "tutorial.md"
COLUMNS, ROWS = 80, 40
HOME = "/home/you"
PATIENCE = 120.0
INSTALL_PATIENCE = 900.0
# which share of the words of a live step must be the same
ALIKE = 0.6
# a row of column heads; the name of a field before its value; our own line up to what kind of a line it is
_LABEL = re.compile(r"[A-Z][A-Z ]+$|[a-z][a-z -]*?(?= {2,}\S)|(unhang: [a-z]+: )?[a-z]+:(?= )")


class Terminal:
    """A bash in a tmux of its own: types a line, waits for the next prompt, reads what is on the screen."""

    def __init__(self, folder: Path, home: Path, path: str) -> None:
        self.home = home
        self._socket = folder / "tmux"
        self._prompts = folder / "prompts"
        self._prompts.write_text("")
        (folder / "tmux.conf").write_text("set -g history-limit 20000\nset -g status off\n")
        kept = {name: os.environ[name] for name in ("LANG", "LC_ALL", "USER", "LOGNAME") if name in os.environ}
        network = {
            name: value for name, value in os.environ.items() if name.upper().startswith(("PIP_", "HTTP", "NO_PROXY"))
        }
        env = kept | network | {"HOME": str(home), "PATH": path, "TERM": "xterm-256color", "TMPDIR": str(folder)}
        env["LANG"] = "C.UTF-8"
        env["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"  # how new the pip of this machine is, is not in the tutorial
        begin = folder / "bashrc"
        begin.write_text(f"PS1='$ '\nPROMPT_COMMAND='echo $? >>{self._prompts}'\nHISTFILE=\n")
        shell = f"exec bash --noprofile --rcfile {begin} -i"
        words = ["tmux", "-S", str(self._socket), "-f", str(folder / "tmux.conf"), "new-session", "-d"]
        size = ["-x", str(COLUMNS), "-y", str(ROWS), "-c", str(home)]
        subprocess.run([*words, *size, shell], env=env, check=True)

    def ready(self) -> None:
        """Wait for the first prompt."""
        self._wait_for_prompt(1, PATIENCE)

    def type(self, line: str, patience: float, at: str | None = None, press: str | None = None) -> str:
        """Type a line, wait until the shell asks for the next one; return what the terminal showed below it."""
        self._tmux("send-keys", "C-l")
        _wait(lambda: self._tmux("capture-pane", "-p").strip() == "$", "a clear screen", PATIENCE, self)
        self._tmux("clear-history")
        before = self.count()
        self._tmux("send-keys", "-l", line)
        self._tmux("send-keys", "Enter")
        if at is not None and press is not None:
            _wait(lambda: at in self.screen().partition(line)[2], f"{at!r} on the screen", patience)
            self._tmux("send-keys", press)
        self._wait_for_count(before + 1, patience)
        # tmux may be late to draw: the prompt that is waited for stands below the line that was typed
        _wait(lambda: _is_answered(self.screen()), "a prompt below the line", patience, self)
        shown = self.screen().replace(str(self.home), HOME).splitlines()
        while shown and shown[-1].strip() in ("", "$"):
            shown.pop()
        typed = next(i for i, text in enumerate(shown) if text.startswith("$ "))
        return "".join(f"{text.rstrip()}\n" for text in shown[typed + 1 :])

    def paste(self, text: str, patience: float) -> list[str]:
        """Paste several lines, as a person pastes a block of the README; return the exit codes that are not 0."""
        before = self.count()
        lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
        subprocess.run(
            ["tmux", "-S", str(self._socket), "load-buffer", "-"], input="\n".join(lines) + "\n", text=True, check=True
        )
        self._tmux("paste-buffer")
        self._wait_for_prompt(before + len(lines), patience)
        return self.failed(before)

    def failed(self, after: int) -> list[str]:
        """The exit codes that are not 0 of the commands after so many prompts."""
        return [code for code in self._codes()[after:] if code != "0"]

    def screen(self) -> str:
        """All that the terminal has shown since it was cleared."""
        return self._tmux("capture-pane", "-p", "-S", "-")

    def close(self) -> None:
        """End the shell and its tmux server."""
        self._tmux("kill-server")

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(["tmux", "-S", str(self._socket), *words], capture_output=True, text=True, check=True)
        return done.stdout

    def count(self) -> int:
        """How many prompts the shell has shown."""
        return len(self._codes())

    def _codes(self) -> list[str]:
        return self._prompts.read_text().split()

    def _wait_for_count(self, number: int, patience: float) -> None:
        _wait(lambda: self.count() >= number, "the next prompt", patience, self)

    def _wait_for_prompt(self, number: int, patience: float) -> None:
        self._wait_for_count(number, patience)
        # the shell says so just before it draws it
        _wait(
            lambda: self.screen().rstrip().endswith("\n$") or self.screen().strip() == "$", "a prompt", patience, self
        )


def _is_answered(screen: str) -> bool:
    """Whether a line was typed and the next prompt is drawn below it."""
    lines = screen.rstrip().splitlines()
    return len(lines) > 1 and lines[-1] == "$" and any(line.startswith("$ ") for line in lines)


def _wait(condition: Callable[[], bool], what: str, patience: float, terminal: Terminal | None = None) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {patience:g} s: {what}\n{terminal.screen() if terminal else ''}")
        time.sleep(0.02)


@contextlib.contextmanager
def terminal(folder: Path, home: Path, path: str) -> Iterator[Terminal]:
    """A terminal that is closed at its end."""
    made = Terminal(folder, home, path)
    try:
        made.ready()
        yield made
    finally:
        made.close()


def recorded(document: Path) -> list[Block]:
    """The blocks of a document that are played."""
    return [block for block in blocks(document) if block.language == "console" and "recorded" in block.words]


def pasted() -> list[Block]:
    """The blocks of the README that a person pastes into a shell."""
    return [block for block in blocks(ROOT / "README.md") if block.language == "sh" and block.runs]


def play(block: Block, term: Terminal, patience: float = PATIENCE) -> tuple[str, str]:
    """Play one block; return it with what the terminal showed, and what is not as it was recorded."""
    deadline = time.monotonic() + PATIENCE
    while True:
        before = term.count()
        shown = _played(block, term, patience)
        wrong = difference(block, shown)
        if "again" not in block.words or not wrong or time.monotonic() > deadline:
            return shown, wrong or unexpected(block, term.failed(before), term)


def paste(block: Block, term: Terminal) -> str:
    """Paste a block of a document; return which commands ended otherwise than it says."""
    return unexpected(block, term.paste(block.text, PATIENCE), term)


def unexpected(block: Block, failed: list[str], term: Terminal) -> str:
    """What is wrong with the exit codes of those commands of a block that failed; empty if it says so."""
    expected = [code for code in (block.value("codes") or "").split(",") if code]
    if failed == expected:
        return ""
    return f"{block.name}: exit codes {failed}, and not {expected}\n-- the terminal shows:\n{term.screen()}"


def _played(block: Block, term: Terminal, patience: float) -> str:
    lines = []
    for command, _ in transcript(block.text):
        keys = (block.value("at"), block.value("press"))
        lines.append(f"$ {command}\n" + term.type(command, patience, *keys))
    return "".join(lines)


def difference(block: Block, new: str) -> str:
    """What the terminal shows now where it is not what the document shows; empty if both say the same.

    The words are compared, without numbers, ids and line breaks; of a live block most of them must be the same, and
    all of its labels: a field that has come or gone is a difference, whatever stands in it.
    """
    wrong = []
    for (command, before), (_, now) in zip(transcript(block.text), transcript(new), strict=True):
        old, current = _words(before), _words(now)
        likeness = difflib.SequenceMatcher(None, old, current, autojunk=False).ratio()
        least = ALIKE if "live" in block.words else 1.0
        if bool(old) != bool(current) or likeness < least or labels(before) != labels(now):
            wrong.append(f"{block.name}: $ {command}\n-- the tutorial shows:\n{before}-- the terminal shows:\n{now}")
    return "\n".join(wrong)


def labels(shown: str) -> list[str]:
    """What the lines of a screen are headed by: the heads of columns, the names of fields, and words before a colon."""
    return [" ".join(found[0].split()) for line in shown.splitlines() if (found := _LABEL.match(line))]


def _words(shown: str) -> list[str]:
    """The words of what a terminal showed; a line as wide as the terminal goes on in the next one."""
    whole = "".join(line if len(line) == COLUMNS else f"{line}\n" for line in shown.splitlines())
    return shape(" ".join(whole.split())).split()


def rewritten(text: str, old: Block, new: str) -> str:
    """The document with a block replaced."""
    return text.replace(old.text, new, 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write what the terminal showed into docs/tutorial.md")
    parser.add_argument("--here", action="store_true", help="use this checkout's unhang; leave out the installation")
    args = parser.parse_args()
    # four letters: as long as /home/you, so that lines are wrapped where a reader's would be
    home = Path(tempfile.gettempdir()) / f"h{os.getpid() % 1000:03d}"
    home.mkdir()
    folder = Path(tempfile.mkdtemp(prefix="first-hour-"))
    path = os.environ["PATH"] if not args.here else f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    text, wrong, began = TUTORIAL.read_text(encoding="utf-8"), [], time.monotonic()
    try:
        if not args.here:
            subprocess.run(["git", "clone", "--quiet", str(ROOT), str(home / "unhang")], check=True)
        with stage(folder, home), terminal(folder, home, path) as term:
            if not args.here:
                print("make demo, in a fresh clone …", flush=True)
                term.type("cd ~/unhang && make demo; echo demo=$?; cd", INSTALL_PATIENCE)
                if "demo=0" not in term.screen():
                    wrong.append(f"make demo:\n{term.screen()}")
            for block in recorded(TUTORIAL):
                if args.here and "install" in block.words:
                    continue
                print(block.name, flush=True)
                new, found = play(block, term, INSTALL_PATIENCE if "install" in block.words else PATIENCE)
                wrong += [found] if found else []
                text = rewritten(text, block, new)
            for block in pasted():
                print(block.name, flush=True)
                found = paste(block, term)
                wrong += [found] if found else []
    finally:
        shutil.rmtree(home, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
    if args.write:
        TUTORIAL.write_text(text, encoding="utf-8")
        return 0
    print("\n".join(wrong) or f"the terminal shows what the tutorial shows ({time.monotonic() - began:.0f} s)")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
