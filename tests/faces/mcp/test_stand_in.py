"""In the place of another server: its tool's name, its arguments, its answer; numbers where a client knows no null."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.mcp.harness import Caller, Reply, Servers

# As the seed has it (tests/core/policy/seed_policy.json), with limits that a test can wait for.
POLICY = {
    "version": "1.0",
    "categories": {
        "quick": {"exec_timeout_sec": 900, "no_output_timeout_sec": 1},
        "long": {"exec_timeout_sec": 1, "no_output_timeout_sec": 900, "warn_sec": 0},
        "medium": {"exec_timeout_sec": 900, "no_output_timeout_sec": 900, "warn_sec": 0},
    },
    "command_patterns": {"quick": ["^sleep 600"], "long": ["^sleep 700"]},
    "default_category": "medium",
}
SEVEN = ("status", "stdout", "stderr", "exitCode", "timeoutReason", "terminationMode", "durationMs")


def test_myshell_runs_to_the_end_and_answers_in_its_own_seven_fields(servers: Servers, tmp_path: Path) -> None:
    file = tmp_path / "terminal_timeout_policy.json"
    file.write_text(json.dumps(POLICY))

    def seven(found: Reply) -> list[object]:
        shown = json.loads(found.text)
        assert shown == found.data
        assert shown["durationMs"] >= 0
        assert found.error == (shown["status"] != "success")
        return [shown[name] for name in SEVEN[:-1]]

    async def work(caller: Caller) -> None:
        (tool,) = [tool for tool in (await caller.client.list_tools()).tools if tool.name == "run"]
        assert list(tool.input_schema["properties"]) == ["command", "timeout_sec", "cwd", "env"]
        assert tool.input_schema["required"] == ["command"]
        fine = await caller.call("run", command="echo 'timeout test 1'", timeout_sec=900)
        assert seven(fine) == ["success", "timeout test 1\n", "", 0, None, None]
        failed = await caller.call("run", command="echo why >&2; exit 3")
        assert seven(failed) == ["error", "", "why\n", 3, None, None]
        silent = await caller.call("run", command="sleep 600")
        assert seven(silent) == ["timeout", "", "", -1, "no_output_timeout", "soft"]
        assert silent.data["diagnosis"]["reason"]
        long = await caller.call("run", command="sleep 700")
        assert seven(long) == ["timeout", "", "", -1, "exec_timeout", "soft"]
        server = await caller.call("run", command="tail -f /dev/null")
        assert (server.data["status"], server.data["exitCode"], server.error) == ("running", -1, False)
        ended = await caller.call("cancel", job_id=server.data["jobId"])
        assert (ended.data["status"], ended.data["exitCode"]) == ("cancelled", None), "the other tools are as ever"

    servers.run("auto", work, "--aliases", "myshell", "--policy", str(file))


def test_an_exit_code_is_a_number_where_the_client_asks_for_it(servers: Servers) -> None:
    async def work(caller: Caller) -> None:
        assert (await caller.call("run", command="exit 3")).data["exitCode"] == 3
        killed = await caller.call("run", command="kill -9 $$")
        assert (killed.data["exitCode"], killed.data["signal"]) == (-1, "SIGKILL")
        running = await caller.call("start", command="sleep 600")
        assert (running.data["status"], running.data["exitCode"]) == ("running", -1)
        ended = await caller.call("cancel", job_id=running.data["jobId"])
        assert (ended.data["status"], ended.data["exitCode"]) == ("cancelled", -1)
        waited = await caller.call("wait", job_id=running.data["jobId"])
        assert [job["exitCode"] for job in waited.data["jobs"]] == [-1]

    servers.run("auto", work, "--compat")
