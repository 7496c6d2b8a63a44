"""How unhang is started again: by unhang itself, and by the programs that it is installed into.

A process of unhang's own must never run a file of the directory that a person or an agent happens to stand in. A plain
`python -c` or `python -m` puts that directory first on its path, and PYTHONPATH and its relatives can name any other.
So each process that unhang starts is isolated (`-I`), and is told where unhang is. The environment is passed on
unchanged: the variables may be meant for the command that a job runs.

There is no `from __future__` here, because `unhang` starts itself anew by this module while the path is not trusted.
"""

import os
import sys

_MAIN = "from unhang.__main__ import main; main()"
_AS_MODULE = "import runpy; runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"


def command() -> list[str]:
    """Return how another program starts unhang. The path is absolute, because a client's PATH is not the shell's."""
    found = find_installed("unhang")
    return [os.path.abspath(found)] if found else command_line()


def find_installed(program: str) -> "str | None":
    """Return the path of a program that is installed beside this Python, else of one on the PATH; None: there is none.

    A relative folder on the PATH means another one in each project, and is passed over.
    """
    import shutil

    beside = os.path.join(os.path.dirname(sys.executable), program)
    folders = [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)]
    return beside if os.access(beside, os.X_OK) else shutil.which(program, path=os.pathsep.join(folders))


def command_line(*words: str) -> list[str]:
    """Return the words of `unhang WORDS`, isolated."""
    return isolated(_MAIN, *words)


def module(name: str, *words: str) -> list[str]:
    """Return the words of `python -m NAME WORDS`, isolated."""
    return isolated(_AS_MODULE, name, *words)


def isolated(code: str, *words: str, site: bool = True) -> list[str]:
    """Return a Python that runs `code`, with unhang to import and nothing of the current directory or of PYTHON*
    variables.

    `site` False: the standard library and unhang suffice, which saves the time to look for other packages.
    """
    folders = [os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))]
    if site:
        folders += _user_packages()
    # At the end of the path: a package that is installed beside unhang cannot stand in for a standard module.
    start = f"import sys; sys.path += {folders!a}; {code}"
    return [sys.executable, "-I", *([] if site else ["-S"]), "-c", start, *words]


def _user_packages() -> list[str]:
    """`-I` leaves out what was installed with `pip install --user`, where the SDKs for MCP and ACP may be."""
    if os.environ.get("PYTHONUSERBASE"):
        return []  # the folder was named by a variable
    import site

    folder = site.getusersitepackages() if site.ENABLE_USER_SITE else ""
    # not where it is empty: `python -c` has an empty entry for the current directory
    return [folder] if folder and folder in sys.path else []
