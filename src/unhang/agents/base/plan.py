"""What a driver is to do, as data: the maker of a job writes it to the job's record, and the driver reads it there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from unhang.core import values

# The whole record of a job travels to its keeper in one message (keeper/prefork/spare.py), where a character may take
# six bytes.
LONGEST_TASK = 4 << 20


def _texts(value: Any) -> tuple[str, ...] | None:
    found = values.texts(value)
    return None if found is None else tuple(found)


# the annotation of a field → how it is read
_READINGS: dict[str, values.Reading] = {
    "str": values.text,
    "str | None": values.text,
    "float": values.number,
    "float | None": values.number,
    "bool": values.flag,
    "tuple[str, ...]": _texts,
}


@dataclass(frozen=True, kw_only=True)
class AgentPlan:
    """What the plans of all agents hold. The fields of each plan are its JSON, too."""

    stall: float = 60.0  # seconds without a sign of life after which the driver says why nothing moves
    grace: float = 5.0  # seconds that the keeper gives the driver to end its agent
    policy: str | None = None  # the policy file that the caller named; None: the one that holds in the job's directory
    record: str | None = None  # where the conversation is recorded

    @property
    def mode(self) -> str:
        """Return what kind of work it is: one word for people and events."""
        return "run"

    @property
    def title(self) -> str:
        """Return the task in words, for people."""
        raise NotImplementedError

    def after(self, events: Iterable[dict[str, Any]]) -> Self:
        """Return the plan of a further attempt, given the events of those before it: as it is, unless an agent can go
        on.
        """
        del events
        return self

    def to_json(self) -> dict[str, Any]:
        """Return the plan as the record of its job holds it."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Return the plan that a record holds. A field that is missing or of another type has its default; raises
        TypeError if it has none.
        """
        known = {
            field.name: found
            for field in fields(cls)
            if (found := _READINGS[str(field.type)](value.get(field.name))) is not None
        }
        return cls(**known)
