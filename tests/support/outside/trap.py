"""A project full of Python files that are named like the standard library's, each of which tells when it is run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# It needs no import of its own, and hands nothing on: a program that runs it shows it twice.
_FILE = """\
with open({mark!r} + __name__, "a") as mark, open("/proc/self/cmdline") as words:
    mark.write(words.read().replace(chr(0), " ") + chr(10))
raise ImportError(__name__ + " of the project was imported")
"""
# What unhang's own processes import beside the standard library.
_LIBRARIES = [
    "mcp",
    "anyio",
    "acp",
    "pydantic",
    "starlette",
    "uvicorn",
    "textual",
    "rich",
    "nats",
    "cryptography",
    "apprise",
    "opentelemetry",
]


class Trap:
    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.marks = folder / "marks"
        self.project.mkdir()
        self.marks.mkdir()
        text = _FILE.format(mark=f"{self.marks}/")
        for name in (*sys.stdlib_module_names, "sitecustomize", "usercustomize", *_LIBRARIES):
            (self.project / f"{name}.py").write_text(text)

    def spare(self, modules: str) -> None:
        """Take out these and all that Python loads with them: they are there before any line of unhang's runs."""
        code = f"import {modules}; print(*sys.modules)"
        loaded = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True).stdout
        for name in ("sitecustomize", "usercustomize", *loaded.split()):
            (self.project / f"{name.partition('.')[0]}.py").unlink(missing_ok=True)

    def run_from_here(self) -> dict[str, str]:
        """What was imported from the project, and by whom."""
        return {mark.name: mark.read_text() for mark in sorted(self.marks.iterdir())}

    def works(self) -> bool:
        """A Python that is not isolated falls into it."""
        words = [sys.executable, "-c", "import select"]
        subprocess.run(words, cwd=self.project, check=False, stderr=subprocess.DEVNULL)
        fallen = bool(self.run_from_here())
        for mark in self.marks.iterdir():
            mark.unlink()
        return fallen
