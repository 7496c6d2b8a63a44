"""How the ACP agents that people have are started: pure data. `--command` serves the others."""

from __future__ import annotations

from unhang.core.record import Record


class Recipe(Record):
    """How an agent is started. The first word of `argv` is looked for on the PATH; `login`: how a person logs in.

    `in_use`: words of the error with which it fails where another one begins in the same home at the same moment.
    """

    name: str
    title: str
    argv: tuple[str, ...]
    install: str
    login: str
    in_use: str = ""


_LISTED = (
    Recipe(
        "claude",
        "Claude Code",
        ("claude-agent-acp",),
        "npm install -g @agentclientprotocol/claude-agent-acp",
        "run `claude` and /login, or set ANTHROPIC_API_KEY",
    ),
    Recipe(
        "codex",
        "Codex",
        ("codex-acp",),
        "npm install -g @agentclientprotocol/codex-acp",
        "run `codex login`, or set OPENAI_API_KEY",
        "failed to initialize sqlite state runtime",
    ),
    Recipe(
        "gemini",
        "Gemini CLI",
        ("gemini", "--acp"),
        "npm install -g @google/gemini-cli",
        "run `gemini` once, or set GEMINI_API_KEY",
    ),
    Recipe(
        "goose",
        "Goose",
        ("goose", "acp"),
        "see block.github.io/goose",
        "run `goose configure`",
    ),
    Recipe(
        "kimi",
        "Kimi Code",
        ("kimi", "acp"),
        "npm install -g @moonshot-ai/kimi-code",
        "run `kimi login`",
    ),
    Recipe(
        "opencode",
        "OpenCode",
        ("opencode", "acp"),
        "npm install -g opencode-ai",
        "run `opencode auth login`",
    ),
    Recipe(
        "qwen",
        "Qwen Code",
        ("qwen", "--acp"),
        "npm install -g @qwen-code/qwen-code",
        "run `qwen` once, or set OPENAI_API_KEY and OPENAI_BASE_URL",
    ),
    Recipe(
        "vibe",
        "Mistral Vibe",
        ("vibe-acp",),
        "uv tool install mistral-vibe",
        "run `vibe --setup`, or set MISTRAL_API_KEY",
    ),
)
NAMES = tuple(recipe.name for recipe in _LISTED)


def find(name: str) -> Recipe | None:
    """Return the recipe of this name; None: there is none."""
    return next((recipe for recipe in _LISTED if recipe.name == name), None)


def listed() -> tuple[Recipe, ...]:
    """Return all recipes."""
    return _LISTED
