"""What a tool of an agent has started, judged without the agent, which may end what the tool waits for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.diagnosis.build import HZ, look, process, thread
from unhang.core.diagnosis.part import begun_since
from unhang.core.diagnosis.rules import diagnose
from unhang.core.diagnosis.samples import Common, FullSample, Pipe, ProcessSample, Socket
from unhang.core.diagnosis.suggest import suggestions_for_agent, suggestions_for_command_of_agent
from unhang.core.diagnosis.verdict import Diagnosis

BEGAN = 100.0  # seconds after the boot


def agent(**more: Any) -> ProcessSample:
    return process(7, thread(7, "epoll_wait"), comm="node", start=int(50 * HZ), **more)


def tool(*threads: Any, **more: Any) -> ProcessSample:
    return process(9, *threads, comm="cat", ppid=7, start=int(101 * HZ), **more)


def of_tool(*processes: ProcessSample, **more: Any) -> Diagnosis:
    first, second = (begun_since(look(at, *processes, **more), BEGAN) for at in (200, 203))
    return diagnose(first, second)


def test_the_agent_is_no_part_of_what_its_tool_has_started() -> None:
    part = begun_since(look(200, agent(), tool(thread(9, "nanosleep"))), BEGAN)
    assert list(part.processes) == [9]
    assert begun_since(look(200, agent()), BEGAN).processes == {}


def reads(fd: int, target: str) -> ProcessSample:
    return tool(thread(9, "read", reads=(fd,)), fds={fd: target})


@pytest.mark.parametrize("fd", [0, 5])
def test_what_the_agent_may_write_to_its_tool_is_no_proof_of_a_hang(fd: int) -> None:
    """Node gives its children sockets, others give them pipes."""
    sockets = {"socket:[1]": Socket("unix", peer="socket:[2]"), "socket:[2]": Socket("unix", peer="socket:[1]")}
    over_socket = of_tool(agent(fds={4: "socket:[2]"}), reads(fd, "socket:[1]"), sockets=sockets)
    pipes = {"pipe:[1]": Pipe(readers=((9, fd),), writers=((7, 4),), searched=True)}
    over_pipe = of_tool(agent(fds={4: "pipe:[1]"}), reads(fd, "pipe:[1]"), pipes=pipes)
    assert "hung" not in (over_socket.state, over_pipe.state)
    assert "node [7]" in over_pipe.reason
    if fd == 0:
        assert "node [7]" in over_socket.reason


@pytest.mark.parametrize(("name", "state"), [("codex", "unsure"), ("node", "hung")])
@pytest.mark.parametrize("call", ["read", "pselect6"])
def test_a_prompt_at_a_terminal_where_the_agents_model_types_is_no_proof_of_a_hang(
    name: str, state: str, call: str
) -> None:
    """Codex's model starts a Python, thinks, and types into it (`write_stdin`). No model types at Gemini's."""
    asks = tool(thread(9, call, reads=(0,)), fds={0: "/dev/pts/5", 1: "/dev/pts/5"}, tty=136 << 8 | 5)
    made = agent(fds={4: "/dev/ptmx"})._replace(comm=name)
    found = of_tool(made, asks, masters={"/dev/pts/5": (7,)})
    assert (found.state, found.cause) == (state, "input")


def test_memory_that_the_agent_shares_with_its_tool_is_no_proof_either() -> None:
    waits = tool(thread(9, "futex", futex=16, shared=True, common="8:1 5"))
    alone = of_tool(waits, commons={"8:1 5": Common(inside=(9,))})
    shared = of_tool(agent(), waits, commons={"8:1 5": Common(inside=(7, 9))})
    assert (alone.state, shared.state) == ("hung", "unsure")


def test_two_processes_of_the_tool_that_wait_for_each_other_are_hung_whatever_the_agent_does() -> None:
    pipes = {
        "pipe:[1]": Pipe(readers=((9, 0),), writers=((10, 1),), searched=True),
        "pipe:[2]": Pipe(readers=((10, 0),), writers=((9, 1),), searched=True),
    }
    first = tool(thread(9, "read", reads=(0,)), fds={0: "pipe:[1]", 1: "pipe:[2]"})
    second = process(
        10,
        thread(10, "read", reads=(0,)),
        comm="cat",
        ppid=7,
        start=int(101 * HZ),
        fds={0: "pipe:[2]", 1: "pipe:[1]"},
    )
    busy = agent(cpu=500)
    found = of_tool(busy, first, second, pipes=pipes)
    assert (found.state, found.cause) == ("hung", "pipe_cycle")


def test_what_the_agent_moves_over_its_own_connections_is_no_work_of_its_tool() -> None:
    """OpenCode's two halves talk to each other while a command of its hangs."""
    stuck = tool(thread(9, "inotify"), fds={0: "socket:[2]"})
    talks = agent(fds={4: "socket:[1]"})
    parts = []
    for at, received in ((200, 1000), (203, 1600)):
        sockets = {"socket:[1]": Socket("tcp", received=received), "socket:[2]": Socket("tcp", received=7)}
        parts.append(begun_since(look(at, talks, stuck, sockets=sockets), BEGAN))
    assert list(parts[1].sockets) == ["socket:[2]"]
    assert diagnose(*parts).cause != "progress"


def test_a_command_of_an_agent_is_advised_on_as_a_command_and_not_by_an_answer() -> None:
    asks = Diagnosis("hung", "input", "waits for input on its terminal", {"pid": 9}, []).to_json()
    assert suggestions_for_agent(asks) == suggestions_for_command_of_agent(asks)
    assert "unhang send" not in " ".join(suggestions_for_agent(asks)), "its answer would go to the agent's driver"
    question = asks | {"evidence": {}}
    assert "unhang send" in " ".join(suggestions_for_agent(question))
    waits: dict[str, Any] = {"cause": "network", "evidence": {"pid": 9, "socket": {"remote": "10.0.0.7:443"}}}
    assert "10.0.0.7:443" in suggestions_for_command_of_agent(waits)[0]


def test_a_sample_with_nothing_older_is_the_same_tree() -> None:
    whole: FullSample = look(200, tool(thread(9, "nanosleep")))
    assert begun_since(whole, BEGAN).processes == whole.processes
