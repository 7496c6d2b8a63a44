"""The Model Context Protocol on a pair of pipes, without the pipes: a line of the client → what to do.

Two eras are spoken. In the handshake era a connection begins with `initialize`, which settles the version for all that
follows. In the modern era there is no connection: every request says in `_meta` which version it speaks and who asks.
The first request of an era that is accepted decides which era the connection belongs to: a client may try a version
that this server does not speak, and begin with the handshake when it hears so.
"""

from __future__ import annotations

from unhang.core import values
from unhang.core.record import Record

TYPE_CHECKING = False  # the real constant lives in `typing`, whose import the first answer would wait for
if TYPE_CHECKING:
    from typing import Any, TypeGuard

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSIONS = ("2026-07-28",)

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
CONNECTION_CLOSED = -32000
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022

_META = "io.modelcontextprotocol/"
VERSION_KEY, CLIENT_KEY = f"{_META}protocolVersion", f"{_META}clientInfo"
CAPABILITIES_KEY, LEVEL_KEY = f"{_META}clientCapabilities", f"{_META}logLevel"
SERVER_KEY, SUBSCRIPTION_KEY = f"{_META}serverInfo", f"{_META}subscriptionId"
# The extension for calls that last (tasks.py).
TASKS_EXTENSION = f"{_META}tasks"

# Of log messages, the least urgent first.
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

# The methods of requests that only one of the eras has; all others that are served are in both.
_HANDSHAKE_ONLY = frozenset({"ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"})
_MODERN_ONLY = frozenset({"server/discover", "subscriptions/listen"})
# Results that a client of the modern era may keep for a while; ours change at any time.
_CACHEABLE = frozenset(
    {"server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"}
)
# The parameters that a method cannot do without, or that must be of a kind where they are given.
_NEEDED: dict[str, dict[str, type]] = {
    "tools/call": {"name": str},
    "resources/read": {"uri": str},
    "resources/subscribe": {"uri": str},
    "resources/unsubscribe": {"uri": str},
    "prompts/get": {"name": str},
    "logging/setLevel": {"level": str},
    "subscriptions/listen": {"notifications": dict},
    "tasks/get": {"taskId": str},
    "tasks/update": {"taskId": str},
    "tasks/cancel": {"taskId": str},
}
_OPTIONAL: dict[str, dict[str, type]] = {"tools/call": {"arguments": dict}, "tasks/update": {"inputResponses": dict}}
_CALLED: dict[type, str] = {str: "a text", dict: "an object"}

RequestId = int | str


class ProtocolError(Exception):
    """A request that is answered with an error of the protocol, and not with the result of a tool."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class McpRequest(Record):
    """A message that wants an answer."""

    id: RequestId
    method: str
    params: dict[str, Any]


class McpCancel(Record):
    """The client takes a request back: it is not to be answered any more."""

    id: RequestId


class NoMessage(ProtocolError):
    """A line that is no message. `id`: of the request that it was to be, whose client waits; None if it has none."""

    def __init__(self, code: int, message: str, found: Any = None) -> None:
        super().__init__(code, message)
        number = found.get("id") if isinstance(found, dict) and "method" in found else None
        self.id: RequestId | None = number if _is_id(number) and values.for_json(number) == number else None


def _is_id(number: Any) -> TypeGuard[RequestId]:
    return isinstance(number, str) or type(number) is int  # a bool is an int


class Caller(Record):
    """Who asks, and in which version of the protocol."""

    version: str
    name: str = ""
    capabilities: dict[str, Any] = {}  # noqa: RUF012 - it is never written to

    @property
    def modern(self) -> bool:
        """Return whether the client speaks the modern era."""
        return self.version in MODERN_VERSIONS


class Serve(Record):
    """A request to be served for this caller."""

    request: McpRequest
    caller: Caller


class Identity(Record):
    """What a server says of itself."""

    info: dict[str, str]
    instructions: str
    methods: frozenset[str]  # of the requests that it serves, beside those of the protocol itself
    extensions: tuple[str, ...] = ()


def read(line: bytes) -> McpRequest | McpCancel | None:
    """Return what a line asks for; None for one that wants nothing. Raises NoMessage."""
    message = _parse(line)
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise NoMessage(INVALID_REQUEST, "Invalid request", message)
    method, number, params = message.get("method"), message.get("id"), message.get("params")
    if method is None and (isinstance(message.get("result"), dict) or isinstance(message.get("error"), dict)):
        return None  # an answer; this server asks nothing
    # a request with an id that is none is not taken for a notification: its client waits
    right_id = number is None or _is_id(number)
    if not isinstance(method, str) or not right_id or not (params is None or isinstance(params, dict)):
        raise NoMessage(INVALID_REQUEST, "Invalid request", message)
    if number is not None:
        return McpRequest(number, method, params or {})
    if method == "notifications/cancelled":
        cancelled = (params or {}).get("requestId")
        if _is_id(cancelled):
            return McpCancel(cancelled)
    return None


def _parse(line: bytes) -> Any:
    found = values.parse_message(line)
    if found is None and line.strip() != b"null":
        raise NoMessage(PARSE_ERROR, "Parse error")
    if b"\\u" in line and values.for_json(found) != found:
        text = "Parse error: half of a character (a lone surrogate) cannot be sent back, nor can what is nested deeply"
        raise NoMessage(PARSE_ERROR, text, found)
    return found


def reaches(level: str, least: str) -> bool:
    """Return whether a message of this level is for a client that wants the ones from `least` up."""
    return LEVELS.index(level) >= LEVELS.index(least)


class McpConversation:
    """What is known of one connection: its era, and in the handshake era its client."""

    def __init__(self, server: Identity) -> None:
        self._server = server
        self._modern: bool | None = None  # the first request that is accepted decides
        self._caller: Caller | None = None  # of the handshake era, once it has introduced itself

    def hear(self, line: bytes) -> dict[str, Any] | Serve | McpCancel | None:
        """Return what a line asks for, or the message that answers it at once; None: it wants nothing."""
        try:
            found = read(line)
        except NoMessage as error:
            return error_message(error.id, error)
        if not isinstance(found, McpRequest):
            return found
        try:
            step = self.take(found)
        except ProtocolError as error:
            return error_message(found.id, error)
        return step if isinstance(step, Serve) else result_message(found.id, step)

    def answer(self, step: Serve, result: dict[str, Any]) -> dict[str, Any]:
        """Return the message that answers a request with its result."""
        return result_message(step.request.id, self.shaped(step.request.method, step.caller, result))

    def take(self, request: McpRequest) -> Serve | dict[str, Any]:
        """Return the request with its caller, or the result of one that is answered at once. Raises ProtocolError."""
        meta = request.params.get("_meta")
        enveloped = isinstance(meta, dict) and VERSION_KEY in meta
        if self._modern or (self._modern is None and enveloped and request.method != "initialize"):
            return self._take_modern(request)
        if request.method == "initialize":
            return self._initialize(request.params)
        if enveloped:
            text = f"this connection has begun with the handshake: {MODERN_VERSIONS[-1]} is not accepted on it"
            raise ProtocolError(INVALID_REQUEST, text)
        self._check(request, _MODERN_ONLY)
        if request.method == "ping":
            return {}
        if self._caller is None:
            raise invalid_params("initialize comes first")
        return Serve(request, self._caller)

    def _take_modern(self, request: McpRequest) -> Serve | dict[str, Any]:
        if request.method == "initialize":
            asked = request.params.get("protocolVersion")
            data = {"supported": list(MODERN_VERSIONS)} | ({"requested": asked} if isinstance(asked, str) else {})
            text = f"this connection has begun with {MODERN_VERSIONS[-1]}: the handshake is not accepted on it"
            raise ProtocolError(UNSUPPORTED_VERSION, text, data)
        caller = _caller_of(request.params.get("_meta"))
        self._modern = True
        self._check(request, _HANDSHAKE_ONLY)
        if request.method == "server/discover":
            return self._discover(caller)
        return Serve(request, caller)

    def _check(self, request: McpRequest, of_the_other_era: frozenset[str]) -> None:
        """Raise ProtocolError for a method that is not served, or without what it needs."""
        served = request.method in self._server.methods or request.method in (*_HANDSHAKE_ONLY, *_MODERN_ONLY)
        if not served or request.method in of_the_other_era:
            raise ProtocolError(METHOD_NOT_FOUND, "Method not found", request.method)
        params = request.params
        needed, optional = _NEEDED.get(request.method, {}), _OPTIONAL.get(request.method, {}) | {"_meta": dict}
        given = {name: kind for name, kind in optional.items() if params.get(name) is not None}
        for name, kind in (needed | given).items():
            if not isinstance(params.get(name), kind):
                raise invalid_params(f"{name} must be {_CALLED[kind]}")
        if request.method == "logging/setLevel" and params["level"] not in LEVELS:
            raise invalid_params(f"level must be one of {', '.join(LEVELS)}")

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        asked, client, capabilities = (params.get(name) for name in ("protocolVersion", "clientInfo", "capabilities"))
        if not (isinstance(asked, str) and _names(client) and isinstance(capabilities, dict)):
            raise invalid_params("protocolVersion, capabilities and clientInfo (with name and version) are needed")
        version = asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
        self._modern = False
        self._caller = Caller(version, client["name"], capabilities)
        return {
            "protocolVersion": version,
            "capabilities": self._capabilities(modern=False),
            "serverInfo": self._server.info,
            "instructions": self._server.instructions,
        }

    def _discover(self, caller: Caller) -> dict[str, Any]:
        found = {
            "supportedVersions": list(MODERN_VERSIONS),
            "capabilities": self._capabilities(modern=True),
            "instructions": self._server.instructions,
        }
        return self.shaped("server/discover", caller, found)

    def _capabilities(self, *, modern: bool) -> dict[str, Any]:
        changes = {"listChanged": modern}
        found: dict[str, Any] = {
            "logging": {},
            "prompts": changes,
            "resources": {"subscribe": True, **changes},
            "tools": changes,
        }
        if modern and self._server.extensions:
            found["extensions"] = {name: {} for name in self._server.extensions}
        return found

    def shaped(self, method: str, caller: Caller, result: dict[str, Any]) -> dict[str, Any]:
        """Return a result as the era of its caller has it."""
        if not caller.modern:
            return result
        found = {"resultType": "complete", **result}
        if method in _CACHEABLE:
            found = {"ttlMs": 0, "cacheScope": "private", **found}
        return found | {"_meta": {**found.get("_meta", {}), SERVER_KEY: self._server.info}}


def _names(client: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(client, dict) and isinstance(client.get("name"), str) and isinstance(client.get("version"), str)


def _caller_of(meta: Any) -> Caller:
    """Who sends a request of the modern era, by its envelope."""
    if not isinstance(meta, dict):
        raise ProtocolError(INVALID_PARAMS, f"params._meta must be an object with {VERSION_KEY} and {CAPABILITIES_KEY}")
    missing = [key for key in (VERSION_KEY, CAPABILITIES_KEY) if key not in meta]
    if missing:
        raise ProtocolError(INVALID_PARAMS, f"params._meta lacks {', '.join(missing)}")
    version, capabilities, client = meta[VERSION_KEY], meta[CAPABILITIES_KEY], meta.get(CLIENT_KEY)
    if not isinstance(version, str):
        raise ProtocolError(INVALID_PARAMS, f"{VERSION_KEY} must be a text")
    if version not in MODERN_VERSIONS:
        data = {"supported": list(MODERN_VERSIONS), "requested": version}
        raise ProtocolError(UNSUPPORTED_VERSION, "Unsupported protocol version", data)
    if not isinstance(capabilities, dict):
        raise invalid_params(f"{CAPABILITIES_KEY} must be {_CALLED[dict]}")
    if client is not None and not _names(client):
        raise invalid_params(f"{CLIENT_KEY} must have a name and a version")
    return Caller(version, "" if client is None else client["name"], capabilities)


def invalid_params(why: str) -> ProtocolError:
    """Return the error of a request whose parameters are not those of its method, or that comes too early."""
    return ProtocolError(INVALID_PARAMS, f"Invalid request parameters: {why}", "")


def progress_token(params: dict[str, Any]) -> RequestId | None:
    """Return the token under which the client wants to hear of progress; None if it does not."""
    token = (params.get("_meta") or {}).get("progressToken")
    return token if _is_id(token) else None


def result_message(number: RequestId, result: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request."""
    return {"jsonrpc": "2.0", "id": number, "result": result}


def error_message(number: RequestId | None, error: ProtocolError) -> dict[str, Any]:
    """Return the answer to a request that cannot be served; None: to a line whose id is not known."""
    found: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        found["data"] = error.data
    return {"jsonrpc": "2.0", "id": number, "error": found}


def notification(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return a message that wants no answer."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def encode(message: dict[str, Any]) -> bytes:
    """Return a message as the line that is sent."""
    return values.dump(message, compact=True).encode() + b"\n"
