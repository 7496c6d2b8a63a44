"""`unhang` and `python -m unhang`."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    # A short life makes little garbage, and a collection in the middle of the imports costs a millisecond.
    gc.disable()
    _open_standard_descriptors()
    from unhang.faces.cli.main import run

    code = run(sys.argv[1:])
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


if __name__ == "__main__":
    main()
