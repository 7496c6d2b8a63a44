"""What to do about a diagnosis, in words that a face understands; the advice itself stands in the rows of `causes`.

It is never only "try a longer timeout": waiting answers no prompt, a deadlock may well go away by running again, and a
server belongs in the background.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from unhang.core.diagnosis import causes
from unhang.core.diagnosis.causes import COMMAND_LINE
from unhang.core.diagnosis.waits import FIFO, STDIN, TERMINAL
from unhang.core.plain_text import one_line, quoted
from unhang.core.values import integer_of, mapping_of, mappings_of, number_of, text_of

# Programs that ask, and how each is told not to. The pattern is looked for in command lines and prompts.
HABITS: tuple[tuple[str, str], ...] = (
    (r"\bsudo\b", "run `sudo -n`, which fails at once instead of asking"),
    (r"\bsu\b", "run it as the right user from the start; `su` cannot be told a password"),
    (r"\bssh-keygen\b", "remove the old key first, or pass `-N '' -f NEWFILE`"),
    (r"\b(ssh|scp|sftp)\b", "pass `-o BatchMode=yes`, which fails at once instead of asking"),
    (r"\bless\b|\bmore\b|pager|\(END\)", "switch the pager off: `PAGER=cat`, `git --no-pager`, `| cat`"),
    (r"\bgit\b.*\b(commit|rebase|merge|tag)\b", "pass the message (`git commit -m`) or set `GIT_EDITOR=true`"),
    (r"\bvim?\b|\bnano\b|\bemacs\b", "edit the file without an editor, or set `EDITOR=true`"),
    (r"\bgit\b", "set `GIT_TERMINAL_PROMPT=0` and use a credential helper"),
    (r"\bnpm (init|create)\b|\bnpx\b", "pass `--yes`"),
    (r"\b(apt|apt-get|dpkg|yum|dnf)\b", "pass `-y` and set `DEBIAN_FRONTEND=noninteractive`"),
    (r"\b(psql|mysql|sqlite3)\b", "pass the statement as an argument (`-c`, `-e`) instead of opening a shell"),
    (r"\b(python[0-9.]*|node|irb|bc)$", "pass the program as a file or with `-c`/`-e`; without one it opens a prompt"),
    (r"\[y/n\]|\(y/n\)|yes/no", "pass the option that answers yes (`-y`, `--yes`, `--force`)"),
)  # fmt: skip
# Of these the name alone says enough, wherever in the tree it stands.
_ANYWHERE = HABITS[:10]


# What to do about an agent, which is no command that could be given an option: its driver or its proxy names the cause.
_OF_AGENTS: dict[causes.Cause, tuple[str, ...]] = {
    causes.NETWORK: (
        "check the network and the service of its model: its address, its status page, the agent's login",
        "cancel the turn and give the task again, in the same session where the agent can go on with one",
    ),
    causes.STOPPED: ("continue it: `kill -CONT {pid}`",),
    causes.INPUT: ("answer it with {send}",),
}
_OTHER_COMMAND = "cancel the turn, and ask for a command that ends by itself or has a timeout"
_OF_ANY_AGENT = ("see what it did last in its events", _OTHER_COMMAND)
_ASKS_NOTHING = "have the agent run it in a way that asks nothing"
# A driver and a proxy name no peer: where the kernel has seen one, it is that of a command of the agent.
_OF_ITS_COMMAND = ("check {peer}, which a command of the agent waits for", _OTHER_COMMAND)


def suggestions_for_agent(diagnosis: dict[str, Any], words: Mapping[str, str] = COMMAND_LINE) -> list[str]:
    """Return the same for the job of an agent: what its driver, or the kernel, has found is about an agent and its
    model.
    """
    cause = causes.cause_of(diagnosis)
    pid = integer_of(diagnosis, "evidence", "pid")
    if pid and (found := suggestions_for_command_of_agent(diagnosis)):
        return found
    named = {**words, "pid": str(pid or "PID")}
    return [line.format_map(named) for line in _OF_AGENTS.get(cause, _OF_ANY_AGENT)]


def suggestions_for_command_of_agent(diagnosis: dict[str, Any]) -> list[str]:
    """Return what to do about a command that an agent has started, from the diagnosis of its processes.

    Empty: nothing but what holds for any command.
    """
    cause = causes.cause_of(diagnosis)
    if cause is causes.NETWORK:
        return [line.format(peer=_peer(diagnosis)) for line in _OF_ITS_COMMAND]
    if cause is causes.INPUT:
        habit = _habit(diagnosis, text_of(diagnosis, "evidence", "prompt"))
        return [f"its command waits for input that no person can give: {habit or _ASKS_NOTHING}", _OTHER_COMMAND]
    return []


def suggestions(
    diagnosis: dict[str, Any], timeout_reason: str | None, words: Mapping[str, str] = COMMAND_LINE
) -> list[str]:
    """Return the most useful first.

    `diagnosis` has its JSON shape, as it is recorded; `timeout_reason` is the result's.
    """
    cause = causes.cause_of(diagnosis)
    fired = {"exec_timeout": words["hard"], "no_output_timeout": words["idle"]}
    words = {**words, "limit": fired.get(timeout_reason or "", f"{words['idle']} or {words['hard']}")}
    found = _input(diagnosis, words) if cause is causes.INPUT else _advice(cause, diagnosis, words)
    if causes.was_working(diagnosis, timeout_reason):
        found.append(f"it was still working when its time was up: raise {words['hard']}, or give it less to do")
    elif causes.may_be_quiet(diagnosis, timeout_reason):
        quiet = f"raise {words['idle']}, let it print progress, or call {words['beat']} from it"
        found.append(f"it may only be quiet: {quiet}")
    return found


def _advice(cause: causes.Cause, diagnosis: dict[str, Any], words: Mapping[str, str]) -> list[str]:
    lines = cause.advice_if_repeated if causes.repeats(diagnosis) else ()
    if number_of(diagnosis, "evidence", "printedBytesPerSecond"):
        lines = lines or cause.advice_if_printing
    named = {**words, "peer": _peer(diagnosis), "holder": _holder(diagnosis)}
    return [line.format_map(named) for line in lines or cause.advice]


def _peer(diagnosis: dict[str, Any]) -> str:
    return one_line(text_of(diagnosis, "evidence", "socket", "remote"), 80) or "the peer"


def _holder(diagnosis: dict[str, Any]) -> str:
    pid = number_of(diagnosis, "evidence", "lock", "holder")
    if not pid:
        return "the holder"
    return f"pid {pid} ({one_line(text_of(diagnosis, 'evidence', 'lock', 'holderComm'), 20)})"


def _input(diagnosis: dict[str, Any], words: Mapping[str, str]) -> list[str]:
    evidence = mapping_of(diagnosis, "evidence")
    prompt = text_of(evidence, "prompt")
    asks = f"it waits for input at {quoted(prompt, 80)}" if prompt else "it waits for input"
    answer = _answer(text_of(evidence, "channel"), words)
    habit = _habit(diagnosis, prompt)
    if habit:
        return [f"{asks}: {habit}", answer]
    asks_nobody = text_of(evidence, "channel") == FIFO  # no option of a program makes it do without what it reads
    return [f"{asks}: {answer}", *([] if asks_nobody else _advice(causes.INPUT, diagnosis, words))]


def _answer(channel: str, words: Mapping[str, str]) -> str:
    if channel == STDIN:
        return f"end its stdin (`< /dev/null`), or write to it with {words['send']}"
    if channel in ("", TERMINAL):
        return f"pass {words['stdin']}, or answer with {words['send']}"
    return "let another process open the other end and write to it"


def _habit(diagnosis: dict[str, Any], prompt: str) -> str:
    """How the program that asks is told not to: the one that waits, or else one that is known to ask above it."""
    pid = number_of(diagnosis, "evidence", "pid")
    lines = mappings_of(diagnosis, "processes")
    command = next((text_of(line, "cmd") or text_of(line, "comm") for line in lines if line.get("pid") == pid), "")
    for pattern, advice in HABITS:
        if re.search(pattern, command) or re.search(pattern, prompt, re.IGNORECASE):
            return advice
    above = " ".join(text_of(line, "cmd") for line in lines)
    return next((advice for pattern, advice in _ANYWHERE if re.search(pattern, above)), "")
