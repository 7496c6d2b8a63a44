"""Every agent in the registry is a whole package, and every package is in the registry."""

from __future__ import annotations

import importlib
import inspect

import pytest

from tests.support.places import SOURCE
from unhang.agents import registry
from unhang.agents.acp import job as acp_job
from unhang.agents.base.program import AgentProgram
from unhang.agents.claude import job as claude_job
from unhang.agents.codex import job as codex_job

FOLDER = SOURCE / "unhang" / "agents"
# mypy checks here that each module is what the faces expect of it
JOB_MODULES: list[registry.AgentJob] = [codex_job, claude_job, acp_job]


def test_the_registry_lists_every_package_except_base() -> None:
    packages = {path.parent.name for path in FOLDER.glob("*/__init__.py")}
    assert sorted(registry.PROTOCOLS) == sorted(packages - {"base"})


def test_the_types_of_every_job_module_are_checked_here() -> None:
    assert [module.PROTOCOL for module in JOB_MODULES] == list(registry.PROTOCOLS)


@pytest.mark.parametrize("protocol", registry.PROTOCOLS)
@pytest.mark.parametrize("part", ["protocol", "plan", "driver", "shutdown", "job", "report"])
def test_every_agent_has_every_part(protocol: str, part: str) -> None:
    module = importlib.import_module(f"unhang.agents.{protocol}.{part}")
    assert hasattr(module, "__path__") == (part == "protocol")


@pytest.mark.parametrize("protocol", registry.PROTOCOLS)
def test_every_job_module_has_the_names_that_faces_use(protocol: str) -> None:
    module = registry.job_module(protocol)
    assert protocol == module.PROTOCOL
    assert module.PROGRAM is None or isinstance(module.PROGRAM, AgentProgram)
    assert list(inspect.signature(module.prepare).parameters) == ["plan", "asked", "options"]
    assert list(inspect.signature(module.with_agent_report).parameters) == ["job", "result"]


def test_the_programs_are_those_of_the_agents_that_have_one() -> None:
    assert registry.programs() == [module.PROGRAM for module in JOB_MODULES if module.PROGRAM is not None]
