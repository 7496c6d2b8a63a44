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
    parser.epilog = "environment: UNHANG_WATCH=off starts no watcher; UNHANG_HOME says where the streams are"


def main(_args: argparse.Namespace) -> int:
    from unhang.sessions.claude.hook_command import serve

    return serve()
