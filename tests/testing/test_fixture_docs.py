"""Runs the examples in docs/TESTING.md and docs/testing unchanged."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from finapi.client import ApiFailure
from finapi.testing import FinapiServer
from tests.support.case_tables import run_each_case

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "testing"
TEXT = (ROOT / "docs" / "TESTING.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(def (\w+)\(finapi\):\n.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL)
ENVIRON = {**os.environ, "PYTHONPATH": str(ROOT), "FIXTURE_COMMAND": f"{sys.executable} {ROOT / 'run.py'}"}
SECONDS = 60


@pytest.fixture(scope="module")
def server() -> Iterator[FinapiServer]:
    with FinapiServer() as fixture_server:
        yield fixture_server


def test_the_document_has_seven_examples() -> None:
    assert len(BLOCKS) == 7


@run_each_case("source, name", BLOCKS)
def test_an_example_runs(server: FinapiServer, source: str, name: str) -> None:
    namespace: dict[str, Any] = {"pytest": pytest, "ApiFailure": ApiFailure}
    exec(source, namespace)
    world = server.world(name)
    namespace[name](world)
    world.control.drop()


@run_each_case("file", sorted(filter(Path.is_file, FOLDER.iterdir())))
def test_a_file_to_copy_has_sixty_lines_at_most(file: Path) -> None:
    assert len(file.read_text("utf-8").splitlines()) <= 60
    assert f"testing/{file.name}" in TEXT


def run_command(*command: str) -> None:
    finished = subprocess.run(command, cwd=FOLDER, env=ENVIRON, capture_output=True, text=True, timeout=SECONDS)
    assert finished.returncode == 0, finished.stdout + finished.stderr


@pytest.mark.slow
def test_the_example_of_pytest_runs_with_several_workers() -> None:
    # If finapi is installed, pytest would load the plugin twice.
    plugin = ["-p", "no:finapi", "-p", "finapi.testing.plugin", "-p", "no:cacheprovider"]
    run_command(
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-c",
        os.devnull,
        "--rootdir",
        ".",
        "-n",
        "2",
        *plugin,
        "test_with_pytest.py",
    )


@pytest.mark.slow
def test_the_example_of_unittest_runs() -> None:
    run_command(sys.executable, "-m", "unittest", "test_with_unittest.py")


@pytest.mark.slow
def test_the_example_of_the_shell_runs() -> None:
    run_command("sh", "shell.sh")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not here")
def test_the_example_of_node_runs() -> None:
    run_command("node", "--test", "node.test.mjs")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not here")
def test_the_example_of_vitest_runs(tmp_path: Path) -> None:
    install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "vitest@2"]
    if subprocess.run(install, cwd=tmp_path, timeout=120, check=False, capture_output=True).returncode:
        pytest.skip("vitest cannot be fetched")
    shutil.copy(FOLDER / "vitest.test.ts", tmp_path)
    command = [str(tmp_path / "node_modules" / ".bin" / "vitest"), "run", "--root", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRON, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_example_of_junit_runs(tmp_path: Path) -> None:
    jars = ":".join(
        str(jar)
        for jar in Path("/usr/share/java").glob("*.jar")
        if re.match("junit-|opentest|apiguard|picocli", jar.name)
    )
    if shutil.which("javac") is None or "junit-jupiter" not in jars or "console" not in jars:
        pytest.skip("a Java compiler and JUnit 5 (apt: junit5, default-jdk-headless) are not here")
    run_command("javac", "-cp", jars, "-d", str(tmp_path), "FinapiTest.java")
    run_command("java", "-cp", f"{jars}:{tmp_path}", "org.junit.platform.console.ConsoleLauncher", "-c", "FinapiTest")
