"""What holds for all tests."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings


def pytest_configure() -> None:
    # A shell starts its background commands with these ignored, as nohup does, and what we start would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    # On a machine under load a property takes as long as it takes; the test's own timeout is the limit.
    settings.register_profile("unhang", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("unhang")
