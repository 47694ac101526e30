"""Model Context Protocol as others speak it: the official SDKs' clients and the inspector, over HTTP and a pipe."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from finapi.mcp.tools import get_tools
from finapi.testing import FinapiServer

pytestmark = [pytest.mark.slow, pytest.mark.alone]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TOLD = {
    "tools": [*get_tools()],
    "prompts": 4,
    "resources": 6,
    "templates": 3,
    "found": [{"cik": "0000320193", "ticker": "AAPL", "company": "Apple Inc."}],
    "wrong": True,
    "read": 1,
    "prompt": "Analyse AAPL",
}


@pytest.fixture(scope="module")
def asked() -> Iterator[dict[str, Any]]:
    """Where a finapi is, by its address and as a program."""
    with FinapiServer(seed=41) as server:
        env = {"FINAPI_URL": server.url, "FINAPI_API_KEY": server.api_key, "PATH": os.environ["PATH"]}
        yield {
            "url": f"{server.url}/api/mcp",
            "command": [sys.executable, str(ROOT / "run.py"), "mcp"],
            "env": {**env, "PYTHONDONTWRITEBYTECODE": "1"},
        }


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages of npm."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("node and npm are not installed")
    folder = tmp_path_factory.mktemp("node")
    (folder / "package.json").write_text("{}", "utf-8")
    wanted = ["@modelcontextprotocol/sdk@1", "@modelcontextprotocol/inspector"]
    fetched = run([npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", *wanted], folder)
    if fetched.returncode:
        pytest.skip("npm does not reach its registry")
    return folder


def run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300)


def test_the_python_sdk_speaks_both_eras_over_both_transports(asked: dict[str, Any], tmp_path: Path) -> None:
    venv.create(tmp_path / "sdk", with_pip=True)
    python = str(tmp_path / "sdk" / "bin" / "python")
    if run([python, "-m", "pip", "install", "--quiet", "mcp>=2"], tmp_path).returncode:
        pytest.skip("pip does not reach an index with mcp 2")
    done = run([python, str(HERE / "mcp_client.py"), json.dumps(asked)], tmp_path)
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    modes = [("legacy", "2025-11-25")] * 2 + [("auto", "2026-07-28")] * 2
    assert told == [{"mode": mode, "version": version, **TOLD} for mode, version in modes]


def test_the_typescript_sdk_speaks_over_both_transports(asked: dict[str, Any], modules: Path) -> None:
    shutil.copy(HERE / "mcp_client.mjs", modules)
    done = run(["node", "mcp_client.mjs", json.dumps(asked)], modules)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line) for line in done.stdout.splitlines()] == [TOLD, TOLD]


def inspected(modules: Path, *words: str) -> Any:
    """What the inspector's command line is told."""
    done = run(["npx", "mcp-inspector", "--cli", *words], modules)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


FIND = ("--method", "tools/call", "--tool-name", "find_company", "--tool-arg", "query=apple")


def test_the_inspector_calls_a_tool(asked: dict[str, Any], modules: Path) -> None:
    settings = [word for name, value in asked["env"].items() for word in ("-e", f"{name}={value}")]
    assert inspected(modules, *settings, *asked["command"], *FIND)["structuredContent"]["data"] == TOLD["found"]


def test_the_inspector_asks_over_http(asked: dict[str, Any], modules: Path) -> None:
    # The inspector that runs on node 20 sends no headers of one's own.
    there = (f"{asked['url']}?apiKey={asked['env']['FINAPI_API_KEY']}", "--transport", "http")
    assert [one["name"] for one in inspected(modules, *there, "--method", "tools/list")["tools"]] == [*get_tools()]
    assert inspected(modules, *there, *FIND)["structuredContent"]["data"] == TOLD["found"]
    assert len(inspected(modules, *there, "--method", "resources/list")["resources"]) == TOLD["resources"]
    (read,) = inspected(modules, *there, "--method", "resources/read", "--uri", "finapi://coverage")["contents"]
    assert json.loads(read["text"])["data"]["counts"]["companies"] > 0
    prompt = ("--method", "prompts/get", "--prompt-name", "analyse_company", "--prompt-args", "ticker=AAPL")
    assert inspected(modules, *there, *prompt)["messages"][0]["content"]["text"].startswith(TOLD["prompt"])
    done = run(
        ["npx", "mcp-inspector", "--cli", asked["url"], "--transport", "http", "--method", "tools/list"], modules
    )
    assert done.returncode == 1
    assert "A valid API key is needed" in done.stderr
