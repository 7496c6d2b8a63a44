"""A second machine for each test that wants one; nothing of it is left afterwards, whatever happened."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.second_kernel.machine import Machine

MakeMachine = Callable[..., Machine]


@pytest.fixture
def make_machine(tmp_path: Path) -> Iterator[MakeMachine]:
    made: list[Machine] = []

    def make(*, cgroups: bool = False, slow_disk: bool = False) -> Machine:
        folder = tmp_path / f"machine-{len(made)}"
        folder.mkdir()
        made.append(Machine(folder, cgroups=cgroups, slow_disk=slow_disk))
        return made[-1]

    yield make
    for machine in made:
        machine.close()
        machine.forget()


@pytest.fixture
def machine(make_machine: MakeMachine) -> Machine:
    """Booted, with an empty disk."""
    machine = make_machine()
    machine.boot()
    return machine
