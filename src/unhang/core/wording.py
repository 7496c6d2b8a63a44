"""The words for the states and ends of jobs and sessions: one vocabulary for every surface that people and models read.

`ps`, `status`, `needs`, `top`, the page and the MCP tool `list` show these words and no others. Programs read `status`
and `phase`, which never change; the words follow from them.
"""

from __future__ import annotations

# What a job or session needs a person for. Of one that has ended badly, how it ended says it.
_NEEDS = {"approval": "needs approval", "input": "needs input", "warning": "ends soon", "stuck": "stuck"}
_RUNNING = {
    "quiet": "works quietly",
    "metering": "running",
    "warning": "ends soon",
    # an agent has said that its turn is over; the job ends in a moment
    "completed": "finishing",
    "failed": "finishing",
}
# What a job that is quiet waits for, where it does not work.
_WAITS = {"timer": "waits for timer"}
_ENDED = {"completed": "done", "gone": "ended"}


def state(
    status: str,
    phase: str,
    *,
    needs: str | None = None,
    exit_code: int | None = None,
    signal: str | None = None,
    cause: str | None = None,
) -> str:
    """Return where a job or session stands, or how it ended, in one to three words.

    `needs`: the kind of its attention (core/attention.py), if it needs a person. `cause`: that of its diagnosis.
    """
    if needs in _NEEDS:
        return _NEEDS[needs]
    if status in ("unknown", "queued"):
        return status
    if status == "running":
        return (_WAITS.get(cause or "") if phase == "quiet" else "") or _RUNNING.get(phase) or words_of_phase(phase)
    if phase == "failed":
        how = signal if exit_code is None else str(exit_code)
        return f"failed ({how})" if how else "failed"
    return _ENDED.get(phase) or words_of_phase(phase)


def is_plain_exit(message: str, exit_code: int | None) -> bool:
    """Return whether what was recorded of an end says no more than `failed (3)` and how long it took."""
    return message.startswith(f"exited with {exit_code} after ") and ";" not in message


def end_of(status: str) -> str:
    """Return how a job ended of which the status alone is known, as the history has it."""
    return {"success": "done", "error": "failed", "timeout": "timed out"}.get(status) or words_of_phase(status)


def words_of_phase(phase: str) -> str:
    """Return a phase as words."""
    return phase.replace("_", " ")


def headline(counts: dict[str, int]) -> str:
    """Return how many need a person, run and are stuck, as the first line of the page and of `top` says it."""
    parts = [needs_you(counts["attention"])] if counts["attention"] else []
    parts.append(f"{counts['running']} running")
    if counts["stuck"]:
        parts.append(f"{counts['stuck']} stuck")
    return " · ".join(parts)


def more_bad_ends(count: int) -> str:
    """Return what a list says of the bad ends that it does not show."""
    return f"and {count} more that ended badly"


def needs_you(count: int) -> str:
    """Return `1 needs you` or `2 need you`."""
    return f"{count} {'needs' if count == 1 else 'need'} you"
