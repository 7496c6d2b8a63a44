"""A plan is data: what is written to the record of a job is what its driver reads."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from unhang.agents.acp.plan import AcpPlan
from unhang.agents.base.plan import AgentPlan
from unhang.agents.claude.plan import ClaudePlan
from unhang.agents.codex.plan import CodexPlan

PLANS: list[type[AgentPlan]] = [AcpPlan, ClaudePlan, CodexPlan]
VALUES: dict[str, Any] = {
    "str": "--a \udcff\n",
    "str | None": "é",
    "float": 1.5,
    "float | None": 2.5,
    "bool": True,
    "tuple[str, ...]": ("--", "two\n"),
}


@pytest.mark.parametrize("kind", PLANS)
def test_every_field_of_a_plan_survives_its_record(kind: type[AgentPlan]) -> None:
    plan = kind(**{field.name: VALUES[str(field.type)] for field in dataclasses.fields(kind)})
    assert kind.from_json(json.loads(json.dumps(plan.to_json()))) == plan


@pytest.mark.parametrize("kind", PLANS)
@pytest.mark.parametrize("value", [None, [1], {"a": 1}, -1, float("nan"), 10**400, "x"])
def test_a_field_of_another_type_has_its_default(kind: type[AgentPlan], value: Any) -> None:
    needed = {"argv": ["p"], "tasks": ["t"], "verb": "run"}
    read = kind.from_json({"stall": value, "record": {}, "new": value} | needed)
    assert (read.stall, read.record) == (60.0, None)


def test_a_plan_without_what_it_needs_is_refused() -> None:
    with pytest.raises(TypeError):
        AcpPlan.from_json({"tasks": ["t"]})
