"""The options and the worlds of the pytest plugin."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from finapi.testing import FinapiServer
from finapi.testing.gate import WORLD_NAME
from finapi.testing.plugin import build_world_name

ROOT = Path(__file__).parents[2]

SUITE = """
import pytest

@pytest.mark.parametrize("symbol", ["AAPL", "SNOW"])
def test_target(finapi, symbol):
    assert finapi.control.requests() == []
    target = finapi.client().post_sniper_targets(ticker=symbol)["target_id"]
    with open("result", "a") as file:
        file.write(f"{symbol} {finapi.url.rpartition('/')[2]} {target} {finapi.api_key} {finapi.control.now()}\\n")
"""


def run_pytest(directory: Path, *options: str) -> tuple[int, str, list[str]]:
    """Run the suite. Return the exit status, the output and the lines that its tests wrote."""
    (directory / "test_suite.py").write_text(SUITE)
    (directory / "result").unlink(missing_ok=True)
    plugins = ["-p", "no:finapi", "-p", "finapi.testing.plugin", "-p", "no:cacheprovider", "-p", "no:xdist"]
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", ".", *plugins, *options],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    result = directory / "result"
    lines = result.read_text().splitlines() if result.exists() else []
    return finished.returncode, finished.stdout + finished.stderr, sorted(lines)


def test_names_of_worlds_follow_from_node_ids() -> None:
    name = build_world_name("tests/test_a.py::TestB::test_c[x y/\u00e9]")
    assert name.startswith("test-c-x-y-")
    assert name == build_world_name("tests/test_a.py::TestB::test_c[x y/\u00e9]")
    node_ids = ["a.py::test_c", "b.py::test_c", "a.py::test_c[1]", "a.py::test_" + "x" * 200, "\u00e9", "", "a::\ud800"]
    names = {build_world_name(node_id) for node_id in node_ids}
    assert len(names) == len(node_ids)
    assert all(WORLD_NAME.fullmatch(name) for name in names)


@pytest.mark.slow
def test_a_seed_repeats_ids_in_every_run(tmp_path: Path) -> None:
    status, output, lines = run_pytest(tmp_path, "--finapi-seed", "7")
    assert (status, len(lines)) == (0, 2), output
    assert lines[0].endswith(" 2026-01-31 12:00:00+00:00")
    # One test alone has the ids that it has in the run of all.
    status, output, lines_of_one = run_pytest(tmp_path, "--finapi-seed", "7", "-k", "SNOW")
    assert (status, lines_of_one) == (0, lines[1:]), output
    other_lines = run_pytest(tmp_path, "--finapi-seed", "8")[2]
    assert other_lines[0].split()[1] == lines[0].split()[1]
    assert other_lines[0].split()[2] != lines[0].split()[2]


@pytest.mark.slow
def test_a_world_of_a_killed_run_is_reset(tmp_path: Path) -> None:
    with FinapiServer(seed=3) as server:
        name = build_world_name("test_suite.py::test_target[AAPL]")
        server.world(name).client().get_policy()
        assert len(server.world(name).control.requests()) == 1
        (tmp_path / "ready").write_text(json.dumps(server.ready))
        status, output, lines = run_pytest(tmp_path, "--finapi-ready", "ready")
        assert (status, len(lines)) == (0, 2), output
        assert lines[0].split()[:2] == ["AAPL", name]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(("--finapi-seed", "x"), "invalid int value", marks=pytest.mark.slow),
        pytest.param(("--finapi-seed", str(2**63)), "seed must be a whole number", marks=pytest.mark.slow),
        pytest.param(
            ("--finapi-seed", "1", "--finapi-ready", "ready"), "give the seed to finapi fixture", marks=pytest.mark.slow
        ),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    status, output, lines = run_pytest(tmp_path, *options)
    assert (status != 0, lines) == (True, [])
    assert message in output
