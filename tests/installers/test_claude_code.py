"""`unhang claude install` and `uninstall`: shown first, backed up, nothing of the person's lost, undone to the byte."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import settings as checked
from hypothesis import strategies as st

from unhang.core import jsonc
from unhang.errors import UsageError
from unhang.installers import claude_code

COMMAND = "/opt/unhang/bin/unhang hook"
THEIRS = {"type": "command", "command": "/usr/bin/notify"}
SETTINGS = """\
// mine
{
    "model": "opus", // the big one
    "hooks": {
        /* a bell */
        "Stop": [{"hooks": [{"type": "command", "command": "/usr/bin/notify"}]}],
    },
    "permissions": {"allow": ["Bash(git *)"]}
}
"""


def run(home: Path, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "CLAUDE"))}
    given: dict[str, Any] = {"stdin": subprocess.DEVNULL, "cwd": home}
    return subprocess.run(
        [sys.executable, "-m", "unhang", "claude", *words],
        env=env | {"HOME": str(home)} | options.pop("env", {}),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        **(given | options),
    )


def settings(home: Path) -> Path:
    return home / ".claude" / "settings.json"


def written(home: Path, text: str) -> Path:
    file = settings(home)
    file.parent.mkdir()
    file.write_bytes(text.encode())
    return file


def backups(file: Path) -> list[Path]:
    return sorted(file.parent.glob("*.bak"))


def test_a_fresh_file_is_written_once_and_removed_again(tmp_path: Path) -> None:
    dry = run(tmp_path, "install", "--dry-run")
    assert dry.returncode == 0
    assert '+    "PreToolUse": [' in dry.stdout
    assert not settings(tmp_path).exists()
    assert run(tmp_path, "install", "--yes").returncode == 0
    found = json.loads(settings(tmp_path).read_text())["hooks"]
    assert set(found) == set(claude_code.EVENTS)
    (hook,) = found["PreToolUse"][0]["hooks"]
    assert hook["command"].endswith("unhang hook")
    assert os.path.isabs(hook["command"].split()[0])
    text = settings(tmp_path).read_text()
    assert run(tmp_path, "install", "--yes").returncode == 0
    assert settings(tmp_path).read_text() == text
    assert backups(settings(tmp_path)) == []
    assert run(tmp_path, "uninstall", "--yes").returncode == 0
    assert not settings(tmp_path).exists()
    assert run(tmp_path, "uninstall", "--yes").returncode == 0
    assert not settings(tmp_path).exists()


@pytest.mark.parametrize(
    "text",
    [
        SETTINGS,
        "{}",
        "{ }\n",
        "",
        "\n",
        '{"hooks": {}}',
        '{"hooks":{"PreToolUse":[]}}',
        '{"a": 1}',
        '\ufeff{"a": 1}\r\n',
        '{\n\t"a": [1, 2],\n\t"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}\n}',
    ],
)
def test_uninstalling_gives_back_every_byte(tmp_path: Path, text: str) -> None:
    file = written(tmp_path, text)
    file.chmod(0o640)
    assert run(tmp_path, "install", "-y").returncode == 0
    assert claude_code.state(file.read_text(), json.loads(json.dumps(_command(file)))) == "installed"
    assert file.stat().st_mode & 0o777 == 0o640
    (backup,) = backups(file)
    assert backup.read_bytes() == text.encode()
    assert run(tmp_path, "uninstall", "-y").returncode == 0
    assert file.read_bytes() == text.encode()
    assert len(backups(file)) == 2


def _command(file: Path) -> str:
    return str(jsonc.parse(file.read_text())["hooks"]["PreToolUse"][0]["hooks"][0]["command"])


def test_what_others_changed_since_stays(tmp_path: Path) -> None:
    file = written(tmp_path, SETTINGS)
    assert run(tmp_path, "install", "-y").returncode == 0
    file.write_text(file.read_text().replace('"opus"', '"sonnet"'))
    assert run(tmp_path, "uninstall", "-y").returncode == 0
    assert file.read_text() == SETTINGS.replace('"opus"', '"sonnet"')


def test_another_unhang_is_replaced(tmp_path: Path) -> None:
    old = claude_code.with_hooks(SETTINGS, "/old/place/unhang hook")
    file = written(tmp_path, old)
    assert run(tmp_path, "install", "-y").returncode == 0
    text = file.read_text()
    assert "/old/place" not in text
    assert text.count("unhang hook") == len(claude_code.EVENTS)
    assert "/usr/bin/notify" in text


def test_a_project_and_a_config_dir_have_files_of_their_own(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    assert run(tmp_path, "install", "--project", "-y", cwd=project).returncode == 0
    assert (project / ".claude" / "settings.json").exists()
    assert not settings(tmp_path).exists()
    assert run(tmp_path, "uninstall", "--project", "-y", cwd=project).returncode == 0
    assert list(project.iterdir()) == []
    elsewhere = {"CLAUDE_CONFIG_DIR": str(tmp_path / "elsewhere")}
    assert run(tmp_path, "install", "-y", env=elsewhere).returncode == 0
    assert (tmp_path / "elsewhere" / "settings.json").exists()
    status = run(tmp_path, "status", "--json", "--claude", "/bin/true", env=elsewhere)
    assert json.loads(status.stdout)["settings"] == {str(tmp_path / "elsewhere" / "settings.json"): "installed"}


def test_the_mcp_server_comes_and_goes_with_it(tmp_path: Path) -> None:
    servers = tmp_path / ".claude.json"
    before = '{"projects": {}, "mcpServers": {"other": {"command": "x"}}}'
    servers.write_text(before)
    done = run(tmp_path, "install", "--mcp", "-y")
    assert done.returncode == 0, done.stderr
    assert set(json.loads(servers.read_text())["mcpServers"]) == {"unhang", "other"}
    assert run(tmp_path, "uninstall", "-y").returncode == 0
    assert "unhang" in json.loads(servers.read_text())["mcpServers"], "not asked for"
    assert run(tmp_path, "uninstall", "--mcp", "-y").returncode == 0
    assert servers.read_text() == before


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text('{"a": 1}')
    settings(tmp_path).parent.mkdir()
    settings(tmp_path).symlink_to(real)
    assert run(tmp_path, "install", "-y").returncode == 0
    assert settings(tmp_path).is_symlink()
    assert "unhang hook" in real.read_text()
    assert run(tmp_path, "uninstall", "-y").returncode == 0
    assert settings(tmp_path).is_symlink()
    assert real.read_text() == '{"a": 1}'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"hooks": ', "JSON"),
        ("[]", "object"),
        ('{"hooks": []}', '"hooks"'),
        ('{"hooks": {"PreToolUse": {}}}', '"PreToolUse"'),
        ('{"hooks": null}', "safely"),
    ],
)
def test_what_cannot_be_done_safely_is_one_line_and_changes_nothing(tmp_path: Path, text: str, words: str) -> None:
    file = written(tmp_path, text)
    done = run(tmp_path, "install", "-y")
    assert done.returncode == 2
    assert words in done.stderr
    assert str(file) in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert file.read_text() == text
    assert backups(file) == []


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    file = settings(tmp_path)
    file.parent.mkdir()
    file.write_bytes(b'{"a": "\xff"}')
    done = run(tmp_path, "install", "-y")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert file.read_bytes() == b'{"a": "\xff"}'


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    """A file where the folder belongs: even root cannot write there."""
    (tmp_path / ".claude").write_text("")
    done = run(tmp_path, "install", "-y")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert str(tmp_path / ".claude") in done.stderr


def test_a_folder_without_permission_is_one_line(tmp_path: Path) -> None:
    """/proc: there even root may make no file."""
    done = run(tmp_path, "install", "-y", env={"CLAUDE_CONFIG_DIR": "/proc/self"})
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "settings.json" in done.stderr


def test_without_a_yes_nothing_is_changed(tmp_path: Path) -> None:
    file = written(tmp_path, SETTINGS)
    done = run(tmp_path, "install")
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert file.read_text() == SETTINGS


@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"n\n", 1), (b"\n", 1)])
def test_a_person_at_a_terminal_is_asked(tmp_path: Path, answer: bytes, code: int) -> None:
    file = written(tmp_path, "{}")
    ours, theirs = pty.openpty()
    env = {k: v for k, v in os.environ.items() if not k.startswith("CLAUDE")} | {"HOME": str(tmp_path)}
    words = [sys.executable, "-m", "unhang", "claude", "install"]
    process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=env, cwd=tmp_path)
    os.close(theirs)
    shown = b""
    try:
        while b"[y/N]" not in shown:
            assert select.select([ours], [], [], 60)[0], shown
            shown += os.read(ours, 4096)
        assert b'+    "PreToolUse"' in shown, "what will change is shown before the question"
        os.write(ours, answer)
        # a terminal has no end of file for its last reader: EIO says that the other end has closed
        while select.select([ours], [], [], 60)[0]:
            try:
                os.read(ours, 4096)
            except OSError:
                break
        assert process.wait(60) == code
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert ("unhang hook" in file.read_text()) == (code == 0)


def test_an_enabled_plugin_is_mentioned(tmp_path: Path) -> None:
    written(tmp_path, '{"enabledPlugins": {"unhang@unhang": true}}')
    done = run(tmp_path, "install", "-y")
    assert done.returncode == 0
    assert "plugin" in done.stderr


# --- the text itself ----------------------------------------------------------------------------------------

_NAMES = st.sampled_from(["model", "a", "permissions", 'q"uote', "//", "/*"])
_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "//x", "{", "],", 'a"b', "é"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=6,
)
_GROUPS = st.lists(st.just({"matcher": "*", "hooks": [THEIRS]}), max_size=2)
_HOOKS = st.dictionaries(st.sampled_from(["Stop", "PreToolUse", "Other"]), _GROUPS, max_size=3)
_FILES = st.fixed_dictionaries({}, optional={"hooks": _HOOKS, "model": _PLAIN, "z": _PLAIN})


@st.composite
def texts(draw: st.DrawFn) -> str:
    """The same value in the many ways in which people write it."""
    value = draw(_FILES)
    text = json.dumps(value, indent=draw(st.sampled_from([None, 2, 4, "\t"])), ensure_ascii=draw(st.booleans()))
    if draw(st.booleans()):
        text = "// a comment\n" + text
    if draw(st.booleans()):
        text = text.replace("\n", "\n  /* note, } */ ", 2)
    if draw(st.booleans()):
        text += "\n"
    assume(jsonc.parse(text) == value)
    return text


@checked(deadline=None, max_examples=40)
@given(texts())
def test_in_and_out_again_leaves_the_same_settings(text: str) -> None:
    done = claude_code.with_hooks(text, COMMAND)
    assert claude_code.state(done, COMMAND) == "installed"
    assert claude_code.with_hooks(done, COMMAND) == done
    before, after = jsonc.parse(text), jsonc.parse(claude_code.without_hooks(done))
    kept = {event: groups for event, groups in (before.get("hooks") or {}).items() if groups}
    expected = {name: value for name, value in before.items() if name != "hooks"} | ({"hooks": kept} if kept else {})
    seen = {event: groups for event, groups in (after.pop("hooks", None) or {}).items() if groups}
    assert after | ({"hooks": seen} if seen else {}) == expected
    for comment in ("// a comment", "/* note, } */"):
        assert done.count(comment) == text.count(comment)


@checked(deadline=None)
@given(texts(), st.data())
def test_removing_an_entry_removes_just_that(text: str, data: st.DataObject) -> None:
    value = jsonc.parse(text)
    path: list[str | int] = []
    place = value
    while isinstance(place, dict | list) and place and (not path or data.draw(st.booleans())):
        key = data.draw(st.sampled_from(list(place) if isinstance(place, dict) else list(range(len(place)))))
        path.append(key)
        place = place[key]
    assume(path)
    holder = value
    for step in path[:-1]:
        holder = holder[step]
    del holder[path[-1]]
    assert jsonc.parse(jsonc.remove(text, tuple(path))) == value


@checked(deadline=None)
@given(st.text(alphabet='{}[]",: \n\\/*a1é', max_size=40))
def test_any_text_is_edited_or_refused(text: str) -> None:
    try:
        done = claude_code.with_hooks(text, COMMAND)
    except UsageError:
        return
    assert claude_code.state(done, COMMAND) == "installed"


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        ("/opt/bin/unhang hook", True),
        ("unhang hook", True),
        ("'/with space/unhang' hook", True),
        ("/usr/bin/python3 -m unhang hook", True),
        ("my-unhang hook", False),
        ("unhang hook && rm x", False),
        ("echo unhang hooked", False),
    ],
)
def test_our_own_hooks_are_known_by_their_command(command: str, ours: bool) -> None:
    assert claude_code.is_ours({"hooks": [{"type": "command", "command": command}]}) is ours
