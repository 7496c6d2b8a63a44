"""The compilers and interpreters of the zoo: each makes a command out of a source, inside the stage's directory.

Compilers run before the job, outside of its tree, so that what is looked at is the program and not its making.
Their caches are gone with the run. One that repeats its scenarios compiles each of them once.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# The variable that names the directory in which a run keeps what compilers made.
BUILT = "ZOO_BUILT"


def found(program: str) -> str | None:
    """Where it is; Debian keeps PostgreSQL's server programs out of everybody's PATH."""
    elsewhere = sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
    return shutil.which(program, path=os.pathsep.join([os.environ["PATH"], *elsewhere]))


class Toolchains:
    def __init__(self, directory: Path) -> None:
        self.dir = directory
        self.python = sys.executable

    def write(self, name: str, text: str) -> str:
        path = self.dir / name
        path.write_text(text)
        return str(path)

    def compile(self, *argv: str, **env: str) -> None:
        """Run a compiler in the directory of the stage, or take what it has made of the same source in this run."""
        shelf = self._shelf(argv)
        if shelf is not None and shelf.is_dir():
            shutil.copytree(shelf, self.dir, dirs_exist_ok=True)
            return
        before = set(os.listdir(self.dir))
        done = subprocess.run(
            argv, cwd=self.dir, env=os.environ | env, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"{argv[0]}: {(done.stderr or done.stdout)[-800:].decode(errors='replace')}")
        if shelf is not None:
            new = Path(tempfile.mkdtemp(dir=shelf.parent))
            for name in set(os.listdir(self.dir)) - before:
                if (self.dir / name).is_file():
                    shutil.copy2(self.dir / name, new)
            with contextlib.suppress(OSError):  # another stage was faster
                os.rename(new, shelf)

    def _shelf(self, argv: tuple[str, ...]) -> Path | None:
        """Where a run that repeats its scenarios keeps what this command makes of the sources that stand here."""
        if not os.access(os.environ.get(BUILT, ""), os.W_OK):
            return None
        seen = hashlib.sha256(repr(argv).replace(str(self.dir), "").encode())
        for path in sorted(self.dir.iterdir()):
            if path.is_file():
                seen.update(path.read_bytes())
        return Path(os.environ[BUILT]) / seen.hexdigest()

    def cc(self, source: str, *flags: str) -> str:
        path = self.write("actor.c", source)
        self.compile("cc", "-O0", "-o", str(self.dir / "actor"), path, "-lpthread", *flags)
        return str(self.dir / "actor")

    def java(self, name: str, source: str) -> list[str]:
        self.compile("javac", "-d", str(self.dir), self.write(f"{name}.java", source))
        return ["java", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp", str(self.dir), name]

    def py(self, source: str) -> list[str]:
        return [self.python, "-u", "-c", source]

    def node(self, source: str) -> list[str]:
        return ["node", "-e", source]

    @property
    def go_env(self) -> dict[str, str]:
        # One for all scenarios of a run: Go compiles its library first, for each cache anew.
        cache = str(self.dir.parent / "go-cache")
        return {"GOCACHE": cache, "GOPATH": str(self.dir / "go"), "GO111MODULE": "off"}

    def go(self, body: str, *imports: str) -> list[str]:
        """`body` is what stands below the imports."""
        lines = "".join(f'import "{each}"\n' for each in imports)
        source = self.write("actor.go", f"package main\n{lines}{body}")
        self.compile("go", "build", "-o", "actor", source, **self.go_env)
        return [str(self.dir / "actor")]

    def rust(self, source: str) -> list[str]:
        self.compile("rustc", "-C", "debuginfo=0", "-o", "actor", self.write("actor.rs", source))
        return [str(self.dir / "actor")]

    def haskell(self, source: str) -> list[str]:
        self.compile("ghc", "-v0", "-threaded", "-o", "actor", self.write("Actor.hs", source))
        return [str(self.dir / "actor")]

    def ocaml(self, source: str) -> list[str]:
        path = self.write("actor.ml", source)
        self.compile("ocamlopt", "-I", "+threads", "-o", "actor", "unix.cmxa", "threads.cmxa", path)
        return [str(self.dir / "actor")]

    def csharp(self, source: str) -> list[str]:
        self.compile("mcs", "-out:actor.exe", self.write("actor.cs", source))
        # It would leave a file in /dev/shm when it is killed.
        return ["env", "MONO_DISABLE_SHARED_AREA=1", "mono", str(self.dir / "actor.exe")]

    def ruby(self, source: str) -> list[str]:
        return ["ruby", "-e", f"$stdout.sync = true\n{source}"]

    def perl(self, source: str) -> list[str]:
        return ["perl", "-e", f"$| = 1; {source}"]

    def php(self, source: str) -> list[str]:
        return ["php", "-d", "opcache.enable_cli=0", "-r", source]

    def lua(self, source: str) -> list[str]:
        return ["lua5.4", "-e", f"io.stdout:setvbuf('no') {source}"]

    def tcl(self, source: str) -> list[str]:
        return ["tclsh", self.write("actor.tcl", f"fconfigure stdout -buffering none\n{source}\n")]

    def erlang(self, source: str) -> list[str]:
        return ["erl", "-noinput", "-boot", "start_clean", "-eval", source]

    def elixir(self, source: str) -> list[str]:
        return ["elixir", "-e", source]
