"""Coding agents, by what they may do: read only 2/10 min, change the workspace 5/20 min, cloud none locally.

Without a prompt on the command line they open a screen for a person, which ends when that person says so.
"""

from __future__ import annotations

AGENTS: dict[str, str] = {
    "codex": """
        ~ -s --sandbox -m --model -C --cd -c --config -p --profile -i --image -a --ask-for-approval -o
        session: .
        agent-write: exec, e, review
        agent-read-only: exec --sandbox=read-only, exec -s=read-only, e -s=read-only, e --sandbox=read-only
        agent-cloud: cloud
        quick: --version, -V, login status, mcp list, completion
        server: app-server, mcp-server, mcp
    """,
    "claude": """
        ~ --permission-mode --model --output-format --input-format --max-turns --append-system-prompt
        session: .
        agent-write: -p, --print
        agent-read-only: -p --permission-mode=plan, --print --permission-mode=plan
        quick: --version, -v, mcp list, config *
        medium: doctor, update
        server: mcp serve
    """,
    "gemini": """
        ~ -m --model --approval-mode
        session: .
        agent-write: -p, --prompt, *
        agent-read-only: -p --approval-mode=plan
        quick: --version, -v
        server: --acp, --experimental-acp
    """,
    "qwen": "= gemini",
    "opencode": """
        session: .
        agent-write: run
        server: serve, web, acp
        quick: --version, models
    """,
    "aider": """
        session: .
        agent-write: --message, -m, --message-file, --yes-always, --yes
        quick: --version
    """,
    "goose": """
        session: .
        agent-write: run
        server: acp, mcp, web
        quick: --version, info
    """,
    "cursor-agent": """
        session: .
        agent-write: -p, --print
        quick: --version, status
        server: acp
    """,
    "amp": """
        session: .
        agent-write: -x, --execute
        quick: --version
    """,
    "crush": """
        session: .
        agent-write: run
        server: logs -f, logs --follow
    """,
    "droid": """
        session: .
        agent-write: exec
    """,
    "copilot": """
        session: .
        agent-write: -p, --prompt
        server: --acp
    """,
    "cline": """
        session: .
        agent-write: -y, --yolo, task
    """,
    "openhands": """
        session: .
        agent-write: --headless, -t, --task
        server: serve
    """,
    "swe-agent": "agent-write: .",
    "mini": "agent-write: -t, --task",
    "kimi": """
        session: .
        agent-write: -c, --command, -p
    """,
    "auggie": """
        session: .
        agent-write: --print, -p
    """,
    "llm": "agent-read-only: .",
    "jules": "agent-cloud: .",
    # this program's own faces
    "unhang": """
        ~ --sandbox --permission-mode --model --effort --idle --hard --stall --warn --grace --cd --cwd --label
        quick: .
        server: mcp, acp, web, worker, watch, events --follow, events -f, logs -f, logs --follow
        default: run, wait
        agent-write: codex run, codex resume, codex review, codex recover, claude run, claude resume, agent run
        agent-read-only: codex run --sandbox=read-only, codex resume --sandbox=read-only, codex compact
        agent-read-only: claude run --permission-mode=plan, claude resume --permission-mode=plan
        agent-cloud: codex cloud
        quick: mcp install, mcp config, watch install, watch uninstall, watch status
    """,
}
