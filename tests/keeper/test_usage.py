"""A mistake of the caller is one line on stderr and exit 2 or 125, and nothing has been started."""

from __future__ import annotations

import os
import stat as modes
from pathlib import Path

import pytest

from tests.support.engine import Engine

TOUCH = ["--", "touch", "spawned"]

WRONG: dict[str, tuple[int, list[str]]] = {
    "no command": (2, []),
    "no command after --": (2, ["--"]),
    "empty command": (2, ["--", ""]),
    "empty shell line": (2, ["--shell", ""]),
    "command and shell line": (2, ["--shell", "touch spawned", *TOUCH]),
    "unknown option": (2, ["--nonsense", *TOUCH]),
    "abbreviated option": (2, ["--idl", "5", *TOUCH]),
    "idle is no duration": (2, ["--idle", "soon", *TOUCH]),
    "idle is negative": (2, ["--idle=-5", *TOUCH]),
    "idle is negative, apart": (2, ["--idle", "-5", *TOUCH]),
    "idle is empty": (2, ["--idle", "", *TOUCH]),
    "idle has no value": (2, ["--idle"]),
    "idle is not a number": (2, ["--idle", "nan", *TOUCH]),
    "idle is infinite": (2, ["--idle", "inf", *TOUCH]),
    "idle is absurd": (2, ["--idle", "1e400", *TOUCH]),
    "hard is longer than a century": (2, ["--hard", "999999999999", *TOUCH]),
    "hard has units in the wrong order": (2, ["--hard", "5s3m", *TOUCH]),
    "grace is negative": (2, ["--grace=-1", *TOUCH]),
    "grace is auto": (2, ["--grace", "auto", *TOUCH]),
    "warn is nonsense": (2, ["--warn", "x", *TOUCH]),
    "stall is nonsense": (2, ["--stall", "x", *TOUCH]),
    "liveness is unknown": (2, ["--liveness", "maybe", *TOUCH]),
    "category is unknown": (2, ["--category", "nonsense", *TOUCH]),
    "environment without =": (2, ["--env", "NAME", *TOUCH]),
    "environment without a name": (2, ["--env", "=value", *TOUCH]),
    "label without =": (2, ["--label", "name", *TOUCH]),
    "stdin is unknown": (2, ["--stdin", "nonsense", *TOUCH]),
    "stdin is a file that is not there": (2, ["--stdin", "@not-there", *TOUCH]),
    "stdin is a file on a terminal": (2, ["--pty", "--stdin", "@/dev/null", *TOUCH]),
    "directory is not there": (125, ["--cwd", "not-there", *TOUCH]),
    "directory is a file": (125, ["--cwd", "/dev/null", *TOUCH]),
    "directory has no value": (2, ["--cwd"]),
    "directory is empty": (2, ["--cwd", "", *TOUCH]),
}


@pytest.mark.parametrize(("code", "words"), WRONG.values(), ids=list(WRONG))
def test_wrong_usage_is_one_line_and_starts_nothing(
    engine: Engine, tmp_path: Path, code: int, words: list[str]
) -> None:
    done = engine.run(*words, cwd=tmp_path)
    assert (done.code, done.out) == (code, b"")
    [line] = done.err.decode().splitlines()
    assert line.startswith("unhang: ")
    assert len(line) > 15
    assert engine.jobs() == []
    assert not (tmp_path / "spawned").exists()


def test_wrong_usage_is_the_same_with_json(engine: Engine) -> None:
    done = engine.run("--json", "--idle", "soon", "--", "true")
    assert (done.code, done.out) == (2, b"")
    assert len(done.err.splitlines()) == 1


def test_a_command_that_is_not_there_is_127(engine: Engine) -> None:
    done = engine.run("--", "no-such-command-anywhere")
    assert (done.code, done.out) == (127, b"")
    [line] = done.err.decode().splitlines()
    assert "no-such-command-anywhere" in line


def test_a_path_that_is_not_there_is_127(engine: Engine, tmp_path: Path) -> None:
    done = engine.run("--", tmp_path / "nothing")
    assert (done.code, len(done.err.splitlines())) == (127, 1)


def test_a_script_whose_interpreter_is_missing_is_127(engine: Engine, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    done = engine.run("--", script)
    assert (done.code, len(done.err.splitlines())) == (127, 1)


@pytest.mark.parametrize("kind", ["plain file", "directory"])
def test_what_cannot_be_executed_is_126(engine: Engine, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "target"
    if kind == "directory":
        target.mkdir()
    else:
        target.write_text("echo no\n")
        assert not target.stat().st_mode & modes.S_IXUSR
    done = engine.run("--json", "--", target)
    assert done.code == 126
    assert (done.result["status"], done.result["exitCode"], done.result["error"]["code"]) == ("error", 126, "ESPAWN")
    assert len(done.err.splitlines()) == 1


def test_a_script_without_a_first_line_is_run_by_the_shell(engine: Engine, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text('echo "$0 $1"\n')
    script.chmod(0o755)
    done = engine.run("--", script, "word")
    assert (done.code, done.out) == (0, f"{script} word\n".encode())


def test_a_state_directory_that_others_may_write_to_is_refused(engine: Engine) -> None:
    engine.home.mkdir()
    engine.home.chmod(0o777)
    done = engine.run("--", "true")
    assert (done.code, done.out) == (125, b"")
    [line] = done.err.decode().splitlines()
    assert "chmod 700" in line


def test_a_state_directory_that_is_a_link_is_refused(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    engine.home.symlink_to(tmp_path / "elsewhere")
    done = engine.run("--", "true")
    assert (done.code, len(done.err.splitlines())) == (125, 1)
    assert os.listdir(tmp_path / "elsewhere") == []


def test_a_current_directory_that_is_gone_is_125(engine: Engine, tmp_path: Path) -> None:
    import subprocess

    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", *engine.command("run", "--", "true")],
        cwd=gone, env=engine.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (125, b"", 1)
