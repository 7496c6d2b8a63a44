"""One turn of a real agent, with a model of the test's and unhang as its MCP server."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.support import programs
from tests.support.engine import Engine
from tests.support.fakes.models import FakeModel
from tests.support.mcp.harness import Servers

PATIENCE = 100

CODEX_CONFIG = """\
model = "gpt-5.5"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
web_search = "disabled"
cli_auth_credentials_store = "file"
[model_providers.fake]
name = "fake"
base_url = "http://127.0.0.1:{port}/v1"
env_key = "FAKE_API_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
supports_websockets = false
[analytics]
enabled = false
[feedback]
enabled = false
[otel]
exporter = "none"
trace_exporter = "none"
metrics_exporter = "none"
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
tool_suggest = false
skill_search = false
[mcp_servers.unhang]
command = {command}
args = {args}
env = {env}
default_tools_approval_mode = "approve"
required = true
startup_timeout_sec = 60
"""


def run_claude(servers: Servers, engine: Engine, tmp_path: Path, model: FakeModel) -> None:
    """One turn of the real Claude Code, whose model and tools are these; it must end with "finished"."""
    programs.need(programs.CLAUDE)
    config, work = tmp_path / "config", tmp_path / "work"
    config.mkdir()
    work.mkdir()
    key = "sk-ant-dummy-0000000000000000000000000000"
    command, *args = servers.command()
    mcp = {"mcpServers": {"unhang": {"command": command, "args": args, "env": engine.env}}}
    (work / "mcp.json").write_text(json.dumps(mcp))
    (config / ".claude.json").write_text(
        json.dumps(
            {
                "hasCompletedOnboarding": True,
                "customApiKeyResponses": {"approved": [key[-20:]], "rejected": []},
                "projects": {str(work): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
            }
        )
    )
    (config / "settings.json").write_text(json.dumps({"permissions": {"allow": ["mcp__unhang"]}}))
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "CLAUDE_CONFIG_DIR": str(config),
        "TMPDIR": str(tmp_path),
        "SHELL": "/bin/bash",
        "LANG": "C.UTF-8",
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model.port}",
        "ANTHROPIC_API_KEY": key,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
    }
    words = [str(programs.CLAUDE), "-p", "run it", "--output-format", "json", "--mcp-config", "mcp.json"]
    done = subprocess.run(
        words, env=env, cwd=work, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    result = json.loads(done.stdout)
    result = result[-1] if isinstance(result, list) else result
    assert result["is_error"] is False
    assert result["result"] == "finished"


def run_codex(servers: Servers, engine: Engine, tmp_path: Path, model: FakeModel) -> None:
    """One turn of the real Codex, whose model and tools are these; it must end with "finished"."""
    programs.need(programs.CODEX)
    home, work = tmp_path / "codex", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    command, *args = servers.command()
    given = ", ".join(f"{json.dumps(name)} = {json.dumps(value)}" for name, value in engine.env.items())
    text = CODEX_CONFIG.format(
        port=model.port, command=json.dumps(command), args=json.dumps(args), env="{" + given + "}"
    )
    (home / "config.toml").write_text(text)
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "CODEX_HOME": str(home),
        "FAKE_API_KEY": "dummy",
    }
    words = [str(programs.CODEX), "exec", "--json", "--skip-git-repo-check", "run it"]
    done = subprocess.run(
        words, env=env, cwd=work, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[-1]["type"] == "turn.completed"
    said = [e["item"]["text"] for e in events if e["type"] == "item.completed" and e["item"]["type"] == "agent_message"]
    assert said == ["finished"]
