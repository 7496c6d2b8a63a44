"""`unhang` and `python -m unhang`.

There is no `from __future__` here: it is an import like any other, and would be looked for in the current directory
before that is taken off the path.
"""

import gc
import io
import os
import sys

# Each of these can make an interpreter run code that is neither Python's nor unhang's own.
_STEERING = (
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONPLATLIBDIR",
    "PYTHONUSERBASE",
    "PYTHONPYCACHEPREFIX",
    "PYTHONSTARTUP",
    "PYTHONINSPECT",
    "PYTHONWARNINGS",
    "PYTHONBREAKPOINT",
    "PYTHONEXECUTABLE",
    "PYTHONCASEOK",
    "PYTHON_PRESITE",
)


def main() -> None:
    """Run the command line and exit with its code."""
    # A short life makes little garbage, and a collection in the middle of the imports costs a millisecond.
    gc.disable()
    if not sys.flags.isolated and any(map(os.environ.get, _STEERING)):
        _start_isolated()
    _open_standard_descriptors()
    try:
        _find_own_modules()
        if sys.argv[1:] == ["hook"]:
            # it stands in a session's way: nothing else is loaded
            from unhang.sessions.claude.hook_command import serve

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


def _start_isolated() -> None:
    """The same again in this process, without what the variables ask for. They stay set, for the jobs."""
    from unhang.procs.executable import command_line

    os.execve(sys.executable, command_line(*sys.argv[1:]), dict(os.environ))


def _open_standard_descriptors() -> None:
    """`>&-` and friends: the next file we open must not become a standard stream."""
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


def _find_own_modules() -> None:
    try:
        from unhang.own_modules import find_without_a_search
    except ImportError:  # a Python to come has these things elsewhere: it searches
        return
    find_without_a_search()


def _leave_the_directory() -> None:
    """`python -m` puts the current directory first on the path; unhang may be nowhere else, so it is put at the end."""
    if not sys.flags.safe_path:
        del sys.path[0]
        sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


if __name__ == "__main__":
    _leave_the_directory()
    main()
