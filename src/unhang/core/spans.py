"""Events → spans, pure: a job is a span; its attempts, an agent's turns and its tool calls are spans below it.

The names are those of OpenTelemetry's semantic conventions (v1.44; those of agents v1.41): CLI programs for the job,
CI/CD for its part in something larger, GenAI for turns and tools. What they have no name for begins with `unhang.`. An
agent's task, the arguments of its tools and their results are left out.

Ids follow from the job's record and from what began the span. So the same log makes the same spans, however often it
is read, and a receiver that gets one twice has one.
"""

from __future__ import annotations

from hashlib import sha256

from unhang.core import events as ev
from unhang.core import mask, notices, plain_text, trace, values
from unhang.core.record import Record
from unhang.core.spec import NAME, NOTIFY, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

INTERNAL, CLIENT = "internal", "client"
UNSET, FAILED = "unset", "error"
_TURN = ev.agent_phases(ev.BEGINS, ev.THINKS, ev.WORKS, ev.ASKS)
_TURN_ENDS = ev.agent_phases(ev.ENDS)
_CALL_ENDS = frozenset({"user", "item/completed", "item.completed"})
_CALL_STATUS_ENDS = frozenset({"completed", "failed", "cancelled"})
_PROVIDERS = {"claude": "anthropic", "codex": "openai"}
_RESULTS = {"success": "success", "timeout": "timeout", "cancelled": "cancellation"}
_MOST_EVENTS, _MOST_CALLS, _MOST_LABELS, _MOST_WORDS = 128, 200, 20, 100
_LINE = 300


class SpanEvent(Record):
    """Something that happened within a span. `at`: nanoseconds since 1970."""

    name: str
    at: int
    attributes: dict[str, Any]


class Span(Record):
    """A span that has ended. Times are nanoseconds since 1970, ids hexadecimal; `seq`: the event that ended it."""

    trace: str
    id: str
    parent: str | None
    name: str
    kind: str
    start: int
    end: int
    attributes: dict[str, Any]
    events: tuple[SpanEvent, ...]
    status: str
    message: str
    seq: int


class _Open:
    """A span that has begun."""

    def __init__(self, key: str, name: str, at: int, attributes: dict[str, Any]) -> None:
        self.key = key
        self.name = name
        self.at = at
        self.attributes = attributes


class JobSpans:
    """The spans of one job: `apply` its events in order, from the first one on."""

    def __init__(self, job_id: str, record: dict[str, Any]) -> None:
        self._record = record
        found = trace.from_json(record.get("trace"))
        # a record of an earlier version, or none at all
        self.trace = found or trace.Trace(_digest(f"trace {job_id}", 32), _digest(f"job {job_id}", 16))
        self.ended = False
        self._job = job_id
        self._agent = _plain((values.mapping(record.get("agent")) or {}).get("name"))
        self._begun: int | None = None
        self._last = 0
        self._pid: int | None = None
        self._events: list[SpanEvent] = []
        self._dropped = 0
        self._attempts: list[_Open] = []
        self._turn: _Open | None = None
        self._turns = 0
        self._calls: dict[str, _Open] = {}

    def apply(self, event: ev.Event) -> list[Span]:
        """Return the spans that end with this event, the innermost first."""
        at = values.moment(event.get("ts"))
        self._last = now = max(self._last, round(at * 1e3) * 1_000_000) if at is not None else self._last
        self._begun = now if self._begun is None else self._begun
        seq = int(event.get("seq") or 0)
        match event.get("type"):
            case ev.STARTED:
                return self._started(event, now, seq)
            case ev.AGENT:
                self._notice(event, now)
                return self._said(event, now, seq)
            case ev.WATCHDOG | ev.SIGNAL | ev.STORE:
                self._notice(event, now)
            case ev.EXITED:
                return self._exited(event, now, seq)
        return []

    # --- the job and its attempts -------------------------------------------------------------------------------

    def _started(self, event: ev.Event, now: int, seq: int) -> list[Span]:
        self._pid = event.get("pid")
        number = len(self._attempts) + 1
        found: list[Span] = []
        if self._attempts:
            found = [*self._end_turn(now, seq, FAILED), self._end_attempt(now, seq, FAILED)]
        self._attempts.append(_Open(f"attempt {number}", f"attempt {number}", now, {"unhang.attempt": number}))
        return found

    def _end_attempt(self, now: int, seq: int, status: str) -> Span:
        return self._span(self._attempts[-1], self.trace.span, now, seq, status)

    def _exited(self, event: ev.Event, now: int, seq: int) -> list[Span]:
        status = event.get("status") or "error"
        failed = FAILED if status in ("error", "timeout") else UNSET
        found = self._end_turn(now, seq, failed)
        if len(self._attempts) > 1:
            found.append(self._end_attempt(now, seq, failed))
        self.ended = True
        name, attributes = self._program()
        attributes |= self._end_attributes(status, event)
        if self._dropped:
            attributes["unhang.events.dropped"] = self._dropped
        begun = now if self._begun is None else self._begun
        span = Span(
            self.trace.id,
            self.trace.span,
            self.trace.parent,
            name,
            CLIENT,
            min(begun, now),
            now,
            attributes,
            tuple(self._events),
            failed,
            _line(event.get("message")) if failed == FAILED else "",
            seq,
        )
        return [*found, span]

    def _program(self) -> tuple[str, dict[str, Any]]:
        """The name of the job's span, and what its record says of it."""
        record = self._record
        argv = values.texts(record.get("argv")) or []
        path = argv[0] if argv else ""
        name = self._agent or _plain(path.rpartition("/")[2]) or "job"
        labels = values.table_of(values.text)(record.get("labels")) or {}
        found: dict[str, Any] = {
            "process.executable.name": name,
            "process.pid": self._pid,
            "process.working_directory": _plain(record.get("cwd")),
            "cicd.pipeline.task.name": name_of(labels) or name,
            "cicd.pipeline.task.run.id": self._job,
            "unhang.job.id": self._job,
            "unhang.category": _plain(record.get("category")) or None,
        }
        if not self._agent:  # the words of an agent's job are those of its driver
            if path.startswith("/"):
                found["process.executable.path"] = _plain(path)
            shown = values.text(record.get("shown"))
            if shown is not None:
                found["process.command_line"] = _line(shown)
            elif argv:
                found["process.command_args"] = _words(argv, values.text(record.get("shell")))
        plain = [(key, value) for key, value in labels.items() if key not in (NAME, NOTIFY)]
        found |= {f"unhang.label.{_line(key)}": _line(value) for key, value in plain[:_MOST_LABELS]}
        return name, {key: value for key, value in found.items() if value is not None}

    def _end_attributes(self, status: str, event: ev.Event) -> dict[str, Any]:
        error = values.mapping(event.get("error")) or {}
        kind = values.text(error.get("kind"))
        result = _RESULTS.get(status) or ("error" if kind in ("spawn", "lost", "agent") else "failure")
        code, signal = event.get("exitCode"), event.get("signal")
        found: dict[str, Any] = {
            "process.exit.code": code,
            "cicd.pipeline.task.run.result": result,
            "unhang.status": status,
            "unhang.signal": signal,
            "unhang.reason": kind,
        }
        if status != "success":
            ended_by = signal or ("lost" if code is None else str(code))
            found["error.type"] = values.text(error.get("code")) or ended_by
        if len(self._attempts) > 1:
            found["unhang.attempts"] = len(self._attempts)
        return {key: value for key, value in found.items() if value is not None}

    def _notice(self, event: ev.Event, now: int) -> None:
        """What a person would be shown becomes an event of the job's span; of an agent, what is not its work."""
        kind, phase = str(event.get("type")), str(event.get("phase"))
        if kind == ev.AGENT:
            about = notices.audience_of(kind, phase)
            if not (about.needs_person or phase in ("stuck", "warning")):
                return
        if len(self._events) >= _MOST_EVENTS:
            self._dropped += 1
            return
        diagnosis = values.mapping(event.get("diagnosis")) or {}
        found = {
            "message": _line(event.get("message")),
            "unhang.cause": values.text(diagnosis.get("cause")),
            "unhang.diagnosis": _line(diagnosis.get("reason")) or None,
            "unhang.step": values.text(event.get("step")) if kind == ev.SIGNAL else None,
        }
        name = f"unhang.{'signal' if kind == ev.SIGNAL else 'store' if kind == ev.STORE else phase}"
        self._events.append(SpanEvent(name, now, {key: value for key, value in found.items() if value is not None}))

    # --- an agent's turns and tool calls --------------------------------------------------------------------------

    def _said(self, event: ev.Event, now: int, seq: int) -> list[Span]:
        phase = str(event.get("phase"))
        if self._turn is None and phase in _TURN and event.get("alive", True):
            self._turns += 1
            self._turn = self._new_turn(now)
        if self._turn is None:
            return []
        self._learn(self._turn, event)
        found = self._called(event, phase, now, seq)
        if phase in _TURN_ENDS:
            found += self._end_turn(now, seq, FAILED if phase == "failed" else UNSET)
        return found

    def _new_turn(self, now: int) -> _Open:
        name = self._agent or "agent"
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": _PROVIDERS.get(name, name),
            "gen_ai.agent.name": name,
        }
        return _Open(f"turn {self._turns}", f"invoke_agent {name}", now, attributes)

    def _learn(self, turn: _Open, event: ev.Event) -> None:
        known = {
            "gen_ai.conversation.id": event.get("threadId") or event.get("sessionId"),
            "gen_ai.request.model": event.get("model"),
            "gen_ai.agent.version": event.get("claudeVersion"),
        }
        turn.attributes |= {key: _line(value) for key, value in known.items() if isinstance(value, str) and value}
        if event.get("phase") == "metering":
            for key, field in (("input", "inputTokens"), ("output", "outputTokens")):
                count = values.whole(event.get(field))
                if count is not None:
                    name = f"gen_ai.usage.{key}_tokens"
                    turn.attributes[name] = turn.attributes.get(name, 0) + count

    def _called(self, event: ev.Event, phase: str, now: int, seq: int) -> list[Span]:
        call = ev.call_of(event)
        if call is None:
            return []
        ends = event.get("method") in _CALL_ENDS or event.get("toolStatus") in _CALL_STATUS_ENDS
        if call not in self._calls:
            works = phase in ev.AT_WORK or phase == "needs_approval"
            if works and not ends and len(self._calls) < _MOST_CALLS:
                self._calls[call] = self._new_call(call, event, now, seq)
            return []
        if not ends:
            return []
        code = values.integer(event.get("exitCode"))
        failed = event.get("failed") is True or event.get("toolStatus") == "failed" or bool(code or event.get("error"))
        if failed:
            self._calls[call].attributes["error.type"] = str(code) if code else "tool_error"
        return [self._end_call(call, now, seq, FAILED if failed else UNSET)]

    def _new_call(self, call: str, event: ev.Event, now: int, seq: int) -> _Open:
        named = [event.get("server"), event.get("tool")]
        name = "/".join(part for part in named if isinstance(part, str) and part)
        name = _line(name or event.get("itemType") or event.get("toolKind") or "tool")
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": _line(call),
            "gen_ai.tool.type": "function",
        }
        return _Open(f"call {seq}", f"execute_tool {name}", now, attributes)

    def _end_call(self, call: str, now: int, seq: int, status: str) -> Span:
        return self._span(self._calls.pop(call), self._turn_id(), now, seq, status)

    def _end_turn(self, now: int, seq: int, status: str) -> list[Span]:
        if self._turn is None:
            return []
        found = [self._end_call(call, now, seq, UNSET) for call in list(self._calls)]
        if status == FAILED:
            self._turn.attributes["error.type"] = "agent"
        found.append(self._span(self._turn, self.trace.span, now, seq, status))
        self._turn = None
        return found

    def _turn_id(self) -> str:
        return self._id_of(f"turn {self._turns}")

    def _id_of(self, key: str) -> str:
        return _digest(f"{self.trace.id} {self.trace.span} {key}", 16)

    def _span(self, opened: _Open, parent: str, now: int, seq: int, status: str) -> Span:
        return Span(
            self.trace.id,
            self._id_of(opened.key),
            parent,
            opened.name,
            INTERNAL,
            opened.at,
            now,
            opened.attributes | {"unhang.job.id": self._job},
            (),
            status,
            "",
            seq,
        )


def _digest(text: str, length: int) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def _line(value: object) -> str:
    """A text for people, masked and in one line; what is none is empty."""
    return _plain(mask.line(value)) if isinstance(value, str) else ""


def _plain(value: object) -> str:
    """A text in one line that is UTF-8; what is none is empty."""
    if not isinstance(value, str):
        return ""
    return plain_text.one_line(value, _LINE).encode("utf-8", "replace").decode()


def _words(argv: list[str], shell: str | None) -> list[str]:
    if shell is not None:
        return [*map(_plain, argv[:-1]), _line(shell)]
    return [_plain(word) for word in mask.arguments(argv[:_MOST_WORDS])]
