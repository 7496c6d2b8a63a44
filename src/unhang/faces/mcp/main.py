"""From the command line to a running server."""

from __future__ import annotations

from unhang.core.extras import Extra
from unhang.errors import UsageError
from unhang.faces.mcp.settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def settings_of(args: argparse.Namespace) -> Settings:
    """Return the settings that these options give. Raises UsageError for a number that is not more than 0."""
    given = {
        "wait": args.wait,
        "max_jobs": args.max_jobs,
        "max_calls": args.max_calls,
        "output_bytes": args.max_output,
        "progress_every": args.progress_every,
        "first_progress": None if args.progress_every is None else min(5.0, args.progress_every),
    }
    for name, value in given.items():
        if value is not None and value <= 0:
            raise UsageError(f"{name.replace('_', '-')} must be more than 0: {value:g}")
    return Settings(
        policy=args.policy,
        compat=args.compat,
        aliases=args.aliases or "",
        allow_commands=tuple(args.allow_command),
        deny_commands=tuple(args.deny_command),
        allow_dirs=tuple(args.allow_dir),
        deny_dirs=tuple(args.deny_dir),
        **{name: value for name, value in given.items() if value is not None},
    )


def serve(args: argparse.Namespace) -> int:
    """Serve on stdio, or over HTTP if the options say so, and return the exit code."""
    settings = settings_of(args)
    if args.http is not None:
        with Extra("serving HTTP needs the official SDK", "mcp"):
            from unhang.faces.mcp import http
        return http.serve(settings, args.http, args.token_file)
    from unhang.faces.mcp import stdio

    return stdio.serve(settings)
