"""A history as if a command had been run before, so that a test need not run it so often."""

from __future__ import annotations

import os

from unhang.core.policy.command_key import command_key
from unhang.store import profiles
from unhang.store.history import History, Run


def teach(
    home: str,
    command: str | list[str],
    duration: float,
    silence: float,
    *,
    cwd: str | None = None,
    runs: int = 12,
    status: str = "success",
) -> None:
    """`command`: as the history knows it; of an agent "claude run". A keeper reads the profile beside it."""
    os.makedirs(home, mode=0o700, exist_ok=True)
    key, folder = command_key(command), os.getcwd() if cwd is None else cwd
    run = Run(key, folder, 1000.0, duration, silence, status, teaches=status == "success")
    history = History(os.path.join(home, "index.db"))
    history.add_many([run] * runs)
    profile = history.profile(key, folder)
    if profile is not None:
        profiles.write(home, key, folder, profile)
