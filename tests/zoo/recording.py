"""Two full looks at a real program, as data: written by the zoo's runner, replayed by tests without the program.

A recording holds the two samples as the sampler gave them (what /proc and sock_diag showed), without the fields that
have their default value, and the truth of the scenario that they were taken of. The folder of the scenario and the
interpreter are given other names, so that nothing of the machine stays in it.
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from unhang.core.diagnosis.rules import diagnose
from unhang.core.diagnosis.samples import FullSample
from unhang.core.diagnosis.verdict import Diagnosis

FOLDER = Path(__file__).parent.parent / "core" / "diagnosis" / "recorded"
# The end of a screen holds the prompt; what lies above may be a list of the machine's processes.
MOST_SCREEN = 160
MOST_COMMAND = 120


class Recording(NamedTuple):
    """Two looks at a scenario, and what is true of it."""

    scenario: str
    truth: str  # "hung", "alive" or "ambiguous"
    causes: tuple[str, ...]  # those that are right
    prompt: str  # must be part of the reason
    never: str  # must be no part of it
    before: FullSample
    after: FullSample

    def verdict(self) -> Diagnosis:
        """What the rules say of it."""
        return diagnose(self.before, self.after)


def packed(value: Any) -> Any:
    """A sample as JSON can hold it."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        defaults: dict[str, Any] = getattr(value, "_field_defaults", {})
        fields = {name: getattr(value, name) for name in value._fields}
        return {name: packed(each) for name, each in fields.items() if name not in defaults or each != defaults[name]}
    if isinstance(value, dict):
        return {str(key): packed(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [packed(each) for each in value]
    return value


def unpacked(value: Any, kind: Any) -> Any:
    """The value of a type from its JSON. A field that is not known any more is an error."""
    origin, parameters = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        inner = next(each for each in parameters if each is not type(None))
        return None if value is None else unpacked(value, inner)
    if origin is dict:
        return {parameters[0](key): unpacked(each, parameters[1]) for key, each in value.items()}
    if origin is tuple:
        kinds = [parameters[0]] * len(value) if parameters[-1] is Ellipsis else parameters
        return tuple(unpacked(each, inner) for each, inner in zip(value, kinds, strict=True))
    if isinstance(kind, type) and issubclass(kind, tuple):
        hints = typing.get_type_hints(kind)
        return kind(**{name: unpacked(each, hints[name]) for name, each in value.items()})
    return value


def shortened(sample: FullSample) -> FullSample:
    """The sample without the part of the screen and of the commands that no rule reads."""
    processes = {pid: each._replace(cmd=each.cmd[:MOST_COMMAND]) for pid, each in sample.processes.items()}
    return sample._replace(screen=sample.screen[-MOST_SCREEN:], processes=processes)


def write(recording: Recording, renamed: Iterable[tuple[str, str]], folder: Path = FOLDER) -> Path:
    """Write a recording into the folder, with the names of this machine replaced."""
    text = json.dumps(packed(recording))
    for old, new in renamed:
        text = text.replace(old, new)
    # Shortened last: a name that was cut in its middle would stay.
    whole: Recording = unpacked(json.loads(text), Recording)
    short = whole._replace(before=shortened(whole.before), after=shortened(whole.after))
    text = json.dumps(packed(short), indent=1, ensure_ascii=False)
    path = folder / f"{recording.scenario}.json"
    path.write_text(text + "\n")
    return path


def read(path: Path) -> Recording:
    """The recording in a file."""
    found: Recording = unpacked(json.loads(path.read_text()), Recording)
    return found


def everything() -> list[Path]:
    """The files of all recordings."""
    return sorted(FOLDER.glob("*.json"))
