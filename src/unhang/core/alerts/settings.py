"""alerts.toml: targets, rules, quiet hours and cooldowns.

    [target.phone]
    kind = "ntfy"
    url = "https://ntfy.example/my-topic"

    [[rule]]
    on = ["needs_input", "needs_approval", "stuck"]
    to = ["phone"]

An unknown key is an error, and so is one that would do nothing: a misspelt rule would be silent when it mattered.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from unhang.core import durations
from unhang.core.alerts.kinds import KINDS, NORMAL, SEVERITIES, URGENT
from unhang.core.record import Record
from unhang.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.alerts.occasions import Occasion

# kind of a target → the settings it must have, and those it may have
TARGETS = {
    "desktop": ((), ()),
    "osc": (("tty",), ()),
    "ntfy": (("url",), ("token_file",)),
    "webhook": (("url",), ("secret_file",)),
    "slack": (("url",), ()),
    "command": (("command",), ()),
    "apprise": (("url",), ()),
}
# None for what is low: a job has finished once, and "recovered" follows only what was sent.
COOLDOWN = {URGENT: 300.0, NORMAL: 1800.0}
_MINUTES = 24 * 60


class Target(Record):
    """One place that alerts are sent to. `options`: what its kind needs, as text; `command` as words."""

    name: str
    kind: str
    options: dict[str, str] = {}  # noqa: RUF012 - a Record is frozen; no code writes to it
    command: tuple[str, ...] = ()


# It needs no setting, so it is there without being written down.
DESKTOP = Target("desktop", "desktop")


class Rule(Record):
    """Which occasions go to which targets. An empty condition holds for everything."""

    on: tuple[str, ...]
    to: tuple[str, ...]
    labels: dict[str, str] = {}  # noqa: RUF012 - a Record is frozen; no code writes to it
    agent: str = ""
    command: str = ""
    directory: str = ""
    after: float = 0.0

    def matches(self, occasion: Occasion) -> bool:
        """Return whether the rule is about this occasion."""
        subject = occasion.subject
        if occasion.kind not in self.on:
            return False
        if occasion.kind == "finished" and occasion.lasted < self.after:
            return False
        if self.agent and not fnmatchcase(subject.agent, self.agent):
            return False
        if self.command and not fnmatchcase(subject.command, self.command):
            return False
        if self.directory and not _within(subject.directory, self.directory):
            return False
        return all(fnmatchcase(subject.labels.get(name, ""), value) for name, value in self.labels.items())


class QuietHours(Record):
    """Hours in which only the severities in `let` are sent, in minutes after local midnight."""

    begin: int
    end: int
    let: tuple[str, ...] = (URGENT,)

    def left(self, severity: str, minute: float) -> float:
        """Return how many seconds an alert of this severity has to wait at this minute of the day; 0: none."""
        if severity in self.let:
            return 0.0
        inside = self.begin <= minute < self.end if self.begin < self.end else minute >= self.begin or minute < self.end
        return ((self.end - minute) % _MINUTES) * 60 if inside else 0.0


class AlertSettings(Record):
    """All of alerts.toml."""

    targets: dict[str, Target]
    rules: tuple[Rule, ...]
    quiet: QuietHours | None = None
    cooldown: dict[str, float] = COOLDOWN
    page: str = ""  # the origin at which a person reaches `unhang web`

    def targets_of(self, occasion: Occasion) -> list[str]:
        """Return the names of the targets that are to be told of an occasion, each once."""
        found = {name: None for rule in self.rules if rule.matches(occasion) for name in rule.to}
        found |= {name: None for name in occasion.subject.notify if name in self.targets}
        return list(found)


def parse(value: dict[str, Any], path: str) -> AlertSettings:
    """Return the settings in a file that was parsed already. Raises UsageError with the place that is wrong."""
    _known(value, {"target", "rule", "quiet", "cooldown", "web"}, path)
    targets = {DESKTOP.name: DESKTOP} | {
        name: _target(name, given, f"{path}: target.{name}")
        for name, given in _table(value.get("target", {}), f"{path}: target").items()
    }
    rules = value.get("rule", [])
    if not isinstance(rules, list):
        raise UsageError(f"{path}: rule: must be written as [[rule]]")
    return AlertSettings(
        targets=targets,
        rules=tuple(_rule(given, f"{path}: rule {n}", targets) for n, given in enumerate(rules, 1)),
        quiet=_quiet(value["quiet"], f"{path}: quiet") if "quiet" in value else None,
        cooldown=COOLDOWN | _cooldown(value.get("cooldown", {}), f"{path}: cooldown"),
        page=_page(value["web"], f"{path}: web") if "web" in value else "",
    )


def _within(folder: str, pattern: str) -> bool:
    return folder == pattern or folder.startswith(pattern.rstrip("/") + "/") or fnmatchcase(folder, pattern)


def _target(name: str, given: Any, where: str) -> Target:
    table = _table(given, where)
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in TARGETS:
        raise UsageError(f"{where}.kind: must be one of {', '.join(TARGETS)}; not {kind!r}")
    must, may = TARGETS[kind]
    _known(table, {"kind", *must, *may}, where)
    for each in must:
        if each not in table:
            raise UsageError(f"{where}: {kind} needs {each!r}")
    words = _texts(table["command"], f"{where}.command") if "command" in table else ()
    options = {key: _text(each, f"{where}.{key}") for key, each in table.items() if key not in ("kind", "command")}
    url = options.get("url", "")
    if kind in ("ntfy", "webhook", "slack") and not url.startswith(("http://", "https://")):
        raise UsageError(f"{where}.url: must begin with http:// or https://")
    return Target(name, kind, options, words)


def _rule(given: Any, where: str, targets: dict[str, Target]) -> Rule:
    table = _table(given, where)
    _known(table, {"on", "to", "label", "agent", "command", "directory", "after"}, where)
    on, to = _texts(table.get("on"), f"{where}.on"), _texts(table.get("to"), f"{where}.to")
    for kind in on:
        if kind not in KINDS:
            raise UsageError(f"{where}.on: no such occasion: {kind!r}; there are: {', '.join(KINDS)}")
    for name in to:
        if name not in targets:
            raise UsageError(f"{where}.to: no such target: {name!r}; there are: {', '.join(targets) or 'none'}")
    labels = {name: _text(each, f"{where}.label") for name, each in _table(table.get("label", {}), where).items()}
    texts = {key: _text(table[key], f"{where}.{key}") for key in ("agent", "command", "directory") if key in table}
    after = _seconds(table["after"], f"{where}.after") if "after" in table else 0.0
    if "after" in table and "finished" not in on:
        raise UsageError(f"{where}.after: is about 'finished', which is not in this rule's on")
    return Rule(on=on, to=to, labels=labels, after=after, **texts)


def _quiet(given: Any, where: str) -> QuietHours:
    table = _table(given, where)
    _known(table, {"from", "to", "let"}, where)
    let = _texts(table["let"], f"{where}.let") if table.get("let") else ((URGENT,) if "let" not in table else ())
    for each in let:
        if each not in SEVERITIES:
            raise UsageError(f"{where}.let: must be of {', '.join(SEVERITIES)}; not {each!r}")
    begin, end = _minute(table.get("from"), f"{where}.from"), _minute(table.get("to"), f"{where}.to")
    if begin == end:
        raise UsageError(f"{where}: from and to are the same time of day")
    return QuietHours(begin, end, let)


def _cooldown(given: Any, where: str) -> dict[str, float]:
    table = _table(given, where)
    _known(table, set(COOLDOWN), where)
    return {name: _seconds(each, f"{where}.{name}") for name, each in table.items()}


def _page(given: Any, where: str) -> str:
    """An origin as a browser writes it: scheme, name and port."""
    table = _table(given, where)
    _known(table, {"url"}, where)
    url = _text(table.get("url"), f"{where}.url").rstrip("/")
    scheme, _, name = url.partition("://")
    if scheme not in ("http", "https") or not name or set(name) & set("/?#@ ,;"):
        raise UsageError(f"{where}.url: must be an address without a path, such as https://unhang.example.org")
    return f"{scheme}://{name.lower()}"


def _minute(given: Any, where: str) -> int:
    hours, _, minutes = given.partition(":") if isinstance(given, str) else ("", "", "")
    if len(hours) <= 2 and len(minutes) == 2 and (hours + minutes).isascii() and (hours + minutes).isdecimal():
        found = int(hours or "99") * 60 + int(minutes)
        if int(minutes) < 60 and found < _MINUTES:
            return found
    raise UsageError(f'{where}: must be a time of day such as "22:30", not {given!r}')


def _seconds(given: Any, where: str) -> float:
    try:
        return durations.seconds_of(where, given)
    except (ValueError, TypeError, UsageError) as error:
        raise UsageError(f"{where}: {error}") from None


def _table(given: Any, where: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise UsageError(f"{where}: must be a table")
    return given


def _text(given: Any, where: str) -> str:
    if not isinstance(given, str) or not given:
        raise UsageError(f"{where}: must be a text, not {given!r}")
    return given


def _texts(given: Any, where: str) -> tuple[str, ...]:
    if not isinstance(given, list) or not given or not all(isinstance(each, str) and each for each in given):
        raise UsageError(f"{where}: must be a list of texts, not {given!r}")
    return tuple(given)


def _known(table: dict[str, Any], names: set[str], where: str) -> None:
    for key in table:
        if key not in names:
            raise UsageError(f"{where}: unknown setting {key!r}; there are: {', '.join(sorted(names))}")
