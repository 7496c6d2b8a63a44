"""The compilers and interpreters of the zoo: each makes a command out of a source, inside the stage's directory.

Compilers run before the job, outside of its tree, so that what is looked at is the program and not its making.
Their caches stay in the stage's directory, and are gone with it.
"""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
from pathlib import Path


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

    def _make(self, *argv: str, **env: str) -> None:
        done = subprocess.run(
            argv, cwd=self.dir, env=os.environ | env, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"{argv[0]}: {(done.stderr or done.stdout)[-800:].decode(errors='replace')}")

    def cc(self, source: str, *flags: str) -> str:
        path = self.write("actor.c", source)
        self._make("cc", "-O0", "-o", str(self.dir / "actor"), path, "-lpthread", *flags)
        return str(self.dir / "actor")

    def java(self, name: str, source: str) -> list[str]:
        self._make("javac", "-d", str(self.dir), self.write(f"{name}.java", source))
        return ["java", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp", str(self.dir), name]

    def py(self, source: str) -> list[str]:
        return [self.python, "-u", "-c", source]

    def node(self, source: str) -> list[str]:
        return ["node", "-e", source]

    @property
    def go_env(self) -> dict[str, str]:
        cache = str(self.dir / "go-cache")
        return {"GOCACHE": cache, "GOPATH": str(self.dir / "go"), "GO111MODULE": "off"}

    def go(self, body: str, *imports: str) -> list[str]:
        """`body` is what stands below the imports."""
        lines = "".join(f'import "{each}"\n' for each in imports)
        source = self.write("actor.go", f"package main\n{lines}{body}")
        self._make("go", "build", "-o", "actor", source, **self.go_env)
        return [str(self.dir / "actor")]

    def rust(self, source: str) -> list[str]:
        self._make("rustc", "-C", "debuginfo=0", "-o", "actor", self.write("actor.rs", source))
        return [str(self.dir / "actor")]

    def haskell(self, source: str) -> list[str]:
        self._make("ghc", "-v0", "-threaded", "-o", "actor", self.write("Actor.hs", source))
        return [str(self.dir / "actor")]

    def ocaml(self, source: str) -> list[str]:
        path = self.write("actor.ml", source)
        self._make("ocamlopt", "-I", "+threads", "-o", "actor", "unix.cmxa", "threads.cmxa", path)
        return [str(self.dir / "actor")]

    def csharp(self, source: str) -> list[str]:
        self._make("mcs", "-out:actor.exe", self.write("actor.cs", source))
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
