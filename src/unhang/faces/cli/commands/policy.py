"""`unhang policy`: explains the limits of a command, checks a policy file, or writes a first one."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from unhang.core.durations import human
from unhang.core.plain_text import escaped
from unhang.errors import UsageError
from unhang.faces.cli import output

if TYPE_CHECKING:
    from unhang.core.policy.model import Resolution

SUMMARY = "explain, check or begin a policy of limits"

STARTER = """\
# Limits for the commands of this project; see `unhang policy explain 'COMMAND'`.
version = "1.0"
extends = "built-in"        # leave this out, and this file is the whole policy

[categories.slow-tests]
description = "the integration tests: at most 30 minutes, and never silent for more than 8"
exec_timeout_sec = "30m"        # hard limit: the whole run. Or seconds, "off", or "auto" (from the history)
no_output_timeout_sec = "8m"    # idle limit: no sign of life. Left out: 5 minutes, but never more than the hard limit

[command_patterns]
# Regular expressions, matched from the beginning of each simple command; the longest match wins.
slow-tests = ["make integration", "pytest tests/integration"]

# [bounds.exec_timeout_sec]   # what a caller may ask for
# min = "1m"
# max = "1h"
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verbs of `unhang policy` and their options."""
    verbs = parser.add_subparsers(dest="policy_verb", required=True, metavar="explain|check|init|schema")
    explain = verbs.add_parser("explain", help="show the pieces of a command, their category and each limit")
    explain.add_argument(
        "line", metavar="COMMAND…", nargs="+", help="one shell line in quotes, or the words of a command"
    )
    explain.add_argument("--policy", metavar="FILE", help="the policy to use")
    explain.add_argument("--category", metavar="NAME", help="as if the caller had named this category")
    explain.add_argument("--idle", metavar="D", help="as if the caller had asked for this")
    explain.add_argument("--hard", metavar="D", help="as if the caller had asked for this")
    explain.add_argument(
        "--timeout-sec", metavar="SECONDS", type=float, help="the whole time as one number, as agents send it"
    )
    explain.add_argument("--json", action="store_true", help="one JSON object")
    check = verbs.add_parser("check", help="read a policy file and point at what cannot be meant")
    check.add_argument("file", metavar="FILE", nargs="?", help="the file to check (default: the one that holds here)")
    check.add_argument("--strict", action="store_true", help="warnings are errors too")
    check.add_argument("--json", action="store_true", help="one JSON object")
    init = verbs.add_parser("init", help="write a file to begin with")
    init.add_argument(
        "file", metavar="FILE", nargs="?", default=".unhang.toml", help="the file to write (.unhang.toml)"
    )
    verbs.add_parser("schema", help="print the JSON Schema of the file, for editors")


def main(args: argparse.Namespace) -> int:
    """Run one verb of `unhang policy`; return 1 if `check` finds errors."""
    verb = {"explain": _explain, "check": _check, "init": _init, "schema": _schema}[args.policy_verb]
    return verb(args)


# -- explain


def _explain(args: argparse.Namespace) -> int:
    from unhang.core.policy.resolve import resolve
    from unhang.faces.cli.options import requested_limits
    from unhang.jobs.policy import find_policy, untrusted_policies
    from unhang.jobs.request import past_runs

    policy = find_policy(args.policy, os.getcwd())
    command: str | list[str] = args.line[0] if len(args.line) == 1 else args.line
    asked = requested_limits(args, ("idle", "hard", "category", "timeout_sec"))
    resolution = resolve(command, policy, asked, lambda: past_runs(command, os.getcwd(), policy, _tell))
    passed_over = {} if args.policy else untrusted_policies(os.getcwd())
    if args.json:
        _print_json(resolution.to_json() | ({"notBelieved": list(passed_over)} if passed_over else {}))
    else:
        _print_passed_over(passed_over)
        for line in _explained_text(resolution).split("\n"):
            if line.startswith("env "):  # the one that is longer than a terminal is wide
                output.print_wrapped(line[10:], head=line[:10])
            else:
                output.print_line(line)
    return 0


def _tell(trouble: str) -> None:
    print(f"unhang: {escaped(trouble, 500)}", file=sys.stderr)


def _print_passed_over(found: dict[str, str]) -> None:
    for line in found.values():
        _tell(line)


def _explained_text(resolution: Resolution) -> str:
    lines = [f"category  {resolution.category}" + ("   never ends by itself" if resolution.never_ending else "")]
    lines.append(f"pattern   {escaped(resolution.pattern or '(none)')}")
    lines.append(f"policy    {escaped(resolution.policy)}")
    lines.append("pieces")
    for piece in resolution.pieces[:50]:
        more = f"   through {', '.join(piece.through)}" if piece.through else ""
        more += f"   {piece.note}" if piece.note else ""
        shown = f"{escaped(piece.text, 60):<40} {piece.category:<10} {escaped(piece.pattern or '-', 40)}"
        lines.append(f"  {shown}{escaped(more)}")
    if len(resolution.pieces) > 50:
        lines.append(f"  … and {len(resolution.pieces) - 50} more")
    lines.append("limits")
    for name, sourced in resolution.sourced.items():
        value = "off" if sourced.value is None else human(sourced.value)
        asked = ""
        if sourced.asked is not None:
            asked = f"   (asked: {human(sourced.asked) if sourced.asked else 'off'})"
        lines.append(f"  {name[:-2]:<6} {value:<9} {sourced.source}{asked}")
    lines.append(f"liveness  {resolution.liveness}")
    if resolution.env:
        lines.append("env       " + " ".join(f"{name}={escaped(value)}" for name, value in resolution.env.items()))
    return "\n".join(lines)


# -- check, init, schema


def _check(args: argparse.Namespace) -> int:
    from unhang.core.policy.file import position
    from unhang.core.policy.file.lint import lint
    from unhang.jobs.policy import find_policy, is_built_in, read_policy, untrusted_policies

    if not args.file and not args.json:
        _print_passed_over(untrusted_policies(os.getcwd()))
    policy = read_policy(args.file) if args.file else find_policy(None, os.getcwd())
    path = policy.name
    if is_built_in(policy):
        if args.json:
            _print_json({"file": None, "ok": True, "findings": []})
        else:
            output.print_wrapped(
                "no policy file holds here: the built-in policy does (unhang policy init writes a file)"
            )
        return 0
    with open(path, encoding="utf-8-sig") as file:
        text = file.read()
    find = position.in_toml if path.endswith(".toml") else position.in_json
    shown = []
    for finding in lint(policy):
        line, column = find(text, finding.path)
        shown.append({"level": finding.level, "line": line, "column": column, "message": finding.message})
    failed = any(item["level"] == "error" or args.strict for item in shown)
    if args.json:
        _print_json({"file": path, "ok": not failed, "findings": shown})
    else:
        for item in shown:
            where = f"{path}:{item['line']}:{item['column']}"
            output.print_wrapped(f"{where}: {item['level']}: {escaped(str(item['message']), 500)}")
        if not shown:
            counts = f"{len(policy.categories)} categories, {len(policy.patterns)} patterns"
            output.print_line(f"{path}: sound ({counts})")
    return 1 if failed else 0


def _init(args: argparse.Namespace) -> int:
    if not args.file.endswith(".toml"):
        raise UsageError(f"the file to begin with is TOML; call it something.toml: {args.file}")
    try:
        with open(args.file, "x", encoding="utf-8") as file:
            file.write(STARTER)
    except FileExistsError:
        raise UsageError(f"{args.file} exists already; `unhang policy check {args.file}` reads it") from None
    except OSError as error:
        raise UsageError(f"cannot write {args.file}: {error.strerror}") from None
    print(f"wrote {args.file}; try: unhang policy explain 'make integration'")
    return 0


def _schema(_args: argparse.Namespace) -> int:
    import unhang

    path = os.path.join(os.path.dirname(unhang.__file__), "data", "policy.schema.json")
    with open(path, encoding="utf-8") as file:
        sys.stdout.write(file.read())
    return 0


def _print_json(value: dict[str, Any]) -> None:
    import json

    # ASCII only: a line may hold half of a surrogate pair, which no terminal's encoding takes
    print(json.dumps(value, ensure_ascii=True, indent=None))
