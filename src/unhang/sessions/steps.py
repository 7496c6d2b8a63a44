"""Taking a step, only if at that moment everything is certain: the process, its status, its pane, its screen.

The machine's decision is a moment old. So each step looks again, and tmux itself sends the keys only if the pane is
still the one that was looked at.
"""

from __future__ import annotations

import os
import signal
import time

from unhang.core.plural import several
from unhang.core.record import Record
from unhang.procs import clock
from unhang.sessions import process_identity, process_trees
from unhang.sessions.claude import resume, status_file
from unhang.sessions.state import actions, facts, screen
from unhang.sessions.tmux import panes
from unhang.sessions.tmux.client import Address, PaneState, Tmux, TmuxError
from unhang.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.procs.base import ProcessInfo

_MOST_LINES = 40
_REDRAW = 2.0


class StepTarget(Record):
    """The session that a step is for, as the machine knew it."""

    pid: int
    start: str
    session_id: str
    config: str
    address: Address | None
    status: str | None  # None: it has no status file
    stamp: int
    transcript: str
    folder: str  # where the session's last state is kept


class StepRefused(Exception):
    """Why a step was not taken."""


def take(
    tmux: Tmux, action: actions.Take, target: StepTarget, hands_off: float, root: ProcessInfo | None
) -> facts.Done:
    """Take the step, or say why it was refused."""
    step = action.step
    try:
        saved = ""
        if step in (actions.END_TREE, actions.KILL_TREE):
            detail = _end_tree(target, step, root)
        else:
            detail, saved = _on_pane(tmux, action, target, hands_off)
    except (StepRefused, TmuxError) as refused:
        return facts.Done(step, sent=False, detail=str(refused))
    except OSError as error:  # a full disk: a step that needs its state saved is not taken
        return facts.Done(step, sent=False, detail=f"its state cannot be saved: {error.strerror or error}")
    return facts.Done(step, sent=True, detail=detail, saved=saved)


def _end_tree(target: StepTarget, step: str, root: ProcessInfo | None) -> str:
    if process_identity.alive(target.pid, target.start) is None:
        raise StepRefused("its process has ended")
    if root is None:
        raise StepRefused("it is not certain which processes are its own")
    reached = process_trees.end(root, signal.SIGKILL if step == actions.KILL_TREE else signal.SIGTERM)
    if not reached:
        raise StepRefused("its processes have ended")
    return several(len(reached), "process", "processes")


def _on_pane(tmux: Tmux, action: actions.Take, target: StepTarget, hands_off: float) -> tuple[str, str]:
    """Return what was done, and where the session's state was saved before."""
    address, step = target.address, action.step
    if address is None:
        raise StepRefused("no tmux pane is known for it")
    at_prompt = step in (actions.CLEAR, actions.CONTINUE)
    seen, shown = _look(tmux, target, hands_off, busy=not at_prompt)
    if step == actions.LEAVE_MODE:
        if not seen.in_mode:
            return "copy mode was left before", ""
        _send(tmux, address, seen, "-X", "cancel", in_mode=True)
        return "left", ""
    if seen.in_mode:
        raise StepRefused("the pane is in copy mode")
    if shown.kind != screen.PROMPT or shown.background or (shown.shell and not at_prompt):
        raise StepRefused("the screen shows no busy prompt")
    if step == actions.ESCAPE:
        _send(tmux, address, seen, "Escape")
        return "sent", ""
    if step == actions.CONTINUE:
        return _continue(tmux, address, target, hands_off, seen, shown, action.text), ""
    if step == actions.CLEAR:
        return _clear(tmux, address, target, hands_off, seen, shown)
    saved = save(target, seen, shown)
    done = resume.restart(tmux, address, target.pid, target.start, target.session_id, seen.pane_pid, target.folder)
    return done, saved


def _look(tmux: Tmux, target: StepTarget, hands_off: float, *, busy: bool) -> tuple[PaneState, screen.AgentScreen]:
    """Look again. Raises StepRefused if anything has changed, or a person is typing."""
    looked = panes.look(tmux, target.address, target.pid, target.start, hands_off)
    if looked.fact.refused or looked.seen is None:
        raise StepRefused(looked.fact.refused or "the pane cannot be seen")
    if looked.fact.human:
        raise StepRefused("a person is typing")
    if target.status is not None:
        # the last check before the keys: what a person or the agent has just done shows here first
        status = status_file.read(target.config, target.pid)
        wanted = facts.BUSY if busy else facts.IDLE
        if status is None or status.start != target.start:
            raise StepRefused("its status cannot be read")
        if status.status != wanted or (busy and status.stamp != target.stamp):
            raise StepRefused(f"it is {status.status} now")
        if status.session_id != target.session_id:
            raise StepRefused("it has another session now")
    return looked.seen, looked.fact.screen


def _send(tmux: Tmux, address: Address, seen: PaneState, *keys: str, in_mode: bool = False) -> None:
    if not tmux.send(address, seen.pane_pid, *keys, in_mode=in_mode):
        raise StepRefused("the pane has just changed")


def _clear(
    tmux: Tmux, address: Address, target: StepTarget, hands_off: float, seen: PaneState, shown: screen.AgentScreen
) -> tuple[str, str]:
    """Type `/clear` into the empty box of an idle prompt; the content of the box is saved first."""
    if shown.insert or _has_vim(target.config):
        raise StepRefused("in vim mode, /clear would act as vim commands")
    saved = save(target, seen, shown)
    for _ in range(min(_MOST_LINES, 2 * len(shown.draft.splitlines()))):
        if not shown.draft:
            break
        _send(tmux, address, seen, "C-u")
        seen, shown = _redrawn(tmux, target, hands_off, shown.draft)
    if shown.draft:
        raise StepRefused("the input box could not be emptied")
    _send(tmux, address, seen, "-l", "/clear")
    seen, shown = _redrawn(tmux, target, hands_off, "", "/clear")
    if shown.draft.strip() == "/clear":
        _send(tmux, address, seen, "Enter")
        return "typed", saved
    _send(tmux, address, seen, "C-u")
    raise StepRefused("the input box did not take /clear")


def _continue(
    tmux: Tmux,
    address: Address,
    target: StepTarget,
    hands_off: float,
    seen: PaneState,
    shown: screen.AgentScreen,
    text: str,
) -> str:
    """Send what Claude Code put back into the box; or, into an empty one, type the text and send it."""
    if shown.insert or _has_vim(target.config):
        raise StepRefused("in vim mode, a prompt would act as vim commands")
    if bool(shown.draft) == bool(text):
        raise StepRefused("the input box has changed")
    if text:
        _send(tmux, address, seen, "-l", text)
        seen, shown = _redrawn(tmux, target, hands_off, "", text)
        if "".join(shown.draft.split()) != "".join(text.split()):
            _send(tmux, address, seen, "C-u")
            raise StepRefused("the input box did not take the prompt")
    _send(tmux, address, seen, "Enter")
    return "sent"


def _redrawn(
    tmux: Tmux, target: StepTarget, hands_off: float, before: str, wanted: str | None = None
) -> tuple[PaneState, screen.AgentScreen]:
    """Wait until the box shows something else (or `wanted`): Claude Code redraws it later and gives no sign."""
    deadline = clock.monotonic() + _REDRAW
    while True:
        seen, shown = _look(tmux, target, hands_off, busy=False)
        done = shown.draft != before if wanted is None else "".join(shown.draft.split()) == "".join(wanted.split())
        if done or clock.monotonic() > deadline:
            return seen, shown
        time.sleep(0.05)


def _has_vim(config: str) -> bool:
    value = files.read_json(os.path.join(config, ".claude.json")) or {}
    return value.get("editorMode") == "vim"


def save(target: StepTarget, seen: PaneState, shown: screen.AgentScreen) -> str:
    """Save the session's last state beside its events, and return the file's path."""
    path = f"{target.folder}/saved-{clock.now().replace(':', '')}.json"
    files.write_json(
        path,
        {
            "sessionId": target.session_id,
            "pid": target.pid,
            "transcriptPath": target.transcript,
            "draft": shown.draft,
            "screen": panes.without_colours(seen.text),
            "ts": clock.now(),
        },
    )
    return path
