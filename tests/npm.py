"""npm packages for tests."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest


def install_packages(directory: Path, packages: Mapping[str, str]) -> Path:
    """Install packages in ``directory``. Return the path of their commands.

    The test is skipped if npm or its registry is missing or does not end in time.
    """
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("node and npm are not installed")
    package = {"private": True, "type": "module", "dependencies": dict(packages)}
    (directory / "package.json").write_text(json.dumps(package), encoding="utf-8")
    words = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts"]
    try:
        done = subprocess.run(words, cwd=directory, capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip("npm has not fetched the packages within 300 s")
    if done.returncode != 0:
        pytest.skip(f"npm does not reach its registry: {done.stderr.strip().splitlines()[-1]}")
    return directory / "node_modules" / ".bin"


def run_command(directory: Path, *words: str) -> str:
    """Return the output of a command, which must succeed."""
    done = subprocess.run(words, cwd=directory, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
