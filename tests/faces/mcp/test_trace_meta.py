"""The trace that a client names in the `_meta` of a call is the one that its job takes part in."""

from __future__ import annotations

from tests.support.mcp.harness import Caller, Servers

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
META = {"traceparent": f"00-{TRACE}-{SPAN}-01", "tracestate": "vendor=1"}
COMMAND = 'echo "$TRACEPARENT" "$TRACESTATE"'


def test_the_trace_of_a_call_reaches_its_job(servers: Servers, era: str) -> None:
    async def work(caller: Caller) -> None:
        for tool in ("run", "start"):
            found = await caller.call(tool, meta=META, command=COMMAND)
            job = servers.job(found.data["jobId"])
            await caller.call("wait", job_id=job.id)
            trace = job.spec["trace"]
            assert (trace["traceId"], trace["parentSpanId"]) == (TRACE, SPAN)
            assert job.result().stdout == f"00-{TRACE}-{trace['spanId']}-01 vendor=1\n"
            assert trace["spanId"] != SPAN

    servers.run(era, work)


def test_a_call_without_a_valid_trace_begins_one_and_a_variable_of_the_call_comes_first(servers: Servers) -> None:
    async def work(caller: Caller) -> None:
        for bad in ("00-zz", f"00-{TRACE}-{'0' * 16}-01", 7):
            found = await caller.call("run", meta={"traceparent": bad, "tracestate": "vendor=1"}, command=COMMAND)
            trace = servers.job(found.data["jobId"]).spec["trace"]
            assert trace["parentSpanId"] is None
            assert found.data["stdout"] == f"00-{trace['traceId']}-{trace['spanId']}-01 \n"
        own = f"00-{TRACE}-{'1' * 16}-00"
        found = await caller.call("run", meta=META, command=COMMAND, env={"TRACEPARENT": own})
        assert servers.job(found.data["jobId"]).spec["trace"]["parentSpanId"] == "1" * 16

    servers.run("legacy", work)
