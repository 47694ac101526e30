"""The bill of materials of a release; slow, and needs the tools of ``.ci/tools``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from finapi import __version__
from tests import locked
from tests.build import copy_repository, run
from tests.release import write_bill

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not locked.TOOL.exists(), reason="the tools are not installed: run .ci/tools"),
]


def test_the_bill_of_materials_lists_what_the_server_needs(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    source = copy_repository(tmp_path / "source")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", out, source)
    write_bill(out, tmp_path)
    assert sorted(path.name for path in out.iterdir()) == [
        f"finapi_server-{__version__}-py3-none-any.whl",
        f"finapi_server-{__version__}.cdx.json",
    ]
    text = (out / f"finapi_server-{__version__}.cdx.json").read_text()
    assert str(tmp_path) not in text
    contents = json.loads(text)
    assert contents["bomFormat"] == "CycloneDX"
    pins = locked.select_run_time_pins(locked.parse_pins(locked.LOCK.read_text()))
    expected = {name: pin.version for name, pin in pins.items()} | {"finapi-server": __version__}
    assert {
        component["name"].lower().replace("_", "-"): component["version"] for component in contents["components"]
    } == expected
    assert all(component["licenses"] for component in contents["components"])
