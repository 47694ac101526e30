"""The Python client and two generated clients see the right error for every kind of fault."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from finapi.client import ApiFailure, verify_webhook
from finapi.client.synchronous import by_urllib
from finapi.testing import FinapiServer, faults
from finapi.web.openapi import build_document
from finapi.web.routes import ROUTES
from tests import npm
from tests.npm import run_command
from tests.test_generated_clients import PACKAGES, generate, write

pytestmark = pytest.mark.slow

PATH = "/api/v1/account/balance"
TIMEOUT_SECONDS = 0.5  # Of the Python client.
STATUSES = {str(status): {"status": status} for status in faults.ERROR_CODES}
BREAKING: dict[str, dict[str, Any]] = {
    "delay": {"delay": 5},
    "truncate": {"truncate": 10},
    "wrong_length": {"wrong_length": True},
    "reset": {"reset": True},
}
STALE = "2026-01-31T12:00:00"
HARMLESS: dict[str, dict[str, Any]] = {"drip": {"drip": 4_000}, "stale": {"stale": f"{STALE}Z"}}
FAULTS = {**STATUSES, "429 bare": {"status": 429, "headers": False}, **BREAKING, **HARMLESS}
# What a client sees of each: a status with its code, no answer, the plan in a good answer, or the time of a stale one.
EXPECTED = {
    **{name: [status, faults.ERROR_CODES[status]] for name, status in zip(STATUSES, faults.ERROR_CODES, strict=True)},
    "429 bare": [429, "RATE_LIMIT_EXCEEDED"],
    **dict.fromkeys(BREAKING, "no answer"),
    "drip": "pro",
    "stale": STALE,
}
# What it sees of other faults: deliveries and their different ids, the order of two webhooks, the close code of a feed,
# and the distance in numbers to the first event after that.
OTHER_EXPECTED = {"duplicate": [2, 1], "reorder": ["second", "first"], "close": 1013, "resumed": 1}

PYTHON = """
import http.server, json, sys, threading
import httpx
from standardwebhooks import Webhook
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from finapi_client import AuthenticatedClient
from finapi_client.api.account import get_account_balance as balance
from finapi_client.api.events import get_events
from finapi_client.api.webhooks import get_webhooks_secret, post_webhooks_test
from finapi_client.models import GetEventsFeed, PostWebhooksTestBody

url, key, control, token, faults = sys.argv[1:]
client = AuthenticatedClient(url, token=key, prefix="", auth_header_name="X-API-Key", timeout=httpx.Timeout(0.5))
seen = {}

def control_call(path, **body):
    answer = httpx.post(control + path, json=body, headers={"X-Control-Token": token}, timeout=20)
    return answer.raise_for_status().json()

for name, fault in json.loads(faults).items():
    control_call("/faults", route="GET /api/v1/account/balance", times=1, **fault)
    try:
        answer = balance.sync_detailed(client=client)
    except httpx.TransportError:
        seen[name] = "no answer"
        continue
    status = int(answer.status_code)
    if status == 200:
        seen[name] = answer.parsed.as_of.isoformat()[:19] if name == "stale" else answer.parsed.plan
    else:
        code = answer.parsed.code if answer.parsed is not None else json.loads(answer.content)["code"]
        seen[name] = [status, getattr(code, "value", code)]

delivery_ids = []

class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        delivery_ids.append(Webhook(secret).verify(body, headers)["delivery_id"])
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass

def send_webhook():
    body = PostWebhooksTestBody(url=f"http://127.0.0.1:{receiver.server_port}/")
    return post_webhooks_test.sync(client=client, body=body).delivery_id

secret = get_webhooks_secret.sync(client=client).secret
receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=receiver.serve_forever, daemon=True).start()
control_call("/faults", route="finapi.*", times=1, duplicate=True)
send_webhook()
control_call("/clock", advance=0)
seen["duplicate"] = [len(delivery_ids), len(set(delivery_ids))]
delivery_ids.clear()
control_call("/faults", route="finapi.*", times=1, reorder=True)
order = {send_webhook(): "first", send_webhook(): "second"}
control_call("/clock", advance=0)
seen["reorder"] = [order[delivery_id] for delivery_id in delivery_ids]

event = {"feed": "main-api", "type": "new_filing", "data": {"ticker": "AAPL"}}
last = control_call("/events", **event)["seq"]
with connect(f"{url.replace('http', 'ws')}/ws/main-api?since_seq={last - 1}&token={key}") as feed:
    feed.recv()
    control_call("/faults", close=1013)
    try:
        feed.recv()
    except ConnectionClosed as closed:
        seen["close"] = closed.rcvd.code
control_call("/events", **event)
page = get_events.sync(client=client, feed=GetEventsFeed.MAIN_API, since_seq=last)
seen["resumed"] = page.data[0].seq - last
print(json.dumps(seen))
"""

TYPESCRIPT = """
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import createClient from "openapi-fetch";
import { Webhook } from "standardwebhooks";
import WebSocket from "ws";
import type { paths, webhooks } from "./api";

const [url, key, control, token, faults] = process.argv.slice(2) as [string, string, string, string, string];
const client = createClient<paths>({ baseUrl: url, headers: { "X-API-Key": key } });
const seen: Record<string, unknown> = {};
const callControl = async (path: string, body: object) => {
  const headers = { "X-Control-Token": token };
  const answer = await fetch(control + path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()) as { seq: number };
};
for (const [name, fault] of Object.entries(JSON.parse(faults) as Record<string, object>)) {
  await callControl("/faults", { route: "GET /api/v1/account/balance", times: 1, ...fault });
  try {
    const { data, error, response } = await client.GET("/api/v1/account/balance", { signal: AbortSignal.timeout(500) });
    seen[name] = data ? (name === "stale" ? data.as_of.slice(0, 19) : data.plan) : [response.status, error.code];
  } catch {
    seen[name] = "no answer";
  }
}

type Sent = webhooks["finapi.test"]["post"]["requestBody"]["content"]["application/json"];
const deliveryIds: string[] = [];
const { data: secretAnswer } = await client.GET("/api/v1/webhooks/secret");
const receiver = createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  const message = new Webhook(secretAnswer!.secret).verify(body, request.headers as Record<string, string>) as Sent;
  deliveryIds.push(message.delivery_id);
  response.end();
});
await new Promise<void>((listening) => receiver.listen(0, "127.0.0.1", listening));
const address = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
const sendWebhook = async () => {
  const { data } = await client.POST("/api/v1/webhooks/test", { body: { url: address } });
  return data!.delivery_id;
};
await callControl("/faults", { route: "finapi.*", times: 1, duplicate: true });
await sendWebhook();
await callControl("/clock", { advance: 0 });
seen["duplicate"] = [deliveryIds.length, new Set(deliveryIds).size];
deliveryIds.length = 0;
await callControl("/faults", { route: "finapi.*", times: 1, reorder: true });
const order = { [await sendWebhook()]: "first", [await sendWebhook()]: "second" };
await callControl("/clock", { advance: 0 });
seen["reorder"] = deliveryIds.map((id) => order[id]);

const event = { feed: "main-api", type: "new_filing", data: { ticker: "AAPL" } };
const { seq: last } = await callControl("/events", event);
const feed = new WebSocket(`${url.replace("http", "ws")}/ws/main-api?since_seq=${last - 1}&token=${key}`);
await new Promise((heard) => feed.once("message", heard));
const closed = new Promise((end) => feed.once("close", end));
await callControl("/faults", { close: 1013 });
seen["close"] = await closed;
await callControl("/events", event);
const query = { feed: "main-api" as const, since_seq: last };
const { data: page } = await client.GET("/api/v1/events", { params: { query } });
seen["resumed"] = page!.data[0]!.seq - last;
console.log(JSON.stringify(seen));
process.exit(0);
"""


@pytest.fixture(scope="module")
def server() -> Iterator[FinapiServer]:
    with FinapiServer() as fixture_server:
        yield fixture_server


@pytest.fixture
def arguments(server: FinapiServer) -> list[str]:
    """Return the arguments of a client program: URL, key, control and faults."""
    server.control.reset()
    ready = server.ready
    return [server.url, server.api_key, ready["control_url"], ready["control_token"], json.dumps(FAULTS)]


def test_every_effect_is_tested() -> None:
    effects = {effect for fault in FAULTS.values() for effect in fault if effect != "headers"}
    assert effects | {"duplicate", "reorder", "close", "redirect", "hang"} == set(faults.EFFECT_TYPES)


def test_the_python_client_sees_faults_of_calls(server: FinapiServer) -> None:
    world = server.world("faults")
    client = world.client(tries=1)
    client._send = by_urllib(TIMEOUT_SECONDS)
    seen: dict[str, Any] = {}
    waits = set()
    for name, fault in FAULTS.items():
        world.control.fault(f"GET {PATH}", times=1, **fault)
        try:
            answer = client.get_account_balance()
            seen[name] = answer["as_of"][:19] if name == "stale" else answer["plan"]
        except ApiFailure as failure:
            seen[name] = [failure.status, failure.code] if failure.status else "no answer"
            if failure.retry_after is not None:
                waits.add((name, failure.retry_after))
    assert seen == EXPECTED
    assert waits == {("429", 1.0), ("503", 1.0)}


def test_the_python_client_sees_other_faults(server: FinapiServer) -> None:
    world = server.world("webhooks")
    url, secret = world.control.inbox_url("mine"), world.client().get_webhooks_secret()["secret"]
    world.control.fault("finapi.test", duplicate=True, times=1)
    world.client().post_webhooks_test(url=url)
    world.control.until_idle()
    inbox = world.control.inbox("mine")
    # The same webhook twice, each with a valid signature. A receiver drops the second by its id.
    assert len(inbox) == 2
    assert len({message["headers"]["webhook-id"] for message in inbox}) == 1
    now = world.control.now().timestamp()
    for message in inbox:
        verify_webhook(secret, message["headers"], message["body"], now)
    world.control.fault("finapi.test", reorder=True, times=1)
    delivery_ids = [world.client().post_webhooks_test(url=url)["delivery_id"] for _ in range(2)]
    world.control.advance(0)
    inbox = [json.loads(message["body"]) for message in world.control.inbox("mine")][2:]
    # The second comes first. A receiver finds the order by `occurred_at`.
    assert [message["delivery_id"] for message in inbox] == delivery_ids[::-1]
    assert inbox[0]["occurred_at"] > inbox[1]["occurred_at"]
    # A closed feed loses no event.
    client = world.client(wait=lambda _: None)
    last_seq = client.get_events(feed="main-api")["data"][-1]["seq"]
    feed = client.feed("main-api", since=last_seq - 1)
    assert next(feed)["seq"] == last_seq
    world.control.fault(close=1013)
    seq = world.control.event("main-api", "new_filing", {"ticker": "AAPL"})
    assert next(feed)["seq"] == next(client.events("main-api", since=last_seq))["seq"] == seq == last_seq + 1
    world.control.fault(close=4401)
    with pytest.raises(ApiFailure, match="401 UNAUTHORIZED"):
        next(feed)


def test_a_generated_python_client_sees_faults(tmp_path: Path, arguments: list[str]) -> None:
    generate(tmp_path)
    output = run_command(tmp_path, sys.executable, write(tmp_path, "call.py", PYTHON), *arguments)
    assert json.loads(output) == {**EXPECTED, **OTHER_EXPECTED}


def test_a_generated_typescript_client_sees_faults(tmp_path: Path, arguments: list[str]) -> None:
    packages = {name: version for name, version in PACKAGES.items() if not name.startswith("@")}
    bin = npm.install_packages(tmp_path, {**packages, "standardwebhooks": "1.0.0", "ws": "8.18.3"})
    write(tmp_path, "openapi.json", json.dumps(build_document("", ROUTES)))
    run_command(tmp_path, str(bin / "openapi-typescript"), "openapi.json", "-o", "api.ts")
    write(tmp_path, "main.ts", TYPESCRIPT)
    bundle = ("--bundle", "--packages=external", "--platform=node", "--format=esm", "--outfile=main.mjs")
    run_command(tmp_path, str(bin / "esbuild"), "main.ts", *bundle)
    assert json.loads(run_command(tmp_path, "node", "main.mjs", *arguments)) == {**EXPECTED, **OTHER_EXPECTED}
