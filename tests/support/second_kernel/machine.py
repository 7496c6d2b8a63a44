"""A second machine for the tests: User-Mode Linux, a whole kernel as one ordinary program.

Its root is this machine's, read-only; it has a disk of its own that outlives it, and two consoles: one on which it is
told what to do, line by line, and one on which programs in it report. Its power can be cut: a SIGKILL of the whole
group of its processes loses everything that it had not synced.
"""

from __future__ import annotations

import compileall
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from socket import socket, socketpair
from typing import IO, NamedTuple

from tests.support.places import ROOT, SOURCE
from tests.support.programs import unavailable

KERNEL = ROOT / ".cache" / "uml" / "linux.uml"
HERE = Path(__file__).resolve().parent
_PREFIX = Path(sys.base_prefix)
# The longest that a single answer may take. A boot takes two seconds, on a busy machine more.
PATIENCE = 60.0
_SEPARATOR = b"\x1e"
_SBIN = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))


def need_second_kernel() -> None:
    """Skips loudly on a user's machine, fails where CI=true."""
    missing = [] if KERNEL.exists() else [str(KERNEL.relative_to(ROOT))]
    missing += [name for name in ("mkfs.ext4", "fsfreeze", "setpriv") if shutil.which(name, path=_SBIN) is None]
    if missing:
        unavailable(f"NOT TESTED in a second kernel: not installed (run scripts/test-programs): {', '.join(missing)}")


def _memory_in(folder: Path) -> dict[str, str]:
    """The second kernel's memory is a file in /dev/shm; in many a container that is too small for it."""
    try:
        room = os.statvfs("/dev/shm")
    except OSError:
        return {"TMPDIR": str(folder)}
    return {} if room.f_bavail * room.f_frsize > 1 << 30 else {"TMPDIR": str(folder)}


def _registers_in(folder: Path) -> dict[str, str]:
    """What the second kernel needs on a processor with more registers than it knows of: see xstate.c."""
    if "amx_tile" not in Path("/proc/cpuinfo").read_text():
        return {}
    compiler, made = shutil.which("cc"), folder / "xstate.so"
    if compiler is None:
        unavailable("NOT TESTED in a second kernel: on this processor it needs a C compiler, and cc is not installed")
    if not made.exists():
        subprocess.run([compiler, "-shared", "-fPIC", "-o", str(made), str(HERE / "xstate.c"), "-ldl"], check=True)
    return {"LD_PRELOAD": str(made)}


def _main_in(source: Path) -> str:
    """What `unhang` is in there: nothing of the environment or the folder, no site-packages (which cost a start)."""
    return f"import sys; sys.path.insert(0, {str(source)!r}); from unhang.__main__ import main; main()"


class Answer(NamedTuple):
    code: int
    text: str


class Machine:
    """One disk, booted as often as one likes, once at a time."""

    def __init__(self, folder: Path, *, cgroups: bool = False, slow_disk: bool = False) -> None:
        need_second_kernel()
        compileall.compile_dir(str(SOURCE), quiet=1)  # it cannot write byte code itself, and would compile every time
        self.folder = folder
        self.boots = 0
        self.reports: list[str] = []  # lines of the second console since the last boot
        self._cgroups = cgroups
        self._slow_disk = slow_disk
        self._registers = _registers_in(folder)
        self._disk = folder / "disk.img"
        self._dump = folder / "dump.img"
        self._process: subprocess.Popen[bytes] | None = None
        self._console: IO[bytes] | None = None
        self._commands: socket | None = None
        self._reporting: socket | None = None
        self._answer = b""
        self._report = b""
        for image, size in ((self._disk, 128 << 20), (self._dump, 64 << 20)):
            with image.open("wb") as file:
                file.truncate(size)
        subprocess.run(["mkfs.ext4", "-q", "-F", str(self._disk)], env={"PATH": _SBIN}, check=True)

    # --- power ----------------------------------------------------------------------------------------------

    def boot(self) -> None:
        assert self._process is None, "it runs already"
        self.boots += 1
        self.reports, self._answer, self._report = [], b"", b""
        self._commands, commands = socketpair()
        self._reporting, reporting = socketpair()
        self._console = (self.folder / f"console-{self.boots}.txt").open("wb")
        with commands, reporting:
            fds = (commands.fileno(), reporting.fileno())
            self._process = subprocess.Popen(
                [KERNEL, *self._words(*fds)],
                stdin=subprocess.DEVNULL,
                stdout=self._console,
                stderr=self._console,
                pass_fds=fds,
                cwd=self.folder,
                start_new_session=True,  # its group is all that is ever signalled
                env={"PATH": _SBIN, "HOME": str(self.folder)} | _memory_in(self.folder) | self._registers,
            )
        self._hear_answer(PATIENCE, f"boot {self.boots}")

    def _words(self, commands: int, reporting: int) -> list[str]:
        settings = {
            "PYTHON": sys.executable,
            "PYTHON_PREFIX": str(_PREFIX),
            "PYTHON_NAME": str(Path(os.path.realpath(sys.executable)).relative_to(_PREFIX.resolve())),
            "SOURCE": str(SOURCE),
            "MAIN": _main_in(SOURCE),
            "USERS_MAIN": _main_in(Path("/run/source")),
            "TESTS": str(HERE),
            "CGROUPS": "yes" if self._cgroups else "no",
        }
        init = self.folder / "init"
        lines = [f"{name}={shlex.quote(value)}" for name, value in settings.items()]
        init.write_text("\n".join(["#!/bin/sh", *lines, f". {shlex.quote(str(HERE / 'init.sh'))}", ""]))
        init.chmod(0o755)
        return [
            # names without a folder: a path may be longer than a socket's name can be, or have a colon in it
            *("mem=256M", "quiet", "uml_dir=.", f"umid=boot{self.boots}"),
            # "s": every write goes to this machine's disk before the next one
            *(f"ubd0{'s' if self._slow_disk else ''}={self._disk.name}", f"ubd1={self._dump.name}"),
            *("rootfstype=hostfs", "rootflags=/", "ro", f"init={init}"),
            *("con=null", "con0=fd:0,fd:1", f"con1=fd:{commands},fd:{commands}", f"con2=fd:{reporting},fd:{reporting}"),
        ]

    def cut_power(self) -> float:
        """SIGKILL to all of it; the wall clock's time just before. What it had said on a console can still be read."""
        process = self._process
        assert process is not None
        at = time.time()
        os.killpg(process.pid, signal.SIGKILL)
        self._gone()
        return at

    def shut_down(self) -> None:
        """As an init does: everybody is asked to end, then ended; the disk is unmounted."""
        assert self._commands is not None
        self._commands.sendall(b"power_off\n")
        self._gone()

    def _gone(self) -> None:
        """Until every process of it is gone: each holds the consoles, and one that is left would hold the disk, too."""
        assert self._process is not None
        deadline = time.monotonic() + PATIENCE
        try:
            while self._reporting is not None or self._commands is not None:
                self._read_some(deadline, "the end of the machine")
            self._process.wait(PATIENCE)
        finally:
            self.close()

    def close(self) -> None:
        """Whatever is left of it."""
        process, self._process = self._process, None
        if process is not None:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        for end in (self._commands, self._reporting, self._console):
            if end is not None:
                end.close()
        self._commands = self._reporting = self._console = None

    def forget(self) -> None:
        """Its disks: pytest keeps the folders of some runs, and these are large."""
        for image in (self._disk, self._dump):
            image.unlink(missing_ok=True)

    # --- talking --------------------------------------------------------------------------------------------

    def do(self, line: str, timeout: float = PATIENCE) -> Answer:
        """One line of shell; its exit code and all that it said."""
        assert "\n" not in line
        assert self._commands is not None, "the machine is off"
        self._commands.sendall(line.encode() + b"\n")
        return self._hear_answer(timeout, line)

    def say(self, line: str, timeout: float = PATIENCE) -> str:
        """The same for a line that must succeed."""
        answer = self.do(line, timeout)
        assert answer.code == 0, f"{line}: {answer.code}\n{answer.text}\n{self.console()}"
        return answer.text

    def _hear_answer(self, timeout: float, what: str) -> Answer:
        deadline = time.monotonic() + timeout
        while not (self._answer.endswith(b"\n") and _SEPARATOR in self._answer):
            self._read_some(deadline, f"an answer to: {what}")
            assert self._commands is not None, f"the machine went down at: {what}\n{self.console()}"
        text, _, code = self._answer.rpartition(_SEPARATOR)
        self._answer = b""
        return Answer(int(code), text.decode(errors="replace"))

    def wait_for_reports(self, count: int, timeout: float = PATIENCE) -> list[str]:
        """Until there are so many lines on the second console, none of them later than `timeout` after the one before.

        A busy machine is slow at all of them, and only one that says nothing more hangs.
        """
        heard, deadline = len(self.reports), time.monotonic() + timeout
        while len(self.reports) < count:
            if len(self.reports) > heard:
                heard, deadline = len(self.reports), time.monotonic() + timeout
            self._read_some(deadline, f"{count} reports, after {len(self.reports)}")
            assert self._reporting is not None, f"the machine went down\n{self.console()}"
        return self.reports

    def listen(self, seconds: float) -> None:
        """For so long, whatever comes."""
        deadline = time.monotonic() + seconds
        try:
            while True:
                self._read_some(deadline, "")
        except TimeoutError:
            pass

    def _read_some(self, deadline: float, what: str) -> None:
        ends = [end for end in (self._commands, self._reporting) if end is not None]
        ready, _, _ = select.select(ends, [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise TimeoutError(f"waited in vain for {what}\n{self._answer.decode(errors='replace')}\n{self.console()}")
        for end in ready:
            data = _received(end)
            if end is self._commands:
                self._answer += data
                if not data:
                    self._commands = None
            else:
                *lines, self._report = (self._report + data).split(b"\n")
                self.reports += [line.decode(errors="replace") for line in lines]
                if not data:
                    self._reporting = None
            if not data:
                end.close()

    def console(self) -> str:
        """What the kernel and its init said, newest boot."""
        path = self.folder / f"console-{self.boots}.txt"
        return path.read_text(errors="replace")[-4000:] if path.exists() else ""

    # --- looking --------------------------------------------------------------------------------------------

    def files(self, name: str) -> Path:
        """A copy of the guest's state directory, as it is now."""
        self.say("tar -C /run/disk -cf - state | dd of=/dev/ubdb bs=64k conv=fsync status=none")
        place = self.folder / name
        place.mkdir()
        subprocess.run(["tar", "-C", str(place), "-xf", str(self._dump)], check=True)
        return place / "state"


def _received(end: socket) -> bytes:
    try:
        return end.recv(1 << 16)
    except ConnectionResetError:  # the machine went down with something unread
        return b""
