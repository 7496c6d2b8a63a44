"""The clocks of a conversation between an editor and its agent, kept by the proxy between them. Pure: told the time.

A *turn* is a `session/prompt` that has not been answered. Its silence counts from the last progress: an update that
says something, a request of the agent's, an answer to one. An empty text says nothing, nor does a tool call or a plan
that is told again as it was. While the agent waits for the editor (a permission, a file) the clocks stand: that is a
person's time. While a tool is in flight, its limit runs instead of the idle one.

    stall   say so in the turn's own stream, once
    idle    cancel the turn (`tool`: while a tool is in flight)
    hard    cancel the turn, whatever it does
    repeat  cancel a turn that talks, and has said nothing new for this long
    start   an `initialize` that is not answered by then is answered by us, with an error
    grace   a cancelled turn that is not answered by then is answered by us, and the agent's late answer is dropped
"""

from __future__ import annotations

from unhang.acp.proxy.messages import Notice, answer, cancel, error, key_of, limit_text, notice, stall_text, title_of
from unhang.agents.base.update import mark_of
from unhang.core.durations import human
from unhang.core.record import Record
from unhang.core.tool_start import tool_began
from unhang.core.values import id_of, mapping_of, mappings_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]

PROMPT, CANCEL, INITIALIZE = "session/prompt", "session/cancel", "initialize"
PERMISSION = "session/request_permission"
_CHUNKS = frozenset({"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"})
CANCEL_REQUEST, REQUEST_CANCELLED = "$/cancel_request", -32800
# Says that a session is there, or what it costs; not that anything moves.
_NO_PROGRESS = frozenset(
    {
        "available_commands_update",
        "config_option_update",
        "current_mode_update",
        "session_info_update",
        "usage_update",
    }
)
_TOOL_OVER = frozenset({"completed", "failed", "cancelled"})
# More of these at once are an end that loses count: requests past it are passed on and not watched, and of tools,
# questions and answers that are no longer wanted the oldest are forgotten.
_MOST = 2000
# So many different words: what comes back within them is a repetition.
_RECENT = 200


class TurnLimits(Record):
    """The limits of a turn in seconds; None: off."""

    stall: float | None = 60.0
    idle: float | None = 600.0
    tool: float | None = 1800.0
    hard: float | None = None
    repeat: float | None = 3600.0
    start: float | None = 300.0
    grace: float = 10.0


class OpenRequest:
    """A request of the editor that the agent has not answered, with its clocks."""

    def __init__(self, id: Any, method: str, session: str, now: float) -> None:
        self.id = id
        self.method = method
        self.session = session
        self.since = now
        self.moved = now  # the last progress
        self.tools: dict[str, tuple[str, float]] = {}  # in flight: title, since
        self.commands: set[str] = set()  # terminal/* requests of the agent's that wait for a command
        self.asked: set[str] = set()  # what the agent waits for from the editor
        self.renewed = now  # when it last said something that it had not just said
        self._said: dict[int, None] = {}  # marks of what it said last, the oldest first
        self._last: dict[str, int] = {}  # tool call, or the plan → the mark of the last word about it
        self.stood = 0.0  # how long it did, in all
        self.stands_since: float | None = None
        self.stalled = False
        self.cancelled: float | None = None
        self.cancelled_by_request = False

    def repeats(self, about: str, mark: int) -> bool:
        """Return whether this is the last word about a tool call or the plan once more; it is remembered."""
        same = self._last.pop(about, None) == mark
        self._last[about] = mark
        if len(self._last) > _MOST:
            del self._last[next(iter(self._last))]
        return same

    def name_tool(self, tool: str, call: Message, now: float) -> None:
        """Note a call that is in flight. Most agents announce it by a kind, and say later what it runs."""
        name, since = self.tools.get(tool, ("", now))
        self.tools[tool] = title_of(call, name), since
        if len(self.tools) > _MOST:
            del self.tools[next(iter(self.tools))]

    def heard(self, mark: int, now: float) -> None:
        """Note something that may have been said before."""
        if self._said.pop(mark, 0) == 0:
            self.renewed = now
        self._said[mark] = None
        if len(self._said) > _RECENT:
            del self._said[next(iter(self._said))]

    @property
    def busy(self) -> bool:
        """Return whether a tool call or a command runs, so that its limit holds instead of the idle limit."""
        return bool(self.tools or self.commands)


class DueLines(Record):
    """The lines to insert towards the editor and the agent; `stalled` names the sessions to diagnose."""

    editor: list[bytes]
    agent: list[bytes]
    stalled: list[str]


class Conversation:
    """The open requests of one editor and its agent, with their clocks."""

    def __init__(self, clocks: TurnLimits, notices: Notice = Notice.THOUGHT) -> None:
        self.clocks = clocks
        self.notices = notices
        self._open: dict[str, OpenRequest] = {}
        self._asked: dict[str, list[OpenRequest]] = {}  # the agent's requests: the turns they belong to
        self._permissions: dict[str, Message] = {}  # the agent's open questions: their parameters
        self._given_up: dict[str, None] = {}
        self.progress = 0  # how often a turn has moved or ended
        self._ended_by: dict[str, str] = {}  # session → the limit that its last turn was cancelled by, in words
        self._unheard = False  # of a later protocol: a prompt's answer does not end its turn there

    # --- what is said ---------------------------------------------------------------------------------------

    def editor_said(self, message: Any, now: float) -> None:
        """Take in a message of the editor."""
        if not isinstance(message, dict):
            return
        method, params = message.get("method"), mapping_of(message, "params")
        key = key_of(message.get("id"))
        if method is None:
            self._note_permission(key, message, now)
            self._answered_by_editor(key, now)
        elif "id" in message:
            self._asked_by_editor(key, message["id"], text_of(method, most=200), params, now)
        elif method == CANCEL:
            for turn in self._turns(text_of(params, "sessionId")):
                turn.cancelled = turn.cancelled or now
        elif method == CANCEL_REQUEST:
            asked = self._open.get(key_of(params.get("requestId", params.get("id"))) or "")
            if asked is not None and asked.cancelled is None:
                asked.cancelled, asked.cancelled_by_request = now, True

    def _asked_by_editor(self, key: str | None, id: Any, method: str, params: Message, now: float) -> None:
        session = text_of(params, "sessionId")
        for turn in self._turns(session) if method == PROMPT else []:
            self._moved(turn, now)  # the agent has got something to do; a cancel would be for all of them
        if key is None:
            return
        self._given_up.pop(key, None)
        if method == PROMPT:
            self._ended_by.pop(session, None)
        if len(self._open) < _MOST or key in self._open:
            self._open[key] = OpenRequest(id, method, session, now)

    def agent_said(self, message: Any, now: float) -> None:
        """Take in a message of the agent."""
        if not isinstance(message, dict):
            return
        method, params = message.get("method"), mapping_of(message, "params")
        if method is None:
            self._answered_by_agent(message)
        elif "id" in message:
            self._asked_by_agent(key_of(message["id"]), text_of(method, most=200), params, now)
        elif method == "session/update":
            update = params.get("update")
            if isinstance(update, dict):
                for turn in self._turns(text_of(params, "sessionId")):
                    self._update(turn, update, now)

    def agent_spoke(self, session: str, now: float, marks: list[int] | None = None) -> None:
        """Count further chunks of text in this session as progress; `marks` tell them from each other."""
        for turn in self._turns(session):
            for mark in marks or ():
                turn.heard(mark, now)
            self._moved(turn, now, new=marks is None)

    def agent_moved(self, now: float) -> None:
        """Count a line that was too long to be read as progress of every turn."""
        for turn in self._open.values():
            self._moved(turn, now)

    def is_late(self, message: Any) -> bool:
        """Return whether this answers a request that unhang has already answered: then it must be dropped."""
        if not self._given_up or not isinstance(message, dict) or "method" in message:
            return False
        key = key_of(message.get("id"))
        if key is None or key not in self._given_up:
            return False
        del self._given_up[key]
        return True

    def is_cancelled_unasked(self, message: Any) -> bool:
        """Return whether this ends a turn as cancelled that neither the editor nor unhang has cancelled.

        Some agents answer so when they are ended themselves; others after a permission that was refused.
        """
        if not isinstance(message, dict) or "method" in message:
            return False
        if text_of(message, "result", "stopReason", most=60) != "cancelled":
            return False
        asked = self._open.get(key_of(message.get("id")) or "")
        return asked is not None and asked.method == PROMPT and asked.cancelled is None

    @property
    def expects_late(self) -> bool:
        """Return whether an answer of the agent may come for a request that unhang has already answered."""
        return bool(self._given_up)

    def _turns(self, session: str) -> list[OpenRequest]:
        return [turn for turn in self._open.values() if turn.method == PROMPT and turn.session == session]

    def _update(self, turn: OpenRequest, update: Message, now: float) -> None:
        kind = text_of(update, "sessionUpdate", most=120)
        if kind in _NO_PROGRESS:
            return
        if kind in _CHUNKS and text_of(update, "content", "type") == "text" and not text_of(update, "content", "text"):
            return
        mark = mark_of(update)
        tool = id_of(update, "toolCallId")
        if kind in ("tool_call", "tool_call_update") and tool:
            if turn.repeats(tool, mark):
                return
            if text_of(update, "status", most=60) in _TOOL_OVER:
                turn.tools.pop(tool, None)
            else:
                turn.name_tool(tool, update, now)
        elif kind in ("plan", "plan_update") and turn.repeats(kind, mark):
            return
        turn.heard(mark, now)
        self._moved(turn, now, new=False)

    def _moved(self, turn: OpenRequest, now: float, *, new: bool = True) -> None:
        """Progress. `new` False: it may be what was said before."""
        turn.moved = now
        turn.stalled = False
        self.progress += 1
        if new:
            turn.renewed = now

    def _asked_by_agent(self, key: str | None, method: str, params: Message, now: float) -> None:
        turns = self._turns(text_of(params, "sessionId"))
        for turn in turns:
            self._moved(turn, now)
        if key is None:
            return
        self._answered_by_editor(key, now)  # one that has the same id: no answer could be told from this one's
        self._asked[key] = turns
        if method == PERMISSION:
            self._permissions[key] = params
        if len(self._asked) > _MOST:
            self._answered_by_editor(next(iter(self._asked)), now)
        for turn in turns:
            if method.startswith("terminal/"):
                turn.commands.add(key)
            else:
                turn.asked.add(key)
                if turn.stands_since is None:
                    turn.stands_since = now

    def _note_permission(self, key: str | None, message: Message, now: float) -> None:
        """A call that may run is in flight from now on: some agents say nothing else of it before it is over."""
        params = self._permissions.get(key or "")
        if params is None:
            return
        call = mapping_of(params, "toolCall")
        chosen = text_of(message, "result", "outcome", "optionId")
        kinds = {text_of(one, "optionId"): text_of(one, "kind", most=60) for one in mappings_of(params, "options")}
        tool = id_of(call, "toolCallId")
        if not tool or not chosen or kinds.get(chosen, "").startswith("reject"):
            return
        for turn in self._asked.get(key or "", []):
            turn.name_tool(tool, call, now)

    def _answered_by_editor(self, key: str | None, now: float) -> None:
        self._permissions.pop(key or "", None)
        for turn in self._asked.pop(key or "", []):
            turn.commands.discard(key)
            turn.asked.discard(key)
            self._moved(turn, now)
            if not turn.asked and turn.stands_since is not None:
                turn.stood += now - turn.stands_since
                turn.stands_since = None

    def answered_by_us(self, id: Any, now: float) -> None:
        """Record that a `terminal/*` request of the agent was answered here, without the editor."""
        self._answered_by_editor(key_of(id), now)

    def _answered_by_agent(self, message: Message) -> None:
        done = self._open.pop(key_of(message.get("id")) or "", None)
        self.progress += done is not None and done.method == PROMPT
        result = message.get("result")
        if done is not None and done.method == INITIALIZE and isinstance(result, dict):
            version = result.get("protocolVersion")
            self._unheard = isinstance(version, int) and version > 1

    def away(self, seconds: float) -> None:
        """Move every clock by this time, in which the proxy did not run: it was no silence of the agent."""
        for turn in self._open.values():
            turn.since += seconds
            turn.moved += seconds
            turn.renewed += seconds
            if turn.stands_since is not None:
                turn.stands_since += seconds
            if turn.cancelled is not None:
                turn.cancelled += seconds

    # --- judging --------------------------------------------------------------------------------------------

    def _watched(self) -> list[OpenRequest]:
        if self._unheard:
            return []
        return [turn for turn in self._open.values() if turn.method in (PROMPT, INITIALIZE)]

    def _dues(self, turn: OpenRequest) -> dict[str, float]:
        """What will happen to it, and when, if nothing else does."""
        if turn.cancelled is not None:
            return {"give up": turn.cancelled + self.clocks.grace}
        if turn.method == INITIALIZE:
            return {} if self.clocks.start is None else {"idle": turn.since + self.clocks.start}
        if turn.stands_since is not None:
            return {}
        idle = self.clocks.tool if turn.busy else self.clocks.idle
        stall = self.clocks.stall
        if stall is not None and turn.busy and self.clocks.tool is not None:
            stall = max(stall, self.clocks.tool / 4)  # a tool may well be quiet for a while
        dues: dict[str, float] = {}
        if stall is not None and not turn.stalled:
            dues["stall"] = turn.moved + stall
        if idle is not None:
            dues["idle"] = turn.moved + idle
        if self.clocks.hard is not None:
            dues["hard"] = turn.since + turn.stood + self.clocks.hard
        if self.clocks.repeat is not None and turn.moved > turn.renewed:
            dues["repeat"] = turn.renewed + self.clocks.repeat
        return dues

    def deadline(self) -> float | None:
        """Return when `judge` must be called next."""
        return min((due for turn in self._watched() for due in self._dues(turn).values()), default=None)

    def judge(self, now: float) -> DueLines:
        """Return what is due now; call it only after every message that was readable has been taken in."""
        told = DueLines([], [], [])
        for turn in self._watched():
            # asked for anew each time: cancelling one may have cancelled the next
            due = {name for name, at in self._dues(turn).items() if at <= now}
            if "give up" in due:
                self._give_up(turn, told)
            elif limits := [name for name in ("hard", "idle", "repeat") if name in due]:
                self._cancel(turn, limits[0], now, told)
            elif "stall" in due:
                turn.stalled = True
                told.stalled.append(turn.session)
        return told

    def _cancel(self, turn: OpenRequest, limit: str, now: float, told: DueLines) -> None:
        turn.cancelled = now
        if turn.method == INITIALIZE:  # nothing to be cancelled: it does not even know us yet
            text = f"the agent has not answered {INITIALIZE} for {human(now - turn.since)}"
            self._close(turn, told, error(turn.id, text))
            return
        length = {"hard": now - turn.since - turn.stood, "repeat": now - turn.renewed}.get(limit, now - turn.moved)
        idle = self.clocks.tool if turn.busy else self.clocks.idle
        set_to = {"hard": self.clocks.hard, "repeat": self.clocks.repeat}.get(limit, idle)
        because = limit, length, set_to or 0.0, [title for title, _ in turn.tools.values()]
        text = limit_text(*because)
        told.editor.append(notice(turn.session, text, Notice.MESSAGE))  # a cancelled turn is explained in any case
        self._ended_by[turn.session] = limit_text(*because, over=True)
        if len(self._ended_by) > _MOST:
            del self._ended_by[next(iter(self._ended_by))]
        told.agent.append(cancel(turn.session))
        for other in self._turns(turn.session):  # it is the session that is cancelled, once
            other.cancelled = other.cancelled or now

    def _give_up(self, turn: OpenRequest, told: DueLines) -> None:
        if turn.cancelled_by_request:
            line = error(turn.id, "the agent did not answer its cancellation", REQUEST_CANCELLED)
        else:
            line = answer(turn.id, {"stopReason": "cancelled"})
        self._close(turn, told, line)

    def _close(self, turn: OpenRequest, told: DueLines, line: bytes) -> None:
        key = key_of(turn.id) or ""
        self._open.pop(key, None)
        self.progress += 1
        self._given_up[key] = None
        if len(self._given_up) > _MOST:
            del self._given_up[next(iter(self._given_up))]
        told.editor.append(line)

    def forget(self) -> None:
        """Stop watching every open request; its answers pass unchanged."""
        self.progress += 1
        self._open.clear()
        self._asked.clear()
        self._permissions.clear()

    def _stalled(self, session: str) -> list[OpenRequest]:
        return [turn for turn in self._turns(session) if turn.stalled and turn.cancelled is None]

    def stall(self, session: str, now: float) -> tuple[float, str] | None:
        """Return how long a turn that stalls has been silent, and the tool that runs, if any; None: it is over."""
        for turn in self._stalled(session):
            return now - turn.moved, next((title for title, _ in turn.tools.values()), "")
        return None

    def stall_line(self, session: str, why: str, now: float) -> bytes | None:
        """Return the line that tells the editor of a stall that has been diagnosed; None: it is over, or not told."""
        for turn in self._stalled(session) if self.notices is not Notice.OFF else []:
            dues = self._dues(turn)
            left = min((dues[name] - now for name in ("idle", "hard") if name in dues), default=None)
            tool = next(((title, now - since) for title, since in turn.tools.values()), None)
            return notice(session, stall_text(now - turn.moved, tool, why, left), self.notices)
        return None

    def how_it_went(self, session: str) -> str:
        """Return what became of a turn of this session that stalled, in one sentence."""
        if any(turn.cancelled is None for turn in self._turns(session)):
            return "The turn goes on."
        return self._ended_by.pop(session, "The turn is over.")

    def busy_for(self, session: str, now: float) -> float | None:
        """Return for how many seconds a tool call or a command of this session may have run; None: none does."""
        busy = [turn for turn in self._turns(session) if turn.busy]
        if not busy:
            return None
        said = min((since for turn in busy for _, since in turn.tools.values()), default=now)
        return now - tool_began(said, min(turn.since for turn in busy))

    def died(self, how: str) -> list[bytes]:
        """Return an error for every open request: the agent has ended."""
        lines = [error(request.id, how) for request in self._open.values()]
        self._open.clear()
        return lines
