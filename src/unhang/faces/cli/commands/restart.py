"""`unhang restart`: ends a job if it runs, and starts the same again."""

from __future__ import annotations

import argparse

from unhang.agents import registry
from unhang.faces.cli import output
from unhang.faces.cli.agent_job import start_in_background
from unhang.jobs import restart
from unhang.jobs.request import split_pairs

SUMMARY = "start a job again, with the same command, limits and name; ends it first if it runs; prints the new id"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang restart`."""
    output.add_job(parser)
    parser.add_argument(
        "--env", metavar="NAME=VALUE", action="append", default=[], help="add to the environment, which is this one"
    )
    output.add_json(parser, "print the new job's status as one JSON object instead")


def main(args: argparse.Namespace) -> int:
    """End the job, start it again in the background, and print the id or the status of the new one; return 0."""
    job = output.job_of(args)
    prepared = restart.prepare_again(job, split_pairs("--env", args.env))
    restart.end_first(job)
    return start_in_background(prepared, as_json=args.json, add_report=registry.with_agent_report)
