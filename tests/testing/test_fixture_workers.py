"""Tests of many test runners on one test server, and of test runners that are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from finapi.core.temporary import sweep
from tests import process

ROOT = Path(__file__).parents[2]
WORKERS, TESTS = 8, 1_000

# Each test changes its world and would see the changes of another.
SUITE = """
import pytest
from finapi.client import ApiFailure

@pytest.mark.parametrize("number", range({tests}))
def test_no_other_test_uses_this_world(finapi, number):
    client = finapi.client(tries=1)
    assert finapi.control.requests() == []
    finapi.control.freeze("2026-02-01T00:00:00Z")
    finapi.control.fault("GET /api/v1/sec/filings", status=503, times=1)
    with pytest.raises(ApiFailure, match="503"):
        client.get_sec_filings(limit=1)
    for _ in range(1 + number % 3):
        client.get_sec_filings(limit=1)
    assert client.get_account_balance()["current_balance"] == 500_000 - 5 * (1 + number % 3)
    assert len(finapi.control.requests()) == 3 + number % 3
    finapi.control.advance(number)
    assert finapi.control.now().timestamp() == 1769904000 + number
"""


@pytest.mark.slow
def test_eight_workers_share_one_server(tmp_path: Path) -> None:
    (tmp_path / "test_worlds.py").write_text(SUITE.format(tests=TESTS))
    with process.running("fixture", "--port", 0) as server:
        (tmp_path / "ready").write_text(json.dumps(server.ready))
        options = ["-q", "-c", os.devnull, "--rootdir", ".", "-n", str(WORKERS), "--finapi-ready", "ready"]
        plugins = ["-p", "no:finapi", "-p", "finapi.testing.plugin", "-p", "no:cacheprovider", "test_worlds.py"]
        finished = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *plugins],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=500,
        )
        assert finished.returncode == 0, finished.stdout[-3_000:] + finished.stderr
        assert f"{TESTS} passed" in finished.stdout
        assert server.stop() == 0


RUNNER = """
import subprocess, sys, time
from finapi.testing import FinapiServer
command = [sys.executable, "run.py", "fixture", "--port", "0", "--ready", "json", "--exit-with-parent"]
fixture = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
line = fixture.stdout.readline().decode()
with FinapiServer() as server:
    server.control.now()
    print(fixture.pid, line, end="", flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
def test_a_killed_runner_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {**process.environment(), "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", RUNNER]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as runner:
        fixture_pid = int(process.next_line(runner).split()[0])
        assert [path.name.startswith("finapi-fixture-") for path in tmp_path.iterdir()] == [True, True]
        runner.send_signal(signal.SIGKILL)
        runner.wait()

    def has_ended() -> bool:
        with suppress(ProcessLookupError):
            os.kill(fixture_pid, 0)
            return False
        return True

    process.eventually(has_ended)
    # The fixture removed its directory. The next start removes that of the killed process.
    (leftover,) = tmp_path.iterdir()
    assert leftover.name.startswith(f"finapi-fixture-{runner.pid}-")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    sweep()
    assert [*tmp_path.iterdir()] == []
