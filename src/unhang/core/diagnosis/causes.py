"""What to do about it: advice that follows from the cause, and whether running it again could help.

Never only "try a longer timeout": a prompt will not be answered by waiting, a deadlock may well go away by
running again, and a server belongs in the background.
"""

from __future__ import annotations

import re

from unhang.core.diagnosis.verdict import ALIVE, HUNG, Diagnosis
from unhang.core.plain_text import one_line, quoted

# Programs that ask, and how each is told not to. The key is looked for in command lines and prompts.
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


def suggestions(diagnosis: Diagnosis, timeout_reason: str | None) -> list[str]:
    """The most useful first. `timeout_reason` is the result's: exec_timeout, no_output_timeout, or None."""
    found = _by_cause(diagnosis)
    if timeout_reason == "exec_timeout" and diagnosis.state == ALIVE and diagnosis.cause in ("progress", "timer"):
        found.append("it was still working when its time was up: raise --hard, or give it less to do")
    elif timeout_reason == "no_output_timeout" and diagnosis.state != HUNG:
        found.append("it may only be quiet: raise --idle, let it print progress, or call `unhang beat` from it")
    return found


def _by_cause(diagnosis: Diagnosis) -> list[str]:
    evidence, cause = diagnosis.evidence, diagnosis.cause
    if cause == "input":
        return _input(diagnosis)
    if cause == "network":
        peer = _address(diagnosis.reason)
        return [
            f"check that {peer or 'the peer'} answers (`curl -m 5`, its log, the proxy settings)",
            "give the client a timeout of its own, so that it fails with an error that names the peer",
        ]
    if cause == "lock":
        lock = evidence.get("lock", {})
        holder = (
            f"pid {lock['holder']} ({one_line(lock.get('holderComm', ''), 20)})" if lock.get("holder") else "the holder"
        )
        return [
            f"end {holder} or wait for it, then run this again; `unhang diagnose --pid` tells what it does",
            "do not run two of these at once on the same directory",
        ]
    if cause == "deadlock" and _alone(diagnosis):
        return [
            "it waits for what only itself could give, and will do so again: look where with `unhang diagnose --deep`",
        ]
    if cause == "deadlock":
        return [
            "running it again may get through: which thread comes first is chance",
            "`unhang diagnose --deep` shows where each thread stands; take locks in one order everywhere",
        ]
    return _rest(diagnosis)


def _rest(diagnosis: Diagnosis) -> list[str]:
    table = {
        "pipe_cycle": [
            "read a child's output while writing to it (`communicate()`), or send the output to a file",
            "close the ends of a pipe that a process does not use: an open write end means no end of file",
        ],
        "stopped": [
            "a background job that uses the terminal is stopped: give it `< /dev/null`, or run it in the foreground",
            "`kill -CONT PID` continues it",
        ],
        "leak": [
            "start what should stay with `unhang start`, or keep it with `--keep`",
            "wait for background jobs before the script ends (`wait`), and give them `> log 2>&1 < /dev/null`",
        ],
        "idle": ["it waits for nothing that could still happen: look for a missing signal, message or `await`"],
        "timer": ["it sleeps on purpose: shorten the pause, or raise --idle above it"],
        "poll": ["what it polls for has not come: check that condition, and bound the loop"],
        "busy": [
            "look where it spins with `unhang diagnose --deep` (py-spy, eu-stack, jstack)",
            "if it is a long computation, let it print progress and raise --hard",
        ],
        "listening": [
            "it is a server or a watcher and will not end by itself: run it with `unhang start`",
            "pass the option that makes it run once (`--run`, `--watch=false`, `CI=true`)",
        ],
        "progress": ["it works without printing: a verbose option would show how far it is"],
    }
    return list(table.get(diagnosis.cause, ["`unhang diagnose --deep` shows the stacks, where they can be read"]))


def _input(diagnosis: Diagnosis) -> list[str]:
    prompt = str(diagnosis.evidence.get("prompt") or "")
    at = f" at {quoted(prompt, 80)}" if prompt else ""
    pid = diagnosis.evidence.get("pid")
    command = next((line.cmd or line.comm for line in diagnosis.processes if line.pid == pid), "")
    above = " ".join(line.cmd for line in diagnosis.processes)
    found = []
    for pattern, advice in HABITS:
        if re.search(pattern, command) or re.search(pattern, prompt, re.IGNORECASE):
            found.append(advice)
            break
    else:
        found += [advice for pattern, advice in HABITS[:10] if re.search(pattern, above)][:1]
    if "stdin" in diagnosis.reason:
        answer = "end its stdin (`< /dev/null`), or write to it with `unhang send`"
    else:
        answer = "pass --stdin, or answer with `unhang send`"
    if found:
        return [f"it waits for input{at}: {found[0]}", answer]
    return [
        f"it waits for input{at}: {answer}",
        "find the option that makes it not ask (`--yes`, `--batch`, `CI=true`)",
    ]


def _alone(diagnosis: Diagnosis) -> bool:
    """No chance was involved: one thread took a lock twice, or waits for its own pipe."""
    return any(words in diagnosis.reason for words in ("no other thread", "holds itself", "holds both ends"))


def _address(reason: str) -> str:
    match = re.search(r"(?:\[[0-9a-f:]+\]|\d+\.\d+\.\d+\.\d+):\d+", reason)
    return match.group() if match else ""


def retryable(diagnosis: Diagnosis) -> bool:
    """Could the same command, run again unchanged, end well?"""
    if diagnosis.cause == "deadlock" and _alone(diagnosis):
        return False
    return diagnosis.cause not in ("input", "listening", "stopped", "idle", "pipe_cycle", "leak")
