"""Spans → OTLP over HTTP, by OpenTelemetry's own exporter. The only file that imports its SDK."""

from __future__ import annotations

import logging
import socket
from typing import TYPE_CHECKING

import requests
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from unhang import __version__
from unhang.core import plain_text
from unhang.core import spans as pure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_KINDS = {pure.INTERNAL: SpanKind.INTERNAL, pure.CLIENT: SpanKind.CLIENT}
# How long one batch may take, with the attempts that the exporter makes by itself.
TIMEOUT = 10
_LONGEST = 200


class OtlpSender:
    """Sends spans to one receiver."""

    def __init__(self, endpoint: str, headers: Mapping[str, str]) -> None:
        # what it says about its own attempts is said again, and better, by the process that uses it
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        self._session = _OtlpSession()
        self._exporter = OTLPSpanExporter(
            endpoint=endpoint, headers=dict(headers), timeout=TIMEOUT, session=self._session
        )
        self._resource = Resource(
            {"service.name": "unhang", "service.version": __version__, "host.name": socket.gethostname()}
        )
        self._scope = InstrumentationScope("unhang", __version__)

    def send(self, spans: Sequence[pure.Span]) -> bool:
        """Send them all; False: they have to be sent again."""
        return self._exporter.export([self._readable(span) for span in spans]) is SpanExportResult.SUCCESS

    @property
    def trouble(self) -> str:
        """Return why the last request was not taken, for people; empty: it is not known."""
        return self._session.trouble

    def close(self) -> None:
        """Break off what is being tried."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]

    def _readable(self, span: pure.Span) -> ReadableSpan:
        parent = None if span.parent is None else _context(span.trace, span.parent)
        failed = span.status == pure.FAILED
        return ReadableSpan(
            name=span.name,
            context=_context(span.trace, span.id),
            parent=parent,
            resource=self._resource,
            attributes=span.attributes,
            events=[Event(event.name, event.attributes, event.at) for event in span.events],
            kind=_KINDS[span.kind],
            status=Status(StatusCode.ERROR, span.message or None) if failed else Status(StatusCode.UNSET),
            start_time=span.start,
            end_time=span.end,
            instrumentation_scope=self._scope,
        )


class _OtlpSession(requests.Session):
    """Keeps why a request was not taken, and makes a redirect a failure: the exporter takes it for a success."""

    def __init__(self) -> None:
        super().__init__()
        self.trouble = ""
        self.hooks["response"].append(self._look_at)

    def send(self, request: requests.PreparedRequest, **given: Any) -> requests.Response:
        """As every session does; an error is noted."""
        try:
            return super().send(request, **given)
        except requests.RequestException as error:
            first: BaseException = error
            while first.__context__ is not None:  # what the system said, and not what each layer has made of it
                first = first.__context__
            self.trouble = plain_text.one_line(str(first) or type(first).__name__, _LONGEST)
            raise

    def _look_at(self, response: requests.Response, *_: object, **__: object) -> requests.Response:
        self.trouble = "" if response.status_code < 300 else f"it answered {response.status_code}"
        if 300 <= response.status_code < 400:
            response.status_code = 400  # as one that trying again at once would not help
        return response


def _context(trace: str, span: str) -> SpanContext:
    return SpanContext(int(trace, 16), int(span, 16), False, TraceFlags(TraceFlags.SAMPLED))
