"""`unhang claude install` and `uninstall`: the hooks without the plugin."""

from __future__ import annotations

import argparse
import os
import sys

from unhang.installers import claude_code, flow, known_mcp_clients, mcp_clients


def main(args: argparse.Namespace) -> int:
    """Show the changes of the settings and, once agreed to, write them; return 1 if they were declined."""
    installs = args.claude_verb == "install"
    changes = [claude_code.plan(os.environ, project=args.project, installs=installs)]
    if args.mcp:
        client = known_mcp_clients.client_of("claude-code", dict(os.environ))
        changes.append(mcp_clients.plan(client, project=args.project, installs=installs))
    if installs and claude_code.uses_plugin(changes[0].before or ""):
        print("unhang: the plugin is enabled and brings the same hooks; one of the two is enough", file=sys.stderr)
    return 0 if flow.carry_out(changes, yes=args.yes, dry_run=args.dry_run) else 1
