"""The `system` lines of Claude Code, and others that need no state: kind → phase, sign of life or not, words.

A phase of None is "whatever it was doing": housekeeping that is worth a line but says nothing of the turn. An empty
text is not worth a line either.
"""

from __future__ import annotations

from unhang.agents.base.update import AgentUpdate, one_line
from unhang.core.values import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from unhang.core.values import Message

    Words = str | Callable[[Message], str]


def _told(label: str, *names: str) -> Callable[[Message], str]:
    """The label, and the first of these fields that is a text."""

    def words(message: Message) -> str:
        found = next((text_of(message, name) for name in names if text_of(message, name)), "")
        return f"{label}: {one_line(found)}" if found else f"{label}."

    return words


_HOOK = "A hook"
_SCREEN = (None, False, "")  # for a screen that nobody looks at here
SYSTEM: dict[str, tuple[str | None, bool, Words]] = {
    "agents_killed": ("warning", False, "Agents in the background were ended."),
    "api_error": ("warning", False, _told("The service answered with an error", "error", "message")),
    "away_summary": _SCREEN,
    "bridge_state": _SCREEN,
    "bridge_status": _SCREEN,
    "checkpoint_done": _SCREEN,
    "cloud_session_delta": _SCREEN,
    "cloud_session_status": _SCREEN,
    "code_change_published": (None, False, "A change was published."),
    "commands_changed": _SCREEN,
    "control_request_progress": _SCREEN,
    "dev_intent": _SCREEN,
    "elicitation_complete": (None, False, "An MCP server's question was answered."),
    "feedback_draft_queued": _SCREEN,
    "file_attachments_missing": ("warning", False, "Attached files are missing."),
    "file_snapshot": _SCREEN,
    "files_persisted": _SCREEN,
    # told only when its output has changed
    "hook_progress": ("running", True, _told(f"{_HOOK} says", "output", "stdout", "stderr")),
    "hook_response": ("running", True, _told(f"{_HOOK} has ended", "hook_name")),
    "hook_started": ("running", True, _told(f"{_HOOK} has started", "hook_name")),
    "informational": (None, False, _told("Claude says", "content", "message", "text")),
    "inherited_asks_settled": _SCREEN,
    "instruction_size_warning": ("warning", False, "The instructions are very large."),
    "local_command": (None, False, "A command of Claude's own was run."),
    "local_command_output": (None, False, _told("A command of Claude's own", "content")),
    "memory_recall": (None, False, "Something was remembered."),
    "memory_saved": (None, False, "Something was noted down."),
    "mirror_error": ("warning", False, "The session cannot be mirrored."),
    "model_consent_fallback": ("warning", False, _told("Another model is used", "fallback_model", "model")),
    "model_fallback": ("warning", False, _told("Another model is used", "fallback_model", "to_model", "model")),
    "model_refusal_fallback": ("warning", False, _told("The model refused; another is used", "fallback_model")),
    "model_refusal_no_fallback": ("warning", False, "The model refused."),
    "notification": (None, False, _told("Claude says", "text", "message")),
    "peer_message_hold": _SCREEN,
    "per_turn_effort_changed": (None, False, "The effort has changed."),
    "permission_check_status": (None, False, "A permission is being checked."),
    "permission_denied": ("warning", False, _told("Denied", "message", "tool_name")),
    "permission_retry": ("warning", False, "A permission is asked for again."),
    "placed": _SCREEN,
    "plugin_install": ("starting", True, "A plugin is installed."),
    "post_turn_summary": (None, False, _told("Summary", "summary", "content")),
    "rewind_stand_in": _SCREEN,
    "scheduled_task_fire": ("running", True, "A scheduled task has begun."),
    "session_metadata": _SCREEN,
    "session_state_changed": (None, False, _told("The session is", "state")),
    "session_title_changed": _SCREEN,
    "session_writes_lost": ("warning", False, "The session could not be saved."),
    "start_folder": _SCREEN,
    "stop_hook_summary": (None, False, "The hooks of the end have run."),
    "task_notification": ("running", True, _told("A task has ended", "summary", "status")),
    "task_progress": ("running", True, _told("A task", "description")),
    # every command is told of once more after three seconds: no progress
    "task_started": ("running", False, _told("A task has started", "description")),
    "task_summary": (None, False, _told("A task", "summary")),
    "task_updated": ("running", True, "A task has news."),
    "thinking_tokens": ("thinking", True, ""),
    "tool_host_result": (None, False, ""),
    "turn_began_before_init": _SCREEN,
    "turn_duration": _SCREEN,
    "turn_handoff_available": _SCREEN,
    "turn_preempted": ("warning", False, "The turn was preempted."),
    "turn_starting": ("thinking", False, "The turn begins."),
    "vcs_state_changed": _SCREEN,
    "voice_call_talk": _SCREEN,
    "worker_shutting_down": ("idle", False, "Claude is ending."),
}
# other lines than system ones
OTHERS: dict[str, tuple[str | None, bool, Words]] = {
    "auth_status": (None, False, "The login changed."),
    "control_cancel_request": (None, False, ""),
    "control_response": (None, False, ""),
    "keep_alive": (None, False, ""),
    "prompt_suggestion": (None, False, ""),
    "rate_limit_event": ("metering", False, "Rate limits were reported."),
    # a clock that ticks while a tool runs: no progress, however often it comes
    "tool_progress": (None, False, ""),
    "tool_use_summary": (None, False, _told("Summary", "summary")),
    "transcript_mirror": (None, False, ""),
}


def plain(message: Message, current: str) -> AgentUpdate | None:
    """None: not one of these."""
    kind = text_of(message, "type", most=80)
    if kind == "system":
        subtype = text_of(message, "subtype", most=80)
        known = SYSTEM.get(subtype, _SCREEN if subtype.startswith("ui_") else None)
        method = f"system/{subtype}"
    else:
        known, method = OTHERS.get(kind), kind
    if known is None:
        return None
    phase, alive, words = known
    text = words if isinstance(words, str) else words(message)
    return AgentUpdate(phase or current, text, method, alive) if text else AgentUpdate(alive=alive)
