"""The modules of the commands: what each of them contains, and how one is loaded."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from types import ModuleType
    from typing import Protocol, cast

    from unhang.jobs.launcher import Launcher

    class Command(Protocol):
        """The contents of a command's module."""

        SUMMARY: str

        def configure(self, parser: argparse.ArgumentParser) -> None:
            """Add the options of the command."""

        def main(self, args: argparse.Namespace) -> int:
            """Run the command, and return its exit code."""

    class LaunchingCommand(Protocol):
        """The contents of a command's module that starts its job with the launcher it is given."""

        def main(self, args: argparse.Namespace, launcher: Launcher) -> int:
            """Run the command, and return its exit code."""


def load(module: str) -> Command:
    """Import and return the module of a command."""
    found = _imported(module)
    return cast("Command", found) if TYPE_CHECKING else found


def load_launching(module: str) -> LaunchingCommand:
    """Import and return the module of a command whose `main` takes a launcher."""
    found = _imported(module)
    return cast("LaunchingCommand", found) if TYPE_CHECKING else found


def _imported(module: str) -> ModuleType:
    """`importlib` would be one more import, which brings `warnings` along."""
    name = f"unhang.faces.cli.commands.{module}"
    __import__(name)
    return sys.modules[name]
