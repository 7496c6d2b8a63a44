"""Looking through commands that only run another one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unhang.core.policy import builtin, tables
from unhang.core.policy.command_key import command_key
from unhang.core.policy.resolve import resolve
from unhang.core.policy.shell.command_pieces import pieces_of
from unhang.core.policy.shell.wrapper_commands import _SIMPLE


@pytest.mark.parametrize(
    ("line", "inner", "through"),
    [
        ("sudo npm ci", "npm ci", ["sudo"]),
        ("sudo -u bob -E A=1 npm ci", "npm ci", ["sudo"]),
        ("sudo -ubob -- npm ci", "npm ci", ["sudo"]),
        ("env -u X A=1 B=2 npm ci", "npm ci", ["env"]),
        ("env -S npm ci", "npm ci", ["env"]),
        ("time -p make", "make", ["time"]),
        ("nice -n 5 ionice -c 3 make", "make", ["nice", "ionice"]),
        ("nice -10 make", "make", ["nice"]),
        ("nohup make", "make", ["nohup"]),
        ("timeout -s KILL -k 5 1m make", "make", ["timeout"]),
        ("stdbuf -oL -e0 make", "make", ["stdbuf"]),
        ("setsid -w make", "make", ["setsid"]),
        ("exec -a name make", "make", ["exec"]),
        ("command make", "make", ["command"]),
        ("npx -y -p typescript tsc", "tsc", ["npx"]),
        ("npx --package=typescript -- tsc", "tsc", ["npx"]),
        ("uv --quiet run --with x pytest -q", "pytest -q", ["uv run"]),
        ("uv tool run ruff check", "ruff check", ["uv tool run"]),
        ("poetry run pytest", "pytest", ["poetry run"]),
        ("bundle exec rspec", "rspec", ["bundle exec"]),
        ("conda run -n env python x.py", "python x.py", ["conda run"]),
        ("xargs -0 -n 1 -P 4 make", "make", ["xargs"]),
        ("xargs -I{} make {}", "make {}", ["xargs"]),
        ("bash -lc 'make all'", "make all", ["bash"]),
        ("bash -o pipefail -c 'make all'", "make all", ["bash"]),
        ("/bin/sh -ec 'make all'", "make all", ["sh"]),
        ("eval make all", "make all", ["eval"]),
        ("ssh -i key -p 22 host make all", "make all", ["ssh"]),
        ("su - bob -c 'make all'", "make all", ["su"]),
        ("docker exec -it -u root web make", "make", ["docker exec"]),
        ("podman exec web make", "make", ["docker exec"]),
        ("docker compose -f x.yml exec web make", "make", ["docker compose exec"]),
        ("docker run --rm -e A=1 -v a:b img make", "make", ["docker run"]),
        ("kubectl exec -n x pod -- make", "make", ["kubectl"]),
        ("python3.12 -W error -m pytest -q", "pytest -q", ["python3.12 -m"]),
        ("unhang run --idle 5m -- make", "make", ["unhang run"]),
        ("unhang start --label a=b -- make", "make", ["unhang start"]),
        ("unhang run --json --shell 'make all'", "make all", ["unhang run"]),
        ("flock /tmp/l make", "make", ["flock"]),
        ("sudo env bash -c 'nice make'", "make", ["sudo", "env", "bash", "nice"]),
        ("yarn run vitest", "yarn run vitest", []),
        ("sudo npm run dev", "npm run dev", ["sudo"]),
        ("npm exec -- tsc", "tsc", ["npm exec"]),
        ("pnpm -C web exec tsc", "tsc", ["pnpm exec"]),
        ("nix-shell --run 'make all'", "make all", ["nix-shell"]),
        ("watch ls", "watch ls", []),
        ("sudo", "sudo", []),
        ("sudo -u", "sudo -u", []),
        ("bash script.sh", "bash script.sh", []),
        ("bash", "bash", []),
        ("command -v make", "command -v make", []),
        ("npm run", "npm run", []),
        ("docker run", "docker run", []),
        ("ssh host", "ssh host", []),
        ("python -W", "python -W", []),
        ("docker run '' make", "make", ["docker run"]),
    ],
)
def test_what_is_left_is_the_command(line: str, inner: str, through: list[str]) -> None:
    part = pieces_of(line)[-1]
    assert (part.text, part.through) == (inner, through)
    # the same as words, where no shell is asked
    if "'" not in line:
        part = pieces_of(line.split())[-1]
        assert part.text == inner


WORDS = st.one_of(
    st.sampled_from(sorted(tables.everything())),
    st.sampled_from(sorted(_SIMPLE)),
    st.sampled_from(["bash -c", "eval", "ssh h", "find . -exec", "python -m", "su -c", "flock f", "nix-shell --run"]),
    st.sampled_from(
        [*"-=\\'\"`;&|(){}x\n", "-x", "--", "--a=b", "A=1", "$(", "&&", "-c", "run", "''", "\ud800", "<<E"]
    ),
)


@given(st.lists(WORDS, max_size=10))
@settings(max_examples=400, deadline=None)
def test_no_mixture_of_wrappers_and_options_raises(words: list[str]) -> None:
    policy = builtin.policy()
    line = " ".join(words)
    for command in (line, line.split(" ")):
        found = resolve(command, policy)
        assert found.category in policy.categories
        assert len(command_key(command)) <= 300


def test_deeply_nested_lines_have_pieces() -> None:
    line = "make"
    for _ in range(30):
        line = f'bash -c "{line}"' if '"' not in line else f"bash -c '{line}'" if "'" not in line else f"eval {line}"
    assert pieces_of(line)
    assert pieces_of("sudo " * 1000 + "make")


def test_find_is_a_piece_beside_the_command_it_executes() -> None:
    parts = pieces_of("find / -name x -exec ls -l {} +")
    assert [part.text[:4] for part in parts] == ["ls -", "find"]


def test_a_here_document_for_a_shell_is_a_script() -> None:
    assert [part.words for part in pieces_of("bash -s <<'E'\nmake\nls\nE")] == [("make",), ("ls",)]
    assert [part.words for part in pieces_of("ssh host <<E\nmake\nE")] == [("make",)]
    assert [part.words for part in pieces_of("cat <<E\nmake\nE")] == [("cat",)]
