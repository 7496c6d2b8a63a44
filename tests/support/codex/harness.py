"""Drives the real `unhang codex` with the real Codex and a fake model, in folders of a test's own."""

from __future__ import annotations

import os
from pathlib import Path

from tests.agents.codex import recordings
from tests.support.engine import Done
from tests.support.fakes.openai_responses import FakeOpenAI
from tests.support.jobs import Jobs
from tests.support.turn import Turn
from unhang.jobs.handle import Job

CONFIG = """\
model = "gpt-5.5"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
model_context_window = 100000
model_auto_compact_token_limit = 90000
web_search = "disabled"
cli_auth_credentials_store = "file"
[model_providers.fake]
name = "fake"
base_url = "http://127.0.0.1:PORT/v1"
env_key = "FAKE_API_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 1
stream_idle_timeout_ms = 60000
supports_websockets = false
[analytics]
enabled = false
[feedback]
enabled = false
[history]
persistence = "none"
[features]
apps = false
plugins = false
remote_plugin = false
plugin_discovery_prefetch = false
daemon_auto_start = false
shell_snapshot = false
enable_request_compression = false
multi_agent = false
image_generation = false
tool_suggest = false
skill_search = false
"""
# Generous: a loaded machine may need seconds to start a program of 300 MB.
PATIENT = ("--idle", "90", "--hard", "100")


def configured(home: Path, port: int) -> dict[str, str]:
    """A home of Codex's whose model is the fake one at this port; the environment that goes with it."""
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(CONFIG.replace("PORT", str(port)))
    return {"CODEX_HOME": str(home), "FAKE_API_KEY": "dummy"}


class Bench(Jobs):
    def __init__(self, folder: Path, fake: FakeOpenAI, codex: str) -> None:
        super().__init__(folder)
        self.fake = fake
        self.codex_home = folder / "codex-home"
        self.workspace = folder / "workspace"
        for place in (self.workspace, folder / "user"):
            place.mkdir()
        for name in [name for name in self.env if name.startswith(("CODEX_", "OPENAI_"))]:
            del self.env[name]
        self.env |= {"HOME": str(folder / "user"), "UNHANG_CODEX": codex} | configured(self.codex_home, fake.port)

    def configure(self, port: int) -> None:
        configured(self.codex_home, port)

    def codex(self, verb: str, *words: object, record: str = "", timeout: float = 110) -> Done:
        """`unhang codex VERB …` to its end; `record`: the name of the recording that is made of it."""
        target = self.folder / f"{record}.ndjson"
        more = ("--record", str(target)) if record else ()
        done = self.call("codex", verb, *words, *more, timeout=timeout, cwd=self.workspace)
        if record and os.environ.get("UPDATE_RECORDINGS"):
            recordings.keep(record, target, self.folder)
        return done

    def turn(self, task: str, *words: object, record: str = "") -> Turn:
        """`unhang codex run --wait --json`."""
        return Turn(self, self.codex("run", task, "--wait", "--json", *words, record=record), "codex")

    def begun(self, task: str, *words: object) -> Job:
        """`unhang codex run` in the background."""
        done = self.codex("run", task, *words)
        assert done.code == 0, done.err
        return self.handle(done.out.decode().strip())
