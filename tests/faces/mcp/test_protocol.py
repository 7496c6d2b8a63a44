"""The protocol without its pipes: whatever a client says has one meaning, and never an exception of another kind."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unhang.faces.mcp import protocol
from unhang.faces.mcp.identity import IDENTITY
from unhang.faces.mcp.protocol import McpCancel, McpConversation, McpRequest, NoMessage, ProtocolError, Serve

MODERN = {
    "_meta": {
        protocol.VERSION_KEY: "2026-07-28",
        protocol.CAPABILITIES_KEY: {},
        protocol.CLIENT_KEY: {"name": "c", "version": "1"},
    }
}
HANDSHAKE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}

_plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
_json = st.recursive(_plain, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)
_keys = st.sampled_from(
    [
        "_meta",
        "name",
        "arguments",
        "uri",
        "level",
        "taskId",
        "notifications",
        "protocolVersion",
        "capabilities",
        "clientInfo",
    ]
)
_params = st.dictionaries(_keys, _json | st.just(MODERN["_meta"]) | st.just(HANDSHAKE["clientInfo"]))
_methods = st.sampled_from(
    [*sorted(IDENTITY.methods), "initialize", "ping", "server/discover", "logging/setLevel", "nope"]
)


def conversation(modern: bool) -> McpConversation:
    found = McpConversation(IDENTITY)
    if modern:
        assert isinstance(found.take(McpRequest(0, "prompts/list", MODERN)), Serve)
    else:
        found.take(McpRequest(0, "initialize", HANDSHAKE))
    return found


@given(st.binary() | _json.map(lambda value: json.dumps(value).encode()))
def test_a_line_is_a_message_or_refused(line: bytes) -> None:
    found: object
    try:
        found = protocol.read(line)
    except ProtocolError as error:
        found = error.code
    right = (None, protocol.PARSE_ERROR, protocol.INVALID_REQUEST)
    assert found in right or isinstance(found, McpRequest | McpCancel)


@pytest.mark.parametrize(
    ("line", "number"),
    [
        (b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": []}', 7),
        (b'{"jsonrpc": "2.0", "id": "a", "method": 5}', "a"),
        (b'{"id": 7, "method": "ping"}', 7),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"text": "\\ud83d"}}', 7),
        (b'{"jsonrpc": "2.0", "id": "\\ud83d", "method": "ping"}', None),  # it cannot be sent back
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', None),
        (b'{"jsonrpc": "2.0", "id": 7, "result": 5}', None),  # an answer, of a request that was not ours
        (b'{"jsonrpc": "2.0", "id": 7, "method": "ping"', None),
    ],
)
def test_a_refused_request_keeps_its_id_so_that_its_client_does_not_wait(line: bytes, number: int | str | None) -> None:
    with pytest.raises(NoMessage) as refused:
        protocol.read(line)
    assert refused.value.id == number


@settings(max_examples=300)
@given(st.booleans(), _methods, _params)
def test_a_request_is_served_answered_or_refused(modern: bool, method: str, params: dict[str, Any]) -> None:
    try:
        found = conversation(modern).take(McpRequest("r", method, params))
    except ProtocolError as error:
        json.loads(protocol.encode(protocol.error_message("r", error)))
    else:
        if isinstance(found, Serve):  # with everything that the method cannot do without
            assert found.caller.modern is modern
            assert method != "tools/call" or isinstance(params["name"], str)
        else:
            json.loads(protocol.encode(protocol.result_message("r", found)))


@given(st.dictionaries(st.text(st.characters()), _json | st.text(st.characters(categories=["Cs", "Zl", "Cc"]))))
def test_what_is_sent_is_one_line_that_every_reader_takes(value: dict[str, Any]) -> None:
    line = protocol.encode(protocol.notification("n", value))
    assert line.count(b"\n") == 1
    assert line.decode().splitlines() == [line.decode().rstrip("\n")]
    json.loads(line)


@pytest.mark.parametrize("version", ["1999-01-01", "2026-07-28", "2025-11-25"])
def test_a_version_that_the_handshake_has_not_becomes_its_newest(version: str) -> None:
    found = McpConversation(IDENTITY).take(McpRequest(1, "initialize", HANDSHAKE | {"protocolVersion": version}))
    assert isinstance(found, dict)
    assert found["protocolVersion"] == "2025-11-25"


def test_the_first_request_decides_which_era_a_connection_belongs_to() -> None:
    with pytest.raises(ProtocolError) as refused:
        conversation(modern=True).take(McpRequest(1, "initialize", HANDSHAKE))
    assert refused.value.code == protocol.UNSUPPORTED_VERSION
    with pytest.raises(ProtocolError) as refused:
        conversation(modern=False).take(McpRequest(1, "prompts/list", MODERN))
    assert refused.value.code == protocol.INVALID_REQUEST


@pytest.mark.parametrize("method", ["server/discover", "tools/list"])
@pytest.mark.parametrize("version", ["2999-01-01", "2025-11-25", 5])
def test_a_version_that_is_refused_leaves_the_client_the_choice_of_the_era(method: str, version: object) -> None:
    strange = {"_meta": MODERN["_meta"] | {protocol.VERSION_KEY: version}}
    for begun in (McpRequest(2, "initialize", HANDSHAKE), McpRequest(2, "prompts/list", MODERN)):
        talk = McpConversation(IDENTITY)
        with pytest.raises(ProtocolError):
            talk.take(McpRequest(1, method, strange))
        talk.take(begun)


def test_a_request_before_the_handshake_leaves_the_client_the_choice_of_the_era() -> None:
    talk = McpConversation(IDENTITY)
    with pytest.raises(ProtocolError):
        talk.take(McpRequest(1, "tools/list", {}))
    assert isinstance(talk.take(McpRequest(2, "prompts/list", MODERN)), Serve)


def test_results_of_the_modern_era_say_what_they_are() -> None:
    talk = conversation(modern=True)
    found = talk.take(McpRequest(1, "tools/list", MODERN))
    assert isinstance(found, Serve)
    shaped = talk.shaped("tools/list", found.caller, {"tools": []})
    assert {name: shaped[name] for name in ("resultType", "ttlMs", "cacheScope")} == {
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
    }
    assert shaped["_meta"][protocol.SERVER_KEY]["name"] == "unhang"
    assert talk.shaped("tools/call", found.caller, {"resultType": "task"})["resultType"] == "task"


def test_a_meta_that_is_null_is_none() -> None:
    asked = McpRequest(1, "tools/call", {"name": "list", "_meta": None})
    assert isinstance(conversation(modern=False).take(asked), Serve)
    assert protocol.progress_token(asked.params) is None


@pytest.mark.parametrize(
    ("method", "params", "named"),
    [
        ("tools/call", {}, "name"),
        ("tools/call", {"name": "run", "arguments": []}, "arguments"),
        ("tools/list", {"_meta": []}, "_meta"),
        ("resources/read", {"uri": 5}, "uri"),
        ("logging/setLevel", {"level": "loud"}, "level"),
    ],
)
def test_a_request_without_what_it_needs_is_told_what_that_is(method: str, params: dict[str, Any], named: str) -> None:
    with pytest.raises(ProtocolError) as refused:
        conversation(modern=False).take(McpRequest(1, method, params))
    assert refused.value.code == protocol.INVALID_PARAMS
    assert named in refused.value.message
