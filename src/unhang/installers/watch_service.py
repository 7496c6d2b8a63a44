"""`unhang watch` for good: as a systemd user unit where systemd serves this user, otherwise as a background job.

`watch/installed.json` notes what was done, so that `uninstall` can undo it: a file that stood in the unit's place is
kept beside it and put back.
"""

from __future__ import annotations

import os
import shlex
import subprocess

from unhang.core.record import Record
from unhang.errors import NoSuchJob, UnhangError, UsageError
from unhang.installers.flow import FileChange
from unhang.procs import executable
from unhang.store import files, user_file
from unhang.store import home as homes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

UNIT = "unhang-watch.service"
SYSTEMD, JOB = "systemd", "job"
# systemd replaces a watcher whose loop has not gone round for so long (sessions/vital_signs.py); its longest work in
# one go takes half a minute.
_WATCHDOG = 120
_PASSED = ("UNHANG_HOME", "UNHANG_WATCH_CONFIG", "CLAUDE_CONFIG_DIR", "PATH")


def plan_install(home: str, options: list[str], environ: Mapping[str, str], *, job: bool) -> UnitInstall | JobInstall:
    """Return the watcher with these options. Raises UsageError where one is installed."""
    there = installed(home)
    if there is not None:
        raise UsageError(f"already installed ({there['how']}: {there['path']}); run `unhang watch uninstall` first")
    command = executable.command_line("watch", "--take-over", *options)
    if job or not systemd_serves(environ):
        return JobInstall(home, command, options)
    path = unit_path(environ)
    return UnitInstall(home, command, options, environ, FileChange(path, user_file.read(path), unit(command, environ)))


def plan_uninstall(home: str, environ: Mapping[str, str]) -> Uninstall:
    """Return the change that undoes what the last `install` did. Raises UnhangError where nothing is installed."""
    there = installed(home)
    if there is None:
        raise UnhangError("`unhang watch install` has installed nothing")
    return Uninstall(home, there, environ)


class UnitInstall(Record):
    """A systemd user unit, written and enabled."""

    home: str
    command: list[str]
    options: list[str]
    environ: Mapping[str, str]
    file: FileChange
    unchanged = None

    def preview(self) -> list[str]:
        """Return the diff of the unit file, and the commands of systemd that follow."""
        enable = f"will run: systemctl --user daemon-reload; systemctl --user enable --now {UNIT}"
        return [*self.file.preview(), enable]

    def apply(self) -> str:
        """Write the unit, enable and start it; return what was done, as one line."""
        backup = None
        if self.file.before != self.file.after:
            backup = user_file.write(self.file.path, self.file.before, self.file.after)
        # noted before systemd is asked, so that an installation that fails half-way can be undone
        noted = {"how": SYSTEMD, "path": self.file.path, "backup": backup}
        _note(self.home, noted, self.command, self.options)
        _systemctl(self.environ, "daemon-reload")
        _systemctl(self.environ, "enable", "--now", UNIT)
        return f"done: {UNIT} is enabled and running"


class JobInstall(Record):
    """A background job, until the machine restarts."""

    home: str
    command: list[str]
    options: list[str]
    unchanged = None

    def preview(self) -> list[str]:
        """Return the line that names the command of the job."""
        return [f"will start a background job (until this machine restarts): {shlex.join(self.command)}"]

    def apply(self) -> str:
        """Start the job, and return what was done, as one line."""
        from unhang.jobs import api

        job = api.start(self.command, idle="off", hard="off", stall="off", labels={"unhang": "watch"})
        noted = {"how": JOB, "path": _note_path(self.home), "jobId": job.id}
        _note(self.home, noted, self.command, self.options)
        return f"done: job {job.id}"


class Uninstall(Record):
    """The unit disabled and removed, or the job cancelled."""

    home: str
    there: dict[str, Any]
    environ: Mapping[str, str]
    unchanged = None

    def preview(self) -> list[str]:
        """Return the lines that say what will be undone."""
        if self.there.get("how") == JOB:
            return [f"will cancel the job {self.there.get('jobId')}"]
        path, backup = self.there.get("path"), self.there.get("backup")
        return [
            f"will run: systemctl --user disable --now {UNIT}",
            f"will restore {path} from {backup}" if backup else f"will remove {path}",
        ]

    def apply(self) -> str:
        """Undo the installation, and return what was done, as one line."""
        if self.there.get("how") == JOB:
            self._cancel()
        else:
            self._remove_unit()
        os.unlink(_note_path(self.home))
        return "done: uninstalled"

    def _cancel(self) -> None:
        from unhang.jobs.handle import attach

        try:
            job = attach(self.home, str(self.there.get("jobId")))
            if not job.ended():
                job.cancel()
        except NoSuchJob:
            pass

    def _remove_unit(self) -> None:
        path, backup = str(self.there.get("path")), self.there.get("backup")
        try:
            _systemctl(self.environ, "disable", "--now", UNIT)
        except UnhangError:
            pass  # the unit, or systemd, is gone
        if backup and os.path.exists(backup):
            os.replace(backup, os.path.realpath(path))
        elif os.path.exists(path):
            os.unlink(path)
        try:
            _systemctl(self.environ, "daemon-reload")
        except UnhangError:
            pass


def unit(command: list[str], environ: Mapping[str, str]) -> str:
    """Return the text of the unit."""
    settings = "".join(f"Environment={_quoted(f'{name}={environ[name]}')}\n" for name in _PASSED if environ.get(name))
    return (
        "[Unit]\nDescription=unhang watch: ends tool calls of Claude Code that hang\n\n"
        f"[Service]\n{settings}ExecStart={' '.join(_quoted(word) for word in command)}\n"
        f"Restart=always\nRestartSec=30\nNice=5\nWatchdogSec={_WATCHDOG}\nNotifyAccess=main\n\n"
        "[Install]\nWantedBy=default.target\n"
    )


def unit_path(environ: Mapping[str, str]) -> str:
    """Return where systemd looks for this user's units."""
    config = environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(config, "systemd", "user", UNIT)


def systemd_serves(environ: Mapping[str, str]) -> bool:
    """Return whether systemctl exists and reaches this user's manager."""
    try:
        _systemctl(environ, "show-environment")
    except UnhangError:
        return False
    return True


def installed(home: str) -> dict[str, Any] | None:
    """Return what the last `install` noted; None if nothing is installed."""
    found = files.read_json(_note_path(home))
    if found is not None:
        found.pop("v", None)
    return found


def _note_path(home: str) -> str:
    return f"{homes.watch_folder(home)}/installed.json"


def _note(home: str, done: dict[str, Any], command: list[str], options: list[str]) -> None:
    homes.make(home)
    homes.make(homes.watch_folder(home))
    files.write_json(_note_path(home), done | {"command": command, "options": options})


def _systemctl(environ: Mapping[str, str], *words: str) -> None:
    try:
        done = subprocess.run(
            ["systemctl", "--user", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=30,
            check=False,
            env=dict(environ),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnhangError(f"systemctl --user {' '.join(words)}: {error}") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise UnhangError(f"systemctl --user {' '.join(words)}: {said or f'exit code {done.returncode}'}")


def _quoted(word: str) -> str:
    """A word of a unit file, in which `%` and `$` stand for themselves."""
    word = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{word}"'
