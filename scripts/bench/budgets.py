"""The budgets: what is measured against what."""

from __future__ import annotations

from collections.abc import Callable

from bench import acp, engine, follow, hook, jobs, mcp, queue, throughput, watch, web
from bench.measure import Row

ALL: list[Callable[[str], list[Row]]] = [
    engine.cold_start,
    engine.warm_run,
    engine.durability,
    engine.throughput,
    engine.memory,
    engine.deadline,
    engine.tree_of_1000,
    jobs.follower,
    jobs.end_of_a_long_log,
    jobs.quiet_jobs,
    mcp.mcp_echo,
    mcp.mcp_idle_memory,
    mcp.mcp_survivors,
    mcp.mcp_causes,
    mcp.mcp_flood_memory,
    mcp.mcp_flood,
    mcp.mcp_first_answer,
    mcp.mcp_responsive,
    acp.acp_latency,
    acp.acp_throughput,
    acp.acp_first_message,
    watch.watch_200,
    hook.hook,
    web.web_page,
    queue.queue_dispatch,
    follow.fleet_follow,
    throughput.fleet_throughput,
]
