"""Every test has a Claude configuration, a state directory and a model of its own, and must leave no process behind."""

from __future__ import annotations

from tests.agents.claude.conftest import bench, fake

__all__ = ["bench", "fake"]
