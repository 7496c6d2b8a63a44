"""Each test has a home of its own; a test of the watcher's installer has a place for sessions, too."""

from __future__ import annotations

from tests.outside.conftest import jobs
from tests.sessions.conftest import place

__all__ = ["jobs", "place"]
