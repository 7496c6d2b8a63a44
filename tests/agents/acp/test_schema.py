"""What unhang says, held against the schema of the official SDK: in every recording, and by an agent made with it."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import Any

import acp.schema as schema
import pytest
from acp.meta import AGENT_METHODS, CLIENT_METHODS
from pydantic import BaseModel

from tests.agents.acp import recordings
from tests.support.acp_agents.harness import PATIENT, Bench
from unhang.agents.acp.handshake import initialize, server
from unhang.agents.acp.plan import FS_WRITE, AcpPlan
from unhang.agents.acp.protocol.updates import KINDS

REQUESTS: dict[str, type[BaseModel]] = {
    "initialize": schema.InitializeRequest,
    "session/new": schema.NewSessionRequest,
    "session/load": schema.LoadSessionRequest,
    "session/resume": schema.ResumeSessionRequest,
    "session/prompt": schema.PromptRequest,
    "session/cancel": schema.CancelNotification,
    "session/set_mode": schema.SetSessionModeRequest,
    "session/set_config_option": schema.SetSessionConfigOptionSelectRequest,
}
ANSWERS: dict[str, type[BaseModel]] = {
    "session/request_permission": schema.RequestPermissionResponse,
    "fs/read_text_file": schema.ReadTextFileResponse,
    "fs/write_text_file": schema.WriteTextFileResponse,
    "elicitation/create": schema.DeclineElicitationResponse,
}


def strict(model: type[BaseModel], value: Any) -> None:
    """By the names on the wire, and nothing that the schema does not know."""
    found = model.model_validate(value)
    again = json.loads(found.model_dump_json(by_alias=True, exclude_unset=True))
    assert again == value


@pytest.mark.parametrize("name", recordings.names())
def test_everything_that_unhang_says_is_in_the_schema(name: str) -> None:
    asked: dict[Any, str] = {}
    checked = 0
    for entry in recordings.load(name):
        line = entry["line"]
        if entry["from"] == "agent":
            if "method" in line and "id" in line:
                asked[line["id"]] = line["method"]
            continue
        assert line["jsonrpc"] == "2.0"
        if "method" in line:
            strict(REQUESTS[line["method"]], line["params"])
            checked += 1
        elif "result" in line:
            strict(ANSWERS[asked[line["id"]]], line["result"])
        else:
            assert set(line["error"]) == {"code", "message"}
    assert checked >= 3


def test_what_recordings_do_not_hold_is_in_the_schema_too() -> None:
    plan = AcpPlan(argv=("x",), tasks=("t",), fs=FS_WRITE)
    strict(schema.InitializeRequest, initialize(plan))
    assert initialize(plan)["protocolVersion"] == 1
    servers = [server("a=npx -y thing --flag 'two words'"), server("b=https://example.org/mcp")]
    assert servers[0]["args"] == ["-y", "thing", "--flag", "two words"]
    strict(schema.NewSessionRequest, {"cwd": "/", "mcpServers": servers})
    strict(schema.SetSessionModeRequest, {"sessionId": "s", "modeId": "plan"})
    strict(schema.SetSessionConfigOptionSelectRequest, {"sessionId": "s", "configId": "model", "value": "x"})
    for method in REQUESTS:
        assert method in AGENT_METHODS.values()
    for method in ANSWERS:
        assert method in CLIENT_METHODS.values()


def test_every_kind_of_update_of_the_schema_is_known() -> None:
    kinds: set[str] = set()
    for model in vars(schema).values():
        if isinstance(model, type) and issubclass(model, BaseModel) and "session_update" in model.model_fields:
            kinds |= set(getattr(model.model_fields["session_update"].annotation, "__args__", ()))
    assert len(kinds) >= 10
    assert kinds <= KINDS


AGENT = """
import asyncio, acp
from acp import schema


class Agent(acp.Agent):
    def on_connect(self, conn):
        self.conn = conn

    async def initialize(self, protocol_version, client_capabilities=None, client_info=None, **rest):
        assert client_info.name == "unhang"
        return acp.InitializeResponse(protocol_version=1, agent_info=schema.Implementation(name="sdk", version="1"))

    async def new_session(self, cwd, mcp_servers=None, **rest):
        assert mcp_servers[0].command == "true"
        return acp.NewSessionResponse(session_id="s1")

    async def prompt(self, prompt, session_id, **rest):
        await self.conn.session_update(session_id, acp.update_agent_message_text("from the SDK: " + prompt[0].text))
        return acp.PromptResponse(stop_reason="end_turn")


asyncio.run(acp.run_agent(Agent()))
"""


def test_an_agent_on_the_official_sdk_is_driven(bench: Bench) -> None:
    script = bench.folder / "agent.py"
    script.write_text(AGENT)
    line = shlex.join([sys.executable, str(script)])
    turn = bench.turn("sdk", "hello", *PATIENT, "--command", line, "--mcp", "one=true")
    assert turn.code == 0, turn.result["stderr"]
    assert (turn.about["name"], turn.about["text"]) == ("sdk", "from the SDK: hello")


def test_unhang_does_not_need_the_sdk() -> None:
    """Its import would cost every job a second."""
    code = "import sys, unhang.agents.acp.driver; sys.exit(bool({'acp', 'pydantic'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
