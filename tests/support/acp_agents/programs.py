"""The real agents, as scripts/test-programs installs them, each with a home of a test's own and the fake model.

`start(name, folder, fake)` → its argv and its environment. A missing one is skipped, loudly.
Mistral's Vibe is not here: it needs Python 3.12, Goose is a download of its own, and both of them are in no lock file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.support.fakes.acp_models import FakeModels
from tests.support.programs import MODULES, NODE, path_of

_SETTINGS = ("ANTHROPIC_", "CLAUDE", "CODEX_", "GEMINI_", "GOOGLE_", "KIMI_", "OPENAI_", "OPENCODE_", "QWEN_", "UNHANG")


class Started(NamedTuple):
    argv: list[str]
    env: dict[str, str]


def _module(path: str) -> str:
    return path_of(MODULES / path)


def _claude(home: Path, url: str) -> tuple[list[str], dict[str, str]]:
    config = home / ".claude"
    config.mkdir()
    env = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "dummy", "CLAUDE_CONFIG_DIR": str(config)}
    env |= {"IS_SANDBOX": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    env |= {"DISABLE_TELEMETRY": "1", "CLAUDE_CODE_MAX_RETRIES": "1"}
    return [path_of(NODE), _module("@agentclientprotocol/claude-agent-acp/dist/index.js")], env


def _codex(home: Path, url: str) -> tuple[list[str], dict[str, str]]:
    from tests.support.codex.harness import CONFIG

    config = home / ".codex"
    config.mkdir()
    text = CONFIG.replace("http://127.0.0.1:PORT", url).replace('approval_policy = "never"', "")
    (config / "config.toml").write_text(text.replace('sandbox_mode = "danger-full-access"', ""))
    # without a sandbox: not every machine lets a test make one
    env = {"CODEX_HOME": str(config), "FAKE_API_KEY": "dummy", "NO_BROWSER": "1"}
    env |= {"INITIAL_AGENT_MODE": "agent-full-access"}
    return [path_of(NODE), _module("@agentclientprotocol/codex-acp/dist/index.js")], env


def _gemini(home: Path, url: str) -> tuple[list[str], dict[str, str]]:
    (home / ".gemini").mkdir()
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True, "disableUpdateNag": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings))
    env = {
        "GEMINI_MODEL": "gemini-2.5-flash",
        "GEMINI_API_KEY": "dummy",
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_CLI_NO_RELAUNCH": "true",
    }
    program = _module("@google/gemini-cli/bundle/gemini.js")
    return [path_of(NODE), program, "--acp"], env


def _kimi(home: Path, url: str) -> tuple[list[str], dict[str, str]]:
    env = {"KIMI_MODEL_NAME": "fake-model", "KIMI_MODEL_API_KEY": "dummy", "KIMI_MODEL_BASE_URL": f"{url}/v1"}
    env |= {"KIMI_MODEL_PROVIDER_TYPE": "openai", "KIMI_MODEL_MAX_CONTEXT_SIZE": "100000"}
    env |= {"KIMI_CODE_HOME": str(home / ".kimi"), "KIMI_CODE_NO_AUTO_UPDATE": "1"}
    return [path_of(NODE), _module("@moonshot-ai/kimi-code/dist/main.mjs"), "acp"], env


def _opencode(_: Path, url: str) -> tuple[list[str], dict[str, str]]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Fake",
        "options": {"baseURL": f"{url}/v1", "apiKey": "dummy"},
        "models": {"fake-model": {"name": "fake", "limit": {"context": 100000, "output": 8000}}},
    }
    config = {
        "provider": {"fake": provider},
        "model": "fake/fake-model",
        "small_model": "fake/fake-model",
        "autoupdate": False,
        "share": "disabled",
        "permission": {"bash": "ask", "edit": "ask"},
    }
    env = {"OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_DISABLE_AUTOUPDATE": "1"}
    env |= {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}
    return [_module("opencode-linux-x64-baseline/bin/opencode"), "acp"], env


def _qwen(home: Path, url: str) -> tuple[list[str], dict[str, str]]:
    (home / ".qwen").mkdir()
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "tools": {"approvalMode": "default"},
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    (home / ".qwen" / "settings.json").write_text(json.dumps(settings))
    env = {"OPENAI_API_KEY": "dummy", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "fake-model"}
    env |= {"QWEN_CODE_NO_RELAUNCH": "true"}
    return [path_of(NODE), _module("@qwen-code/qwen-code/cli.js"), "--acp"], env


_AGENTS: dict[str, Callable[[Path, str], tuple[list[str], dict[str, str]]]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "kimi": _kimi,
    "opencode": _opencode,
    "qwen": _qwen,
}
NAMES = tuple(_AGENTS)


def bins() -> dict[str, str]:
    """What `npm install -g` would put on the PATH; OpenCode's own package has no such link."""
    linked = ("claude-agent-acp", "codex-acp", "gemini", "kimi", "qwen")
    return {name: _module(f".bin/{name}") for name in linked} | {
        "opencode": _module("opencode-linux-x64-baseline/bin/opencode")
    }


def start(name: str, folder: Path, fake: FakeModels) -> Started:
    """`folder`: a new one becomes the agent's home."""
    home = folder / f"{name}-home"
    home.mkdir(parents=True)
    words, more = _AGENTS[name](home, fake.url)
    env = {key: value for key, value in os.environ.items() if not key.startswith(_SETTINGS)}
    for key, place in (("CONFIG", ".config"), ("DATA", ".local/share"), ("STATE", ".local/state"), ("CACHE", ".cache")):
        env[f"XDG_{key}_HOME"] = str(home / place)
    # a proxy of the machine's is not for 127.0.0.1, and what is not there shall fail at once
    env = {key: value for key, value in env.items() if not key.lower().endswith("_proxy")}
    env |= {"HOME": str(home), "TMPDIR": str(home), "NO_COLOR": "1", "PATH": f"{NODE.parent}:{env['PATH']}"}
    return Started(words, env | more)
