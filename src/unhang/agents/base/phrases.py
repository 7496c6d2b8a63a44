"""Messages of an agent that need no state: the phase of each, whether it is a sign of life, its text. Pure."""

from __future__ import annotations

from unhang.agents.base.update import AgentUpdate, preview
from unhang.core.values import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from unhang.core.values import Message

    # phase (None: whatever the agent was doing), sign of life, the text or how it is made
    Phrase = tuple[str | None, bool, str | Callable[[Message], str]]


def labelled(label: str, *names: str) -> Callable[[Message], str]:
    """Return a text: the label, and the first of these fields that is a text."""

    def text(message: Message) -> str:
        found = next((text_of(message, name) for name in names if text_of(message, name)), "")
        return f"{label}: {preview(found)}" if found else f"{label}."

    return text


def update_of(phrase: Phrase, message: Message, method: str, current: str) -> AgentUpdate:
    """Return what a message means. `current`: the phase of now. Without a text there is nothing to record."""
    phase, alive, words = phrase
    text = words if isinstance(words, str) else words(message)
    return AgentUpdate(phase or current, text, method, alive) if text else AgentUpdate(alive=alive)
