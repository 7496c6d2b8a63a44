"""Adding the server to a client: its own file, its own form, nothing of the user's lost."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.places import SOURCE
from unhang.core.jsonc import insert, parse
from unhang.errors import UsageError
from unhang.installers import known_mcp_clients, mcp_clients

NAMES = ["claude-code", "codex", "cursor", "vscode", "gemini", "opencode", "zed"]
COMMAND = ["/opt/unhang/bin/unhang", "mcp"]

SETTINGS = """\
// my settings
{
    "theme": "One Dark", // a comment with "quotes" and // slashes
    /* and a long
       one */
    "mcpServers": {
        "other": { "command": "npx", "args": ["-y", "thing"], },
    },
    "url": "http://example.invalid/{not:a,brace}",
}
"""


def run(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "CODEX_", "CLAUDE_"))}
    return subprocess.run(
        [sys.executable, "-m", "unhang", "mcp", *words],
        env=env | {"HOME": str(home)},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_fresh_file_is_written_once(tmp_path: Path, name: str) -> None:
    client = known_mcp_clients.known({"HOME": str(tmp_path)})[name]
    dry = run(tmp_path, "install", name, "--dry-run")
    assert dry.returncode == 0
    assert all(f"+{line}" in dry.stdout for line in run(tmp_path, "config", name).stdout.splitlines()[1:])
    assert not os.path.exists(client.path)
    assert run(tmp_path, "install", name).returncode == 0
    text = Path(client.path).read_text()
    value = tomllib.loads(text) if client.form == "toml" else json.loads(text)
    for key in client.keys:
        value = value[key]
    command = value["unhang"]["command"]
    words = command if isinstance(command, list) else [command, *value["unhang"]["args"]]
    assert words[-1] == "mcp"
    assert os.path.isabs(words[0])
    again = run(tmp_path, "install", name)
    assert again.returncode == 0
    assert Path(client.path).read_text() == text
    assert [entry for entry in os.listdir(os.path.dirname(client.path)) if entry.endswith(".bak")] == []
    printed = run(tmp_path, "config", name).stdout
    assert text.strip() in printed


@pytest.mark.parametrize("name", [name for name in NAMES if name != "codex"])
def test_comments_order_and_other_servers_stay(tmp_path: Path, name: str) -> None:
    client = known_mcp_clients.known({"HOME": str(tmp_path)})[name]
    before = SETTINGS.replace("mcpServers", client.keys[0])
    after = mcp_clients.add(client, before, COMMAND)
    for line in before.splitlines():
        assert line.strip() in after
    servers = parse(after)[client.keys[0]]
    assert servers["unhang"] == client.entry(COMMAND)
    assert servers["other"]["command"] == "npx"
    assert mcp_clients.add(client, after, COMMAND) == after


def test_toml_keeps_what_is_there(tmp_path: Path) -> None:
    client = known_mcp_clients.known({"HOME": str(tmp_path)})["codex"]
    before = '# mine\nmodel = "m"\n\n[mcp_servers.other]\ncommand = "x"  # note\n'
    after = mcp_clients.add(client, before, COMMAND)
    assert after.startswith(before)
    assert tomllib.loads(after)["mcp_servers"]["unhang"] == {"command": COMMAND[0], "args": ["mcp"]}
    assert mcp_clients.add(client, after, COMMAND) == after


def test_the_file_is_backed_up_and_keeps_its_mode_and_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text('{"mcpServers": {}}')
    real.chmod(0o640)
    (tmp_path / ".cursor").mkdir()
    link = tmp_path / ".cursor" / "mcp.json"
    link.symlink_to(real)
    assert run(tmp_path, "install", "cursor").returncode == 0
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert "unhang" in json.loads(real.read_text())["mcpServers"]
    (backup,) = [entry for entry in (tmp_path / ".cursor").iterdir() if entry.name.endswith(".bak")]
    assert backup.read_text() == '{"mcpServers": {}}'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"mcpServers": {"unhang": {"command": "mine"}}}', "'unhang'"),
        ('{"mcpServers": ', "JSON"),
        ('{"mcpServers": []}', "object"),
        ("[]", "object"),
    ],
)
def test_what_cannot_be_done_safely_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / ".cursor").mkdir()
    path = tmp_path / ".cursor" / "mcp.json"
    path.write_text(text)
    done = run(tmp_path, "install", "cursor")
    assert done.returncode == 2
    assert words in done.stderr
    assert path.read_text() == text


def test_a_project_has_a_file_of_its_own(tmp_path: Path) -> None:
    assert run(tmp_path, "install", "claude-code", "--project").returncode == 0
    assert "unhang" in json.loads((tmp_path / ".mcp.json").read_text())["mcpServers"]
    assert not (tmp_path / ".claude.json").exists()


def test_an_unknown_client_is_refused_with_the_names_of_the_known(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="claude-code, codex"):
        known_mcp_clients.client_of("emacs", {"HOME": str(tmp_path)})
    assert known_mcp_clients.client_of("claude", {"HOME": str(tmp_path)}).name == "claude-code"


@pytest.mark.parametrize(
    "text", ["{}", "{ }", '{"a":1}', '{\n\t"a": {"b": 2}\n}\n', '{"a": {}}', '{"a": {"k": 1,},}', "{\n  // c\n}"]
)
@pytest.mark.parametrize("keys", [("a",), ("a", "b2"), ("x",)])
def test_inserting_gives_what_was_there_and_one_more(text: str, keys: tuple[str, ...]) -> None:
    value = parse(text)
    inner = value
    for key in keys:
        inner = inner.get(key, {}) if isinstance(inner, dict) else None
        if not isinstance(inner, dict):
            return
    done = parse(insert(text, keys, "new", {"n": [1]}))
    expected = json.loads(json.dumps(value))
    place = expected
    for key in keys:
        place = place.setdefault(key, {})
    place["new"] = {"n": [1]}
    assert done == expected


def without_sdk(tmp_path: Path, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """-S: no site-packages, so no SDK; unhang itself is put on the path by hand."""
    begin = f"import sys; sys.path.insert(0, {str(SOURCE)!r}); from unhang.faces.cli.main import run"
    code = f"{begin}; sys.exit(run({['mcp', *words]!r}))"
    return subprocess.run(
        [sys.executable, "-S", "-E", "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
        input=given,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "UNHANG_HOME": str(tmp_path / "state")},
    )


def test_stdio_needs_no_sdk(tmp_path: Path) -> None:
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = [{"id": 1, "method": "initialize", "params": client}, {"id": 2, "method": "tools/list"}]
    done = without_sdk(tmp_path, given="".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines))
    assert (done.returncode, done.stderr) == (0, "")
    first, *_ = (json.loads(line) for line in done.stdout.splitlines())
    assert first["result"]["serverInfo"]["name"] == "unhang"


def test_a_missing_sdk_is_one_line(tmp_path: Path) -> None:
    done = without_sdk(tmp_path, "--http", "127.0.0.1:0")
    assert done.returncode == 125
    assert "unhang[mcp]" in done.stderr
    assert len(done.stderr.splitlines()) == 1


OLD = ["/old/venv/bin/unhang", "mcp", "--wait", "30"]
ISOLATED = ["/usr/bin/python3", "-I", "-c", "import sys; from unhang.__main__ import main; main()", "mcp"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("old", [OLD, ISOLATED])
def test_an_entry_of_our_own_that_is_stale_is_updated_and_keeps_its_options(
    tmp_path: Path, name: str, old: list[str]
) -> None:
    client = known_mcp_clients.known({"HOME": str(tmp_path)})[name]
    before = "" if client.form == "toml" else SETTINGS.replace("mcpServers", client.keys[0])
    stale = mcp_clients.add(client, before, old)
    fresh = mcp_clients.add(client, stale, COMMAND)
    value = tomllib.loads(fresh) if client.form == "toml" else parse(fresh)
    for key in client.keys:
        value = value[key]
    assert value["unhang"] == client.entry([*COMMAND, *old[old.index("mcp") + 1 :]])
    assert mcp_clients.add(client, fresh, COMMAND) == fresh
    removed = mcp_clients.remove(client, fresh)
    assert "unhang" not in (removed if client.form == "toml" else json.dumps(parse(removed)))


def test_what_a_person_added_to_the_entry_stays(tmp_path: Path) -> None:
    known = known_mcp_clients.known({"HOME": str(tmp_path)})
    head = '[mcp_servers.unhang]\ncommand = "/old/unhang"\nargs = ["mcp"]\n'
    table = head + "startup_timeout_sec = 9  # mine\n\n[other]\na = 1\n"
    done = mcp_clients.add(known["codex"], table, COMMAND)
    assert "startup_timeout_sec = 9  # mine" in done
    assert tomllib.loads(done)["mcp_servers"]["unhang"]["command"] == COMMAND[0]
    assert tomllib.loads(mcp_clients.remove(known["codex"], done)) == {"other": {"a": 1}}
    entry = '{"mcpServers": {"unhang": {"command": "/old/unhang", "args": ["mcp"], "env": {"A": "1"}}}}'
    assert parse(mcp_clients.add(known["cursor"], entry, COMMAND))["mcpServers"]["unhang"]["env"] == {"A": "1"}


def test_an_entry_that_another_program_starts_is_not_ours() -> None:
    for words in (["npx", "unhang", "mcp"], ["mine"], ["/bin/unhang", "run"], []):
        assert not mcp_clients.is_ours({"command": words[0] if words else None, "args": words[1:]})
    assert not mcp_clients.is_ours(None)


@pytest.mark.parametrize("name", NAMES)
def test_what_was_installed_is_uninstalled(tmp_path: Path, name: str) -> None:
    client = known_mcp_clients.known({"HOME": str(tmp_path)})[name]
    assert run(tmp_path, "install", name).returncode == 0
    dry = run(tmp_path, "uninstall", name, "--dry-run")
    assert dry.returncode == 0
    assert os.path.exists(client.path)
    assert run(tmp_path, "uninstall", name).returncode == 0
    assert not os.path.exists(client.path)
    again = run(tmp_path, "uninstall", name)
    assert (again.returncode, "not installed" in again.stdout) == (0, True)


PROJECT_FILES = {
    "claude-code": (".mcp.json", {"type": "stdio", "command": "unhang", "args": ["mcp"]}),
    "codex": (".codex/config.toml", {"command": "unhang", "args": ["mcp"]}),
    "cursor": (".cursor/mcp.json", {"command": "unhang", "args": ["mcp"]}),
    "vscode": (".vscode/mcp.json", {"type": "stdio", "command": "unhang", "args": ["mcp"]}),
    "gemini": (".gemini/settings.json", {"command": "unhang", "args": ["mcp"]}),
    "opencode": ("opencode.json", {"type": "local", "command": ["unhang", "mcp"], "enabled": True}),
    "zed": (".zed/settings.json", {"source": "custom", "command": "unhang", "args": ["mcp"], "env": {}}),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_project_file_holds_nothing_of_this_machine(tmp_path: Path, name: str) -> None:
    place, entry = PROJECT_FILES[name]
    assert run(tmp_path, "install", name, "--project").returncode == 0
    text = (tmp_path / place).read_text()
    client = known_mcp_clients.known({"HOME": str(tmp_path)})[name]
    value = tomllib.loads(text) if client.form == "toml" else json.loads(text)
    for key in client.keys:
        value = value[key]
    assert value == {"unhang": entry}
    assert "/bin/" not in text
    assert str(tmp_path) not in text
    assert run(tmp_path, "uninstall", name, "--project").returncode == 0
    assert not (tmp_path / place).exists()


def test_the_server_at_a_terminal_says_what_it_is(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "unhang", "mcp"],
            stdin=theirs,
            stdout=theirs,
            stderr=subprocess.PIPE,
            env=dict(os.environ) | {"HOME": str(tmp_path)},
            text=True,
            check=False,
            timeout=300,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 2
    assert "unhang mcp install" in done.stderr
    assert "claude-code" in done.stderr
