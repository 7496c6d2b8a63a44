"""What holds for all tests."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """A shell starts its background commands with these ignored, as nohup does, and what we start would inherit it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
