"""The `system` lines of Claude Code, and others that need no state: kind → phase, sign of life or not, words.

A phase of None is "whatever it was doing": housekeeping that is worth a line but says nothing of the turn. An empty
text is not worth a line either.
"""

from __future__ import annotations

from unhang.agents.base.phrases import labelled, update_of
from unhang.core.values import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.agents.base.phrases import Phrase
    from unhang.agents.base.update import AgentUpdate
    from unhang.core.values import Message


_HOOK = "A hook"
_SCREEN = (None, False, "")  # for a screen, which a headless session does not have
SYSTEM: dict[str, Phrase] = {
    "agents_killed": ("warning", False, "Agents in the background were ended."),
    "api_error": ("warning", False, labelled("The service answered with an error", "error", "message")),
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
    "hook_progress": ("running", True, labelled(f"{_HOOK} says", "output", "stdout", "stderr")),
    "hook_response": ("running", True, labelled(f"{_HOOK} has ended", "hook_name")),
    "hook_started": ("running", True, labelled(f"{_HOOK} has started", "hook_name")),
    "informational": (None, False, labelled("Claude says", "content", "message", "text")),
    "inherited_asks_settled": _SCREEN,
    "instruction_size_warning": ("warning", False, "The instructions are very large."),
    "local_command": (None, False, "A command of Claude's own was run."),
    "local_command_output": (None, False, labelled("A command of Claude's own", "content")),
    "memory_recall": (None, False, "Something was remembered."),
    "memory_saved": (None, False, "Something was noted down."),
    "mirror_error": ("warning", False, "The session cannot be mirrored."),
    "model_consent_fallback": ("warning", False, labelled("Another model is used", "fallback_model", "model")),
    "model_fallback": ("warning", False, labelled("Another model is used", "fallback_model", "to_model", "model")),
    "model_refusal_fallback": ("warning", False, labelled("The model refused; another is used", "fallback_model")),
    "model_refusal_no_fallback": ("warning", False, "The model refused."),
    "notification": (None, False, labelled("Claude says", "text", "message")),
    "peer_message_hold": _SCREEN,
    "per_turn_effort_changed": (None, False, "The effort has changed."),
    "permission_check_status": (None, False, "A permission is being checked."),
    "permission_denied": ("warning", False, labelled("Denied", "message", "tool_name")),
    "permission_retry": ("warning", False, "A permission is asked for again."),
    "placed": _SCREEN,
    "plugin_install": ("starting", True, "A plugin is installed."),
    "post_turn_summary": (None, False, labelled("Summary", "summary", "content")),
    "rewind_stand_in": _SCREEN,
    "scheduled_task_fire": ("running", True, "A scheduled task has begun."),
    "session_metadata": _SCREEN,
    "session_state_changed": (None, False, labelled("The session is", "state")),
    "session_title_changed": _SCREEN,
    "session_writes_lost": ("warning", False, "The session could not be saved."),
    "start_folder": _SCREEN,
    "stop_hook_summary": (None, False, "The hooks of the end have run."),
    "task_notification": ("running", True, labelled("A task has ended", "summary", "status")),
    "task_progress": ("running", True, labelled("A task", "description")),
    # every command is told of once more after three seconds: no progress
    "task_started": ("running", False, labelled("A task has started", "description")),
    "task_summary": (None, False, labelled("A task", "summary")),
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
OTHERS: dict[str, Phrase] = {
    "auth_status": (None, False, "The login changed."),
    "control_cancel_request": (None, False, ""),
    "control_response": (None, False, ""),
    "keep_alive": (None, False, ""),
    "prompt_suggestion": (None, False, ""),
    "rate_limit_event": ("metering", False, "Rate limits were reported."),
    # a clock that ticks while a tool runs: no progress, however often it comes
    "tool_progress": (None, False, ""),
    "tool_use_summary": (None, False, labelled("Summary", "summary")),
    "transcript_mirror": (None, False, ""),
}


def stateless_update(message: Message, current: str) -> AgentUpdate | None:
    """Return what such a message means; None: it is not one of these."""
    kind = text_of(message, "type", most=80)
    if kind == "system":
        subtype = text_of(message, "subtype", most=80)
        known = SYSTEM.get(subtype, _SCREEN if subtype.startswith("ui_") else None)
        method = f"system/{subtype}"
    else:
        known, method = OTHERS.get(kind), kind
    if known is None:
        return None
    return update_of(known, message, method, current)
