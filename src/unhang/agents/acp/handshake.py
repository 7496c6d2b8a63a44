"""From a started agent to an open session: versions, capabilities, a new or an old session, model and mode."""

from __future__ import annotations

import os
import shlex
from typing import Any

from unhang.agents.acp import catalogue
from unhang.agents.acp.plan import FS_NONE, FS_WRITE, AcpPlan
from unhang.agents.acp.protocol.turn import AcpSession
from unhang.agents.base.jsonrpc import Message, Peer, RpcError
from unhang.agents.base.keeper_channel import KeeperChannel
from unhang.agents.base.update import preview
from unhang.agents.base.version import client_info
from unhang.core.values import dig, integer_of, items_of, mappings_of, text_of

VERSION = 1
_AUTH_REQUIRED = -32000


class HandshakeRefused(Exception):
    """It cannot be done with this agent; the reason is for people."""


async def open_session(peer: Peer, plan: AcpPlan, session: AcpSession, channel: KeeperChannel) -> None:
    """Open a session, or load the one that the plan names; raises HandshakeRefused, RpcError or Gone.

    One budget holds for all of it.
    """
    session.doing = "initialize"
    hello = await peer.request("initialize", initialize(plan))
    who = hello.get("agentInfo")
    session.name = preview(text_of(who, "title") or text_of(who, "name") or plan.agent or "the agent", 60)
    session.version = _version(hello.get("protocolVersion"))
    about: Message = {
        "agentName": text_of(who, "name", most=80) or plan.agent or None,
        "agentVersion": text_of(who, "version", most=80) or None,
    }
    about |= {"agentTitle": text_of(who, "title", most=80) or None}
    text = f"{session.name} {text_of(who, 'version', most=80)}".rstrip()
    channel.tell("starting", f"Connected to {text}.", method="initialize", protocolVersion=session.version, **about)
    try:
        found = await _session(peer, plan, session, hello)
    except RpcError as error:
        raise _explained(error, plan, hello) from None
    verb = "resumed" if plan.session else "opened"
    channel.tell("starting", f"The session {session.id} is {verb}.", method="session/new", sessionId=session.id)
    for what, wanted in (("model", plan.model), ("mode", plan.session_mode)):
        if wanted:
            session.doing = f"setting the {what}"
            await _set(peer, session, found, what, wanted)
            channel.tell("starting", f"The {what} is {wanted}.", sessionId=session.id)


def initialize(plan: AcpPlan) -> Message:
    """Return the parameters of `initialize`."""
    files = {"readTextFile": plan.fs != FS_NONE, "writeTextFile": plan.fs == FS_WRITE}
    capabilities = {"fs": files, "terminal": False}
    return {"protocolVersion": VERSION, "clientCapabilities": capabilities, "clientInfo": client_info()}


def _version(said: Any) -> int:
    number = int(said) if isinstance(said, str) and said in ("1", "2") else integer_of(said)
    if number is None:
        return VERSION
    if number not in (1, 2):
        raise HandshakeRefused(
            f"the agent speaks version {number} of the protocol; unhang speaks 1 (and what it knows of 2)"
        )
    return number


async def _session(peer: Peer, plan: AcpPlan, session: AcpSession, hello: Message) -> Message:
    where: Message = {"cwd": os.getcwd(), "mcpServers": [server(entry) for entry in plan.mcp]}
    if plan.session is None:
        session.doing = "session/new"
        found = await peer.request("session/new", where)
        identity = text_of(found, "sessionId")
        if not identity:
            raise HandshakeRefused("the agent opened a session without an id")
        session.id = identity
        return found
    known = hello.get("agentCapabilities")
    if isinstance(dig(known, "sessionCapabilities", "resume"), dict):
        method = "session/resume"
    elif dig(known, "loadSession") is True:
        method = "session/load"
    else:
        raise HandshakeRefused(
            f"{session.name} cannot resume a session (it offers neither session/resume nor session/load)"
        )
    session.doing = method
    session.id = plan.session
    return await peer.request(method, where | {"sessionId": plan.session})


def _explained(error: RpcError, plan: AcpPlan, hello: Message) -> Exception:
    if error.code != _AUTH_REQUIRED and "auth" not in error.message.lower():
        return error
    recipe = catalogue.find(plan.agent)
    names = [text_of(one, "name", most=80) for one in items_of(hello, "authMethods", most=10)]
    how = recipe.login if recipe else f"log in with it first ({', '.join(filter(None, names)) or 'see its manual'})"
    return HandshakeRefused(f"the agent is not logged in ({error.message}): {how}")


def server(entry: str) -> Message:
    """Return a server given as NAME=COMMAND WORDS… or NAME=URL, as `session/new` wants it."""
    name, _, rest = entry.partition("=")
    if rest.startswith(("http://", "https://")):
        return {"type": "http", "name": name, "url": rest, "headers": []}
    program, *words = shlex.split(rest)
    return {"name": name, "command": program, "args": words, "env": []}


# --- model and mode -------------------------------------------------------------------------------------------


async def _set(peer: Peer, session: AcpSession, found: Message, what: str, wanted: str) -> None:
    """By a configuration option, or by the older way that an agent offers."""
    for option in mappings_of(found, "configOptions"):
        if what in (text_of(option, "category"), text_of(option, "id")) and text_of(option, "id"):
            value = _choice(session, what, wanted, _values(option.get("options"), "value"))
            params: Message = {"sessionId": session.id, "configId": option["id"], "value": value}
            await peer.request("session/set_config_option", params)
            return
    listed = dig(found, f"{what}s", f"available{what.title()}s")
    if not isinstance(listed, list):
        raise HandshakeRefused(f"{session.name} offers no choice of a {what}")
    value = _choice(session, what, wanted, _values(listed, "id" if what == "mode" else "modelId"))
    await peer.request(f"session/set_{what}", {"sessionId": session.id, f"{what}Id": value})


def _values(listed: Any, key: str, depth: int = 3) -> dict[str, str]:
    """Value → name; groups of them are opened."""
    found: dict[str, str] = {}
    for one in mappings_of(listed):
        if text_of(one, key):
            found[text_of(one, key)] = text_of(one, "name")
        elif depth:
            found |= _values(one.get("options"), key, depth - 1)
    return found


def _choice(session: AcpSession, what: str, wanted: str, offered: dict[str, str]) -> str:
    for value, name in offered.items():
        if wanted.lower() in (value.lower(), name.lower()):
            return value
    known = ", ".join(preview(value, 80) for value in list(offered)[:12]) + (" …" if len(offered) > 12 else "")
    raise HandshakeRefused(f"{session.name} has no {what} {wanted!r}; it offers: {known or 'none'}")
