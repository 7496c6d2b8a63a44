"""Serving one hook of Claude Code: record what it tells, and start the watcher if none runs.

A hook stands in the way of its session. So this loads nothing that it does not need, reads no longer than a moment,
prints nothing that could be taken for a decision (only, after a step of the watcher, what the model should know of
it), and ends with 0 whatever happens.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.store.session_log import SessionLog

# Claude writes and closes at once. On a machine under load it may take longer, and a call whose end was not heard looks
# like a hang; but Claude's own patience with a hook is 5 s. A whole payload is not waited for to be closed.
_QUIET = 3.0
_LONGEST = 4.0
_GLANCE = 0.1
# What a tool gave back may be large. Of more than this only the ends are looked at.
_MOST = 8 << 20
_ENDS = 64 << 10
# No payload is larger: a writer of more than this never stops.
_ENDLESS = 64 << 20
# A payload has some dozens of values; each costs a hundred bytes once it is parsed, and may have been three.
_PARTS = 200_000
# A watcher that cannot start is not tried again at every hook.
_AGAIN = 30.0
_UNWATCHED = "unwatched"


def serve() -> int:
    """Record the hook on stdin and start a watcher where a session needs one; always return 0."""
    stream: SessionLog | None = None
    payload: dict[str, Any] = {}
    try:
        payload = read_payload(*read(0))
        stream = _record(payload)
    except (Exception, KeyboardInterrupt) as error:  # a hook that fails is a session that stumbles
        _say(f"not recorded: {error}")
    try:
        if stream is not None:
            _tell_model(stream, payload)
    except (Exception, KeyboardInterrupt) as error:
        _say(f"the model was not told: {error}")
    try:
        if os.environ.get("TMUX_PANE") and os.environ.get("CLAUDE_CODE_SESSION_ATTENDED") != "0":
            _start_watcher(stream)
    except (Exception, KeyboardInterrupt) as error:
        _say(f"no watcher: {error}")
    return 0


def _tell_model(stream: SessionLog, payload: dict[str, Any]) -> None:
    """Pass on what the watcher has left for the model of this session: this is what the hook prints, or nothing."""
    from unhang.core.values import id_of, text_of
    from unhang.sessions import model_notes

    method = text_of(payload, "hook_event_name")
    if method in model_notes.METHODS and (text := model_notes.take(stream.folder, id_of(payload, "agent_id"))):
        os.write(1, model_notes.answer(method, text).encode() + b"\n")


def _say(text: str) -> None:
    """Print one line on stderr, which Claude shows only to a person who debugs hooks."""
    try:
        os.write(2, f"unhang hook: {' '.join(text.split())[:300]}\n".encode("utf-8", "replace"))
    except OSError:
        pass


# --- reading ------------------------------------------------------------------------------------------------


def read(fd: int) -> tuple[bytes, bytes]:
    """Return everything up to the end of file; or, of too much, the beginning and the end."""
    import select

    poll = select.poll()
    poll.register(fd, select.POLLIN)
    heard = begun = time.monotonic()
    data, tail, size = bytearray(), b"", 0
    while size < _ENDLESS and time.monotonic() < min(begun + _LONGEST, heard + _QUIET):
        if not poll.poll(_GLANCE * 1000):
            if _is_whole(data):
                break
            continue
        try:
            chunk = os.read(fd, 1 << 18)
        except OSError:
            break
        if not chunk:
            break
        heard = time.monotonic()
        size += len(chunk)
        if len(data) < _MOST:
            data += chunk
        else:
            tail = (tail + chunk)[-_ENDS:]
    if not tail:
        return bytes(data), b""
    return bytes(data[:_ENDS]), tail


def _is_whole(data: bytearray) -> bool:
    return data.rstrip().endswith(b"}") and isinstance(_parsed(bytes(data)), dict)


def _parsed(data: bytes) -> object:
    from unhang.core.values import parse_message

    return parse_message(data, _PARTS)


def read_payload(data: bytes, tail: bytes) -> dict[str, Any]:
    """Return the payload. Of one that is too large, cut off or broken: what can be found at its ends."""
    value = None if tail else _parsed(data)
    if isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for name in ("session_id", "transcript_path", "cwd", "hook_event_name", "tool_name"):
        found[name] = _text_at(data, name, data.find(f'"{name}":'.encode()))
    end = tail or data
    found["tool_use_id"] = _text_at(end, "tool_use_id", end.rfind(b'"tool_use_id":'))  # behind what the tool gave back
    return found


def _text_at(data: bytes, name: str, at: int) -> str | None:
    rest = data[at + len(name) + 3 :].lstrip() if at >= 0 else b""
    end = rest.find(b'"', 1)
    return rest[1:end].decode("utf-8", "replace") if rest.startswith(b'"') and end > 0 else None


def _vantage() -> dict[str, str]:
    """The boot and the namespaces in which the pid and its start time are valid."""
    from unhang.procs import vantage

    return vantage.bounds(vantage.here())


def _record(payload: dict[str, Any]) -> SessionLog:
    from unhang.sessions.claude.hooks import event_of
    from unhang.store.session_log import SessionLog

    event = event_of(payload, os.environ, _start_of(os.environ.get("CLAUDE_PID", "")))
    event |= _vantage()
    stream = SessionLog(event.get("sessionId", ""))
    stream.append(event)
    return stream


def _start_of(pid: str) -> str | None:
    from unhang.procs.identity import start_time

    return start_time(int(pid)) if pid.isdecimal() else None


# --- the watcher --------------------------------------------------------------------------------------------


def _start_watcher(stream: SessionLog | None) -> None:
    """Unless one runs, or is switched off, or was tried a moment ago. Costs one open and one lock when one runs.

    One that is stopped or hangs watches nothing: the session's stream says so, and another takes its place.
    """
    if os.environ.get("UNHANG_WATCH", "").lower() in ("off", "0", "no", "false"):
        return
    from unhang.procs import descriptors, executable
    from unhang.store import home as homes

    home = homes.locate(os.environ)
    folder = f"{home}/watch"
    for place in (home, folder):
        homes.make(place)
    from unhang.sessions import lock

    who = lock.holder(home)
    if who is not None:
        if who["state"] == lock.WATCHING:
            return
        if stream is not None:
            _say_unwatched(stream, who)
    if not _due(f"{folder}/asked"):
        return
    os.chdir("/")
    descriptors.keep_from_children()  # what Claude left open to us is not for a process that outlives it
    null = os.open(os.devnull, os.O_RDWR)
    words = executable.command_line("watch", "--background", *_installed_options(folder))
    same = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in range(3)]
    os.posix_spawn(words[0], words, _environment(), file_actions=same, setsid=True)


def _installed_options(folder: str) -> list[str]:
    """The options that `unhang watch install` was given: a watcher in the place of that one has the same."""
    from unhang.core.values import items_of
    from unhang.store import files

    return [word for word in items_of(files.read_json(f"{folder}/installed.json"), "options") if isinstance(word, str)]


def _environment() -> dict[str, str]:
    """The watcher serves every session, so it takes over nothing of this one: no pane, no directories, no keys."""
    ours = ("CLAUDE", "ANTHROPIC_", "TMUX", "UNHANG_JOB")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def _say_unwatched(stream: SessionLog, who: dict[str, Any]) -> None:
    """Once, until a watcher has something to say again."""
    from unhang.core import session_events
    from unhang.sessions import lock

    last = stream.last(session_events.WATCH)
    if last is not None and last.get("phase") == _UNWATCHED:
        return
    stream.append(session_events.watch(_UNWATCHED, lock.describe_holder(who), stream.session_id, watcher=who))


def _due(stamp: str) -> bool:
    from unhang.store.files import open_plain

    try:
        if 0 <= time.time() - os.lstat(stamp).st_mtime < _AGAIN:
            return False
    except FileNotFoundError:
        pass
    fd = open_plain(stamp, os.O_WRONLY | os.O_CREAT)
    os.utime(fd)
    os.close(fd)
    return True
