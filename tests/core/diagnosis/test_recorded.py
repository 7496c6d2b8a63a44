"""What real programs looked like, replayed without them: no live one is called hung, and the hung ones are.

`python -m tests.zoo.runner --record NAME` writes a recording of a scenario, to be added with the rule that it shows.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.zoo.recording import everything, read


@pytest.mark.parametrize("path", everything(), ids=lambda path: path.stem)
def test_the_verdict_on_what_was_recorded(path: Path) -> None:
    seen = read(path)
    verdict = seen.verdict()
    if seen.truth == "hung":
        assert verdict.state == "hung", verdict
    elif seen.truth == "alive":
        assert verdict.state != "hung", verdict
    assert verdict.cause in seen.causes, verdict
    assert seen.prompt in verdict.reason
    assert not seen.never or seen.never not in verdict.reason
