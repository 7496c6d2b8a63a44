"""An agent on the official SDK, as a program of its own: does what its prompt says with the client's terminals.

The prompt is a JSON object: {"do": NAME, …}. What came out is told as one message, in JSON.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from acp.schema import EnvVariable

from acp import Agent, Client, InitializeResponse, NewSessionResponse, PromptResponse, RequestError, run_agent
from acp import update_agent_message_text as message

Found = dict[str, Any]


class TerminalAgent(Agent):
    client: Client

    def on_connect(self, conn: Client) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, *_a: Any, **_: Any) -> InitializeResponse:
        return InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, *_a: Any, **_: Any) -> NewSessionResponse:  # noqa: ARG002 - the SDK's
        return NewSessionResponse(session_id="sdk-session")

    async def cancel(self, session_id: str, **_: Any) -> None:
        pass

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        asked = json.loads(prompt[0].text)
        found = await getattr(self, f"do_{asked.pop('do')}")(session_id, **asked)
        await self.client.session_update(session_id, message(json.dumps(found)))
        return PromptResponse(stop_reason="end_turn")

    async def do_pattern(self, session: str, command: list[str], timeout: float, limit: int | None = None) -> Found:
        """The protocol's own: create, wait against a timer, kill, final output, release."""
        made = await self.client.create_terminal(
            session_id=session, command=command[0], args=command[1:], output_byte_limit=limit
        )
        timed_out = False
        waiting = asyncio.ensure_future(self.client.wait_for_terminal_exit(session, made.terminal_id))
        done, _ = await asyncio.wait({waiting}, timeout=timeout)
        if not done:
            timed_out = True
            await self.client.kill_terminal(session, made.terminal_id)
        output = await self.client.terminal_output(session, made.terminal_id)
        await self.client.release_terminal(session, made.terminal_id)
        exit = await waiting
        return {
            "id": made.terminal_id,
            "timedOut": timed_out,
            "output": output.output,
            "truncated": output.truncated,
            "exit": [exit.exit_code, exit.signal],
            "same": output.exit_status is not None
            and [output.exit_status.exit_code, output.exit_status.signal] == [exit.exit_code, exit.signal],
            "afterwards": [await self._code(verb, session, made.terminal_id) for verb in _VERBS],
        }

    async def _code(self, verb: str, session: str, terminal: str) -> int | None:
        try:
            await getattr(self.client, verb)(session, terminal)
        except RequestError as error:
            return error.code
        return None

    async def do_codes(self, session: str, terminal: str) -> Found:
        return {"codes": [await self._code(verb, session, terminal) for verb in _VERBS]}

    async def do_eight_waiters(self, session: str, command: list[str]) -> Found:
        """Kill during wait: eight wait, three kill, all at once."""
        made = await self.client.create_terminal(session_id=session, command=command[0], args=command[1:])
        while not (await self.client.terminal_output(session, made.terminal_id)).output:  # it says when it is up
            await asyncio.sleep(0.02)
        waiting = [
            asyncio.ensure_future(self.client.wait_for_terminal_exit(session, made.terminal_id)) for _ in range(8)
        ]
        kills = [asyncio.ensure_future(self._code("kill_terminal", session, made.terminal_id)) for _ in range(3)]
        ends = await asyncio.gather(*waiting)
        return {
            "ends": [[end.exit_code, end.signal] for end in ends],
            "kills": await asyncio.gather(*kills),
            "killOfAnEndedOne": await self._code("kill_terminal", session, made.terminal_id),
            "release": [await self._code("release_terminal", session, made.terminal_id) for _ in range(2)],
        }

    async def do_surroundings(self, session: str, cwd: str) -> Found:
        env = [EnvVariable(name="COLOUR", value="grün"), EnvVariable(name="PATH", value="/usr/bin:/bin")]
        made = await self.client.create_terminal(
            session_id=session, command='pwd; echo "$COLOUR"; cat; echo over >&2', cwd=cwd, env=env
        )
        end = await self.client.wait_for_terminal_exit(session, made.terminal_id)
        output = await self.client.terminal_output(session, made.terminal_id)
        await self.client.release_terminal(session, made.terminal_id)
        return {"output": output.output, "exit": end.exit_code}

    async def do_leave(self, session: str, command: list[str]) -> Found:
        """Ends its turn while a command of it runs."""
        made = await self.client.create_terminal(session_id=session, command=command[0], args=command[1:])
        return {"id": made.terminal_id}

    async def do_limited(self, session: str, command: list[str]) -> Found:
        made = await self.client.create_terminal(
            session_id=session, command=command[0], args=command[1:], unhang={"hard": 1, "warn": 0}
        )
        end = await self.client.wait_for_terminal_exit(session, made.terminal_id)
        output = await self.client.terminal_output(session, made.terminal_id)
        await self.client.release_terminal(session, made.terminal_id)
        return {"created": made.field_meta, "end": end.field_meta, "output": output.output, "signal": end.signal}

    async def do_extensions(self, session: str, command: list[str], signal: str) -> Found:
        """A wait that does not wait for the end, and a kill that begins with this signal."""
        made = await self.client.create_terminal(session_id=session, command=command[0], args=command[1:])
        while not (await self.client.terminal_output(session, made.terminal_id)).output:  # it says when it is up
            await asyncio.sleep(0.02)
        early = await self.client.wait_for_terminal_exit(session, made.terminal_id, unhang={"timeout": "50ms"})
        await self.client.kill_terminal(session, made.terminal_id, unhang={"signal": signal})
        end = await self.client.wait_for_terminal_exit(session, made.terminal_id, unhang={"timeout": 600})
        output = await self.client.terminal_output(session, made.terminal_id)
        await self.client.release_terminal(session, made.terminal_id)
        return {
            "early": [early.exit_code, early.signal, (early.field_meta or {})["unhang"]["state"]],
            "end": [end.exit_code, end.signal, (end.field_meta or {})["unhang"]["state"]],
            "output": output.output,
        }


_VERBS = ("terminal_output", "wait_for_terminal_exit", "kill_terminal", "release_terminal")

if __name__ == "__main__":
    asyncio.run(run_agent(TerminalAgent()))  # type: ignore[abstract]  # the SDK asks only for what is used
