"""A wheel with its bill of materials, made by the one command; slow, and needs what ``.ci/tools`` installs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from finapi import __version__
from tests import locked

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not locked.TOOL.exists(), reason="the tools are not installed: run .ci/tools"),
]


def test_a_wheel_lies_beside_a_bill_of_what_it_needs(tmp_path: Path) -> None:
    made = subprocess.run([locked.ROOT / ".ci" / "build", tmp_path], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    (bill,) = tmp_path.glob("*.cdx.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"finapi-{__version__}-py3-none-any.whl",
        f"finapi-{__version__}.cdx.json",
    ]
    said = json.loads(bill.read_text())
    assert said["bomFormat"] == "CycloneDX"
    pins = locked.run_time(locked.pins(locked.LOCK.read_text()))
    expected = {name: pin.version for name, pin in pins.items()} | {"finapi": __version__}
    assert {one["name"].lower().replace("_", "-"): one["version"] for one in said["components"]} == expected
    assert all(one["licenses"] for one in said["components"])
