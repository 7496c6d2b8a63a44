"""The payload of a hook of Claude Code, as one event of its session's stream. Pure: it takes payload and environment.

The event holds what a watcher needs to know which call is open since when. Results of tools, prompts of the person and
words of the model are not recorded; the input of a tool is cut, and the contents of files are left out.
"""

from __future__ import annotations

from unhang.core import session_events
from unhang.core.values import items_of, number_of, text_of, whole_of
from unhang.sessions.state.calls import subject_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

PHASE_OF_HOOK = {
    "SessionStart": "starting",
    "SessionEnd": "ended",
    "UserPromptSubmit": "prompted",
    "PreToolUse": "tool",
    "PostToolUse": "tool_done",
    "PostToolUseFailure": "tool_failed",
    "PostToolBatch": "tools_done",
    "PermissionRequest": "waiting",
    "PermissionDenied": "denied",
    "Notification": "notice",
    "Stop": "idle",
    "StopFailure": "failed",
    "SubagentStart": "agent",
    "SubagentStop": "agent_done",
    "PreCompact": "compacting",
    "PostCompact": "compacted",
}
_OTHER = "other"

# Which field of the payload is recorded under which name, if it is a text.
_TEXTS = {
    "session_id": "sessionId",
    "tool_name": "toolName",
    "tool_use_id": "toolUseId",
    "agent_id": "agentId",
    "notification_type": "notificationType",
    "source": "source",
    "reason": "reason",
    "error": "error",
}
_TEXT = 200
# A line has 4 KiB. A path is of no use if it is cut: one that is longer than this is left out.
_PATH = 600
_INPUT = 1200
_TASKS = 10
_MOST = 3800
# The contents of files are not recorded.
_CONTENTS = frozenset({"content", "contents", "new_string", "old_string", "new_source", "file_text", "edits", "prompt"})


def event_of(payload: Mapping[str, Any], environ: Mapping[str, str], start: str | None = None) -> dict[str, Any]:
    """Return the event of this payload.

    `start`: when Claude's process began, in ticks; with the pid this is its identity.
    """
    method = _line(text_of(payload, "hook_event_name") or "unknown")
    event = session_events.hook(PHASE_OF_HOOK.get(method, _OTHER), method)
    for name, ours in _TEXTS.items():
        if value := text_of(payload, name):
            event[ours] = _line(value)
    if "sessionId" not in event and environ.get("CLAUDE_CODE_SESSION_ID"):
        event["sessionId"] = _line(environ["CLAUDE_CODE_SESSION_ID"])
    pid = environ.get("CLAUDE_PID", "")
    event["pid"] = int(pid) if pid.isascii() and pid.isdecimal() and len(pid) < 12 else None
    event["procStart"] = start
    event["cwd"] = _path(payload.get("cwd"))
    event["transcriptPath"] = _path(payload.get("transcript_path"))
    event["tmux"] = _path(environ.get("TMUX"))
    event["pane"] = _path(environ.get("TMUX_PANE"))
    event["configDir"] = _path(environ.get("CLAUDE_CONFIG_DIR"))
    event["attended"] = _attended(environ)
    if isinstance(payload.get("tool_input"), dict):
        event["toolInput"] = shortened(payload["tool_input"])
    if isinstance(payload.get("is_interrupt"), bool):
        event["isInterrupt"] = payload["is_interrupt"]
    duration = number_of(payload, "duration_ms")
    if duration is not None:
        event["durationMs"] = round(duration)
    if (after := _moved_after(payload)) is not None:
        event["movedAfterMs"] = after
    if isinstance(payload.get("background_tasks"), list):
        event["backgroundTasks"] = [shortened(task, 200) for task in items_of(payload, "background_tasks", most=_TASKS)]
    event["message"] = _message(method, event, payload)
    return _fitting(event)


def _moved_after(payload: Mapping[str, Any]) -> int | None:
    """After how many milliseconds Claude Code has moved a command to the background; None: it has not."""
    response = payload.get("tool_response")
    if not isinstance(response, dict) or not text_of(response, "backgroundTaskId"):
        return None
    after = number_of(response, "timedOutAfterMs")  # one that was started there has none
    return None if after is None else round(after)


def _fitting(event: dict[str, Any]) -> dict[str, Any]:
    """Drop what a watcher does not need until the event fits into a line."""
    for name in ("backgroundTasks", "error", "toolInput", "cwd", "tmux"):
        if _weight(event) <= _MOST:
            break
        if name == "toolInput":
            event[name] = {"cut": True}
        elif name == "backgroundTasks" and name in event:
            event[name] = [{"cut": True}] * len(event[name])
        else:
            event.pop(name, None)
    if _weight(event) > _MOST:  # names of absurd length
        event |= {name: _line(value, 60) for name, value in event.items() if isinstance(value, str)}
    return event


def _path(value: Any) -> str | None:
    return value if isinstance(value, str) and value.isprintable() and 0 < _weight(value) - 2 <= _PATH else None


def _attended(environ: Mapping[str, str]) -> bool:
    """Whether this is an interactive session, not `claude -p`."""
    said = environ.get("CLAUDE_CODE_SESSION_ATTENDED")
    return said == "1" if said else environ.get("CLAUDE_CODE_ENTRYPOINT", "cli") == "cli"


def _message(method: str, event: dict[str, Any], payload: Mapping[str, Any]) -> str:
    tool = event.get("toolName", "a tool")
    match method:
        case "PreToolUse":
            about = subject_of(event.get("toolInput") or {})
            return f"{tool}: {about}" if about else tool
        case "PostToolUse" if "movedAfterMs" in event:
            return f"{tool} was moved to the background{_after(event)}"
        case "PostToolUse":
            return f"{tool} is done{_after(event)}"
        case "PostToolUseFailure":
            return f"{tool} failed{_after(event)}: {event.get('error', '')}"[:_TEXT]
        case "PermissionRequest":
            return f"a person is asked to permit {tool}"
        case "UserPromptSubmit":
            return f"a prompt of {len(whole_of(payload, 'prompt'))} characters"
        case "Notification":
            return _line(text_of(payload, "message") or event.get("notificationType") or method)
        case "StopFailure":
            return f"the turn failed: {event.get('error', 'unknown')}"[:_TEXT]
        case "SessionStart" | "SessionEnd":
            why = event.get("source") or event.get("reason")
            return f"the session {'starts' if method == 'SessionStart' else 'ends'}" + (f" ({why})" if why else "")
    return method


def _after(event: dict[str, Any]) -> str:
    return f" after {event['durationMs']} ms" if "durationMs" in event else ""


def _line(text: str, size: int = _TEXT) -> str:
    """One line, bounded, nothing unprintable. Of a very long text only the beginning is looked at."""
    text = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * size]).split())
    return text if len(text) <= size else text[: size - 1] + "…"


def shortened(value: Any, most: int = _INPUT) -> Any:
    """Cut until it fits; the shape is kept as far as that goes."""
    for size in (400, 120, 30):
        cut = _cut(value, size)
        if _weight(cut) <= most:
            return cut
    return {"cut": True} if isinstance(value, dict) else None


def _cut(value: Any, size: int, depth: int = 0) -> Any:
    if isinstance(value, str):
        return _line(value, size)
    if isinstance(value, dict) and depth < 3:
        return {_line(name, 60): _field(name, entry, size, depth) for name, entry in list(value.items())[:20]}
    if isinstance(value, list) and depth < 3:
        return [_cut(entry, size, depth + 1) for entry in value[:5]]
    if value is None or isinstance(value, bool):
        return value
    return number_of(value) if isinstance(value, int | float) else "…"


def _field(name: str, value: Any, size: int, depth: int) -> Any:
    if name in _CONTENTS:
        return f"({len(value)} characters)" if isinstance(value, str) else "(left out)"
    return _cut(value, size, depth + 1)


def _weight(value: Any) -> int:
    """About the bytes of its JSON; what is not ASCII counts as the most it can be."""
    if isinstance(value, str):
        return 2 + (len(value) if value.isascii() else 4 * len(value)) + value.count('"') + value.count("\\")
    if isinstance(value, dict):
        return 2 + sum(_weight(name) + _weight(entry) + 2 for name, entry in value.items())
    if isinstance(value, list):
        return 2 + sum(_weight(entry) + 1 for entry in value)
    return len(repr(value))
