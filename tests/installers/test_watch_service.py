"""`unhang watch install` and `uninstall`. A script that records its arguments takes the place of systemctl: no test may
touch a user's own manager."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.support.engine import wait_until
from tests.support.sessions.harness import Place
from unhang.sessions import lock

SYSTEMCTL = """#!/bin/sh
echo "$@" >> "$HOME/systemctl.log"
[ ! -e "$HOME/refuse-$2" ]
"""


@pytest.fixture
def systemd(place: Place) -> Path:
    """A user manager that obeys; its log."""
    folder = place.folder / "bin"
    folder.mkdir()
    program = folder / "systemctl"
    program.write_text(SYSTEMCTL)
    program.chmod(0o755)
    place.env["PATH"] = f"{folder}:{place.env['PATH']}"
    place.env.pop("XDG_CONFIG_HOME", None)
    return place.folder / "user" / "systemctl.log"


def unit(place: Place) -> Path:
    return place.folder / "user" / ".config" / "systemd" / "user" / "unhang-watch.service"


def test_a_unit_is_written_enabled_and_removed_again(place: Place, systemd: Path) -> None:
    shown = place.unhang("watch", "install", "--dry-run", "--limit", "WebFetch=1m", "--notify", 'echo "100%"')
    assert shown.returncode == 0, shown.stderr
    assert not unit(place).exists()
    assert "enable" not in systemd.read_text()
    done = place.unhang("watch", "install", "--yes", "--limit", "WebFetch=1m", "--notify", 'echo "100%"')
    assert done.returncode == 0, done.stderr
    text = unit(place).read_text()
    added = [line[1:] for line in shown.stdout.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert added == text.splitlines()
    assert '"--limit" "WebFetch=1m"' in text
    assert r'"echo \"100%%\""' in text
    assert f'Environment="UNHANG_HOME={place.home}"' in text
    assert {"WatchdogSec=120", "NotifyAccess=main"} <= set(text.splitlines())
    assert systemd.read_text().splitlines()[-2:] == ["--user daemon-reload", "--user enable --now unhang-watch.service"]
    assert json.loads(place.unhang("watch", "status", "--json").stdout)["installed"]["how"] == "systemd"
    assert place.unhang("watch", "install", "--yes").returncode == 2  # it is there already
    assert place.unhang("watch", "uninstall", "--yes").returncode == 0
    assert not unit(place).exists()
    assert "--user disable --now unhang-watch.service" in systemd.read_text()
    assert json.loads(place.unhang("watch", "status", "--json").stdout)["installed"] is None


@pytest.mark.usefixtures("systemd")
def test_a_file_that_was_there_comes_back(place: Place) -> None:
    unit(place).parent.mkdir(parents=True)
    unit(place).write_text("mine\n")
    assert place.unhang("watch", "install", "--yes").returncode == 0
    assert unit(place).read_text() != "mine\n"
    assert place.unhang("watch", "uninstall", "--yes").returncode == 0
    assert unit(place).read_text() == "mine\n"
    assert os.listdir(unit(place).parent) == [unit(place).name]


@pytest.mark.usefixtures("systemd")
def test_what_fails_half_way_can_be_undone(place: Place) -> None:
    (place.folder / "user" / "refuse-enable").touch()
    failed = place.unhang("watch", "install", "--yes")
    assert failed.returncode == 125
    assert len(failed.stderr.splitlines()) == 1
    assert place.unhang("watch", "uninstall", "--yes").returncode == 0
    assert not unit(place).exists()


@pytest.mark.usefixtures("systemd")
def test_without_systemd_the_watcher_is_a_job(place: Place) -> None:
    (place.folder / "user" / "refuse-show-environment").touch()
    done = place.unhang("watch", "install", "--yes")
    assert done.returncode == 0, done.stderr
    wait_until(lambda: lock.holder(str(place.home)), "the watcher runs")
    assert "job" in done.stdout
    assert place.unhang("watch", "uninstall", "--yes").returncode == 0
    assert lock.holder(str(place.home)) is None
    assert not unit(place).exists()
    assert place.unhang("watch", "uninstall", "--yes").returncode == 125


@pytest.mark.usefixtures("systemd")
def test_nothing_is_changed_without_a_yes(place: Place) -> None:
    asked = place.unhang("watch", "install", input="n\n")
    assert asked.returncode == 2
    assert "--yes" in asked.stderr
    assert not unit(place).exists()
