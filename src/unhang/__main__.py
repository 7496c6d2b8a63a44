"""`unhang` and `python -m unhang`."""

from __future__ import annotations

import gc
import io
import os
import sys


def main() -> None:
    # A short life makes little garbage, and a collection in the middle of the imports costs a millisecond.
    gc.disable()
    _open_standard_descriptors()
    try:
        if sys.argv[1:] == ["hook"]:
            # it stands in a session's way: nothing else is loaded
            from unhang.faces.cli.hook import serve

            code = serve()
        else:
            from unhang.faces.cli.main import run

            code = run(sys.argv[1:])
    except KeyboardInterrupt:  # so early that nothing has been started
        code = 130
    # Taking the interpreter apart costs more than everything above; nothing of ours needs it.
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        pass
    os._exit(code)


def _open_standard_descriptors() -> None:
    """`>&-` and friends: the next file we open must not become somebody's standard output."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    # closed at the start: Python has None there. And what we print is UTF-8 whatever the locale says.
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - for good
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - for good
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


if __name__ == "__main__":
    main()
