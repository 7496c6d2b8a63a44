"""`unhang mcp`: the MCP server, and its entry in a client's configuration."""

from __future__ import annotations

import os
import sys

from unhang.errors import EXIT_USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

SUMMARY = "the MCP server for agents; install CLIENT adds it to a client's configuration"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verbs and options of `unhang mcp`."""
    from unhang.installers import known_mcp_clients

    *most, last = known_mcp_clients.known(dict(os.environ))
    clients = f"{', '.join(most)} or {last}"
    parser.add_argument("--http", metavar="HOST:PORT", help="serve HTTP there instead of stdio (port 0: any free one)")
    parser.add_argument("--token-file", metavar="FILE", help="HTTP: where the bearer token is (0600, made if need be)")
    parser.add_argument("--policy", metavar="FILE", help="the policy of limits")
    parser.add_argument("--wait", metavar="SECONDS", type=float, help="a call answers within this (default 45)")
    parser.add_argument("--max-jobs", metavar="N", type=int, help="running jobs at once (default 100)")
    parser.add_argument("--max-calls", metavar="N", type=int, help="calls in flight at once (default 200)")
    parser.add_argument("--max-output", metavar="BYTES", type=int, help="of each stream in one result (default 12000)")
    parser.add_argument("--progress-every", metavar="SECONDS", type=float, help="between progress reports (default 10)")
    parser.add_argument(
        "--compat", action="store_true", help="exitCode is always a number: -1 where there is none (ended, or running)"
    )
    parser.add_argument(
        "--aliases",
        choices=("delegator", "myshell"),
        help="offer the tools of this server under their own names and with their own answers, too",
    )
    for option, text in (
        ("--allow-command", "only commands that match one of these: a name, or a line with wildcards"),
        ("--deny-command", "no command that matches one of these"),
        ("--allow-dir", "only inside one of these directories"),
        ("--deny-dir", "not inside one of these directories"),
    ):
        value = "PATTERN" if option.endswith("command") else "DIR"
        parser.add_argument(option, metavar=value, action="append", default=[], help=f"{text} (no sandbox)")
    verbs = parser.add_subparsers(dest="mcp_verb", metavar="install|uninstall|config")
    text = "write it into a client's own configuration file"
    install = verbs.add_parser("install", help=text, description=text.capitalize() + ".")
    install.add_argument("client", metavar="CLIENT", help=clients)
    install.add_argument("--dry-run", action="store_true", help="show what would be written, write nothing")
    install.add_argument(
        "--project",
        action="store_true",
        help="into the file of the project in this directory, for everybody who has unhang on the PATH",
    )
    text = "remove it from a client's own configuration file"
    uninstall = verbs.add_parser("uninstall", help=text, description=text.capitalize() + ".")
    uninstall.add_argument("client", metavar="CLIENT", help=clients)
    uninstall.add_argument("--dry-run", action="store_true", help="show what would be written, write nothing")
    uninstall.add_argument("--project", action="store_true", help="from the file of the project in this directory")
    for verb in (install, uninstall):  # people know it from the other installers
        verb.add_argument("--yes", "-y", action="store_true", help="do not ask (this installer never does)")
    text = "print what a client's configuration needs"
    config = verbs.add_parser("config", help=text, description=text.capitalize() + ".")
    config.add_argument("client", metavar="CLIENT", help=clients)


def main(args: argparse.Namespace) -> int:
    """Serve until the client leaves, or write or print a client's configuration; return the exit code."""
    if args.mcp_verb in ("install", "uninstall"):
        return _install(args)
    if args.mcp_verb == "config":
        return _config(args)
    return _serve(args)


def _serve(args: argparse.Namespace) -> int:
    if args.http is None and os.isatty(0) and os.isatty(1):
        return _introduce()
    # each job reads it anew; one that cannot be used is said now, and not at every call
    if args.policy is not None or os.environ.get("UNHANG_POLICY"):
        from unhang.jobs.policy import find_policy

        find_policy(args.policy, os.getcwd())
    # A face does not import another one; this command starts the MCP face, and only when it is used.
    from unhang.faces.mcp.main import serve

    return serve(args)


def _config(args: argparse.Namespace) -> int:
    from unhang.installers import known_mcp_clients, mcp_clients

    client = known_mcp_clients.client_of(args.client, dict(os.environ))
    print(f"# {client.title}: {client.path}" if client.form == "toml" else f"// {client.title}: {client.path}")
    print(mcp_clients.snippet(client, mcp_clients.server_command()), end="")
    return 0


def _install(args: argparse.Namespace) -> int:
    """This command does not ask: it only adds, updates or removes one entry, and keeps a backup."""
    from unhang.installers import flow, known_mcp_clients, mcp_clients

    client = known_mcp_clients.client_of(args.client, dict(os.environ))
    installs = args.mcp_verb == "install"
    change = mcp_clients.plan(client, project=args.project, installs=installs)
    flow.carry_out([change], yes=True, dry_run=args.dry_run)
    if installs and args.project and not mcp_clients.is_on_path():
        print("note: this file starts `unhang mcp`; put unhang on the PATH of everybody who uses it (pipx install …)")
    return 0


def _introduce() -> int:
    """Tell a person who typed the command of a server what it is, instead of waiting for a client that never comes."""
    from unhang.core.wrap import wrapped
    from unhang.faces.cli.parser import columns
    from unhang.installers import known_mcp_clients

    names = ", ".join(known_mcp_clients.known(dict(os.environ)))
    what = (
        "This is unhang's MCP server. A client (an editor, an agent) starts it and talks to it over stdin and stdout;"
    )
    for text in (
        f"{what} at a terminal there is nothing to type. To add it to a client:",
        "",
        "    unhang mcp install claude-code",
        "",
        f"Clients: {names}.",
        "`unhang mcp config CLIENT` only prints what its file needs, `unhang mcp --help` says more.",
    ):
        lines = [text] if text.startswith(" ") else wrapped(text, columns(), "")
        print(*lines, sep="\n", file=sys.stderr)
    return EXIT_USAGE
