"""The fixtures of the engine's tests serve here too: own state directory, nothing left behind."""

from tests.keeper.conftest import engine, nothing_is_left

__all__ = ["engine", "nothing_is_left"]
