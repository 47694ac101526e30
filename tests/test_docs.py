"""The README and the changelog tell what there is, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from finapi import __version__
from finapi.verbs import VERBS
from finapi.web.routes import ROUTES

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_lists_every_call_with_its_cost_and_no_other() -> None:
    listed = re.findall(r"^\| `([A-Z]+ /[^`]*)` \| ([0-9]+) \|", README, flags=re.MULTILINE)
    served = [(f"{route.method} {route.path}", str(route.cost)) for route in ROUTES if not route.page]
    assert sorted(listed) == sorted(served)


def test_the_readme_has_one_command_that_runs_and_one_that_tests() -> None:
    commands = re.findall(r"^python3 -m venv .*$", README, flags=re.MULTILINE)
    assert [command.rpartition("python ")[2] for command in commands] == ["run.py demo", "-m pytest"]


def test_the_readme_shows_every_verb_of_an_operator() -> None:
    assert {verb for verb in VERBS if f"finapi {verb}" not in README and f"run.py {verb}" not in README} == {
        "pack",
        "openapi",
    }


def test_every_module_stands_in_the_readme() -> None:
    modules = {path.stem for path in (ROOT / "finapi").glob("*.py")} - {"__init__", "__main__"}
    assert {module for module in modules if module not in README} == set()


def test_the_changelog_begins_with_this_version() -> None:
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert first is not None
    assert first[1] == __version__
