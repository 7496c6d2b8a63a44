"""The code blocks of the documents: found, run in a fresh home, and compared with the output that they show.

A fence says in its first line what becomes of its block:

    sh run              bash runs it in a fresh home and folder; no command of it may fail
    sh run codes=124    the commands that fail do so with these exit codes, in this order
    console run         a transcript: `$ ` before each command, and below it what it prints (stdout and stderr)
    python run          Python runs it
    … run next          in the same home and folder as the block before
    LANGUAGE file=NAME  the block is a file for the next block that runs
    console recorded    played in a real terminal by scripts/first_hour.py
    … needs=PROGRAM     not run, because it needs something that not every machine has; its commands must exist
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.places import ROOT

_FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LONGEST = 100.0


@dataclass(frozen=True)
class Block:
    """One fenced block of a document."""

    document: Path
    line: int
    language: str
    words: tuple[str, ...]
    text: str

    @property
    def runs(self) -> bool:
        return "run" in self.words

    @property
    def name(self) -> str:
        return f"{self.document.relative_to(ROOT)}:{self.line}"

    def value(self, key: str) -> str | None:
        return next((word.partition("=")[2] for word in self.words if word.startswith(f"{key}=")), None)


def documents() -> list[Path]:
    """Every document that a user reads."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(document: Path) -> list[Block]:
    """The fenced blocks of a document, in their order."""
    text = document.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        language, *words = match[1].split() or [""]
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(document, line, language, tuple(words), match[2]))
    return found


def scenes() -> list[list[Block]]:
    """Blocks that run one after another in one home: the files they need, the first, and those with `next`."""
    found: list[list[Block]] = []
    for document in documents():
        files: list[Block] = []
        begun = False
        for block in blocks(document):
            if block.value("file"):
                files.append(block)
            elif block.runs:
                if "next" in block.words and begun:
                    found[-1] += [*files, block]
                else:
                    found.append([*files, block])
                files, begun = [], True
        assert not files, f"{files[0].name}: a file that no block uses"
    return found


class Stage:
    """A fresh home and a folder to work in, below one temporary folder."""

    def __init__(self, folder: Path, home: Path | None = None) -> None:
        self.home = home or folder / "home"
        self.work = folder / "work"
        self.temporary = folder / "tmp"
        for each in (self.home, self.work, self.temporary):
            each.mkdir(parents=True, exist_ok=True)
        kept = ("LANG", "LC_ALL", "USER", "LOGNAME", "CI")
        self.env = {name: os.environ[name] for name in kept if name in os.environ} | {
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "TERM": "dumb",
            "COLUMNS": "100",
        }

    def play(self, block: Block) -> None:
        """Write or run one block; raise AssertionError where it does not do what it shows."""
        name = block.value("file")
        if name is not None:
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
            if block.text.startswith("#!"):
                path.chmod(0o755)
            return
        {"sh": self._play_sh, "console": self._play_console, "python": self._play_python}[block.language](block)

    def _play_sh(self, block: Block) -> None:
        codes = self.temporary / "codes"
        codes.write_text("")
        script = f"trap 'echo $? >>{codes}' ERR\n{block.text}\n:\n"
        out = self._run(["bash", "-u", "-c", script])
        expected = (block.value("codes") or "").split(",") if block.value("codes") else []
        assert codes.read_text().split() == expected, f"{block.name}: the exit codes of what failed\n{out}"

    def _play_python(self, block: Block) -> None:
        path = self.work / "block.py"
        path.write_text(block.text, encoding="utf-8")
        self._run([sys.executable, path.name], ok=True, name=block.name)

    def _play_console(self, block: Block) -> None:
        steps = transcript(block.text)
        marked = [f"printf '\\n@@step\\n'; (exit ${{s:-0}})\n{command}\ns=$?\n" for command, _ in steps]
        out = self._run(["bash", "-c", "".join(marked)])
        shown = [part.lstrip("\n") for part in out.split("\n@@step\n")[1:]]
        assert len(shown) == len(steps), f"{block.name}\n{out}"
        for (command, expected), actual in zip(steps, shown, strict=True):
            assert alike(expected, actual, self.job_ids()), (
                f"{block.name}: $ {command}\n-- shown:\n{expected}\n-- is:\n{actual}"
            )

    def _run(self, words: list[str], *, ok: bool = False, name: str = "") -> str:
        done = subprocess.run(
            words,
            cwd=self.work,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LONGEST,
            check=False,
        )
        text = done.stdout.decode("utf-8", "replace")
        assert not ok or done.returncode == 0, f"{name}: exit code {done.returncode}\n{text}"
        return text

    def job_ids(self) -> set[str]:
        return {entry.name for entry in self._jobs()}

    def running(self) -> list[str]:
        """The jobs whose log has no end; read from the files, which costs nothing."""
        logs = {entry.name: entry / "events.ndjson" for entry in self._jobs()}
        return [name for name, log in logs.items() if not log.exists() or b'"job/exited"' not in log.read_bytes()]

    def _jobs(self) -> list[Path]:
        jobs = self.home / ".local" / "state" / "unhang" / "jobs"
        return sorted(entry for entry in jobs.iterdir() if entry.is_dir()) if jobs.is_dir() else []

    def clear(self) -> None:
        """End what is left, so that nothing outlives a test that failed."""
        for job in self.running():
            subprocess.run(
                [sys.executable, "-m", "unhang", "cancel", "--force", job],
                env=self.env,
                capture_output=True,
                check=False,
            )


@contextlib.contextmanager
def stage(folder: Path, home: Path | None = None) -> Iterator[Stage]:
    """A stage that is cleared at its end."""
    made = Stage(folder, home)
    try:
        yield made
    finally:
        made.clear()


def transcript(text: str) -> list[tuple[str, str]]:
    """(command, what it prints) of a transcript; a line that begins with `> ` goes on with the command above it."""
    steps: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], ""))
        elif line.startswith("> ") and steps and not steps[-1][1]:
            steps[-1] = (f"{steps[-1][0]}\n{line[2:]}", "")
        else:
            command, output = steps[-1]
            steps[-1] = (command, f"{output}{line}\n")
    return steps


def alike(expected: str, actual: str, ids: set[str]) -> bool:
    """Whether both have one shape: numbers, times and job ids may differ; `…` stands for anything."""
    for job in ids:
        actual = re.sub(rf"\b{job}\b", "ID", actual)
    shapes = [shape(line) for line in actual.splitlines()]
    wanted = [shape(line) for line in expected.splitlines()]
    return _match(wanted, [line for line in shapes if line or "" in wanted])


def _match(wanted: list[str], shapes: list[str]) -> bool:
    if not wanted:
        return all(not line for line in shapes)
    if wanted[0] == "…":
        return any(_match(wanted[1:], shapes[at:]) for at in range(len(shapes) + 1))
    if not shapes:
        return False
    pattern = ".*".join(re.escape(part) for part in wanted[0].split("…"))
    return re.fullmatch(pattern, shapes[0]) is not None and _match(wanted[1:], shapes[1:])


def shape(line: str) -> str:
    """The line without what differs from run to run."""
    # one id in forty has no digit; a word that looks like it is the same in all runs, and so is what stands for it
    line = re.sub(r"\b[0-9abcdefghjkmnpqrstvwxyz]{10}\b", "ID", line.rstrip())
    line = re.sub(r"\b\d+(\.\d+)?", "#", line)
    line = re.sub(r"#(ms|s|m|h|d)\b( ?#(ms|s|m|h|d)\b)*", "#T", line)
    return re.sub(r"\s+", " ", line)
