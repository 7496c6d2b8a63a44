"""How a job is started."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

# They run in processes of their own: who starts a job at a terminal leads the session of that terminal afterwards.
BEGIN = textwrap.dedent(
    """
    import os, signal, sys
    from unhang.errors import SpawnError
    from unhang.procs.spawn import spawn

    def shown_by(*words):
        job = spawn(list(words), dict(os.environ), stdin=None, terminal=True, size=None)
        os.set_blocking(job.streams.out, True)
        shown = b""
        try:
            while got := os.read(job.streams.out, 4096):
                shown += got
        except OSError:
            pass  # the end of a terminal
        os.close(job.streams.out)
        os.waitpid(job.pid, 0)
        return shown.decode()
    """
)

# A starved starter: it does not run for a while after each call that may have made a process.
STARTS_LATE = textwrap.dedent(
    """
    import time

    def late(_frame, event, what):
        if event == "c_return" and what.__name__ in ("posix_spawn", "fork", "fork_exec"):
            time.sleep(0.3)

    sys.setprofile(late)
    # field 5 is its group, field 8 the one that its terminal listens to
    fields = shown_by("sh", "-c", "read -r line </proc/self/stat; echo $line").rpartition(")")[2].split()
    print(fields[2] == fields[5])
    """
)

STARTS_ONE = textwrap.dedent(
    """
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        print(shown_by(*sys.argv[1:]))
    except SpawnError as error:
        print(error.exit_code)
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            print("no child")
    """
)


def _python(program: str, *words: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + program, *words], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.splitlines()


def test_a_job_is_in_front_at_its_terminal_before_its_first_instruction() -> None:
    """A program that is not, such as `top`, is stopped by the kernel as it sets up the terminal."""
    assert _python(STARTS_LATE) == ["True"]


def test_what_cannot_be_executed_at_a_terminal_leaves_no_process(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    assert _python(STARTS_ONE, str(script))[:2] == ["127", "no child"]


def test_a_script_without_a_first_line_runs_at_a_terminal(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("echo plain $1\n")
    script.chmod(0o755)
    assert _python(STARTS_ONE, str(script), "words")[0] == "plain words"


def test_a_job_at_a_terminal_has_the_default_signals() -> None:
    """Its starter ignores SIGHUP and handles SIGTERM; the kernel shows what the job has."""
    fields = dict(
        line.split(":\t") for line in _python(STARTS_ONE, "grep", "^Sig[BIC]", "/proc/self/status") if ":\t" in line
    )
    ignored = int(fields["SigIgn"], 16)
    assert int(fields["SigBlk"], 16) == 0
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        assert not ignored & (1 << number - 1), number
