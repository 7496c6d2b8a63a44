"""A watcher for good: a systemd user unit where systemd serves this user, else a plain background job of unhang's own.

What was done is noted in `watch/installed.json`, so that it can be undone cleanly: a file that stood in the unit's
place is kept beside it and put back.
"""

from __future__ import annotations

import os
import subprocess

from unhang.core.record import Record
from unhang.errors import UnhangError
from unhang.jobs import executable
from unhang.sessions import lock
from unhang.store import files, user_file
from unhang.store import home as homes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

UNIT = "unhang-watch.service"
SYSTEMD, JOB = "systemd", "job"
_PASSED = ("UNHANG_HOME", "UNHANG_WATCH_CONFIG", "CLAUDE_CONFIG_DIR", "PATH")


class Plan(Record):
    how: str
    path: str  # of the unit, or of the note about the job
    text: str  # of the unit
    command: list[str]
    before: str | None  # what stands in the unit's place


def plan(home: str, options: list[str], environ: Mapping[str, str], *, job: bool) -> Plan:
    command = executable.command_line("watch", "--take-over", *options)
    if job or not systemd_serves(environ):
        return Plan(JOB, _note(home), "", command, None)
    path = unit_path(environ)
    return Plan(SYSTEMD, path, unit(command, environ), command, user_file.read(path))


def unit(command: list[str], environ: Mapping[str, str]) -> str:
    settings = "".join(f"Environment={_quoted(f'{name}={environ[name]}')}\n" for name in _PASSED if environ.get(name))
    return (
        "[Unit]\nDescription=unhang watch: ends tool calls of Claude Code that hang\n\n"
        f"[Service]\n{settings}ExecStart={' '.join(_quoted(word) for word in command)}\n"
        "Restart=always\nRestartSec=30\nNice=5\n\n"
        "[Install]\nWantedBy=default.target\n"
    )


def unit_path(environ: Mapping[str, str]) -> str:
    config = environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(config, "systemd", "user", UNIT)


def systemd_serves(environ: Mapping[str, str]) -> bool:
    """There is a systemctl, and it reaches this user's manager."""
    try:
        _systemctl(environ, "show-environment")
    except UnhangError:
        return False
    return True


def install(planned: Plan, home: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """What was done. Raises UnhangError with what could not be."""
    homes.make(home)
    homes.make(lock.folder(home))
    if planned.how == JOB:
        from unhang.jobs import api

        job = api.start(planned.command, idle="off", hard="off", stall="off", labels={"unhang": "watch"})
        done: dict[str, Any] = {"how": JOB, "path": planned.path, "jobId": job.id, "command": planned.command}
    else:
        backup = None
        if planned.before != planned.text:
            backup = user_file.write(planned.path, planned.before, planned.text)
        done = {"how": SYSTEMD, "path": planned.path, "backup": backup, "command": planned.command}
        files.write_json(_note(home), done)  # before systemd is asked: what fails half-way can be undone, too
        _systemctl(environ, "daemon-reload")
        _systemctl(environ, "enable", "--now", UNIT)
    files.write_json(_note(home), done)
    return done


def uninstall(home: str, environ: Mapping[str, str]) -> dict[str, Any]:
    found = files.read_json(_note(home))
    if found is None:
        raise UnhangError("nothing was installed by `unhang watch install`")
    if found.get("how") == JOB:
        from unhang.errors import NoSuchJob
        from unhang.jobs.handle import attach

        try:
            job = attach(home, str(found.get("jobId")))
            if not job.ended():
                job.cancel()
        except NoSuchJob:
            pass
    else:
        path = str(found.get("path"))
        try:
            _systemctl(environ, "disable", "--now", UNIT)
        except UnhangError:
            pass  # a unit that is gone already, or a systemd that is
        backup = found.get("backup")
        if backup and os.path.exists(backup):
            os.replace(backup, os.path.realpath(path))
        elif os.path.exists(path):
            os.unlink(path)
        try:
            _systemctl(environ, "daemon-reload")
        except UnhangError:
            pass
    os.unlink(_note(home))
    return found


def installed(home: str) -> dict[str, Any] | None:
    found = files.read_json(_note(home))
    if found is not None:
        found.pop("v", None)
    return found


def _note(home: str) -> str:
    return f"{lock.folder(home)}/installed.json"


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
    """For a unit file: specifiers and variables are not meant."""
    word = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{word}"'
