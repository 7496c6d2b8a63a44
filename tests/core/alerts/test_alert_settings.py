"""alerts.toml: what it says, and how a mistake in it is named."""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.places import ROOT
from unhang.core.alerts.kinds import KINDS
from unhang.core.alerts.occasions import AlertSubject, Occasion
from unhang.core.alerts.settings import TARGETS, QuietHours, parse
from unhang.errors import UsageError

PHONE = {"target": {"phone": {"kind": "desktop"}}}


def occasion(kind: str = "stuck", *, lasted: float = 0.0, notify: tuple[str, ...] = (), **subject: Any) -> Occasion:
    about = AlertSubject(id="j1", name="n", command=subject.pop("command", "make all"), notify=notify, **subject)
    return Occasion(about, kind, seq=3, at=1.0, stall="s", what="why", command="unhang status j1", lasted=lasted)


def rules(**rule: Any) -> Any:
    return parse(PHONE | {"rule": [{"on": ["stuck", "finished"], "to": ["phone"]} | rule]}, "f")


@pytest.mark.parametrize(
    ("rule", "given", "matches"),
    [
        ({}, occasion(), True),
        ({}, occasion("failed"), False),
        ({"label": {"team": "a*"}}, occasion(labels={"team": "ab"}), True),
        ({"label": {"team": "a*"}}, occasion(labels={"team": "b"}), False),
        ({"label": {"team": "a"}}, occasion(), False),
        ({"agent": "codex"}, occasion(agent="codex"), True),
        ({"agent": "codex"}, occasion(), False),
        ({"command": "make *"}, occasion(), True),
        ({"command": "npm *"}, occasion(), False),
        ({"directory": "/w/a"}, occasion(directory="/w/a/b"), True),
        ({"directory": "/w/a"}, occasion(directory="/w/ab"), False),
        ({"after": "10m"}, occasion("finished", lasted=601), True),
        ({"after": "10m"}, occasion("finished", lasted=599), False),
        ({"after": "10m"}, occasion("stuck"), True),
    ],
)
def test_a_rule_is_about_what_it_says(rule: dict[str, Any], given: Occasion, matches: bool) -> None:
    assert rules(**rule).targets_of(given) == (["phone"] if matches else [])


def test_the_examples_of_the_documentation_are_settings_and_the_desktop_is_always_there() -> None:
    page = (ROOT / "docs" / "alerts.md").read_text()
    (first, *others) = re.findall(r"```toml\n(.*?)```", page, re.S)
    settings = parse(tomllib.loads(first), "f")
    assert settings.targets_of(occasion("failed")) == ["phone", "desktop"]
    for more in others:
        parse(tomllib.loads(first + more), "f")


def test_a_job_may_name_its_own_targets_among_those_of_the_file() -> None:
    settings = parse(PHONE, "f")
    assert settings.targets_of(occasion(notify=("phone", "elsewhere"))) == ["phone"]
    assert settings.targets_of(occasion()) == []


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ({"rules": []}, "'rules'"),
        ({"target": {"x": {"kind": "pager"}}}, "target.x.kind"),
        ({"target": {"x": {"kind": "ntfy"}}}, "'url'"),
        ({"target": {"x": {"kind": "ntfy", "url": "file:///etc/passwd"}}}, "target.x.url"),
        ({"target": {"x": {"kind": "desktop", "sound": "on"}}}, "'sound'"),
        ({"target": {"x": {"kind": "command", "command": "rm -rf"}}}, "target.x.command"),
        (PHONE | {"rule": [{"on": ["stuk"], "to": ["phone"]}]}, "'stuk'"),
        (PHONE | {"rule": [{"on": ["stuck"], "to": ["fone"]}]}, "'fone'"),
        (PHONE | {"rule": [{"on": ["stuck"]}]}, "rule 1.to"),
        (PHONE | {"rule": [{"on": ["finished"], "to": ["phone"], "after": "soon"}]}, "rule 1.after"),
        (PHONE | {"rule": {"on": []}}, "[[rule]]"),
        ({"quiet": {"from": "25:00", "to": "07:00"}}, "quiet.from"),
        ({"quiet": {"from": "22:00"}}, "quiet.to"),
        ({"quiet": {"from": "22:00", "to": "7:00", "let": ["loud"]}}, "quiet.let"),
        ({"cooldown": {"urgent": -1}}, "cooldown.urgent"),
        ({"cooldown": {"often": 1}}, "'often'"),
        ({"cooldown": {"low": 1}}, "'low'"),
        ({"quiet": {"from": "22:00", "to": "07:00", "days": []}}, "'days'"),
        ({"quiet": {"from": "07:00", "to": "7:00"}}, "quiet: from and to"),
        ({"web": {"url": "https://x", "port": 1}}, "'port'"),
        (PHONE | {"rule": [{"on": ["stuck"], "to": ["phone"], "cooldown": 1}]}, "'cooldown'"),
        (PHONE | {"rule": [{"on": ["failed"], "to": ["phone"], "after": "1m"}]}, "rule 1.after"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_place(value: dict[str, Any], names: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(value, "alerts.toml")
    assert names in str(caught.value)
    assert str(caught.value).startswith("alerts.toml: ")
    assert "\n" not in str(caught.value)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_WORDS = st.sampled_from(
    ["target", "rule", "quiet", "cooldown", "kind", "url", "on", "to", "from", "let", *TARGETS, *KINDS]
)


@given(st.dictionaries(_WORDS, _JSON | st.dictionaries(_WORDS, _JSON, max_size=4), max_size=4))
def test_any_file_is_settings_or_one_line(value: dict[str, Any]) -> None:
    with suppress(UsageError):  # anything else is a defect
        parse(value, "f")


@given(st.integers(0, 1439), st.integers(0, 1439), st.floats(0, 1439.9))
def test_quiet_hours_end_when_they_say(begin: int, end: int, minute: float) -> None:
    quiet = QuietHours(begin, end, ())
    left = quiet.left("low", minute)
    assert 0 <= left <= 86_400
    if left:
        later = (minute + left / 60) % 1440
        assert min((later - end) % 1440, (end - later) % 1440) < 0.01
    if begin == end:
        return
    assert quiet.left("low", begin) > 0
    assert quiet.left("low", end) == 0
    assert QuietHours(begin, end, ("urgent",)).left("urgent", minute) == 0


@pytest.mark.parametrize("url", ["unhang.example.org", "ftp://x", "https://x/path", "https://a@b", "https://", "", 5])
def test_the_address_of_the_page_is_an_origin(url: object) -> None:
    assert parse({"web": {"url": "HTTPS://Host:8/".replace("HTTPS", "https")}}, "f").page == "https://host:8"
    with pytest.raises(UsageError, match=r"f: web.url"):
        parse({"web": {"url": url}}, "f")
