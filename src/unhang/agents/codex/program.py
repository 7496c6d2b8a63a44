"""The program of Codex: which one, and what works with it."""

from __future__ import annotations

from unhang.agents.base.program import AgentProgram

INSTALL = "npm install -g @openai/codex"
PROGRAM = AgentProgram(
    name="codex",
    variable="UNHANG_CODEX",
    install=INSTALL,
    needed_for="`unhang codex` and the codex tools",
    version_word=-1,  # "codex-cli 0.166.0"
    oldest=(0, 162, 0),
    works="run, resume, review, compact, recover over its app server; run and resume over exec",
    attempt="unhang codex run",
)
