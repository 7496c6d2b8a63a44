"""As for jobs: a home of its own, and nothing left running."""

from __future__ import annotations

from tests.jobs.conftest import jobs, nothing_is_left

__all__ = ["jobs", "nothing_is_left"]
