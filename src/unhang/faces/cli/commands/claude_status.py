"""`unhang claude status`: the program, its version, what works with it, and whether the hooks are installed."""

from __future__ import annotations

import argparse
import os

from unhang.agents.claude import job
from unhang.errors import SpawnError
from unhang.faces.cli import output
from unhang.installers import claude_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main(args: argparse.Namespace) -> int:
    """Print what is known of Claude Code; return 0 if it can be given a task."""
    known: dict[str, Any] = {"program": None, "version": None, "works": None, "error": None}
    try:
        known["program"] = job.PROGRAM.find(args.claude)
    except SpawnError as error:
        known["error"] = str(error)
    else:
        known["version"], known["works"] = job.PROGRAM.version_of(known["program"])
        if known["version"] is None:
            known["error"] = f"{known['program']} does not say its version"
    known["settings"] = claude_code.states(os.environ)
    known["plugin"] = [path for path, enabled in claude_code.plugin_states(os.environ).items() if enabled]
    if args.json:
        output.print_json(known)
        return 0 if known["version"] else 1
    if known["error"]:
        output.print_line(f"claude    {known['error']}")
    else:
        output.print_line(f"claude    {known['program']} {known['version']}: {known['works']}")
    for path in known["plugin"]:
        output.print_line(f"plugin    enabled, with the same hooks: {path}")
    for path, state in known["settings"].items():
        output.print_line(f"hooks     {state}: {path}")
    return 0 if known["version"] else 1
