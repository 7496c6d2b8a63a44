"""`unhang policy` and `unhang history`, as their own modules are called."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.places import TESTS
from unhang.errors import UsageError
from unhang.faces.cli.commands import history as history_cli
from unhang.faces.cli.commands import policy as policy_cli
from unhang.store.history import History, Run

SEED = str(TESTS / "core" / "policy" / "seed_policy.json")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("UNHANG_HOME", str(tmp_path / "state"))
    for name in ("UNHANG_POLICY", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)


def call(face: Any, *words: str) -> int:
    parser = argparse.ArgumentParser()
    face.configure(parser)
    code: int = face.main(parser.parse_args(words))
    return code


def test_explain_json_has_what_the_contract_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(policy_cli, "explain", "cd x && sudo npm ci | tee log", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert {"category", "neverEnding", "limits", "pieces", "pattern"} <= set(shown)
    assert (shown["category"], shown["neverEnding"], shown["pattern"]) == ("long", False, "npm ci")
    assert shown["limits"]["hardMs"] == {"value": 1800000, "source": "policy:long"}
    assert [piece["command"] for piece in shown["pieces"]] == ["cd x", "npm ci", "tee log"]
    assert shown["pieces"][1]["through"] == ["sudo"]


def test_explain_shows_the_category_the_limits_and_what_was_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(policy_cli, "explain", "npm run dev") == 0
    text = capsys.readouterr().out
    assert "server" in text
    assert "idle off" in " ".join(text.split())
    assert call(policy_cli, "explain", "codex exec x", "--idle", "5s", "--hard", "off") == 0
    text = capsys.readouterr().out
    assert "idle 1m argument, bounded by policy:agent-write (asked: 5s)" in " ".join(text.split())
    assert "(asked: off)" in text


def test_explain_and_check_name_a_policy_that_is_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project, own = tmp_path / "project" / ".unhang.toml", tmp_path / ".config" / "unhang" / "policy.toml"
    for file in (project, own):
        file.parent.mkdir(parents=True)
        file.write_text("")
        file.chmod(0o666)
    monkeypatch.chdir(project.parent)
    assert call(policy_cli, "explain", "ls", "--json") == 0
    assert json.loads(capsys.readouterr().out)["notBelieved"] == [str(project), str(own)]
    assert call(policy_cli, "explain", "ls") == call(policy_cli, "check") == 0
    assert [line.split(": ")[1] for line in capsys.readouterr().err.splitlines()] == [str(project), str(own)] * 2
    project.chmod(0o600)
    project.write_text(policy_cli.STARTER)
    assert call(policy_cli, "explain", "ls", "--json") == 0
    assert "notBelieved" not in json.loads(capsys.readouterr().out), "what comes behind it would decide nothing"


def test_explain_takes_a_policy_words_and_a_timeout(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(policy_cli, "explain", "--policy", SEED, "--json", "cargo", "build", "--", "--release") == 0
    assert json.loads(capsys.readouterr().out)["category"] in ("long", "extended")
    for policy, idle in ([], 300_000), (["--policy", SEED], 1000):
        assert call(policy_cli, "explain", *policy, "--timeout-sec", "3", "--json", "x") == 0
        limits = json.loads(capsys.readouterr().out)["limits"]
        assert (limits["hardMs"]["value"], limits["idleMs"]["value"]) == (3000, idle)


@pytest.mark.parametrize(
    "words", [["--idle", "soon"], ["--category", "nope"], ["--timeout-sec", "0"], ["--policy", "nope"]]
)
def test_explain_refuses_nonsense(words: list[str]) -> None:
    with pytest.raises(UsageError):
        call(policy_cli, "explain", "x", *words)


def test_control_characters_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(policy_cli, "explain", "echo \x1b[31m\x07 \ud83d") == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert "\\x1b[31m" in text
    assert call(policy_cli, "explain", "echo \x1b \ud83d", "--json") == 0
    assert "\x1b" not in capsys.readouterr().out


def test_explain_takes_a_limit_from_the_history(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    history = History(str(tmp_path / "state" / "index.db"))
    for number in range(37):
        history.add(Run("make slow", str(tmp_path), 0.0, 41.0 if number else 1.0, 8.0, "success"))
    assert call(policy_cli, "explain", "make slow", "--hard", "auto", "--json") == 0
    hard = json.loads(capsys.readouterr().out)["limits"]["hardMs"]
    assert hard == {"value": 123000, "source": "history: p95 41s of 37 runs ×3"}


def test_check_names_the_place_and_exits_with_1_where_warnings_are_errors(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert call(policy_cli, "check", SEED) == 0
    assert capsys.readouterr().out.startswith(f"{SEED}:29:7: warning: ")
    assert call(policy_cli, "check", SEED, "--strict", "--json") == 1
    assert json.loads(capsys.readouterr().out)["ok"] is False
    good = tmp_path / "good.toml"
    good.write_text('default_category = "a"\n[categories.a]\n')
    assert call(policy_cli, "check", str(good)) == 0
    capsys.readouterr()
    bad = tmp_path / "bad.json"
    bad.write_text('{"categories":{"a":{"exec_timeout_sec":5,\n"no_output_timeout_sec":9}},"default_category":"a"}')
    assert call(policy_cli, "check", str(bad)) == 0
    assert call(policy_cli, "check", str(bad), "--strict") == 1
    assert f"{bad}:2:1: warning: category 'a'" in capsys.readouterr().out
    bad.write_text('{"categories":\n?')
    with pytest.raises(UsageError, match=r"bad\.json:2:1"):
        call(policy_cli, "check", str(bad))


def test_init_writes_a_sound_file_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(policy_cli, "init") == 0
    capsys.readouterr()
    assert call(policy_cli, "check", ".unhang.toml", "--strict") == 0
    with pytest.raises(UsageError, match=r"\.unhang\.toml"):
        call(policy_cli, "init")
    with pytest.raises(UsageError, match="TOML"):
        call(policy_cli, "init", "x.json")


def test_the_schema_names_every_key_that_the_loader_knows(capsys: pytest.CaptureFixture[str]) -> None:
    from unhang.core.policy.file import load

    assert call(policy_cli, "schema") == 0
    schema = json.loads(capsys.readouterr().out)
    assert set(schema["properties"]) - {"$schema"} == load._TOP
    assert set(schema["$defs"]["category"]["properties"]) == load._IN_CATEGORY


# -- what `run` says of the same files

HARD_ALONE = 'version = "1.0"\nextends = "built-in"\n[categories.quick-build]\nexec_timeout_sec = "2m"\n'
FILES = {
    "sound": HARD_ALONE,
    "starter": policy_cli.STARTER,
    "idle above hard": HARD_ALONE + 'no_output_timeout_sec = "5m"\n',
    "harmless variable": HARD_ALONE + '[env]\nCI = "1"\n',
    "variable that runs code": HARD_ALONE + '[env]\nLD_PRELOAD = "x.so"\n',
    "unknown key": HARD_ALONE + 'exec_timeout = "2m"\n',
    "no TOML": "version = ",
    "no such category": 'version = "1.0"\nextends = "built-in"\n[command_patterns]\nnone = ["x"]\n',
    "huge": "# " + "x" * 300_000,
}


@pytest.mark.parametrize("name", FILES)
def test_check_and_run_agree_on_every_file(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".unhang.toml").write_text(FILES[name])

    def ends(*words: str) -> str:
        try:
            assert call(policy_cli, *words) == 0
        except UsageError as error:
            return str(error)
        return ""

    found, named = ends("check"), ends("check", str(tmp_path / ".unhang.toml"))
    assert found == named
    done = subprocess.run(
        [sys.executable, "-m", "unhang", "run", "--", "true"], capture_output=True, text=True, check=False
    )
    assert (done.returncode == 0) == (found == "")
    if found:
        assert found[:100] in done.stderr
    if name == "variable that runs code":
        assert "LD_PRELOAD" in found
    if name in ("sound", "starter"):
        assert "sound" in capsys.readouterr().out


def test_an_idle_limit_that_was_not_written_is_capped_by_the_hard_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".unhang.toml").write_text(HARD_ALONE)
    assert call(policy_cli, "explain", "--category", "quick-build", "--json", "x") == 0
    limits = json.loads(capsys.readouterr().out)["limits"]
    assert (limits["idleMs"]["value"], limits["hardMs"]["value"]) == (120_000, 120_000)


def test_without_a_file_check_says_which_policy_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(policy_cli, "check") == 0
    assert "built-in" in capsys.readouterr().out


def test_every_permitted_variable_is_documented() -> None:
    from unhang.core.policy.file import allowed_env

    text = (TESTS.parent / "docs" / "policy.md").read_text()
    assert [name for name in [*allowed_env.VALUES, *allowed_env.SHAPES] if f"`{name}`" not in text] == []


# -- history


def test_history_is_empty_at_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(history_cli) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert call(history_cli, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"commands": []}
    with pytest.raises(UsageError):
        call(history_cli, "--limit", "0")


def test_history_shows_numbers_and_a_chart(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    history = History(str(tmp_path / "state" / "index.db"))
    for number in range(8):
        history.add(Run("npm test", str(tmp_path), 5.0, float(number + 1), 0.5, "success"))
    history.add(Run("npm test", str(tmp_path), 6.0, 60.0, 30.0, "timeout", "no_output_timeout", False))
    history.add(Run("evil \x1b[2J", str(tmp_path), 7.0, 1.0, 0.5, "error", None, False))
    assert call(history_cli) == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    row = next(line for line in text.splitlines() if line.startswith("npm test"))
    assert row.split()[:10] == ["npm", "test", "9", "88%", "0", "4s", "8s", "30s", "1", "0"]
    assert f"in {tmp_path}" in text.splitlines()
    never = next(line for line in text.splitlines() if line.startswith("evil"))
    assert never.split()[1:6] == ["1", "0%", "1", "-", "-"]  # it never succeeded: nothing is known of how long it takes
    assert row.split()[-1] == history_cli.spark([float(n + 1) for n in range(8)], history_cli._draws_blocks())
    assert call(history_cli, "npm", "--json") == 0
    (item,) = json.loads(capsys.readouterr().out)["commands"]
    assert (item["runs"], item["succeeded"], item["medianMs"], item["p95Ms"]) == (9, 8, 4000, 8000)
    assert item["timeouts"] == {"no_output_timeout": 1, "exec_timeout": 0}


def test_the_chart_scales_to_its_largest_value() -> None:
    assert history_cli.spark([1.0, 4.0, 8.0]) == "▂▅█"
    assert history_cli.spark([1.0, 8.0], blocks=False) == ".#"
    assert history_cli.spark([]) == ""
    assert history_cli.spark([0.0, 0.0]) == "▁▁"
