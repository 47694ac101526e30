"""Every kind of fault is the error that it should be, to the Python client and to two that generators make."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from finapi.client import ApiFailure, verify_webhook
from finapi.client.synchronous import by_urllib
from finapi.testing import FinapiServer, faults
from finapi.web.openapi import document
from finapi.web.routes import ROUTES
from tests.test_generated_clients import PACKAGES, run, write

pytestmark = pytest.mark.slow

PATH = "/api/v1/account/balance"
SECONDS = 0.5  # that a client waits
STATUSES = {str(status): {"status": status} for status in faults.STATUSES}
BREAKING: dict[str, dict[str, Any]] = {
    "delay": {"delay": 5},
    "truncate": {"truncate": 10},
    "wrong_length": {"wrong_length": True},
    "reset": {"reset": True},
}
HARMLESS: dict[str, dict[str, Any]] = {"drip": {"drip": 4_000}, "stale": {"stale": "2026-01-31T12:00:00Z"}}
FAULTS = {**STATUSES, "429 bare": {"status": 429, "headers": False}, **BREAKING, **HARMLESS}
# What a client makes of them: a status with its code, no answer, or the plan that a good one tells.
WANTED = {
    **{name: [status, faults.STATUSES[status]] for name, status in zip(STATUSES, faults.STATUSES, strict=True)},
    "429 bare": [429, "RATE_LIMIT_EXCEEDED"],
    **dict.fromkeys(BREAKING, "no answer"),
    **dict.fromkeys(HARMLESS, "pro"),
}

PYTHON = """
import json, sys
import httpx
from finapi_client import AuthenticatedClient
from finapi_client.api.account import get_account_balance as balance

url, key, control, token, faults = sys.argv[1:]
client = AuthenticatedClient(url, token=key, prefix="", auth_header_name="X-API-Key", timeout=httpx.Timeout(0.5))
seen = {}
for name, does in json.loads(faults).items():
    told = {"route": "GET /api/v1/account/balance", "times": 1, **does}
    httpx.post(control + "/faults", json=told, headers={"X-Control-Token": token}).raise_for_status()
    try:
        answer = balance.sync_detailed(client=client)
    except httpx.TransportError:
        seen[name] = "no answer"
        continue
    status = int(answer.status_code)
    if status == 200:
        seen[name] = answer.parsed.plan
    else:
        code = answer.parsed.code if answer.parsed is not None else json.loads(answer.content)["code"]
        seen[name] = [status, getattr(code, "value", code)]
print(json.dumps(seen))
"""

TYPESCRIPT = """
import createClient from "openapi-fetch";
import type { paths } from "./api";

const [url, key, control, token, faults] = process.argv.slice(2) as [string, string, string, string, string];
const client = createClient<paths>({ baseUrl: url, headers: { "X-API-Key": key } });
const seen: Record<string, unknown> = {};
for (const [name, does] of Object.entries(JSON.parse(faults) as Record<string, object>)) {
  const body = JSON.stringify({ route: "GET /api/v1/account/balance", times: 1, ...does });
  const told = await fetch(`${control}/faults`, { method: "POST", headers: { "X-Control-Token": token }, body });
  if (!told.ok) throw new Error(await told.text());
  try {
    const { data, error, response } = await client.GET("/api/v1/account/balance", { signal: AbortSignal.timeout(500) });
    seen[name] = data ? data.plan : [response.status, error.code];
  } catch {
    seen[name] = "no answer";
  }
}
console.log(JSON.stringify(seen));
process.exit(0);
"""


@pytest.fixture(scope="module")
def server() -> Iterator[FinapiServer]:
    with FinapiServer() as running:
        yield running


@pytest.fixture
def words(server: FinapiServer) -> list[str]:
    """What a program is given: address, key, control, and the faults."""
    server.control.reset()
    ready = server.ready
    return [server.url, server.api_key, ready["control_url"], ready["control_token"], json.dumps(FAULTS)]


def test_no_kind_of_fault_is_left_out() -> None:
    kinds = {kind for does in FAULTS.values() for kind in does if kind != "headers"}
    assert kinds | {"duplicate", "reorder", "close"} == set(faults.KINDS)


def test_the_python_client_sees_them(server: FinapiServer) -> None:
    world = server.world("faults")
    client = world.client(tries=1)
    client._send = by_urllib(SECONDS)
    seen: dict[str, Any] = {}
    waits = set()
    for name, does in FAULTS.items():
        world.control.fault(f"GET {PATH}", times=1, **does)
        try:
            seen[name] = client.get_account_balance()["plan"]
        except ApiFailure as failure:
            seen[name] = [failure.status, failure.code] if failure.status else "no answer"
            if failure.retry_after is not None:
                waits.add((name, failure.retry_after))
    assert seen == WANTED
    assert waits == {("429", 1.0), ("503", 1.0)}


def test_the_python_client_sees_those_of_webhooks_and_feeds(server: FinapiServer) -> None:
    world = server.world("webhooks")
    url, secret = world.control.inbox_url("mine"), world.client().get_webhooks_secret()["secret"]
    world.control.fault("finapi.test", duplicate=True, times=1)
    world.client().post_webhooks_test(url=url)
    world.control.until_idle()
    inbox = world.control.inbox("mine")
    # Twice the same, each with a good signature: whoever keeps the delivery's id drops the second.
    assert len(inbox) == 2
    assert len({one["headers"]["webhook-id"] for one in inbox}) == 1
    now = world.control.now().timestamp()
    assert [verify_webhook(secret, one["headers"], one["body"].encode(), now) for one in inbox] == [None, None]
    # Feeds that are closed lose nothing: the log of events goes on after the last number.
    client = world.client()
    before = client.get_events(feed="main-api")["data"][-1]["seq"]
    world.control.fault(close=1013)
    seq = world.control.event("main-api", "new_filing", {"ticker": "AAPL"})
    assert next(client.events("main-api", since=before))["seq"] == seq == before + 1


def test_a_generated_python_client_sees_them(tmp_path: Path, words: list[str]) -> None:
    write(tmp_path, "openapi.json", json.dumps(document("", ROUTES)))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    made = subprocess.run(
        [
            *(sys.executable, "-m", "openapi_python_client", "generate"),
            *("--path", "openapi.json", "--meta", "none", "--output-path", "finapi_client"),
        ],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    said = run(tmp_path, sys.executable, write(tmp_path, "call.py", PYTHON), *words)
    assert json.loads(said) == WANTED


def test_a_generated_typescript_client_sees_them(tmp_path: Path, words: list[str]) -> None:
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("node and npm are not installed")
    packages = {name: version for name, version in PACKAGES.items() if not name.startswith("@")}
    write(tmp_path, "package.json", json.dumps({"private": True, "type": "module", "dependencies": packages}))
    install = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts"]
    if subprocess.run(install, cwd=tmp_path, capture_output=True, timeout=300, check=False).returncode:
        pytest.skip("npm does not reach its registry")
    bin = tmp_path / "node_modules" / ".bin"
    write(tmp_path, "openapi.json", json.dumps(document("", ROUTES)))
    run(tmp_path, str(bin / "openapi-typescript"), "openapi.json", "-o", "api.ts")
    write(tmp_path, "main.ts", TYPESCRIPT)
    run(tmp_path, str(bin / "esbuild"), "main.ts", "--bundle", "--platform=node", "--format=esm", "--outfile=main.mjs")
    assert json.loads(run(tmp_path, node, "main.mjs", *words)) == WANTED
