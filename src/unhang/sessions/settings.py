"""The settings of a watcher: the built-in ones, then `watch.toml` or `watch.json`; options of the command line win.

    $UNHANG_WATCH_CONFIG, else $XDG_CONFIG_HOME/unhang/watch.toml or .json (~/.config)

A watcher serves a machine and not a directory, so no file of a project is read: a downloaded one could allow a restart
or name a command to run.
"""

from __future__ import annotations

import json
import os

from unhang.core import settings_text
from unhang.core.record import Record
from unhang.errors import UsageError
from unhang.sessions.state.limits import SessionLimits, duration
from unhang.sessions.vital_signs import PING_EVERY
from unhang.store import home as homes
from unhang.store import user_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_LARGEST = 1 << 18
_NAMES = ("watch.toml", "watch.json")
_DURATIONS = {"turn": True, "total": True, "api": True, "warn": True}
_PAUSES = ("hands_off", "verify", "cooldown", "retry")
_COUNTS = ("escapes", "per_session", "per_machine", "clear_after")
_SWITCHES = {"allow_clear": "allow_clear", "allow_restart": "allow_restart", "dry_run": "dry_run", "continue": "go_on"}


class WatchSettings(Record):
    """The settings of a watcher; `source` names the file that they come from."""

    limits: SessionLimits
    notify: str = ""
    config_dirs: tuple[str, ...] = ()
    source: str = "built-in"
    ping: str = ""  # the address of a dead-man's switch
    ping_every: float = PING_EVERY
    places: tuple[str, ...] = ()  # where a file of settings may be, or come to be
    untrusted: str = ""  # one that is there and is passed over: another user owns it, or may write to it

    @property
    def complaint(self) -> str:
        """Return what is said of a file that is passed over; empty: none is."""
        return homes.not_believed(self.untrusted) if self.untrusted else ""


def load(environ: Mapping[str, str], explicit: str | None = None) -> WatchSettings:
    """Read the settings from `explicit`, or from where the environment says; raise UsageError if they are invalid."""
    named = explicit or environ.get("UNHANG_WATCH_CONFIG")
    places = (named,) if named else tuple(homes.settings(environ, _NAMES))
    path, untrusted = (named, None) if named else (homes.first_trusted(places), homes.untrusted(places))
    found = WatchSettings(SessionLimits()) if path is None else _read(path)
    return found.replace(places=places, untrusted=untrusted or "")


def _read(path: str) -> WatchSettings:
    text = user_file.read(os.path.expanduser(path))
    if text is None:
        raise UsageError(f"cannot read {path}: No such file or directory")
    text = text.removeprefix("\ufeff")
    if len(text) > _LARGEST:
        raise UsageError(f"{path}: more than {_LARGEST >> 10} KiB")
    try:
        value = settings_text.toml(text) if path.endswith(".toml") else _json(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: {str(error)[:300]}") from None
    if not isinstance(value, dict):
        raise UsageError(f"{path}: must contain a table")
    return parse(value, path)


def _json(text: str) -> Any:
    settings_text.measure(text, toml=False)
    return json.loads(text)


def parse(value: dict[str, Any], path: str) -> WatchSettings:
    """Return the settings in a file. An unknown key is an error: a misspelt limit would otherwise not hold."""
    changes: dict[str, Any] = {}
    notify, folders, ping, every = "", (), "", PING_EVERY
    for key, given in value.items():
        where = f"{path}: {key}"
        if key in _DURATIONS:
            changes[key] = _seconds(given, where)
        elif key in _PAUSES:
            changes[key] = _seconds(given, where) or 0.0
        elif key in _COUNTS:
            if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= 1_000_000:
                raise UsageError(f"{where}: must be an integer, 0 or greater; not {given!r}")
            changes[key] = given
        elif key in _SWITCHES:
            if not isinstance(given, bool):
                raise UsageError(f"{where}: must be true or false, not {given!r}")
            changes[_SWITCHES[key]] = given
        elif key == "on_hung":
            if given not in ("wait", "end"):
                raise UsageError(f"{where}: must be wait or end, not {given!r}")
            changes[key] = given
        elif key == "limits":
            if not isinstance(given, dict):
                raise UsageError(f"{where}: must be a table of PATTERN = DURATION")
            changes["tools"] = tuple((name, _seconds(each, f"{where}.{name}")) for name, each in given.items())
        elif key == "notify" and isinstance(given, str):
            notify = given
        elif key == "ping" and isinstance(given, str):
            ping = ping_address(given, where)
        elif key == "ping_every":
            every = ping_pause(_seconds(given, where), where)
        elif key == "config_dirs" and isinstance(given, list) and all(isinstance(each, str) for each in given):
            folders = tuple(given)
        elif not key.startswith(("$", "x-")):
            raise UsageError(f"{where}: unknown setting, or a value of the wrong type")
    return WatchSettings(SessionLimits(**changes), notify, folders, path, ping, every)


def ping_address(given: str, where: str) -> str:
    """Return the address of a dead-man's switch. Raises UsageError for what is none."""
    if not given.startswith(("http://", "https://")) or any(c.isspace() for c in given):
        raise UsageError(f"{where}: must be an address that begins with http:// or https://")
    return given


def ping_pause(seconds: float | None, where: str) -> float:
    """Return how long to wait between two pings. Raises UsageError for less than a second."""
    if seconds is None or seconds < 1:
        raise UsageError(f"{where}: must be 1s or longer")
    return seconds


def _seconds(given: object, where: str) -> float | None:
    if isinstance(given, bool) or not isinstance(given, (int, float, str)):
        raise UsageError(f'{where}: must be a duration such as "5m" or 300, or "off"; not {given!r}')
    return duration(str(given), where)
