"""An ACP agent that does what its prompt says: `WORD` or `WORD:VALUE`. No SDK: it starts at once.

say · hang (answers a cancel) · deaf (does not) · wake · ask (a permission) · tool · die · half · begin · flood ·
endless · stderr · raw · child · run
What it hears is written to the file of its first argument, if there is one.
"""

from __future__ import annotations

import base64
import json
import os
import select
import signal
import subprocess
import sys
from typing import Any

HEARD = open(sys.argv[1], "ab", buffering=0) if len(sys.argv) > 1 and sys.argv[1] != "-" else None  # noqa: SIM115
MUTE = "--mute" in sys.argv
held: dict[str, Any] = {}  # the prompt that waits, by session
asked: dict[int, Any] = {}
count = 0


def put(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def send(message: dict[str, Any]) -> None:
    put(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")


def update(session: str, **fields: Any) -> None:
    send({"method": "session/update", "params": {"sessionId": session, "update": fields}})


def say(session: str, text: str) -> None:
    update(session, sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})


def end(id: Any, reason: str = "end_turn") -> None:
    send({"id": id, "result": {"stopReason": reason}})


def last_words(id: Any, session: str, found: Any) -> None:
    say(session, json.dumps(found))
    end(id)


def ask(method: str, then: Any, **params: Any) -> None:
    global count  # noqa: PLW0603 - a program of a hundred lines
    count += 1
    asked[count] = then
    send({"id": count, "method": method, "params": params})


def prompted(id: Any, session: str, text: str) -> None:
    word, _, value = text.partition(":")
    if word == "say":
        say(session, value)
        end(id)
    elif word in ("hang", "deaf"):
        held[session] = (id, word)
    elif word == "wake":  # the old turn ends only now
        old = held.pop(session, None)
        say(session, "late words")
        if old is not None:
            end(old[0])
        say(session, "new words")
        end(id)
    elif word == "ask":
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
        call = {"toolCallId": "t1", "title": "dangerous"}
        ask(
            "session/request_permission",
            lambda answer: last_words(id, session, answer),
            sessionId=session,
            toolCall=call,
            options=options,
        )
    elif word == "tool":
        update(session, sessionUpdate="tool_call", toolCallId="t1", title=value, status="in_progress")
        held[session] = (id, "hang")
    elif word == "die":
        os._exit(int(value))
    elif word == "half":
        put(b'{"jsonrpc":"2.0","method":"session/upd')
        os._exit(5)
    elif word == "begin":  # a line that is finished only when it is told to
        put(b'{"pad":"' + b"y" * int(value))
        held["line"] = id
    elif word == "flood":
        for number in range(int(value)):
            say(session, f"{number} " + "x" * 1000)
        end(id)
    elif word == "endless":  # until somebody says anything
        while not select.select([0], [], [], 0)[0]:
            say(session, "x" * 1000)
        held[session] = (id, "hang")
    elif word == "stderr":
        os.write(2, b"e" * int(value))
        end(id)
    elif word == "raw":
        put(base64.b64decode(value))
        end(id)
    elif word == "child":  # a daemon that ignores SIGTERM and has nothing of ours but its roll call
        subprocess.Popen(json.loads(value), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
        end(id)
    elif word == "run":
        run(id, session, json.loads(value))


def run(id: Any, session: str, command: list[str]) -> None:
    """In the client's terminal: create, wait, output, release; what came is said."""

    def made(answer: Any) -> None:
        if "error" in answer:
            say(session, json.dumps(answer))
            end(id)
            return
        terminal = answer["result"]["terminalId"]
        names = {"sessionId": session, "terminalId": terminal}

        def shown(output: Any) -> None:
            # an error, where the terminal went with its session meanwhile
            ask("terminal/release", lambda _: last_words(id, session, output.get("result", output)), **names)

        ask("terminal/wait_for_exit", lambda _: ask("terminal/output", shown, **names), **names)

    ask("terminal/create", made, sessionId=session, command=command[0], args=command[1:])


def heard(message: dict[str, Any]) -> None:
    method, params, id = message.get("method"), message.get("params") or {}, message.get("id")
    if method is None:
        then = asked.pop(id, None)  # type: ignore[arg-type]
        if then is not None:
            then(message)
    elif method == "initialize":
        if not MUTE:
            send({"id": id, "result": {"protocolVersion": params.get("protocolVersion", 1), "offered": params}})
    elif method == "session/new":
        send({"id": id, "result": {"sessionId": "s1"}})
    elif method == "session/prompt":
        prompted(id, params["sessionId"], params["prompt"][0]["text"])
    elif method == "_finish":
        put(b'"}\n')
        end(held.pop("line"))
    elif method == "_update":  # what the editor wants to be told
        update(params["sessionId"], **params["update"])
    elif method == "session/cancel":
        old = held.get(params["sessionId"])
        if old is not None and old[1] == "hang":
            del held[params["sessionId"]]
            end(old[0], "cancelled")
    elif id is not None:
        send({"id": id, "result": {"echo": message}})


signal.signal(signal.SIGTERM, signal.SIG_DFL)
rest: list[bytes] = []
while chunk := os.read(0, 1 << 16):
    if HEARD is not None:
        HEARD.write(chunk)
    if b"\n" not in chunk:
        rest.append(chunk)
        continue
    *lines, last = b"".join((*rest, chunk)).split(b"\n")
    rest = [last]
    for line in lines:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict):
            heard(message)
