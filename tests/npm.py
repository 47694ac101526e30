"""Packages of npm for tests, or a reason why they cannot be had."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest


def installed(place: Path, packages: Mapping[str, str]) -> Path:
    """The commands of the packages, installed in ``place``; skips the test where npm or its registry is missing."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("node and npm are not installed")
    package = {"private": True, "type": "module", "dependencies": dict(packages)}
    (place / "package.json").write_text(json.dumps(package), encoding="utf-8")
    words = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts"]
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        pytest.skip(f"npm does not reach its registry: {done.stderr.strip().splitlines()[-1]}")
    return place / "node_modules" / ".bin"


def run(place: Path, *words: str) -> str:
    """What a command prints; it must end well."""
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
