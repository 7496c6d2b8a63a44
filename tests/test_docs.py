"""Documentation is part of the product: what is not documented does not exist, and what is documented does."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import unhang
from unhang import errors
from unhang.agents.acp import catalogue
from unhang.core import events as ev
from unhang.faces.cli.main import COMMANDS
from unhang.installers import known_mcp_clients

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import cli_docs  # noqa: E402 - a script, not a package


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_command_line_reference_is_what_the_parsers_say() -> None:
    assert read("docs/cli.md") == cli_docs.text(), "run: python scripts/cli_docs.py"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_the_reference(command: str) -> None:
    assert f"## unhang {command}\n" in read("docs/cli.md")


def test_every_file_of_a_command_is_in_the_list_of_commands() -> None:
    folder = ROOT / "src" / "unhang" / "faces" / "cli" / "commands"
    made = [
        path.stem
        for path in folder.glob("*.py")
        if re.search(r"^def configure\(.*^def main\(", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    ]
    assert len(made) > 20
    assert sorted(made) == sorted(COMMANDS.values())


@pytest.mark.parametrize("client", known_mcp_clients.known({"HOME": "~"}).values(), ids=lambda client: client.name)
def test_every_client_of_the_server_has_its_row_and_is_named_on_the_first_page(
    client: known_mcp_clients.Client,
) -> None:
    assert f"| {client.title} | `unhang mcp install {client.name}` | `{client.path}`" in read("docs/mcp.md")
    [row] = [line for line in read("README.md").splitlines() if "`unhang mcp install " in line]
    assert client.title in row
    assert re.search(rf"[` ]{client.name}`", row)


@pytest.mark.parametrize("name", catalogue.NAMES)
def test_every_agent_that_has_a_recipe_is_named_on_its_page(name: str) -> None:
    [recipes] = [line for line in read("docs/agents.md").splitlines() if line.startswith("Recipes: ")]
    assert f"`{name}`" in recipes


@pytest.mark.parametrize("name", [*ev.TYPES, *ev.PHASES[ev.WATCHDOG], *ev.ENDINGS])
def test_every_event_and_phase_is_documented(name: str) -> None:
    assert f"`{name}`" in read("docs/events.md")


def test_every_error_code_is_documented_with_its_kind() -> None:
    assert dict(re.findall(r"^\| `(E[A-Z]+)` \| `(\w+)` \|", read("docs/events.md"), re.MULTILINE)) == ev.ERROR_KINDS


def test_every_exit_code_is_documented() -> None:
    text = read("docs/exit-codes.md")
    codes = [value for name, value in vars(errors).items() if name.startswith("EXIT_") and name != "EXIT_SIGNAL_BASE"]
    assert len(codes) >= 6
    for code in codes:
        assert f"| {code} |" in text
    assert "128+N" in text


@pytest.mark.parametrize("name", sorted(set(unhang.__all__) - {"__version__", "Result", "Job"}))
def test_everything_public_is_in_the_library_reference(name: str) -> None:
    assert re.search(rf"\b{name}\b", read("docs/python.md"))


def test_everything_public_can_be_imported() -> None:
    for name in unhang.__all__:
        assert getattr(unhang, name) is not None
    assert set(dir(unhang)) == set(unhang.__all__)


def test_the_readme_names_its_two_commands_first() -> None:
    head = read("README.md")[:900]
    assert "make demo" in head
    assert "make test" in head
    assert len(read("README.md").splitlines()) <= 150


def test_links_between_the_documents_lead_somewhere() -> None:
    for document in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name} points to {target}"
