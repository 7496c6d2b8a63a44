"""The items of a Codex turn, each in words: what it is doing (a phase), what has begun, what has ended.

Both spellings are known: the app server's (`commandExecution`) and `exec --json`'s (`command_execution`).
"""

from __future__ import annotations

from unhang.agents.base.commands import phase_of_command
from unhang.agents.base.update import preview
from unhang.core.durations import human
from unhang.core.values import id_of, integer_of, items_of, number_of, text_of, whole_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.values import Message

# What the model itself makes: its beginning is progress. The others are ours, or Codex's own housekeeping.
_NOT_OF_THE_MODEL = frozenset({"userMessage", "hookPrompt", "contextCompaction", "error"})
# While one of these runs, the model waits for it and not the other way round.
TOOLS = frozenset(
    {
        "commandExecution",
        "mcpToolCall",
        "dynamicToolCall",
        "collabAgentToolCall",
        "webSearch",
        "imageGeneration",
        "sleep",
    }
)
_PHASES = {
    "userMessage": "thinking",
    "hookPrompt": "running",
    "agentMessage": "thinking",
    "functionCallOutput": "running",
    "plan": "thinking",
    "todoList": "thinking",
    "reasoning": "thinking",
    "commandExecution": "running",
    "fileChange": "editing",
    "mcpToolCall": "running",
    "dynamicToolCall": "running",
    "collabToolCall": "running",
    "collabAgentToolCall": "running",
    "subAgentActivity": "running",
    "webSearch": "running",
    "imageView": "running",
    "sleep": "running",
    "imageGeneration": "running",
    "enteredReviewMode": "verifying",
    "exitedReviewMode": "verifying",
    "contextCompaction": "compacting",
    "error": "warning",
}
TYPES = frozenset(_PHASES)
_COMMAND_FAILED = frozenset({"failed", "declined"})


def kind_of(item: Message) -> str:
    """Return its type in the app server's spelling."""
    head, *rest = text_of(item, "type", most=80).split("_")
    return head + "".join(word.capitalize() for word in rest)


def command_of(item: Message) -> str:
    """Return the line that is run, without the shell that Codex puts around it."""
    command = text_of(item, "command")
    for shell in ("/bin/bash -lc ", "/bin/sh -lc ", "bash -lc ", "/bin/sh -c "):
        if command.startswith(shell):
            inner = command[len(shell) :]
            if len(inner) >= 2 and inner[0] == inner[-1] and inner[0] in "'\"":
                inner = inner[1:-1].replace("'\\''", "'").replace("'\"'\"'", "'")
            return inner
    return command


def phase_of(item: Message) -> str:
    """Return the phase of an event about an item."""
    kind = kind_of(item)
    if kind == "commandExecution":
        return phase_of_command(command_of(item))
    return _PHASES.get(kind, "unknown")


def from_the_model(item: Message) -> bool:
    """Return whether the model made this item."""
    return kind_of(item) not in _NOT_OF_THE_MODEL


def describe_start(item: Message) -> str:
    """Return the beginning of an item, for people."""
    kind = kind_of(item)
    match kind:
        case "userMessage":
            return f"The task was handed over: {preview(message_text(item))}"
        case "agentMessage":
            return "Codex is writing a message."
        case "reasoning":
            return "Codex is thinking."
        case "commandExecution":
            return f"Running: {preview(command_of(item))}"
        case "fileChange":
            return f"Editing {_files(item)}."
        case "contextCompaction":
            return "Compacting the context."
    return _of_others(kind, item)


def describe_end(item: Message) -> str:
    """Return the end of an item, for people."""
    kind = kind_of(item)
    match kind:
        case "agentMessage":
            return f"Codex replied: {preview(message_text(item))}"
        case "reasoning":
            text = " ".join(text_of(part) for part in items_of(item, "summary")) or text_of(item, "text")
            return f"Thought: {preview(text)}" if text else "Thought."
        case "commandExecution":
            return _command_ended(item)
        case "fileChange":
            return f"Edited {_files(item)}{_unless_done(item)}."
        case "contextCompaction":
            return "The context was compacted."
        case "error":
            return preview(text_of(item, "message") or "Something went wrong.")
    words = _of_others(kind, item)
    return words if words.endswith(".") and kind not in TOOLS else f"Done: {words}{_unless_done(item)}"


def _command_ended(item: Message) -> str:
    code = _exit_code(item)
    line = preview(command_of(item), 160)
    if code is not None:
        return f"Exited with {code}: {line}"
    return f"{'Failed' if text_of(item, 'status') in _COMMAND_FAILED else 'Ended'}: {line}"


def _exit_code(item: Message) -> int | None:
    return integer_of(item, "exitCode" if "exitCode" in item else "exit_code")


def _of_others(kind: str, item: Message) -> str:
    match kind:
        case "plan" | "todoList":
            return f"Plan: {preview(text_of(item, 'text') or _todo(item))}"
        case "mcpToolCall":
            return f"Tool {text_of(item, 'server', most=80)}/{text_of(item, 'tool', most=80)}"
        case "dynamicToolCall":
            return f"Tool {text_of(item, 'tool', most=80)}"
        case "collabAgentToolCall" | "collabToolCall":
            return f"Another agent ({text_of(item, 'tool', most=80)}): {preview(text_of(item, 'prompt'))}"
        case "subAgentActivity":
            return f"Another agent: {text_of(item, 'kind', most=80) or 'at work'}."
        case "webSearch":
            return f"Searching the web: {preview(text_of(item, 'query'))}"
        case "imageView":
            return f"Looking at an image: {preview(text_of(item, 'path'))}."
        case "imageGeneration":
            return "Making an image"
        case "sleep":
            return f"Sleeping for {human(_seconds(item))}"
        case "enteredReviewMode":
            return f"Reviewing: {preview(text_of(item, 'review'))}."
        case "exitedReviewMode":
            return f"Reviewed: {preview(text_of(item, 'review'))}."
        case "hookPrompt":
            return "A hook added to the prompt."
        case "functionCallOutput":
            return f"Answer of {text_of(item, 'name', most=80) or 'a tool'}."
        case "userMessage":
            return "The task was handed over."
    return f"Unknown item type: {kind or 'none'}."


def tool_length(item: Message) -> float | None:
    """Return how long it said itself that it will take."""
    return _seconds(item) if kind_of(item) == "sleep" else None


def _seconds(item: Message) -> float:
    return max(0.0, (number_of(item, "durationMs") or 0.0) / 1000)


def message_text(item: Message) -> str:
    """Return the text of a message, whole: a reply is printed as it was written."""
    if isinstance(item.get("text"), str):
        return whole_of(item, "text")
    return "".join(whole_of(part, "text") for part in items_of(item, "content"))


def _files(item: Message) -> str:
    paths = [text_of(change, "path") for change in items_of(item, "changes")]
    shown = ", ".join(path for path in paths[:4] if path) or "files"
    return preview(shown + (f" and {len(paths) - 4} more" if len(paths) > 4 else ""))


def _todo(item: Message) -> str:
    return "; ".join(text for entry in items_of(item, "items", most=100) if (text := text_of(entry, "text")))


def _unless_done(item: Message) -> str:
    error = text_of(item, "error", "message") or text_of(item, "failure", "message")
    if error:
        return f" ({preview(error)})"
    status = text_of(item, "status", most=60)
    return f" ({status})" if status and status not in ("completed", "inProgress", "in_progress") else ""


def details(item: Message) -> Message:
    """Return what an event of it carries besides its words."""
    found: Message = {"itemId": id_of(item, "id") or None, "itemType": kind_of(item)}
    if kind_of(item) == "commandExecution":
        status = text_of(item, "status", most=60) or None
        found |= {"command": preview(command_of(item), 500), "exitCode": _exit_code(item), "status": status}
    if kind_of(item) == "mcpToolCall":
        found |= {name: text_of(item, name, most=80) or None for name in ("server", "tool")}
        found["error"] = text_of(item, "error", "message", most=500) or None
    return found
