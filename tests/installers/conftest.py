"""Tests run the command line in a home of their own; one of the watcher's installer has a place as the watcher's have."""

from __future__ import annotations

from tests.outside.conftest import jobs
from tests.sessions.conftest import place

__all__ = ["jobs", "place"]
