"""The guide to point-in-time answers: its backtest, run against a server with the demo's data."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from finapi.core.config import Config
from finapi.core.files import get_package_folder
from finapi.server import run_server
from tests.described import LIFTED, World

GUIDE = (get_package_folder("finapi.web.pages.docs") / "guides" / "as-of.md").read_text("utf-8")


def test_the_backtest_of_the_guide_has_the_years_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worlds: list[World] = []
    config = Config(port=0, data_dir=tmp_path / "data", mail_dir=str(tmp_path / "mail"), **LIFTED)
    names: dict[str, Any] = {}
    with run_server(config, lambda *_: None, prepare=lambda app: worlds.append(World(app))) as server:
        monkeypatch.setenv("FINAPI_URL", server.url)
        monkeypatch.setenv("FINAPI_API_KEY", worlds[0].key)
        for code in re.findall(r"```python\n(.*?)```", GUIDE, flags=re.DOTALL):
            exec(code, names)
    assert f"`wrong_years` is `{names['wrong_years']}`" in GUIDE
    assert f"`right_years` is `{names['right_years']}`" in GUIDE
    assert names["wrong_years"] != names["right_years"]
    assert f"`known_years` is `{names['known_years']}`" in GUIDE
