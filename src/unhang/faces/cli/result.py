"""`unhang result`: how a job ended, and what it printed. Can be asked again and again."""

from __future__ import annotations

import argparse
import sys

from unhang.faces.cli import common
from unhang.faces.cli.talk import Talk
from unhang.jobs import agenting

SUMMARY = "the result of a job: its output, and how it ended; exits as the job did"


def configure(parser: argparse.ArgumentParser) -> None:
    common.add_job(parser)
    common.add_json(parser)


def main(args: argparse.Namespace) -> int:
    job = common.job_of(args)
    result = job.result()
    if args.json:
        common.print_json(agenting.shown(job, result.to_json()))
    else:
        sys.stdout.write(result.stdout)
        sys.stdout.flush()
        sys.stderr.write(result.stderr)
        sys.stderr.flush()
        talk = Talk()
        talk.ending(job.id, result.outcome)
        if result.status == "running":
            talk.line(f"job {job.id} is still running")
    return 0 if result.status == "running" else result.shell_code
