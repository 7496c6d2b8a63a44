"""A look at the pane of a session, as a fact: what it shows, or why nothing may be sent to it."""

from __future__ import annotations

import os
import re

from unhang.core.record import Record
from unhang.procs import clock, identity
from unhang.sessions import process_identity
from unhang.sessions.state import facts, screen
from unhang.sessions.tmux.client import Address, PaneState, Tmux, TmuxError

# The kernel notes when a terminal was last read, but not more often than every eight seconds.
_GRAIN = 8.0
# A key that unhang sends is read within this time.
_KEY = 2.0
SYNCHRONIZED = "synchronize-panes is on in its window, so a key would reach the panes beside it"


class PaneLook(Record):
    """The fact, and what tmux said."""

    fact: facts.Pane
    seen: PaneState | None = None


def look(tmux: Tmux, address: Address | None, pid: int, start: str, hands_off: float) -> PaneLook:
    """Look at the pane now."""
    if address is None:
        return PaneLook(facts.Pane(refused="no tmux pane is known for it", final=True))
    try:
        seen = tmux.look(address)
    except TmuxError as error:
        return PaneLook(facts.Pane(refused=str(error)))
    refused = _doubt(address, seen, pid, start)
    if refused:
        return PaneLook(facts.Pane(refused=refused, synchronized=seen.synchronized), seen)
    human = _human(seen, clock.wall(), hands_off, tmux.sent_at(address))
    return PaneLook(facts.Pane(in_mode=seen.in_mode, human=human, screen=screen.read(seen.text)), seen)


def _doubt(address: Address, seen: PaneState, pid: int, start: str) -> str:
    """Why this pane may not be the session's; empty: it is."""
    if seen.server != address.server:
        return "another tmux server uses its socket"
    if seen.pane != address.pane or seen.dead:
        return "its pane is dead"
    found = process_identity.alive(pid, start)
    if found is None:
        return "its process has ended"
    if not identity.is_below(pid, seen.pane_pid):
        return "its pane belongs to another process now"
    if not process_identity.is_terminal(found, seen.tty):
        return "its terminal is not that of its pane"
    if found.state in "Tt":
        return "it is stopped"
    if found.foreground != found.group:
        return "it is not in the foreground of its pane"
    return SYNCHRONIZED if seen.synchronized else ""


def _human(seen: PaneState, wall: float, hands_off: float, sent: float) -> bool:
    """Whether a person has just pressed a key at a client that shows this pane, or may have done so in control mode.

    A client in control mode (iTerm2) types by commands, which are no activity of it. There the terminal itself tells
    when its program last read a key; a key that unhang has sent does not count.
    """
    if any(pane == seen.pane and wall - at < hands_off for at, pane in seen.clients):
        return True
    read = _last_read(seen.tty) if seen.control else 0.0
    return read > sent + _KEY and wall - read < hands_off + _GRAIN


def _last_read(tty: str) -> float:
    try:
        return os.stat(tty).st_atime
    except OSError:
        return 0.0


def without_colours(text: str) -> str:
    """Return the pane's text without its colours."""
    return re.sub(r"\x1b\[[0-9;:]*m", "", text)
