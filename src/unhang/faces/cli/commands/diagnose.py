"""`unhang diagnose`: why is it quiet? For a job, or for any process tree of this user that unhang did not start."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from unhang.core import mask, plain_text, values
from unhang.errors import UsageError
from unhang.faces.cli import output

if TYPE_CHECKING:
    from unhang.core.diagnosis.verdict import Diagnosis
    from unhang.jobs.diagnose import Stack

SUMMARY = "say why a job or a process is quiet: hung, alive or unsure, the cause, and what each process waits for"

COLOURS = {"hung": "31", "unsure": "33", "alive": "32"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang diagnose`."""
    parser.add_argument("job", nargs="?", metavar="JOB", help="an id, a unique prefix of one, or @last")
    output.add_fleet(parser)
    parser.add_argument("--pid", metavar="PID", type=int, help="diagnose the tree of this process instead of a job")
    parser.add_argument("--json", action="store_true", help="print one JSON object (one a line with --watch)")
    parser.add_argument("--watch", action="store_true", help="repeat until it ends, or until Ctrl-C")
    parser.add_argument(
        "--deep",
        action="store_true",
        help="add stacks (py-spy, jstack, eu-stack, gdb, as far as they are there); may pause it for a moment",
    )


def main(args: argparse.Namespace) -> int:
    """Print the diagnosis of a job or a process, once or repeatedly; return 0."""
    if (args.job is None) == (args.pid is None):
        raise UsageError("name a job, or a process with --pid (one of the two)")
    if args.pid is not None and args.pid <= 0:
        raise UsageError(f"--pid takes the number of a process, not {args.pid}")
    from unhang.jobs.diagnose import diagnose_job, diagnose_process, is_of_agent, process_exists, stacks_of

    agent = args.pid is None and is_of_agent(args.job)
    while True:
        diagnosis = diagnose_job(args.job) if args.pid is None else diagnose_process(args.pid)
        _print(diagnosis, stacks_of(diagnosis) if args.deep else [], args, agent=agent)
        if not args.watch or (args.pid is not None and not process_exists(args.pid)):
            return 0


def _print(diagnosis: Diagnosis, found: list[Stack], args: argparse.Namespace, *, agent: bool) -> None:
    if args.json:
        shown: dict[str, Any] = diagnosis.to_json()
        if args.deep:
            shown["stacks"] = [stack.to_dict() for stack in found]
        print(values.dump(shown), flush=True)
        return
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    print("\n".join(render(diagnosis, colour=colour, agent=agent, job=args.job or "")), flush=True)
    for stack in found:
        print(f"\n--- {_harmless(stack.comm)} [{stack.pid}] {stack.tool}".rstrip())
        print("\n".join(_harmless(line) for line in stack.text.splitlines()), flush=True)
    if args.watch:
        print(flush=True)


def render(diagnosis: Diagnosis, *, colour: bool = False, agent: bool = False, job: str = "") -> list[str]:
    """Return the lines of a diagnosis: the verdict, the process tree, and what to try.

    `agent`: it is of an agent's job. `job`: as the job was named, for advice that can be pasted.
    """
    from unhang.core.diagnosis.causes import COMMAND_LINE
    from unhang.core.diagnosis.suggest import suggestions, suggestions_for_agent

    head = f"{diagnosis.state}, {diagnosis.cause}"
    lines = [*output.fitted(mask.line(f"{head}: {diagnosis.reason}")), ""]
    if colour:
        lines[0] = lines[0].replace(head, f"\x1b[1;{COLOURS.get(diagnosis.state, '0')}m{head}\x1b[0m", 1)
    lines += _tree(diagnosis)
    lines += [line for note in diagnosis.evidence.get("notes", ()) for line in output.fitted(mask.line(note), "note: ")]
    if diagnosis.state != "alive":
        found = diagnosis.to_json()
        words = COMMAND_LINE | {"send": f"`unhang send {job} {'ANSWER' if agent else 'TEXT'}`"} if job else COMMAND_LINE
        advice = suggestions_for_agent(found, words) if agent else suggestions(found, None, words)
        lines += ["", *(line for step in advice for line in output.fitted(mask.line(step), "try: "))]
    return lines


def _tree(diagnosis: Diagnosis) -> list[str]:
    from unhang.core.durations import human

    by_parent: dict[int, list[int]] = {}
    known = {line.pid: line for line in diagnosis.processes}
    for line in diagnosis.processes:
        by_parent.setdefault(line.ppid if line.ppid in known else 0, []).append(line.pid)
    rows: list[tuple[str, str, str, str]] = []
    stack = [(pid, 0) for pid in reversed(by_parent.get(0, []))]
    while stack:
        pid, depth = stack.pop()
        line = known[pid]
        since = f" for {human(line.since)}" if line.since is not None and line.since >= 1 else ""
        name = "  " * min(depth, 20) + f"{_harmless(line.comm)} [{pid}]"
        rows.append((name, line.state, f"{line.cpu:.0f} %", line.waits + since))
        stack += [(child, depth + 1) for child in reversed(by_parent.get(pid, []))]
    width = min(max((len(row[0]) for row in rows), default=0), 48)
    heads = [f"{name:<{width}}  {state}  {cpu:>5}  " for name, state, cpu, _ in rows]
    return [
        line.rstrip() for head, row in zip(heads, rows, strict=True) for line in output.fitted(mask.line(row[3]), head)
    ]


def _harmless(text: str) -> str:
    """Return one line of foreign text (a command line, a prompt) without the characters that move the cursor."""
    return plain_text.harmless(text).replace("\n", " ")
