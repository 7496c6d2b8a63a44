"""unhang's own server with the tools and resources that the official conformance suite calls, on loopback.

Every fixture is a supervised command: what the suite sees has gone through unhang's runner, so that it judges this
server and not only the SDK below it. The suite cannot send a token, so one is put on each of its requests here.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
)
from pydantic import Field
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.faces.mcp.conformance.tasks import FixtureCalls, FixtureTasks, offer
from unhang.core.limit_request import LimitRequest
from unhang.faces.mcp import http
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.job_call import attend
from unhang.faces.mcp.sdk import SdkCall, SdkThreads, build
from unhang.faces.mcp.server import Server
from unhang.faces.mcp.settings import Settings
from unhang.jobs.attend import AttendedJob
from unhang.jobs.local_server import hosts_of, listen

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
TOKEN = "conformance-suite-token"
FIXTURE = "A fixture of the conformance suite"


async def begin(backend: Backend, ctx: Context, line: str) -> AttendedJob:
    prepared = await backend.in_thread(
        backend.prepare, line, cwd="", env=None, stdin="null", pty=False, asked=LimitRequest(), labels={}
    )
    return await attend(
        backend, SdkCall(ctx.request_context), await backend.in_thread(backend.pool.launch, prepared, None, hold=True)
    )


async def printed(backend: Backend, ctx: Context, line: str) -> str:
    """What a supervised command printed."""
    attended = await begin(backend, ctx, line)
    assert await attended.wait(30)
    attended.finish()
    result = attended.job.result()
    return result.stdout if result.ok else result.stderr


async def lines(backend: Backend, ctx: Context, line: str, tell: Callable[[str], Any]) -> None:
    """Every line of a supervised command, while it runs."""
    attended = await begin(backend, ctx, line)
    told = 0
    over = False
    while not over:
        over = await attended.wait(0.02)
        whole = attended.job.tail("stdout").splitlines()
        for text in whole[told:]:
            await tell(text)
        told = len(whole)
    attended.finish()


def register(server: MCPServer[Any], backend: Backend) -> None:
    @server.tool(description=FIXTURE)
    async def test_simple_text(ctx: Context) -> CallToolResult:
        text = await printed(backend, ctx, "printf 'This is a simple text response for testing.'")
        return CallToolResult(content=[TextContent(type="text", text=text)])

    @server.tool(description=FIXTURE)
    async def test_error_handling(ctx: Context) -> CallToolResult:
        text = await printed(backend, ctx, "printf 'This tool intentionally returns an error for testing' >&2; exit 1")
        return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)

    @server.tool(description=FIXTURE)
    async def test_image_content(ctx: Context) -> CallToolResult:
        data = await printed(backend, ctx, f"printf {PIXEL}")
        return CallToolResult(content=[ImageContent(type="image", data=data, mime_type="image/png")])

    @server.tool(description=FIXTURE)
    async def test_audio_content(ctx: Context) -> CallToolResult:
        data = await printed(backend, ctx, f"printf {SOUND}")
        return CallToolResult(content=[AudioContent(type="audio", data=data, mime_type="audio/wav")])

    @server.tool(description=FIXTURE)
    async def test_embedded_resource(ctx: Context) -> CallToolResult:
        text = await printed(backend, ctx, "printf 'This is an embedded resource content.'")
        found = TextResourceContents(uri="test://embedded-resource", mime_type="text/plain", text=text)
        return CallToolResult(content=[EmbeddedResource(type="resource", resource=found)])

    @server.tool(description=FIXTURE)
    async def test_multiple_content_types(ctx: Context) -> CallToolResult:
        text = await printed(backend, ctx, "printf 'Multiple content types test:'")
        body = await printed(backend, ctx, """printf '{"test":"data","value":123}'""")
        found = TextResourceContents(uri="test://mixed-content-resource", mime_type="application/json", text=body)
        return CallToolResult(
            content=[
                TextContent(type="text", text=text),
                ImageContent(type="image", data=PIXEL, mime_type="image/png"),
                EmbeddedResource(type="resource", resource=found),
            ]
        )

    @server.tool(description=FIXTURE)
    async def test_tool_with_logging(ctx: Context) -> CallToolResult:
        async def tell(text: str) -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                sending = ctx.session.send_log_message("info", text, related_request_id=ctx.request_id)
            await sending

        line = "for w in started processing completed; do echo Tool execution $w; sleep 0.05; done"
        await lines(backend, ctx, line, tell)
        return CallToolResult(content=[TextContent(type="text", text="done")])

    @server.tool(description=FIXTURE)
    async def test_tool_with_progress(ctx: Context) -> CallToolResult:
        async def tell(text: str) -> None:
            await ctx.report_progress(float(text), 100, f"{text} of 100")

        await lines(backend, ctx, "for n in 0 50 100; do echo $n; sleep 0.05; done", tell)
        return CallToolResult(content=[TextContent(type="text", text="done")])

    @server.tool(description=FIXTURE)
    async def greet(ctx: Context, name: Annotated[str, Field(pattern=r"^[\w -]*$")]) -> CallToolResult:
        text = await printed(backend, ctx, f"printf 'Hello, {name}!'")
        return CallToolResult(content=[TextContent(type="text", text=text)])

    @server.tool(description=FIXTURE)
    async def test_missing_capability(ctx: Context) -> CallToolResult:
        if ctx.client_capabilities is None or ctx.client_capabilities.sampling is None:
            data: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "sampling is needed", data)
        return CallToolResult(content=[TextContent(type="text", text=await printed(backend, ctx, "echo fine"))])

    @server.tool(description=FIXTURE)
    async def test_trigger_tool_change(ctx: Context) -> str:
        await ctx.notify_tools_changed()
        return "changed"

    @server.tool(description=FIXTURE)
    async def test_trigger_prompt_change(ctx: Context) -> str:
        await ctx.notify_prompts_changed()
        return "changed"

    @server.resource("test://static-text", mime_type="text/plain")
    async def static_text() -> str:
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    async def static_binary() -> bytes:
        import base64

        return base64.b64decode(PIXEL)

    @server.resource("test://template/{id}/data", mime_type="application/json")
    async def template(id: str) -> str:
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})

    @server.resource("test://watched-resource", mime_type="text/plain")
    async def watched() -> str:
        return "Watched resource content"


class WithToken:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope["headers"] = [*scope["headers"], (b"authorization", f"Bearer {TOKEN}".encode())]
        await self._app(scope, receive, send)


def main() -> None:
    warnings.simplefilter("ignore")
    backend = Backend(Settings(), SdkThreads())
    tasks = FixtureTasks(backend)
    ours = Server(backend, tasks)
    server = build(ours, FixtureCalls(ours))
    register(server, backend)
    offer(server, backend, tasks)
    sock, host, port = listen("--http", "127.0.0.1:0")
    hosts = hosts_of(host, port)
    app = WithToken(http.RequestCheck(http.app_of(server, hosts), TOKEN, hosts))
    print(f"http://{host}:{port}{http.PATH}", flush=True)
    runner = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, timeout_graceful_shutdown=1))
    anyio.run(lambda: runner.serve(sockets=[sock]))
    backend.close()


if __name__ == "__main__":
    main()
