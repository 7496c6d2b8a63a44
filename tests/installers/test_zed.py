"""`unhang acp install zed`: settings as people keep them are shown first, edited, and restored."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.jobs import Jobs
from unhang.core import jsonc
from unhang.errors import UsageError
from unhang.installers import zed as zed_settings

ZED = """\
// My settings
{
  "theme": "One Dark", // dark
  /* agents */
  "agent_servers": {
    // the plain one
    "Kimi": {"type": "custom", "command": "kimi", "args": ["acp"], "env": {}},
  },
  "vim_mode": true,
}
"""
COMMAND = ["/usr/bin/unhang", "acp", "proxy", "--", "/usr/bin/kimi", "acp"]


@pytest.fixture
def zed(jobs: Jobs, tmp_path: Path) -> Path:
    """Where Zed would look; HOME is the test's own, and an agent is on the PATH."""
    home = tmp_path / "user"
    (home / "bin").mkdir(parents=True)
    agent = home / "bin" / "kimi"
    agent.write_text("#!/bin/sh\n")
    agent.chmod(0o755)
    jobs.env |= {"HOME": str(home), "PATH": f"{home / 'bin'}:{jobs.env['PATH']}"}
    jobs.env.pop("XDG_CONFIG_HOME", None)
    return home / ".config" / "zed" / "settings.json"


def test_an_entry_is_shown_written_backed_up_and_removed_again(jobs: Jobs, zed: Path) -> None:
    zed.parent.mkdir(parents=True)
    zed.write_text(ZED)
    done = jobs.call("acp", "install", "zed", "--yes", "--idle", "5m", "--terminals", "--", "kimi", "acp")
    assert (done.code, done.err) == (0, b"")
    assert b'+    "kimi (unhang)": {' in done.out
    text = zed.read_text()
    for comment in ("// My settings", "// dark", "/* agents */", "// the plain one"):
        assert comment in text
    found = jsonc.parse(text)
    assert found["vim_mode"] is True
    assert found["agent_servers"]["Kimi"]["command"] == "kimi"
    entry = found["agent_servers"]["kimi (unhang)"]
    assert entry["type"] == "custom"
    words = [entry["command"], *entry["args"]]
    at = words.index("acp")
    agent = str(zed.parent.parent.parent / "bin" / "kimi")
    assert words[at:] == ["acp", "proxy", "--idle", "5m", "--terminals", "--", agent, "acp"]
    assert os.path.isabs(words[0])
    (backup,) = zed.parent.glob("*.bak")
    assert backup.read_text() == ZED
    again = jobs.call("acp", "install", "zed", "--yes", "--idle", "5m", "--terminals", "--", "kimi", "acp")
    assert again.code == 0
    assert zed.read_text() == text
    gone = jobs.call("acp", "uninstall", "zed", "--yes")
    assert gone.code == 0
    assert zed.read_text() == ZED
    backups = list(zed.parent.glob("*.bak"))
    assert jobs.call("acp", "uninstall", "zed", "--yes").code == 0
    assert list(zed.parent.glob("*.bak")) == backups, "nothing was left to change"


def test_uninstalling_keeps_what_was_edited_since_and_removes_a_file_that_unhang_made(jobs: Jobs, zed: Path) -> None:
    assert jobs.call("acp", "install", "zed", "--yes", "--", "kimi").code == 0
    assert jobs.call("acp", "uninstall", "zed", "--yes").code == 0
    assert not zed.exists()
    zed.write_text(ZED)
    assert jobs.call("acp", "install", "zed", "--yes", "--", "kimi").code == 0
    zed.write_text(zed.read_text().replace("One Dark", "One Light"))
    assert jobs.call("acp", "uninstall", "zed", "--yes").code == 0
    assert jsonc.parse(zed.read_text()) == jsonc.parse(ZED.replace("One Dark", "One Light"))


def test_a_new_option_replaces_our_own_entry_and_never_anothers(jobs: Jobs, zed: Path) -> None:
    assert jobs.call("acp", "install", "zed", "--yes", "--name", "K", "--", "kimi").code == 0
    assert jobs.call("acp", "install", "zed", "--yes", "--name", "K", "--hard", "1h", "--", "kimi").code == 0
    entries = json.loads(zed.read_text())["agent_servers"]
    assert list(entries) == ["K"]
    assert "--hard" in entries["K"]["args"]
    zed.write_text(ZED)
    for verb, words in (("install", ("--", "kimi")), ("uninstall", ())):
        assert "'Kimi'" in jobs.refused("acp", verb, "zed", "--yes", "--name", "Kimi", *words, code=2)
    assert zed.read_text() == ZED


def test_without_a_yes_nothing_is_written(jobs: Jobs, zed: Path) -> None:
    dry = jobs.call("acp", "install", "zed", "--dry-run", "--", "kimi", "acp")
    assert dry.code == 0
    assert b"agent_servers" in dry.out
    asked = jobs.call("acp", "install", "zed", "--", "kimi", "acp")
    assert (asked.code, b"--yes" in asked.err) == (2, True)
    assert not zed.exists()
    for answer, code in ((b"n\n", 1), (b"y\n", 0)):
        ours, theirs = pty.openpty()
        process = jobs.popen("acp", "install", "zed", "--", "kimi", "acp", stdin=theirs, stdout=subprocess.PIPE)
        os.write(ours, answer)
        done = jobs.finish(process)
        os.close(ours)
        os.close(theirs)
        assert done.code == code
        assert zed.exists() is (code == 0)


def test_wrong_usage_and_broken_settings_are_refused_and_change_nothing(jobs: Jobs, zed: Path) -> None:
    jobs.refused("acp", "install", "zed", code=2)
    assert "nope" in jobs.refused("acp", "install", "zed", "--", "nope", code=127)
    assert "--idle" in jobs.refused("acp", "install", "zed", "--idle", "soon", "--", "kimi", code=2)
    zed.parent.mkdir(parents=True)
    for broken in ("{", "[]", '{"agent_servers": 3}'):
        zed.write_text(broken)
        jobs.refused("acp", "install", "zed", "--yes", "--", "kimi", code=2)
        assert zed.read_text() == broken


@pytest.mark.parametrize("text", ["", "{}", "{ }", ZED, '{"agent_servers": {}}', '{"a": 1}\n', "// only\n{\n}\n"])
def test_in_and_out_again_means_the_same_as_before(text: str) -> None:
    put = zed_settings.add(text, "mine", COMMAND)
    assert jsonc.parse(put)["agent_servers"]["mine"] == zed_settings.entry_of(COMMAND)
    assert zed_settings.add(put, "mine", COMMAND) == put
    back = jsonc.parse(zed_settings.remove(put, None))
    before = jsonc.parse(text) if text else {}
    assert {"agent_servers": {}} | back == {"agent_servers": {}} | before


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(
    whole=st.dictionaries(st.text(max_size=5), values, max_size=4),
    others=st.dictionaries(st.text(max_size=5), values, max_size=3),
    indent=st.sampled_from([None, 2, 4, "\t"]),
    name=st.text(min_size=1, max_size=5),
)
def test_whatever_else_stands_there_stays(whole: dict[str, object], others: object, indent: object, name: str) -> None:
    before = whole | {"agent_servers": others}
    text = json.dumps(before, indent=indent)  # type: ignore[arg-type]
    try:
        put = zed_settings.add(text, name, COMMAND)
    except UsageError:
        assert name in others  # type: ignore[operator]
        return
    found = jsonc.parse(put)
    assert found["agent_servers"].pop(name) == zed_settings.entry_of(COMMAND)
    assert found == before
    back = jsonc.parse(zed_settings.remove(put, None))
    assert {"agent_servers": {}} | back == {"agent_servers": {}} | before
