"""Between an editor and its agent: every byte goes through as it came, and the clocks are kept on the way.

    editor ── stdin ───> Lines ──> agent's stdin       (a pipe of ours)
    editor <── stdout ── Lines <── agent's stdout      (by way of the keeper of its job, which relays to a pipe of ours)

One thread, one poll. A line is passed on first and read afterwards; it is read before only where the proxy must decide
whether it is the addressee. Lines of unhang are inserted between whole lines. Facts come before the clock: a turn is
judged only when nothing is left to be read.
"""

from __future__ import annotations

import os
import select
import time
from functools import partial

from unhang.acp.proxy.messages import (
    chunk_of,
    is_empty_chunk,
    key_of,
    may_be_cancelled,
    names_terminals,
    opens_or_closes,
    with_terminals,
)
from unhang.acp.proxy.sink import Sink
from unhang.acp.proxy.thread_results import ThreadResults, look_at
from unhang.acp.proxy.turn_clocks import INITIALIZE, Conversation, DueLines
from unhang.agents.base.update import preview
from unhang.core.lines import Lines
from unhang.core.values import integer_of, text_of
from unhang.core.values import parse_message as value_of
from unhang.jobs.client_process import hung_up
from unhang.procs import identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from unhang.acp.proxy.terminals import ThreadedTerminals
    from unhang.core.diagnosis.verdict import Diagnosis
    from unhang.jobs.connection import JobConnection

_CHUNK = 1 << 18
# Woken this much later than asked for, the proxy did not run (stopped, starved): that was no silence of the agent.
_LATE = 2.0
# An agent that never stops talking cannot put its judgement off for longer than this.
_PATIENCE = 0.25
_COMPLAINTS = 5
_LAST_WORDS = 400


class Direction:
    """Forwards lines one way, unchanged, and inserts lines of unhang between them."""

    def __init__(self, sink: Sink) -> None:
        self.lines = Lines()
        self.sink = sink
        self._ours: list[bytes] = []
        self._at_start = True  # of a line, as far as the reader has seen

    def forward(self, data: bytes) -> None:
        """Pass bytes on; the lines of `say` that wait follow as soon as a line is complete."""
        if data:
            self.sink.offer(data)
            self._at_start = data.endswith(b"\n")
        if self._ours and self._at_start:
            self.sink.offer(b"".join(self._ours))
            self._ours.clear()

    def say(self, line: bytes) -> None:
        """Insert a line of unhang's at the next end of a line."""
        self._ours.append(line)
        self.forward(b"")

    def last_words(self, lines: list[bytes]) -> None:
        """Pass on what is held, end an unfinished line, and add these lines: no more input will come."""
        self.forward(self.lines.flush())
        if lines and not self._at_start:
            self.forward(b"\n")
        for line in lines:
            self.say(line)


class Proxy:
    """Forwards between an editor and its agent, keeps the clocks of its turns, and ends with the agent.

    `terminals`: options of the terminals that it offers to the agent; None: it offers none.
    """

    def __init__(
        self,
        connection: JobConnection,
        conversation: Conversation,
        *,
        agent_in: int,
        agent_out: int,
        signals: int,
        terminals: dict[str, Any] | None = None,
        agent: str = "the agent",
        editor_in: int = 0,
        editor_out: int = 1,
    ) -> None:
        self._connection = connection
        self._agent = agent
        self._conversation = conversation
        self._to_agent = Direction(Sink(agent_in, own=True))
        self._to_editor = Direction(Sink(editor_out, own=False))
        self._from_agent, self._from_editor = agent_out, editor_in
        self._signals = signals
        self._thread_results = ThreadResults()
        self._terminals = None if terminals is None else self._with_terminals(terminals)
        self._editor_open = self._agent_open = self._owned = True
        self._end_at: float | None = None  # the editor has closed its side: the agent shall be gone by then
        self._told_of_its_death = False
        self._blocked_since: float | None = None
        # the progress up to then, since when there was none, and the session
        self._stall_told: tuple[int, float, str] | None = None
        self._complaints = 0

    def _with_terminals(self, options: dict[str, Any]) -> ThreadedTerminals:
        from unhang.acp.proxy.terminals import ThreadedTerminals

        return ThreadedTerminals(options, self._thread_results, self._terminal_answered)

    # --- forwarding -----------------------------------------------------------------------------------------

    def _editor_wrote(self, chunk: bytes, now: float) -> None:
        rest, lines = self._to_agent.lines.feed(chunk)
        to_read: list[bytes | Any] = lines
        if self._terminals is not None and opens_or_closes(lines):
            to_read = [message if (message := parse_line(line)) is not None else line for line in lines]
            lines = [self._offering(message, line) for message, line in zip(to_read, lines, strict=True)]
        if rest:
            self._to_agent.forward(rest)
        self._to_agent.forward(b"".join(lines))
        for said in to_read:
            message = parse_line(said) if isinstance(said, bytes) else said
            self._surely(partial(self._conversation.editor_said, message, now))

    def _offering(self, message: Any, line: bytes) -> bytes:
        """With --terminals: the one line that is changed on its way, and the end of a session noticed."""
        if not isinstance(message, dict) or self._terminals is None:
            return line
        if message.get("method") == INITIALIZE and "id" in message:
            return with_terminals(message) or line
        if message.get("method") == "session/close":
            self._terminals.end_session(text_of(message, "params", "sessionId"))
        return line

    def _agent_wrote(self, chunk: bytes, now: float) -> None:
        rest, lines = self._to_editor.lines.feed(chunk)
        if rest or self._to_editor.lines.streaming:
            self._conversation.agent_moved(now)
        if rest:  # by itself: behind it we may speak again
            self._to_editor.forward(rest)
        to_read = self._conversation.expects_late or may_be_cancelled(lines)
        if not to_read and not (self._terminals is not None and names_terminals(lines)):
            self._to_editor.forward(b"".join(lines))
            self._listen_to_agent(lines, now)
            return
        for line in lines:
            message = parse_line(line)
            if self._conversation.is_late(message):
                continue
            if self._conversation.is_cancelled_unasked(message) and self._agent_ends():
                continue  # its end says why, and answers the turn
            self._surely(partial(self._conversation.agent_said, message, now))
            if not self._is_for_us(message):
                self._to_editor.forward(line)

    def _agent_ends(self) -> bool:
        """Whether the agent's first process has ended, or is being ended, though a child of it still speaks."""
        from unhang.errors import UnhangError
        from unhang.jobs.handle import Job

        job = Job(self._connection.place)
        try:
            view = job.view()
            if view.ended or view.phase == "stopping":
                return True
            if view.pid is None or not identity.sees_own_namespace():
                return False
            leader = identity.find(view.pid)
            return leader is None or leader.is_dead or leader.ppid != integer_of(job.spec, "keeper", "pid")
        except (UnhangError, OSError):
            return False

    def _listen_to_agent(self, lines: list[bytes], now: float) -> None:
        start, session = b"\0", ""
        marks: list[int] = []
        for line in lines:
            if line.startswith(start):  # a few words more, from the same session and at the same time
                if not is_empty_chunk(line):
                    marks.append(hash(line))
                continue
            self._surely(partial(self._tell_words, session, marks, now))
            start, session, marks = b"\0", "", []
            chunk = chunk_of(line)
            if chunk is None:
                self._surely(partial(self._conversation.agent_said, parse_line(line), now))
            else:
                session, start = chunk
                marks = [] if is_empty_chunk(line) else [hash(line)]
        self._surely(partial(self._tell_words, session, marks, now))

    def _tell_words(self, session: str, marks: list[int], now: float) -> None:
        if marks:
            self._conversation.agent_spoke(session, now, marks)

    def _is_for_us(self, message: Any) -> bool:
        """With --terminals: answered here, not by the editor."""
        if self._terminals is None or not isinstance(message, dict):
            return False
        method = message.get("method")
        if not isinstance(method, str) or not method.startswith("terminal/") or key_of(message.get("id")) is None:
            return False
        self._terminals.ask(message["id"], method, message.get("params"))
        return True

    def _terminal_answered(self, id: Any, line: bytes) -> None:
        self._conversation.answered_by_us(id, time.monotonic())
        self._to_agent.say(line)

    def _surely(self, work: Callable[[], None]) -> bool:
        """A message that our own clocks stumble over has gone through already, and the conversation goes on."""
        try:
            work()
        except Exception as error:
            self._complaints += 1
            if self._complaints <= _COMPLAINTS:
                what = preview(f"{type(error).__name__}: {error}")
                complain(f"unhang: a message could not be understood ({what}); it was passed on as it came")
            return False
        return True

    # --- the loop -------------------------------------------------------------------------------------------

    def run(self) -> dict[str, Any]:
        """Forward until the agent has ended and all its output is passed on; return the last event of its job."""
        while self._agent_open:
            self._turn()
        if self._owned:
            self._connection.wait_until_closed()
        last = self._connection.outcome() or {}
        self._to_editor.last_words(self._conversation.died(self._how_it_died(last)))
        self._drain_to_editor()
        if self._terminals is not None:
            self._terminals.close()
        self._connection.wait_for_guard()
        return last

    def _how_it_died(self, last: dict[str, Any]) -> str:
        """Who, in which job, how, and what it said last to people."""
        from unhang.jobs.handle import Job

        place = self._connection.place
        text = f"{self._agent} (job {place.id}) has ended: {last.get('message') or 'the agent is gone'}"
        words = preview(Job(place).tail("stderr", _LAST_WORDS).strip()[-_LAST_WORDS:], _LAST_WORDS)
        return f"{text}; its last words on stderr: {words}" if words else text

    def _turn(self) -> None:
        poll = select.poll()
        handlers: dict[int, Callable[[float], None]] = {}
        self._watch(poll, handlers)
        began = time.monotonic()
        self._note_a_slow_reader(began)
        # while the editor does not take what we have, what the agent says is not heard: no time to judge it
        deadline = self._conversation.deadline() if self._blocked_since is None else None
        due = min((at for at in (deadline, self._end_at) if at is not None), default=None)
        timeout = None if due is None else max(0.0, due - began)
        waits = [wait for wait in (timeout, self._connection.patience()) if wait is not None]
        ready = poll.poll(min(waits) * 1000 + 1 if waits else None)
        now = time.monotonic()
        self._connection.insist()  # a keeper that does not answer is done without
        if timeout is not None and now - began > timeout + _LATE:
            self._conversation.away(now - began - timeout)
        for fd, _ in ready:
            handlers[fd](now)
        self._tell_progress(now)
        if self._to_editor.sink.broken and not self._told_of_its_death:
            self._told_of_its_death = True
            self._connection.cancel("the death of the editor")
        if due is not None and now >= due and (now > due + _PATIENCE or not self._more_to_read()):
            self._judge(now)

    def _note_a_slow_reader(self, now: float) -> None:
        if self._to_editor.sink.full:
            if self._blocked_since is None:
                self._blocked_since = now
        elif self._blocked_since is not None:
            self._conversation.away(now - self._blocked_since)
            self._blocked_since = None

    def _watch(self, poll: select.poll, handlers: dict[int, Callable[[float], None]]) -> None:
        to_agent, to_editor = self._to_agent.sink, self._to_editor.sink
        if not to_editor.full:
            _add(poll, handlers, self._from_agent, select.POLLIN, self._read_agent)
        if self._editor_open and not to_agent.full:
            _add(poll, handlers, self._from_editor, select.POLLIN, self._read_editor)
        if not to_editor.broken:
            # with no event asked for, the kernel still says when the reader has gone
            _add(poll, handlers, to_editor.fd, select.POLLOUT if to_editor.waiting else 0, self._flush_editor)
        if to_agent.waiting and not to_agent.broken:
            _add(poll, handlers, to_agent.fd, select.POLLOUT, self._flush_agent)
        _add(poll, handlers, self._signals, select.POLLIN, self._signalled)
        _add(poll, handlers, self._thread_results.fd, select.POLLIN, lambda _: self._thread_results.take())
        if self._owned:
            _add(poll, handlers, self._connection.fileno(), select.POLLIN, self._hear)

    def _more_to_read(self) -> bool:
        poll = select.poll()
        poll.register(self._from_agent, select.POLLIN)
        return bool(poll.poll(0))

    def _read_agent(self, now: float) -> None:
        chunk = os.read(self._from_agent, _CHUNK)
        if chunk:
            self._agent_wrote(chunk, now)
        else:
            self._agent_open = False

    def _read_editor(self, now: float) -> None:
        try:
            chunk = os.read(self._from_editor, _CHUNK)
        except OSError:
            chunk = b""
        if chunk:
            self._editor_wrote(chunk, now)
            return
        self._editor_open = False
        self._to_agent.last_words([])
        self._end_at = now + self._conversation.clocks.grace
        self._close_agents_input()

    def _close_agents_input(self) -> None:
        sink = self._to_agent.sink
        if not self._editor_open and not sink.waiting and not sink.broken:
            sink.close()

    def _flush_agent(self, _now: float) -> None:
        self._to_agent.sink.flush()
        self._close_agents_input()

    def _flush_editor(self, _now: float) -> None:
        sink = self._to_editor.sink
        sink.flush()
        if not sink.waiting and not sink.broken and hung_up(sink.fd):
            sink.broken = True

    def _signalled(self, _now: float) -> None:
        import signal

        for number in os.read(self._signals, 4096):
            self._connection.cancel(signal.Signals(number).name)

    def _hear(self, _now: float) -> None:
        self._owned = self._connection.hear()

    # --- the clock ------------------------------------------------------------------------------------------

    def _judge(self, now: float) -> None:
        if self._end_at is not None and now >= self._end_at:
            self._end_at = None
            self._connection.cancel("the end of its input")
        if self._blocked_since is not None:
            return
        judged: list[DueLines] = []
        if not self._surely(lambda: judged.append(self._conversation.judge(now))):
            self._conversation.forget()  # what cannot be judged would be due again at once
            return
        told = judged[0]
        for line in told.agent:
            self._to_agent.say(line)
        for line in told.editor:
            self._to_editor.say(line)
        for session in dict.fromkeys(told.stalled):
            busy = self._conversation.busy_for(session, now)
            look_at(self._connection.place.id, self._thread_results, partial(self._stalled, session), busy=busy)

    def _stalled(self, session: str, found: Diagnosis | None) -> None:
        """Tell the editor in the turn, and every other reader of the job by its keeper."""
        now = time.monotonic()
        stall = self._conversation.stall(session, now)
        if stall is None:
            return
        why = "" if found is None else found.reason
        line = self._conversation.stall_line(session, why, now)
        if line is not None:
            self._to_editor.say(line)
        silent, tool = stall
        reason = why or (f"{tool} has had no news" if tool else "its agent says nothing")
        known: dict[str, Any] = {"state": "unsure", "cause": "unknown"}
        if found is not None:
            known = {"state": found.state, "cause": found.cause, "evidence": found.to_record()["evidence"]}
        self._connection.ask(do="stalled", silent=silent, reason=reason, **known)
        self._stall_told = (self._conversation.progress, now - silent, session)

    def _tell_progress(self, now: float) -> None:
        """Tell every reader of the job, by its keeper, that a stall which they know of is over, and how."""
        if self._stall_told is not None and self._conversation.progress != self._stall_told[0]:
            _, since, session = self._stall_told
            self._connection.ask(do="progress", silent=now - since, text=self._conversation.how_it_went(session))
            self._stall_told = None

    # --- the end --------------------------------------------------------------------------------------------

    def _drain_to_editor(self) -> None:
        sink = self._to_editor.sink
        while sink.waiting and not sink.broken:
            poll = select.poll()
            poll.register(sink.fd, select.POLLOUT)
            poll.register(self._signals, select.POLLIN)
            if any(fd == self._signals for fd, _ in poll.poll()):
                return
            sink.flush()


def _add(
    poll: select.poll,
    handlers: dict[int, Callable[[float], None]],
    fd: int,
    events: int,
    handler: Callable[[float], None],
) -> None:
    poll.register(fd, events)
    handlers[fd] = handler


def parse_line(line: bytes) -> Any:
    """Return the message in a line; None: not JSON, or the beginning of an over-long line. Both are passed on."""
    if not line.endswith(b"\n"):
        return None
    return value_of(line)


def complain(text: str) -> None:
    """Print one line on stderr, which an editor shows in its log of the agent."""
    try:
        os.write(2, text.encode("utf-8", "replace") + b"\n")
    except OSError:
        pass  # stderr is closed
