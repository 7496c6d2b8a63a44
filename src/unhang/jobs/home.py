"""The state directory of this user, for callers that need not know what is in it."""

from __future__ import annotations

import os

from unhang.store import home as homes


def state_home() -> str:
    """Return where this user's jobs are kept: `$UNHANG_HOME`, `$XDG_STATE_HOME/unhang` or `~/.local/state/unhang`."""
    return homes.locate(os.environ)


def ensure_state_home() -> str:
    """Return the same, made if it does not exist. Raises StateError where it cannot be made or trusted."""
    home = state_home()
    homes.ensure(home)
    return home
