"""Tests of the README, the documents and the changelog: they list all calls, verbs and rooms, and no others."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from finapi import __version__, cli
from finapi.core.errors import UsageError
from finapi.delivery.events import TYPES_BY_FEED
from finapi.testing import conformance
from finapi.verbs.verb_table import VERBS
from finapi.web.routes import ROUTES
from tests import floor_plan
from tests.pictures import DOCUMENT_PICTURES
from tests.test_architecture import ROOMS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
API = (ROOT / "docs" / "API.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")


def test_the_reference_lists_exactly_the_calls_with_their_cost() -> None:
    listed_calls = re.findall(r"^\| `([A-Z]+ /[^`]*)` \| ([0-9]+) \|", API, flags=re.MULTILINE)
    served = [(f"{route.method} {route.path}", str(route.cost)) for route in ROUTES if not route.page]
    assert listed_calls == served


def test_the_readme_has_one_command_that_runs_and_one_that_tests() -> None:
    commands = re.findall(r"^python3 -m venv .*$", README, flags=re.MULTILINE)
    assert [command.rpartition("python ")[2] for command in commands] == ["run.py demo", "-m pytest"]


def test_operations_show_every_verb() -> None:
    operations_text = (ROOT / "docs" / "OPERATIONS.md").read_text(encoding="utf-8")
    assert {verb for verb in VERBS if f"finapi {verb}" not in operations_text} == {"openapi"}


def list_commands() -> list[tuple[str, list[str]]]:
    """Return the finapi commands in blocks of shell of all documents, each with its document and its words."""
    commands = []
    guides = (ROOT / "finapi" / "web" / "pages" / "docs" / "guides").glob("*.md")
    for document in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *guides]):
        for block in re.findall(r"^```sh\n(.*?)^```", document.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
            for line in block.replace("\\\n", " ").splitlines():
                lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
                lexer.whitespace_split = True
                words: list[str] = []
                for word in [*lexer, ";"]:
                    if word[0] not in "();<>|&":
                        words.append(word)
                        continue
                    while words and re.fullmatch(r"\w+=.*", words[0]):
                        words.pop(0)
                    if words[:1] == ["finapi"] and "--help" not in words:
                        commands.append((document.name, words[1:]))
                    words = []
    return commands


def test_every_command_of_the_documents_is_accepted() -> None:
    commands = list_commands()
    assert len(commands) > 80
    refused = []
    for document, words in commands:
        try:
            args = cli._build_parser(words).parse_args(words)
        except UsageError as error:
            refused.append(f"{document}: finapi {' '.join(words)}: {error}")
            continue
        # The command itself refuses the name of an unknown check, not its parser.
        if args.name == "conformance" and not {*args.checks} <= {*conformance.CHECKS}:
            refused.append(f"{document}: finapi {' '.join(words)}")
    assert refused == []


def test_every_event_type_is_listed_with_its_feed() -> None:
    guide = ROOT / "finapi" / "web" / "pages" / "docs" / "guides" / "feeds.md"
    for file in (ROOT / "docs" / "API.md", ROOT / "docs" / "CLIENTS.md", guide):
        text = file.read_text(encoding="utf-8")
        for feed, types in TYPES_BY_FEED.items():
            (row,) = re.findall(rf"^\| `(?:/ws/)?{feed}` \|(.*)\|$", text, flags=re.MULTILINE)
            assert {*re.findall(r"`(\w+)`", row)} == {*types}, file


def test_every_link_leads_to_a_file() -> None:
    broken = [
        f"{document.name}: {target}"
        for document in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8"))
        if not (document.parent / target).exists()
    ]
    assert broken == []


def test_every_picture_is_small_and_used() -> None:
    used_pictures = set()
    for document in (ROOT / "README.md", ROOT / "docs" / "API.md"):
        for target in re.findall(r"!\[[^\]]+\]\(([^)]+\.png)\)", document.read_text(encoding="utf-8")):
            used_pictures.add((document.parent / target).resolve())
    assert used_pictures == set((ROOT / "docs" / "pictures").glob("*.png"))
    assert {picture.stem for picture in used_pictures} == set(DOCUMENT_PICTURES)
    for picture in used_pictures:
        assert picture.stat().st_size < 150_000, picture


def test_every_room_stands_in_the_floor_plan_in_its_order() -> None:
    cells = re.findall(r"^\| (`[^|]*) \|", ARCHITECTURE, flags=re.MULTILINE)
    room_names = [name.strip("`") for cell in cells for name in cell.split(", ")]
    rooms = [room for room in ROOMS if room != "__main__" and (not room.startswith("web.") or room == "web.http")]
    rooms.insert(rooms.index("web.http") + 1, "web.*")
    assert room_names == rooms


@pytest.mark.slow
def test_the_picture_of_the_rooms_is_of_today() -> None:
    assert floor_plan.PICTURE.read_text(encoding="utf-8") == floor_plan.render_svg()


def test_the_changelog_begins_with_unreleased_changes_or_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first_heading = re.findall(r"^## (\S+)", changelog, flags=re.MULTILINE)[0]
    assert first_heading in ("Unreleased", __version__)
