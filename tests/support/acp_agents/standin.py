"""An ACP agent for what no real one does on purpose. `python standin.py BEHAVIOUR…`; plain lines, no SDK.

deaf       does not answer session/cancel          stubborn   ignores the end of its input and SIGTERM
noisy      prints what is no protocol              new        sends updates and methods that nobody knows
v2         version 2: a prompt is accepted, its end is an update
asks       asks for a permission before it says anything of a tool, and for everything else that a client has
old        can resume nothing                      loads      has session/load only, and replays what was said
refuses    session/new: not logged in              quits      ends in the middle of a turn
crossing   ends its turn by itself just as it is cancelled
waits      says nothing in a turn                  strange    speaks version 99
odd        odd values in every field               floods     thousands of updates that mean nothing
shouts     megabytes on stderr                     works      runs `make bricks` as a tool, without an end
polls      is busy with itself, whatever it waits for
traced     says its TRACEPARENT                    nested     runs a tool that is a job of unhang's
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from typing import Any

HOW = set(sys.argv[1:])
if "polls" in HOW:
    threading.Thread(target=lambda: [sum(range(10_000)) for _ in iter(int, 1)], daemon=True).start()
SESSION = "stand-in-1"
replies: dict[Any, dict[str, Any]] = {}


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
    sys.stdout.flush()


def update(kind: Any, /, **fields: Any) -> None:
    params = {"sessionId": SESSION, "update": {"sessionUpdate": kind} | fields}
    send({"method": "session/update", "params": params})


def say(text: str) -> None:
    update("agent_message_chunk", content={"type": "text", "text": text})


def lines() -> Any:
    for line in sys.stdin:
        yield json.loads(line)


def ask(number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The client's answer; whatever else it says meanwhile is kept for later."""
    send({"id": number, "method": method, "params": {"sessionId": SESSION} | params})
    for message in incoming:
        if message.get("id") == number and "method" not in message:
            return dict(message)
        later.append(message)
    raise SystemExit(3)


def initialize(message: dict[str, Any]) -> None:
    able = {"loadSession": "old" not in HOW}
    if not HOW & {"old", "loads"}:
        able |= {"sessionCapabilities": {"resume": {}}}  # type: ignore[dict-item]
    version = 2 if "v2" in HOW else 99 if "strange" in HOW else 1
    info = {"name": "stand-in", "version": "1"}
    result = {"protocolVersion": version, "agentCapabilities": able, "agentInfo": info, "authMethods": []}
    send({"id": message["id"], "result": result})


def questions() -> None:
    call = {"toolCallId": "t1", "title": "rm -rf everything", "kind": "execute"}
    options = [{"optionId": "a", "kind": "allow_always", "name": "Always"}]
    options += [{"optionId": "b", "kind": "allow_once", "name": "Once"}]
    options += [{"optionId": "c", "kind": "reject_once", "name": "No"}]
    found = [ask(101, "session/request_permission", {"toolCall": call, "options": options})]
    found.append(ask(102, "session/request_permission", {"toolCall": call, "options": options[:1]}))
    found.append(ask(103, "elicitation/create", {"mode": "form", "message": "Who?", "requestedSchema": {}}))
    found.append(ask(104, "terminal/create", {"command": "true"}))
    found.append(ask(105, "fs/read_text_file", {"path": "/etc/hostname"}))
    found.append(ask(106, "something/new", {}))
    say(json.dumps([one.get("result") or one["error"]["code"] for one in found]))


def oddities() -> None:
    """One odd value in each place, and lines that are none."""
    values: list[Any] = [None, 10**400, float("nan"), -1, "\ud800", "a" * 50_000, [], {}, [[1]], {"a": {"b": []}}, True]
    for value in values:
        for kind in ("tool_call", "plan", "usage_update", "agent_thought_chunk", value):
            names = ("toolCallId", "title", "status", "rawInput", "entries", "used", "size", "cost", "content")
            update(kind, **dict.fromkeys(names, value))
        send({"method": value, "params": value})
        send({"method": "session/update", "params": {"sessionId": value, "update": value}})
        send({"id": value, "method": "session/request_permission", "params": {"toolCall": value, "options": value}})
        send({"id": "odd", "method": "fs/read_text_file", "params": {"path": value, "line": value, "limit": value}})
        send({"id": value, "result": value})
        send({"id": value, "error": value})
    sys.stdout.buffer.write(b'{"method": "\xff\xfe"}\n' + b"[" * 50_000 + b"\n\0\0\n")
    sys.stdout.flush()


def prompt(message: dict[str, Any]) -> None:
    number = message["id"]
    if "odd" in HOW:
        oddities()
        say("\ud800 and ")
    if "floods" in HOW:
        for _ in range(20_000):
            update("telepathy_update", thought="x" * 500)
    if "shouts" in HOW:
        for _ in range(40):
            sys.stderr.write("x" * 1_000_000)
    if "new" in HOW:
        update("telepathy_update", thought={"deep": [1, 2, None]})
        update("tool_call_update", toolCallId=7, status=[])
        send({"method": "session/update", "params": []})
        send({"method": "_vendor/thing", "params": None})
        send({"method": "future/notice"})
        send({"id": {"odd": 1}, "result": None})
    if "noisy" in HOW:
        print("Debugger listening on nothing\n\x1b[31mred\x1b[0m", flush=True)
        print("[1, 2]", flush=True)
    if "works" in HOW:
        call = {"toolCallId": "t1", "kind": "execute", "rawInput": {"command": "make bricks"}}
        update("tool_call", title="make", status="in_progress", **call)
    if "nested" in HOW:
        update("tool_call", toolCallId="t1", title="true", kind="execute", status="in_progress")
        subprocess.run([sys.executable, "-m", "unhang", "run", "--", "true"], stdin=subprocess.DEVNULL, check=True)
        update("tool_call_update", toolCallId="t1", status="completed")
    if "asks" in HOW:
        questions()
    while "endless" in HOW:
        sys.stdout.write("x" * 1_000_000)
    if "quits" in HOW:
        raise SystemExit(7)
    if HOW & {"deaf", "waits", "crossing"}:
        running.append(number)
        return
    if "v2" in HOW:
        send({"id": number, "result": {}})
        update("state_update", state="running")
        say("version two")
        update("state_update", state="idle", stopReason="end_turn")
        return
    if "traced" in HOW:
        say(os.environ["TRACEPARENT"])
    elif "asks" not in HOW:
        say(f"turn {number}")
    send({"id": number, "result": {"stopReason": "end_turn"}})


def handle(message: dict[str, Any]) -> None:
    match message.get("method"):
        case "initialize":
            initialize(message)
        case "session/new" if "refuses" in HOW:
            send({"id": message["id"], "error": {"code": -32000, "message": "Authentication required"}})
        case "session/new" | "session/resume":
            send({"id": message["id"], "result": {"sessionId": SESSION}})
        case "session/load":
            update("user_message_chunk", content={"type": "text", "text": "what was asked"})
            say("what was answered")
            update("tool_call", toolCallId="old", title="an old tool", status="in_progress")
            send({"id": message["id"], "result": {}})
        case "session/prompt":
            prompt(message)
        case "session/cancel" if "deaf" not in HOW:
            reason = "end_turn" if "crossing" in HOW else "cancelled"
            while running:
                send({"id": running.pop(), "result": {"stopReason": reason}})


running: list[Any] = []
later: list[dict[str, Any]] = []
incoming = lines()
if "stubborn" in HOW:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "noisy" in HOW:
    print("Welcome!", flush=True)
for one in incoming:
    handle(one)
    while later:
        handle(later.pop(0))
while "stubborn" in HOW:
    signal.pause()
