"""The output schemas of the tools. Objects may have more fields than are named here; named ones are always there."""

from __future__ import annotations

from typing import Any, Literal

from unhang.faces.mcp.schema import Shown

Status = Literal["success", "error", "timeout", "cancelled", "running"]


class JobResult(Shown):
    """The result of a job that has ended, or the state of one that runs."""

    job_id: str
    status: Status
    message: str
    exit_code: int | None
    signal: str | None
    timeout_reason: Literal["exec_timeout", "no_output_timeout"] | None
    termination_mode: Literal["soft", "hard"] | None
    duration_ms: int | None
    stdout: str
    stderr: str
    truncated: bool
    leaked: bool
    limits: dict[str, Any]
    error: dict[str, Any] | None
    partial: dict[str, Any] | None
    diagnosis: dict[str, Any] | None
    recovery: dict[str, Any] | None
    phase: str
    seq: int
    output: dict[str, Any]
    next: list[str]


class TerminalResponse(Shown):
    """What `run` of myshell answers: its seven fields, and what is known beyond them."""

    status: Literal["success", "timeout", "error", "running"]
    stdout: str
    stderr: str
    exit_code: int
    timeout_reason: Literal["exec_timeout", "no_output_timeout"] | None
    termination_mode: Literal["soft", "hard"] | None
    duration_ms: int
    job_id: str
    message: str


class DelegatedResult(Shown):
    """What the tools of mcp-delegator answer."""

    success: bool
    status: Status
    job_id: str
    message: str


class WaitResult(Shown):
    """`jobs`: a result for each job that was named; `ended`: the ids of those that have ended."""

    status: Literal["ended", "running"]
    ended: list[str]
    jobs: list[JobResult]


class EventsResult(Shown):
    """`lastSeq` is the cursor for the next call."""

    job_id: str
    status: Status
    events: list[dict[str, Any]]
    last_seq: int
    more: bool


class OutputResult(Shown):
    """`nextOffset` is where to read on. `dropped`: the bytes of a flood's middle that are gone (from, to), if the part
    that was asked for lies there; `offset` is then later than asked."""

    job_id: str
    stream: Literal["stdout", "stderr"]
    offset: int
    next_offset: int
    total_bytes: int
    text: str
    status: Status
    dropped: dict[str, int] | None


class ListedJob(Shown):
    """One job of the list. `where`: only of a job that runs elsewhere and cannot be judged from here."""

    job_id: str
    command: str
    cwd: str
    status: Status
    phase: str
    kind: str
    labels: dict[str, str]
    created_at: str
    ended_at: str | None
    exit_code: int | None


class ListResult(Shown):
    """`leftOut`: how many more jobs there are."""

    jobs: list[ListedJob]
    left_out: int


class RequestResult(Shown):
    """A request to a live job that was carried out."""

    job_id: str
    ok: bool
    message: str


class DiagnoseResult(Shown):
    """`reason` is one sentence; `evidence` holds what it rests on."""

    job_id: str
    state: Literal["hung", "alive", "unsure"]
    cause: str
    reason: str
    evidence: dict[str, Any]
    processes: list[dict[str, Any]]


class ExplainResult(Shown):
    """`pieces`: the commands of a line, each with its category."""

    category: str
    never_ending: bool
    pattern: str | None
    policy: str
    liveness: str
    limits: dict[str, Any]
    pieces: list[dict[str, Any]]
