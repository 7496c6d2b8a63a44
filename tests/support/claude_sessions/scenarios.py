"""How a session of Claude Code hangs, or only seems to: what is typed, and how one sees that it has come to that.

The same table is played by hand for the recordings, and with the watcher for the end-to-end tests.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.support.claude_sessions.harness import PATIENCE, Desk, Session
from tests.support.engine import wait_until

HANGS = "tail -f /dev/null"


class Scenario(NamedTuple):
    name: str
    prompt: Callable[[Desk], str]
    ready: Callable[[Session], object]  # returns when the hang has begun
    setup: dict[str, Any] = {}  # noqa: RUF012 - never changed


def _calls(count: int, tool: str | None = None) -> Callable[[Session], object]:
    """So many calls are open (of this tool)."""

    def ready(session: Session) -> object:
        def there() -> bool:
            events = session.events("hook")
            over = {e.get("toolUseId") for e in events if e["method"] in ("PostToolUse", "PostToolUseFailure")}
            made = [e for e in events if e["method"] == "PreToolUse" and e["toolUseId"] not in over]
            return len([e for e in made if tool in (None, e["toolName"])]) >= count

        return wait_until(there, f"{count} calls of {tool}", PATIENCE)

    return ready


def _asked(verb: str) -> Callable[[Session], object]:
    """The model was asked, and will not answer."""
    return lambda session: session.desk.fake.wait_for(lambda seen: seen.verb == verb, verb)


def _searching(session: Session) -> object:
    return session.desk.fake.wait_for(lambda seen: seen.side, "the nested request")


def _in_a_hook(session: Session) -> object:
    return session.wait_screen("running PreToolUse hook")


def _tool(name: str, **given: Any) -> str:
    return f"fake: tool {name} {json.dumps(given)}"


def _web_fetch(desk: Desk) -> str:
    return _tool("WebFetch", url=f"http://127.0.0.1:{desk.fake.silent_port}/x", prompt="what is it")


def _parallel(desk: Desk) -> str:
    fetch = {"url": f"http://127.0.0.1:{desk.fake.silent_port}/x", "prompt": "what is it"}
    calls = [["WebFetch", fetch], ["WebSearch", {"query": "why does it hang"}], ["Bash", {"command": HANGS}]]
    return f"fake: tools {json.dumps(calls)}"


def subagent(prompt: str) -> str:
    given = {"description": "look", "prompt": prompt, "subagent_type": "general-purpose"}
    return _tool("Agent", **given)


BASH = Scenario("bash", lambda _: f"fake: bash {HANGS}", _calls(1, "Bash"))
WEB_FETCH = Scenario("web-fetch", _web_fetch, _calls(1, "WebFetch"))
WEB_SEARCH = Scenario("web-search", lambda _: _tool("WebSearch", query="why does it hang"), _searching)
MCP = Scenario("mcp", lambda _: _tool("mcp__slow__hang"), _calls(1, "mcp__slow__hang"), {"mcp": True})
PARALLEL = Scenario("parallel", _parallel, _calls(3))
HOOK = Scenario("hook", lambda _: "fake: bash echo hello", _in_a_hook, {"hooks": {"PreToolUse": [HANGS]}})
API_FIRST = Scenario("api-first-byte", lambda _: "fake: hang", _asked("hang"))
API_MID = Scenario("api-mid-stream", lambda _: "fake: hang-mid", _asked("hang-mid"))
API_PINGS = Scenario("api-pings", lambda _: "fake: ping-forever", _asked("ping-forever"))

HANGING = (BASH, WEB_FETCH, WEB_SEARCH, MCP, PARALLEL, HOOK, API_FIRST, API_MID, API_PINGS)
