"""A model that reads only the text of an answer, and does what the first of its `Next` lines says."""

from __future__ import annotations

import ast
import re
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from tests.support.mcp.harness import Reply

Call = Callable[..., Awaitable[Reply]]
# Enough for a question, its answer, a wait and an extension; a model that goes in circles is stopped here.
MOST_STEPS = 6
_FENCE = re.compile(r"^--- (?:stdout|stderr) (\w+)\n.*?^--- end \1$", re.MULTILINE | re.DOTALL)


class Step(NamedTuple):
    tool: str
    arguments: dict[str, Any]


def own_lines(text: str) -> list[str]:
    """The lines of an answer that are unhang's own, without what the job printed."""
    return [line for line in _FENCE.sub("", text).split("\n") if line]


def next_step(text: str) -> Step | None:
    """The first call that an answer recommends."""
    line = next((line for line in own_lines(text) if line.startswith("Next: ")), None)
    return None if line is None else read_call(line.removeprefix("Next: "))


def read_call(text: str) -> Step:
    """`tool(name=value, …)` and whatever stands behind it → the call."""
    depth, quote, end = 0, "", len(text)
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
            if depth == 0:
                end = at + 1
                break
    plain = re.sub(r"=(true|false)\b", lambda found: "=" + found[1].capitalize(), text[:end])
    node = ast.parse(plain, mode="eval").body
    assert isinstance(node, ast.Call), text
    assert isinstance(node.func, ast.Name), text
    return Step(node.func.id, {str(word.arg): ast.literal_eval(word.value) for word in node.keywords})


async def follow(call: Call, first: Step, answer: str = "") -> list[tuple[Step, Reply]]:
    """Make a call and follow the advice of each answer until there is none; `answer` is what only a model knows.

    Reading what a job has printed is the end: nothing is left to decide.
    """
    made: list[tuple[Step, Reply]] = []
    step: Step | None = first
    while step is not None and len(made) < MOST_STEPS:
        arguments = {name: answer if value == "…" else value for name, value in step.arguments.items()}
        reply = await call(step.tool, **arguments)
        made.append((step._replace(arguments=arguments), reply))
        step = None if step.tool == "output" else next_step(reply.text) or corrected(made[-1][0], reply.text)
    return made


_MEANT = re.compile(r'(\w+) has no argument "(\w+)"; did you mean (\w+)\?')


def corrected(step: Step, text: str) -> Step | None:
    """The same call with the argument that was meant, if its answer says which; None otherwise."""
    found = _MEANT.match(text)
    if found is None or found[1] != step.tool:
        return None
    return Step(step.tool, {found[3] if name == found[2] else name: value for name, value in step.arguments.items()})
