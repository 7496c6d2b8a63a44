"""`unhang codex`: tasks for Codex, watched; its threads resumed, reviewed with, compacted, recovered."""

from __future__ import annotations

import argparse

from unhang.agents.codex.plan import APPROVALS, DENY, SANDBOXES
from unhang.faces.cli import options, output

SUMMARY = "give Codex a task, watch it, compact and recover its threads"
VERBS = ("run", "resume", "review", "cloud", "compact", "recover")


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="codex_verb", required=True, metavar="|".join(VERBS))
    run = _verb(verbs, "run", "Give Codex a task in the background and print the job id.")
    run.add_argument("task", metavar="TASK", help="what Codex shall do; - reads it from stdin")
    run.add_argument("--thread", metavar="ID", help="go on with this thread")
    run.add_argument("--resume", metavar="JOB", help="go on with the thread of this job")
    _add_turn(run)
    resume = _verb(verbs, "resume", "Go on with a thread.")
    resume.add_argument("thread", metavar="THREAD", help="the thread's id (unhang codex run --json shows it)")
    resume.add_argument("task", metavar="TASK", help="what Codex shall do now; - reads it from stdin")
    _add_turn(resume)
    review = _verb(verbs, "review", "Let Codex review changes.")
    review.add_argument("task", nargs="?", default="", metavar="TEXT", help="instructions instead of a choice below")
    which = review.add_mutually_exclusive_group()
    which.add_argument("--uncommitted", action="store_true", help="the working tree (the default)")
    which.add_argument("--base", metavar="BRANCH", help="the changes against this branch")
    which.add_argument("--commit", metavar="SHA", help="the changes of this commit")
    _add_turn(review, app_server_only=True)
    cloud = _verb(verbs, "cloud", "Pass a command on to `codex cloud`, without a local limit.")
    cloud.add_argument("words", nargs=argparse.REMAINDER, metavar="WORDS", help="as for codex cloud")
    compact = _verb(verbs, "compact", "Compact a thread, to its real end; not done is an error.")
    compact.add_argument("thread", metavar="THREAD", help="the thread's id")
    _add_program(compact)
    output.add_json(compact, "print the outcome as one JSON object")
    options.add_limits(compact)
    recover = _verb(verbs, "recover", "Cancel a job, compact its thread and go on with another prompt.")
    output.add_job(recover)
    recover.add_argument("--prompt", dest="task", required=True, metavar="TEXT", help="what Codex shall do instead")
    _add_turn(recover, app_server_only=True)


def _verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser], name: str, description: str
) -> argparse.ArgumentParser:
    return verbs.add_parser(name, help=description, description=description, allow_abbrev=False)


def _add_program(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--codex", metavar="FILE", help="the program; default: $UNHANG_CODEX, or codex on the PATH")
    parser.add_argument("--cd", metavar="DIR", help="the directory that Codex works in")
    parser.add_argument(
        "--config", "-c", metavar="KEY=VALUE", action="append", default=[], help="a setting of Codex's, as for its -c"
    )
    parser.add_argument("--record", metavar="FILE", help="write every line of the protocol to this file")


def _add_turn(parser: argparse.ArgumentParser, *, app_server_only: bool = False) -> None:
    parser.add_argument(
        "--wait", action="store_true", help="stay in the foreground: print the reply, exit with its code"
    )
    output.add_json(parser, "print the job's status (with --wait: its result) as one JSON object")
    parser.add_argument("--quiet", action="store_true", help="with --wait: no talk on stderr")
    parser.add_argument("--model", metavar="NAME", help="the model")
    parser.add_argument("--effort", metavar="LEVEL", help="the reasoning effort: low, medium, high, …")
    parser.add_argument("--sandbox", choices=SANDBOXES, help="what Codex may do; default: as it is configured")
    parser.add_argument(
        "--approvals",
        choices=APPROVALS,
        default=DENY,
        help="the answer when Codex asks: deny (default), accept, or ask (answer with unhang send JOB yes|no)",
    )
    parser.add_argument("--approval-wait", metavar="D", default="5m", help="with ask: silence is a no after this long")
    parser.add_argument(
        "--ask-for-approval",
        choices=("untrusted", "on-request", "never"),
        help="when Codex asks; default: as it is configured",
    )
    parser.add_argument(
        "--tool-limit", metavar="D", help="how long a command of Codex's may be silent; default: by policy"
    )
    if not app_server_only:
        parser.add_argument(
            "--via",
            choices=("app-server", "exec"),
            default="app-server",
            help="how to talk to Codex: app-server (default: sees everything) or exec",
        )
    parser.add_argument("--label", metavar="K=V", action="append", default=[], help="a label, for listing")
    _add_program(parser)
    options.add_limits(parser)


def main(args: argparse.Namespace) -> int:
    from unhang.faces.cli.commands import codex_do

    return codex_do.main(args)
