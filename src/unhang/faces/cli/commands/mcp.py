"""`unhang mcp`: the server for agents, and putting it into a client's configuration."""

from __future__ import annotations

import argparse
import os

from unhang.core import plain_text
from unhang.errors import UnhangError, UsageError

SUMMARY = "the MCP server for agents; install CLIENT adds it to a client's configuration"

CLIENTS = "claude-code, codex, cursor, vscode, gemini, opencode or zed"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--http", metavar="HOST:PORT", help="serve HTTP there instead of stdio (port 0: any free one)")
    parser.add_argument("--token-file", metavar="FILE", help="HTTP: where the bearer token is (0600, made if need be)")
    parser.add_argument("--policy", metavar="FILE", help="the policy of limits")
    parser.add_argument("--wait", metavar="SECONDS", type=float, help="a call answers within this (default 45)")
    parser.add_argument("--max-jobs", metavar="N", type=int, help="running jobs at once (default 100)")
    parser.add_argument("--max-calls", metavar="N", type=int, help="calls in flight at once (default 200)")
    parser.add_argument("--max-output", metavar="BYTES", type=int, help="of each stream in one result (default 12000)")
    parser.add_argument("--progress-every", metavar="SECONDS", type=float, help="between progress reports (default 10)")
    for option, text in (
        ("--allow-command", "only commands that match one of these: a name, or a line with wildcards"),
        ("--deny-command", "no command that matches one of these"),
        ("--allow-dir", "only inside one of these directories"),
        ("--deny-dir", "not inside one of these directories"),
    ):
        value = "PATTERN" if option.endswith("command") else "DIR"
        parser.add_argument(option, metavar=value, action="append", default=[], help=f"{text} (no sandbox)")
    verbs = parser.add_subparsers(dest="mcp_verb", metavar="install|config")
    text = "write it into a client's own configuration file"
    mcp_entry = verbs.add_parser("install", help=text, description=text.capitalize() + ".")
    mcp_entry.add_argument("client", metavar="CLIENT", help=CLIENTS)
    mcp_entry.add_argument("--dry-run", action="store_true", help="show what would be written, write nothing")
    mcp_entry.add_argument("--project", action="store_true", help="into the file of the project in this directory")
    text = "print what a client's configuration needs"
    config = verbs.add_parser("config", help=text, description=text.capitalize() + ".")
    config.add_argument("client", metavar="CLIENT", help=CLIENTS)


def main(args: argparse.Namespace) -> int:
    if args.mcp_verb == "install":
        return _install(args)
    if args.mcp_verb == "config":
        return _config(args)
    return _serve(args)


def _serve(args: argparse.Namespace) -> int:
    # a face may not import another; this command is the way into the other one, and only when it is used
    try:
        from unhang.faces.mcp.main import serve
    except ModuleNotFoundError as error:
        if (error.name or "unhang").partition(".")[0] == "unhang":
            raise
        raise UnhangError(f"the MCP server needs the official SDK: pip install 'unhang[mcp]' ({error})") from None
    return serve(args)


def _config(args: argparse.Namespace) -> int:
    from unhang.installers import mcp_clients, mcp_entry

    client = mcp_entry.client_of(args.client, dict(os.environ))
    print(f"# {client.title}: {client.path}" if client.form == "toml" else f"// {client.title}: {client.path}")
    print(mcp_entry.snippet(client, mcp_clients.command()), end="")
    return 0


def _install(args: argparse.Namespace) -> int:
    from unhang.installers import mcp_clients, mcp_entry
    from unhang.store import user_file

    client = mcp_entry.client_of(args.client, dict(os.environ))
    path = client.path
    if args.project:
        if client.project is None:
            raise UsageError(f"{client.title} has no file for a project")
        path = user_file.in_project(os.getcwd(), client.project)
    before = user_file.read(path)
    try:
        after = mcp_entry.planned(client, before or "", mcp_clients.command())
    except UsageError as error:
        raise UsageError(f"{path} {error}") from None
    if after is None:
        print(f"{client.title} has it already: {path}")
    elif args.dry_run:
        print(f"would write {path}:")
        print(plain_text.harmless(after), end="" if after.endswith("\n") else "\n")
    else:
        backup = user_file.write(path, before, after)
        print(f"added to {client.title}: {path}" + (f" (before: {backup})" if backup else ""))
    return 0
