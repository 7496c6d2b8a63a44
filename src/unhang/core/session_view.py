"""What is known of a session that a person sits at, built from its recorded events (docs/events.md)."""

from __future__ import annotations

from unhang.core import mask, plain_text, values
from unhang.core.attention import APPROVAL, INPUT, STUCK, WARNING, Attention

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What a tool call is ended by, besides the end of its own: a new turn, or the end of one.
_TURN_ENDS = frozenset({"prompted", "idle", "failed", "ended", "starting", "tools_done"})
_ENDS = frozenset({"tool_done", "tool_failed", "denied"})
_STATES = frozenset({"idle", "busy", "waiting", "background", "unknown"})
_NAMESPACES = ("pidNamespace", "timeNamespace")
_MOST_CALLS = 50
_KEPT_STEPS = 50
_LINE = 200


class SessionView:
    """What the events so far say of a session. Only `apply` changes it."""

    def __init__(self) -> None:
        self.seq = 0
        self.phase = "unknown"
        self.cwd = ""
        self.pid: int | None = None
        self.start: str | None = None
        self.boot: str | None = None
        self.namespaces: dict[str, str] = {}  # in which the pid and its start time mean something
        self.pane: str | None = None
        self.started_at: str | None = None
        self.last_activity_at: str | None = None
        self.ended_at: str | None = None
        self.calls: dict[str, dict[str, Any]] = {}
        self.steps: list[dict[str, Any]] = []  # what the watcher saw and did
        self.doing = ""
        self._needs: Attention | None = None

    def apply(self, event: dict[str, Any]) -> None:
        """Take one more event into account."""
        self.seq = max(self.seq, values.whole(event.get("seq")) or 0)
        at = values.text(event.get("ts")) or ""
        self.started_at = self.started_at or at
        self.cwd = values.text(event.get("cwd")) or self.cwd
        if values.pid(event.get("pid")) is not None:
            self.pid = event["pid"]
        phase = str(event.get("phase") or "")
        if event.get("type") == "hook":
            self.start = values.text(event.get("procStart")) or self.start
            self.boot = values.text(event.get("boot")) or self.boot
            self.namespaces |= {name: found for name in _NAMESPACES if (found := values.text(event.get(name)))}
            self.pane = values.text(event.get("pane")) or self.pane
            self.last_activity_at = at
            self._hook(phase, event, at)
        elif event.get("type") == "watch":
            self._watch(phase, event, at)

    def _hook(self, phase: str, event: dict[str, Any], at: str) -> None:
        self.ended_at = at if phase == "ended" else None
        if phase != "notice":
            self._needs = None
        call = values.text(event.get("toolUseId"))
        if phase == "tool" and call and len(self.calls) < _MOST_CALLS:
            self.calls[call] = {"what": _said(event), "since": at}
        elif phase in _ENDS and call:
            self.calls.pop(call, None)
        elif phase in _TURN_ENDS and not event.get("agentId"):
            self.calls.clear()
        if phase == "waiting":
            self._needs = self._of(APPROVAL, _said(event), at)
        elif phase == "notice" and event.get("notificationType") in ("idle_prompt", "elicitation_dialog"):
            self._needs = self._of(INPUT, _said(event), at)
        if phase in ("tool", "prompted", "compacting", "agent", *_ENDS):
            self.phase = "busy"
        elif phase in ("idle", "failed", "starting"):
            self.phase = "idle"
        elif phase in ("waiting", "ended"):
            self.phase = phase
        self.doing = _said(event) if phase != "notice" else self.doing

    def _watch(self, phase: str, event: dict[str, Any], at: str) -> None:
        if phase in _STATES:
            self.phase = phase
            if phase != "waiting" and self._needs is not None and self._needs.kind == APPROVAL:
                self._needs = None
            return
        self.steps.append({"at": at, "phase": phase, "message": _said(event), "step": event.get("step")})
        del self.steps[:-_KEPT_STEPS]
        if phase == "warning":
            self._needs = self._of(WARNING, _said(event), at)
        elif phase in ("hung", "gave_up"):
            self._needs = self._of(STUCK, _said(event), at)
        elif phase in ("recovered", "extended", "restored"):
            self._needs = None
        elif phase == "gone":
            self.phase, self.ended_at, self._needs = "gone", at, None
            self.calls.clear()

    def _of(self, kind: str, why: str, at: str) -> Attention:
        where = f"tmux switch-client -t '{self.pane}'" if self.pane and self.pane.lstrip("%").isdigit() else ""
        return Attention(kind, why, at, where)

    def state(self) -> dict[str, Any]:
        """Return what `core.overview.session_entry` makes an entry of."""
        ended = self.ended_at is not None
        return {
            "title": self.cwd.rstrip("/").rpartition("/")[2] or "session",
            "cwd": self.cwd,
            "phase": self.phase,
            "pid": self.pid,
            "startedAt": self.started_at,
            "lastActivityAt": self.last_activity_at,
            "endedAt": self.ended_at,
            "seq": self.seq,
            "attention": None if ended or self._needs is None else self._needs.to_json(),
            "doing": "" if ended else self.doing,
            "calls": [] if ended else [{"id": call, **known} for call, known in self.calls.items()],
        }


def _said(event: dict[str, Any]) -> str:
    # a command that waits for approval is shown with nothing left out: `one_line` alone would drop an escape sequence
    text = mask.line(str(event.get("message") or ""))
    return plain_text.one_line(plain_text.visible(" ".join(text.split())), _LINE)
