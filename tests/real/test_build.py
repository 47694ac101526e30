"""The build of a wheel with its bill of materials; slow, and needs the tools of ``.ci/tools``."""

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


def test_the_build_writes_a_wheel_and_its_bill_of_materials(tmp_path: Path) -> None:
    build = subprocess.run([locked.ROOT / ".ci" / "build", tmp_path], capture_output=True, text=True, check=False)
    assert build.returncode == 0, build.stderr
    (bill,) = tmp_path.glob("*.cdx.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"finapi-{__version__}-py3-none-any.whl",
        f"finapi-{__version__}.cdx.json",
    ]
    contents = json.loads(bill.read_text())
    assert contents["bomFormat"] == "CycloneDX"
    pins = locked.select_run_time_pins(locked.parse_pins(locked.LOCK.read_text()))
    expected = {name: pin.version for name, pin in pins.items()} | {"finapi": __version__}
    assert {
        component["name"].lower().replace("_", "-"): component["version"] for component in contents["components"]
    } == expected
    assert all(component["licenses"] for component in contents["components"])
