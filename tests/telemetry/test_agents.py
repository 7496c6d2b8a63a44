"""unhang → a real agent → its tool → unhang: one trace, asserted on what the receiver got."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support import programs
from tests.support.claude import harness as claude
from tests.support.codex import harness as codex
from tests.support.fakes.anthropic_messages import FakeAnthropic
from tests.support.fakes.openai_responses import FakeOpenAI
from tests.support.jobs import Jobs
from tests.support.telemetry.receiver import OtlpReceiver

NESTED = f"{sys.executable} -m unhang run -- true"


def check(bench: Jobs, receiver: OtlpReceiver, agent: str, provider: str, tool: str) -> None:
    done = bench.call("otel", "--endpoint", receiver.url, "--once", "--all")
    assert done.code == 0, done.err
    bench.close()
    bench.end_everything()
    (job,), (turn,) = receiver.named(agent), receiver.named(f"invoke_agent {agent}")
    (call,), (inner,) = receiver.named(f"execute_tool {tool}"), receiver.named("true")
    assert {span.trace for span in receiver.spans} == {job.trace}
    assert (job.parent, turn.parent, call.parent) == ("", job.id, turn.id)
    assert inner.parent == job.id, "the agent records nothing of its own here"
    # an agent tells of its tool call when it gets to it, which may be a moment after the call has begun or ended
    assert turn.start <= call.start <= call.end <= turn.end
    assert turn.start <= inner.start <= inner.end <= turn.end
    assert turn.attributes["gen_ai.provider.name"] == provider
    assert turn.attributes["gen_ai.conversation.id"]
    assert NESTED not in repr([job, turn, call]), "neither the task nor the arguments of a tool"


def test_spans_lead_from_claude_code_over_its_bash_to_the_job_in_it(tmp_path: Path, receiver: OtlpReceiver) -> None:
    programs.need(programs.CLAUDE)
    with FakeAnthropic() as fake:
        bench = claude.Bench(tmp_path, fake)
        turn = bench.turn(f"fake: bash {NESTED}", *claude.BASH, *claude.PATIENT)
        assert turn.code == 0, turn.result
        check(bench, receiver, "claude", "anthropic", "Bash")
    assert receiver.named("invoke_agent claude")[0].attributes["gen_ai.request.model"]


def test_spans_lead_from_codex_over_its_command_to_the_job_in_it(tmp_path: Path, receiver: OtlpReceiver) -> None:
    with FakeOpenAI() as fake:
        bench = codex.Bench(tmp_path, fake, programs.path_of(programs.CODEX))
        turn = bench.turn(f"[[shell:{NESTED}]]", *codex.PATIENT)
        assert turn.code == 0, turn.result
        check(bench, receiver, "codex", "openai", "commandExecution")
    assert receiver.named("invoke_agent codex")[0].attributes["gen_ai.usage.output_tokens"] > 0
