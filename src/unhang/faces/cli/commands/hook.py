"""`unhang hook`: the command behind the hooks of Claude Code (sessions/claude/hook_command.py does the work).

`unhang.__main__` calls it directly where there is no other word on the command line: a hook stands in the way of its
session, and the rest of the command line is not loaded.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

SUMMARY = "the command behind Claude Code's hooks: records what they tell (JSON on stdin); always ends with 0"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the environment variables of `unhang hook` to its help; it has no options."""
    parser.epilog = "environment: UNHANG_WATCH=off starts no watcher; UNHANG_HOME says where the streams are"


def main(_args: argparse.Namespace) -> int:
    """Record the hook's JSON from stdin; return 0 whatever happens."""
    from unhang.sessions.claude.hook_command import serve

    return serve()
