"""`unhang acp`: what an editor starts instead of its agent, and putting that into the editor's settings."""

from __future__ import annotations

import argparse

from unhang.faces.cli.options import DURATIONS
from unhang.faces.cli.parser import add_verb

SUMMARY = "stand between an editor and its ACP agent, so that no turn hangs; install zed writes the setting"
VERBS = ("proxy", "install", "uninstall")
NOTICES = ("thought", "message", "off")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verbs of `unhang acp` and their options."""
    verbs = parser.add_subparsers(dest="acp_verb", required=True, metavar="|".join(VERBS))
    text = "Start an agent and forward its conversation with the editor untouched, with the clocks kept."
    proxy = add_verb(verbs, "proxy", text)
    _add_proxy(proxy)
    proxy.add_argument("command", nargs="*", metavar="-- AGENT …", help="the agent's command and its words")
    text = "Write the agent, behind the proxy, into an editor's settings; the change is shown first."
    install = add_verb(verbs, "install", text)
    _add_editor(install)
    _add_proxy(install)
    install.add_argument("command", nargs="*", metavar="-- AGENT …", help="the agent's command and its words")
    text = "Take the agent out of the editor's settings again."
    _add_editor(add_verb(verbs, "uninstall", text))


def _add_proxy(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("clocks of a turn", f"Each is {DURATIONS}. 0 or 'off' switches it off.")
    group.add_argument(
        "--stall", metavar="D", help="report a stall to the editor after this long without progress; default: 1m"
    )
    group.add_argument("--idle", metavar="D", help="cancel the turn after this long without progress; default: 10m")
    group.add_argument("--tool", metavar="D", help="the idle limit while a tool call runs; default: 30m")
    group.add_argument("--hard", metavar="D", help="cancel the turn after this long, whatever it does; default: off")
    group.add_argument(
        "--repeat", metavar="D", help="cancel a turn that has only repeated itself for this long; default: 1h"
    )
    group.add_argument("--start", metavar="D", help="how long the agent may take to answer initialize; default: 5m")
    group.add_argument("--grace", metavar="D", help="how long a cancelled turn may take to answer; default: 10s")
    parser.add_argument(
        "--notices",
        choices=NOTICES,
        help="how the editor is told of a stall: as a thought of the agent's (default), as a message, or not at all",
    )
    parser.add_argument(
        "--terminals",
        action="store_true",
        help="offer terminals to the agent and run its commands here, with limits, as jobs that are ended whole",
    )
    parser.add_argument("--policy", metavar="FILE", help="with --terminals: the policy of limits for its commands")


def _add_editor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("editor", choices=("zed",), help="the editor")
    parser.add_argument(
        "--name", metavar="NAME", help="the name of the agent in the editor; default: its program's name"
    )
    parser.add_argument("--settings", metavar="FILE", help="the settings file; default: ~/.config/zed/settings.json")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="show the change, write nothing")


def main(args: argparse.Namespace) -> int:
    """Run the proxy, or write an editor's settings; return the exit code."""
    if args.acp_verb == "proxy":
        from unhang.faces.cli.commands import acp_proxy

        return acp_proxy.main(args)
    from unhang.faces.cli.commands import acp_install

    return acp_install.main(args)
