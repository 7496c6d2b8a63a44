"""A receiver of OTLP over HTTP, which decodes what it gets with the classes of OpenTelemetry's own protocol."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


class Received(NamedTuple):
    """A span as it arrived. Ids in hexadecimal, an empty parent is a root; times in nanoseconds."""

    trace: str
    id: str
    parent: str
    name: str
    kind: int
    start: int
    end: int
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    error: bool
    resource: dict[str, Any]


class OtlpReceiver:
    """Keeps every span that it has taken. `answers`: the codes of the next answers, then 200; only 200 takes it.

    `taken` is called with the number of each request whose spans were kept, before it is answered.
    """

    def __init__(self) -> None:
        self.answers: list[int] = []
        self.refused = 0
        self.spans: list[Received] = []
        self.headers: list[dict[str, str]] = []
        self.taken: Callable[[int], None] = lambda _: None
        ours = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                code = ours.answers.pop(0) if ours.answers else 200
                answer = b""
                if code == 200 and self.path == "/v1/traces":
                    ours.headers.append({name.lower(): value for name, value in self.headers.items()})
                    ours.spans += _spans(ExportTraceServiceRequest.FromString(body))
                    ours.taken(len(ours.headers))
                    answer = ExportTraceServiceResponse().SerializeToString()
                else:
                    ours.refused += 1
                self.send_response(code)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1/traces"

    def named(self, name: str) -> list[Received]:
        return [span for span in self.spans if span.name == name]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _spans(request: ExportTraceServiceRequest) -> list[Received]:
    return [
        Received(
            span.trace_id.hex(),
            span.span_id.hex(),
            span.parent_span_id.hex(),
            span.name,
            span.kind,
            span.start_time_unix_nano,
            span.end_time_unix_nano,
            _table(span.attributes),
            [(event.name, _table(event.attributes)) for event in span.events],
            span.status.code == 2,
            _table(group.resource.attributes),
        )
        for group in request.resource_spans
        for scope in group.scope_spans
        for span in scope.spans
    ]


def _table(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    found = getattr(value, kind)
    return [_value(each) for each in found.values] if kind == "array_value" else found
