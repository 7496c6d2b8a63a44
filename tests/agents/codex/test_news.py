"""A real Codex hears by its hooks what has become of a job that it started in the background, once."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

from tests.support.codex.harness import Bench
from tests.support.jobs import over


def codex(bench: Bench, *words: str) -> list[dict[str, str]]:
    """`codex exec` as a person runs it who trusts the hook; its events."""
    given = ["--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"]
    done = subprocess.run(
        [bench.env["UNHANG_CODEX"], "exec", *given, *words],
        env=bench.env,
        cwd=bench.workspace,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_codex_is_told_by_its_hooks_how_a_job_of_its_own_has_ended(bench: Bench, tmp_path: Path) -> None:
    unhang = shlex.join(bench.command())
    hook = [{"hooks": [{"type": "command", "command": f"{unhang} codex news"}]}]
    hooks = {"hooks": dict.fromkeys(("PostToolUse", "UserPromptSubmit"), hook)}
    (bench.codex_home / "hooks.json").write_text(json.dumps(hooks))
    go, started = tmp_path / "go", tmp_path / "started"
    job = f"until [ -e {go} ]; do sleep 0.1; done; echo out of paper; exit 3"
    begun = codex(bench, f"[[shell:{unhang} start --stall off -- sh -c {shlex.quote(job)} > {started}]]")
    (thread,) = [event["thread_id"] for event in begun if event["type"] == "thread.started"]
    handle = bench.handle(started.read_text().strip())
    assert handle.spec["codex_thread"] == thread
    go.touch()
    over(handle)
    for _ in range(2):
        codex(bench, "resume", thread, "[[pong]]")
    asked = json.dumps(bench.fake.requests[-1])
    assert asked.count(f"job {handle.id} (") == 1, "told once, and kept in the conversation"
    assert "finished with 3" in asked
    assert "out of paper" in asked
