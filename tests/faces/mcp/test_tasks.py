"""A run as a task: where it stands, what it asks, and its end, in the words of these tools."""

from __future__ import annotations

import itertools
from typing import Any

from tests.support.engine import wait_until
from tests.support.mcp.harness import Servers
from tests.support.mcp.raw import Raw
from unhang.faces.mcp import protocol

META = {
    protocol.VERSION_KEY: "2026-07-28",
    protocol.CLIENT_KEY: {"name": "raw", "version": "1"},
    protocol.CAPABILITIES_KEY: {"extensions": {protocol.TASKS_EXTENSION: {}}},
}


class Modern:
    """A client of the modern era that speaks tasks."""

    def __init__(self, servers: Servers) -> None:
        self._raw = Raw(servers.popen())
        self._numbers = itertools.count(1)

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        self._raw.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params | {"_meta": META}})
        answer = self._raw.answer(number)
        assert "result" in answer, answer
        found = answer["result"]
        assert isinstance(found, dict)
        return found

    def close(self) -> None:
        process = self._raw.process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        assert process.wait(60) == 0
        process.stdout.close()


def test_a_task_that_asks_says_so_in_the_words_of_these_tools_and_is_answered(servers: Servers) -> None:
    client = Modern(servers)
    line = "printf 'sure? '; read x; echo got $x"
    task = client.ask("tools/call", name="run", arguments={"command": line, "interactive": True})
    assert task["resultType"] == "task"
    name = task["taskId"]
    wait_until(lambda: client.ask("tasks/get", taskId=name)["status"] == "input_required", "a question")
    asked = client.ask("tasks/get", taskId=name)
    assert f'send(job_id="{name}"' in asked["statusMessage"]
    assert "unhang send" not in asked["statusMessage"]
    events = client.ask("resources/read", uri=f"unhang://jobs/{name}/events")["contents"][0]["text"]
    assert f'send(job_id=\\"{name}\\"' in events
    assert "unhang send" not in events
    (key,) = asked["inputRequests"]
    answer = {"action": "accept", "content": {"text": "yes"}}
    client.ask("tasks/update", taskId=name, inputResponses={key: answer})
    wait_until(lambda: client.ask("tasks/get", taskId=name)["status"] == "completed", "its end")
    done = client.ask("tasks/get", taskId=name)["result"]
    assert done["structuredContent"]["stdout"] == "sure? got yes\n"
    client.close()
