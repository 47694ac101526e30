"""Tests of the parts of a release that need no build."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.build import ROOT
from tests.release import find_readme_command, hash_files, list_differences


def test_two_builds_differ_in_changed_and_missing_files(tmp_path: Path) -> None:
    for build, text in (("first", "a"), ("second", "b")):
        (tmp_path / build / "folder").mkdir(parents=True)
        (tmp_path / build / "folder" / "changed").write_text(text)
        (tmp_path / build / "same").write_text("same")
        (tmp_path / build / f"only-{build}").touch()
    first, second = hash_files(tmp_path / "first"), hash_files(tmp_path / "second")
    assert list_differences(first, second) == ["folder/changed", "only-first", "only-second"]
    assert list_differences(first, first) == []


def test_the_commands_of_the_readme_are_found_by_their_last_word() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert find_readme_command(readme, "demo").endswith(" && .venv/bin/python run.py demo")
    assert find_readme_command(readme, "pytest").endswith(" && .venv/bin/python -m pytest")
    with pytest.raises(ValueError, match="unpack"):
        find_readme_command(readme, "nothing")
