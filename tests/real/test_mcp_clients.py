"""The official MCP SDKs' clients and the inspector against finapi, over HTTP and a pipe."""

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
from tests import npm

pytestmark = [pytest.mark.slow, pytest.mark.alone]

# Exact versions, because a release of tomorrow may expect other versions of the protocol.
PYTHON_SDK = "mcp==2.3.0"
PACKAGES = {"@modelcontextprotocol/sdk": "1.32.2", "@modelcontextprotocol/inspector": "0.15.0"}
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EXPECTED = {
    "tools": [*get_tools()],
    "prompts": 4,
    "resources": 7,
    "templates": 3,
    "found": [{"cik": "0000320193", "ticker": "AAPL", "company": "Apple Inc."}],
    "wrong": True,
    "read": 1,
    "prompt": "Analyse AAPL",
}


@pytest.fixture(scope="module")
def server_access() -> Iterator[dict[str, Any]]:
    """Yield the address, the command and the environment that reach a finapi."""
    with FinapiServer(seed=41) as server:
        env = {"FINAPI_URL": server.url, "FINAPI_API_KEY": server.api_key, "PATH": os.environ["PATH"]}
        yield {
            "url": f"{server.url}/api/mcp",
            "command": [sys.executable, str(ROOT / "run.py"), "mcp"],
            "env": {**env, "PYTHONDONTWRITEBYTECODE": "1"},
        }


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the npm packages."""
    folder = tmp_path_factory.mktemp("node")
    npm.install_packages(folder, PACKAGES)
    return folder


def run_command(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300)


def test_the_python_sdk_works_in_both_modes_over_both_transports(server_access: dict[str, Any], tmp_path: Path) -> None:
    venv.create(tmp_path / "sdk", with_pip=True)
    python = str(tmp_path / "sdk" / "bin" / "python")
    try:
        installation = run_command([python, "-m", "pip", "install", "--quiet", PYTHON_SDK], tmp_path)
    except subprocess.TimeoutExpired:
        pytest.skip(f"pip has not fetched {PYTHON_SDK} in time")
    if installation.returncode:
        pytest.skip(f"pip does not reach an index with {PYTHON_SDK}")
    done = run_command([python, str(HERE / "mcp_client.py"), json.dumps(server_access)], tmp_path)
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    modes = [("legacy", "2025-11-25")] * 2 + [("auto", "2026-07-28")] * 2
    assert answers == [{"mode": mode, "version": version, **EXPECTED} for mode, version in modes]


def test_the_typescript_sdk_works_over_both_transports(server_access: dict[str, Any], modules: Path) -> None:
    shutil.copy(HERE / "mcp_client.mjs", modules)
    done = run_command(["node", "mcp_client.mjs", json.dumps(server_access)], modules)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line) for line in done.stdout.splitlines()] == [EXPECTED, EXPECTED]


def run_inspector(modules: Path, *words: str) -> Any:
    """Return the JSON that the inspector's command line prints."""
    done = run_command(["npx", "mcp-inspector", "--cli", *words], modules)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


FIND = ("--method", "tools/call", "--tool-name", "find_company", "--tool-arg", "query=apple")


def test_the_inspector_calls_a_tool(server_access: dict[str, Any], modules: Path) -> None:
    settings = [word for name, value in server_access["env"].items() for word in ("-e", f"{name}={value}")]
    assert (
        run_inspector(modules, *settings, *server_access["command"], *FIND)["structuredContent"]["data"]
        == EXPECTED["found"]
    )


def test_the_inspector_works_over_http(server_access: dict[str, Any], modules: Path) -> None:
    # The inspector that runs on node 20 sends no custom headers.
    http_target = (f"{server_access['url']}?apiKey={server_access['env']['FINAPI_API_KEY']}", "--transport", "http")
    assert [tool["name"] for tool in run_inspector(modules, *http_target, "--method", "tools/list")["tools"]] == [
        *get_tools()
    ]
    assert run_inspector(modules, *http_target, *FIND)["structuredContent"]["data"] == EXPECTED["found"]
    assert len(run_inspector(modules, *http_target, "--method", "resources/list")["resources"]) == EXPECTED["resources"]
    (coverage,) = run_inspector(modules, *http_target, "--method", "resources/read", "--uri", "finapi://coverage")[
        "contents"
    ]
    assert json.loads(coverage["text"])["data"]["counts"]["companies"] > 0
    prompt = ("--method", "prompts/get", "--prompt-name", "analyse_company", "--prompt-args", "ticker=AAPL")
    assert run_inspector(modules, *http_target, *prompt)["messages"][0]["content"]["text"].startswith(
        EXPECTED["prompt"]
    )
    done = run_command(
        ["npx", "mcp-inspector", "--cli", server_access["url"], "--transport", "http", "--method", "tools/list"],
        modules,
    )
    assert done.returncode == 1
    assert "A valid API key is needed" in done.stderr
