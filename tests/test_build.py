"""Tests of the build: the sdist and the wheel are complete."""

from __future__ import annotations

import configparser
import io
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from email.parser import BytesParser
from pathlib import Path

import pytest

from tests.build import ROOT, build_archive, copy_repository

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tracked_files() -> set[str]:
    if not (ROOT / ".git").exists():
        pytest.skip("no repository: what belongs to it is not known")
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    return {name for name in names if (ROOT / name).is_file()}


@pytest.fixture(scope="module")
def sdist(tracked_files: set[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tarfile.TarFile]:
    sdist_path = build_archive("sdist", tmp_path_factory.mktemp("sdist"), Path(sys.executable))
    with tarfile.open(sdist_path) as archive:
        yield archive


def test_the_sdist_holds_everything_that_the_repository_does(sdist: tarfile.TarFile, tracked_files: set[str]) -> None:
    archived_names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"run.py", "CHANGELOG.md", "deploy/finapi.service", "tests/golden/answers/auth.json"} <= archived_names
    assert tracked_files - archived_names == {".gitignore"}


def test_the_sdist_says_nothing_of_who_built_it_and_when(sdist: tarfile.TarFile) -> None:
    members = sdist.getmembers()
    assert len({member.mtime for member in members}) == 1
    assert {(member.uid, member.gid, member.uname, member.gname) for member in members} == {(0, 0, "", "")}
    assert [member.name for member in members] == sorted(member.name for member in members)


def test_the_metadata_name_author_home_and_interpreters(sdist: tarfile.TarFile) -> None:
    (name,) = [name for name in sdist.getnames() if name.endswith("/PKG-INFO") and name.count("/") == 1]
    file = sdist.extractfile(name)
    assert file is not None
    metadata = BytesParser().parse(file)
    assert (metadata["Name"], metadata["Author"]) == ("finapi-server", "The finapi developers")
    assert metadata["License"] == "MIT"
    assert len(metadata.get_all("Project-URL") or []) == 2
    kinds = metadata.get_all("Classifier") or []
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in range(11, 15)} <= set(kinds)


def test_a_wheel_takes_every_module_every_query_and_all_data(tracked_files: set[str], tmp_path: Path) -> None:
    source = copy_repository(tmp_path / "source")
    code = "from setuptools import setup; setup()"
    words = [sys.executable, "-W", "ignore", "-c", code, "-q", "build_py", "--build-lib", str(tmp_path / "lib")]
    subprocess.run(words, cwd=source, check=True, capture_output=True)
    installed = {str(file.relative_to(tmp_path / "lib")) for file in (tmp_path / "lib").rglob("*") if file.is_file()}
    expected = {name for name in tracked_files if name.startswith("finapi/")}
    expected |= {f"finapi/{name}" for name in tracked_files if name.startswith("sql/")}
    assert expected - installed == set()
    assert installed - expected == set()
    weight = io.BytesIO()
    with zipfile.ZipFile(weight, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name in installed:
            wheel.write(tmp_path / "lib" / name, name)
    assert len(weight.getvalue()) < 3_000_000


def test_every_package_is_named() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    named_packages = set(config["options"]["packages"].split()) - {"finapi.sql"}
    existing_packages = {
        str(file.parent.relative_to(ROOT)).replace("/", ".") for file in (ROOT / "finapi").rglob("__init__.py")
    }
    assert existing_packages == named_packages
