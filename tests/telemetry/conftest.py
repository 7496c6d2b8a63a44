"""Every test has a home and a receiver of its own, and must leave no process behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.jobs.conftest import jobs, nothing_is_left
from tests.support.telemetry.receiver import OtlpReceiver

__all__ = ["jobs", "nothing_is_left"]


@pytest.fixture
def receiver() -> Iterator[OtlpReceiver]:
    made = OtlpReceiver()
    yield made
    made.close()
