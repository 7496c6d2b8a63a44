"""From where which keeper can be judged."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhang.procs import vantage
from unhang.procs.vantage import EARLIER_BOOT, ELSEWHERE, HERE, Vantage

_US = Vantage("boot-1", "pid:[1]", True, "laptop", "m-1", "time:[1]")
_KEEPER = {"boot": "boot-1", "pidNamespace": "pid:[1]", "timeNamespace": "time:[1]", "host": "laptop", "machine": "m-1"}


@pytest.mark.parametrize(
    ("stands", "changed", "kind"),
    [
        (_US, {}, HERE),
        (_US, {"host": "laptop-renamed"}, HERE),  # the kernel and the namespace are the same: it can be seen
        (_US, {"pidNamespace": None}, HERE),  # of a version that did not write it down
        (_US, {"timeNamespace": None}, HERE),
        (_US, {"pidNamespace": "pid:[2]"}, ELSEWHERE),
        (_US, {"timeNamespace": "time:[2]"}, ELSEWHERE),
        (_US, {"pidNamespace": "pid:[2]", "host": "container"}, ELSEWHERE),
        (_US, {"boot": "boot-0"}, EARLIER_BOOT),
        (_US, {"boot": "boot-0", "pidNamespace": "pid:[2]"}, EARLIER_BOOT),  # no namespace outlives its machine
        (_US, {"boot": "boot-0", "machine": None}, EARLIER_BOOT),
        (_US, {"boot": "boot-0", "host": "other"}, ELSEWHERE),
        (_US, {"boot": "boot-0", "machine": "m-2"}, ELSEWHERE),  # two machines may have one name
        (_US.replace(boot=""), {}, ELSEWHERE),
        (_US.replace(sees=False), {}, ELSEWHERE),
    ],
)
def test_a_keeper_is_judged_only_within_its_boot_and_namespaces(
    stands: Vantage, changed: dict[str, str | None], kind: str
) -> None:
    found = vantage.sight(_KEEPER | changed, stands)
    assert found.kind == kind
    assert bool(found.where) == (kind != HERE)


_ANYTHING = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=2)


@given(st.dictionaries(st.sampled_from([*_KEEPER, "pid"]), _ANYTHING))
def test_a_record_with_anything_in_it_is_never_judged_from_another_namespace(keeper: dict[str, object]) -> None:
    kind = vantage.sight(keeper, _US).kind
    if kind == HERE:
        assert keeper.get("boot") == _US.boot
        for name, ours in (("pidNamespace", _US.pids), ("timeNamespace", _US.times)):
            assert keeper.get(name) in ("", ours) or not isinstance(keeper.get(name), str)


def test_a_process_knows_where_it_stands() -> None:
    stands = vantage.here()
    assert vantage.sight(vantage.record(stands), stands).kind == HERE
    assert stands.host == os.uname().nodename
