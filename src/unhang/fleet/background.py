"""Going to the background: the caller gets the prompt back when what it asked for has begun, or learns why not."""

from __future__ import annotations

import os
import sys

from unhang.errors import UnhangError
from unhang.procs.inherited import close_all_but, to_null
from unhang.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_BEGUN, _FAILED = b"+", b"-"


def in_background(log: str, work: Callable[[Callable[[str], None]], int]) -> int:
    """Run `work` in a process of its own; return when it has said its first line, which is printed here.

    What it says later goes to the file `log`. An error before its first line is raised here.
    """
    reading, writing = os.pipe()
    first = os.fork()
    if first:
        os.close(writing)
        with open(reading, "rb") as pipe:
            said = pipe.read()
        os.waitpid(first, 0)
        text = said[1:].decode("utf-8", "replace")
        if said[:1] == _BEGUN:
            print(text)
            return 0
        code, _, why = text.partition(" ")
        error = UnhangError(why or "it ended before it had begun")
        error.exit_code = int(code) if code.isdigit() else error.exit_code
        raise error
    os.close(reading)
    os.setsid()
    if os.fork():
        os._exit(0)
    ended = 1
    try:
        ended = _work(log, writing, work)
    except Exception:
        import traceback

        traceback.print_exc()  # to the log: nothing else would say why it is not there any more
        sys.stderr.flush()
    finally:
        os._exit(ended)


def _work(log: str, pipe: int, work: Callable[[Callable[[str], None]], int]) -> int:
    os.chdir("/")
    to_null(range(3))
    kept = files.open_plain(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for fd in (1, 2):
        os.dup2(kept, fd)
    close_all_but({pipe})
    os.set_inheritable(pipe, False)
    begun: list[str] = []

    def tell(line: str) -> None:
        if not begun:
            begun.append(line)
            os.write(pipe, _BEGUN + line.encode())
            os.close(pipe)
        else:
            print(line, file=sys.stderr, flush=True)

    try:
        return work(tell)
    except UnhangError as error:
        if begun:
            print(f"unhang: {error}", file=sys.stderr, flush=True)
        else:
            os.write(pipe, _FAILED + f"{error.exit_code} {error}".encode())
        return error.exit_code
