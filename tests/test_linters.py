"""Runs linters of OpenAPI documents by the rules in ``.ci``, which explain each exception."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from finapi.core.json import dumps
from finapi.web.openapi import build_document
from finapi.web.routes import ROUTES
from tests import npm

pytestmark = pytest.mark.slow

RULES = Path(__file__).parents[1] / ".ci"
# Versions that run under node 20.
PACKAGES = {"@redocly/cli": "2.77.0", "@stoplight/spectral-cli": "6.16.3"}


@pytest.mark.parametrize("public_url", ["", "https://finapi.net"])
def test_redocly_and_spectral_find_nothing_in_the_document(tmp_path: Path, public_url: str) -> None:
    bin = npm.install_packages(tmp_path, PACKAGES)
    (tmp_path / "openapi.json").write_bytes(dumps(build_document(public_url, ROUTES)))
    # Redocly reads the exceptions next to its configuration, by the path of the document from there.
    for name in ("redocly.yaml", ".redocly.lint-ignore.yaml"):
        shutil.copy(RULES / name, tmp_path)
    rules = ["--config", "redocly.yaml", "--format", "json"]
    report_json = json.loads(npm.run_command(tmp_path, str(bin / "redocly"), "lint", "openapi.json", *rules))
    assert [(problem["ruleId"], problem["message"]) for problem in report_json["problems"]] == []
    assert report_json["totals"]["ignored"] == 3
    rules = ["--ruleset", str(RULES / "spectral.yaml"), "--format", "json", "--fail-severity", "hint"]
    assert npm.run_command(tmp_path, str(bin / "spectral"), "lint", "openapi.json", "--quiet", *rules).strip() == "[]"
