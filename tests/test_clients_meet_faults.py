"""Every kind of fault is the error that it should be, to the Python client and to two that generators make."""

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
from finapi.web.openapi import document
from finapi.web.routes import ROUTES
from tests import npm
from tests.npm import run
from tests.test_generated_clients import PACKAGES, generate, write

pytestmark = pytest.mark.slow

PATH = "/api/v1/account/balance"
SECONDS = 0.5  # that a client waits
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
# What a client makes of them: a status with its code, no answer, the plan that a good one tells, or of when it is.
WANTED = {
    **{name: [status, faults.ERROR_CODES[status]] for name, status in zip(STATUSES, faults.ERROR_CODES, strict=True)},
    "429 bare": [429, "RATE_LIMIT_EXCEEDED"],
    **dict.fromkeys(BREAKING, "no answer"),
    "drip": "pro",
    "stale": STALE,
}
# Of the others: deliveries and different ids of them, which of two webhooks came first, the code that a feed was closed
# with, and how many numbers later the first event stands that was told after that.
MORE = {"duplicate": [2, 1], "reorder": ["second", "first"], "close": 1013, "resumed": 1}

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

def told(path, **body):
    answer = httpx.post(control + path, json=body, headers={"X-Control-Token": token}, timeout=20)
    return answer.raise_for_status().json()

for name, does in json.loads(faults).items():
    told("/faults", route="GET /api/v1/account/balance", times=1, **does)
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

taken = []

class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        taken.append(Webhook(secret).verify(body, headers)["delivery_id"])
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass

def sent():
    body = PostWebhooksTestBody(url=f"http://127.0.0.1:{receiver.server_port}/")
    return post_webhooks_test.sync(client=client, body=body).delivery_id

secret = get_webhooks_secret.sync(client=client).secret
receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=receiver.serve_forever, daemon=True).start()
told("/faults", route="finapi.*", times=1, duplicate=True)
sent()
told("/clock", advance=0)
seen["duplicate"] = [len(taken), len(set(taken))]
taken.clear()
told("/faults", route="finapi.*", times=1, reorder=True)
order = {sent(): "first", sent(): "second"}
told("/clock", advance=0)
seen["reorder"] = [order[one] for one in taken]

event = {"feed": "main-api", "type": "new_filing", "data": {"ticker": "AAPL"}}
last = told("/events", **event)["seq"]
with connect(f"{url.replace('http', 'ws')}/ws/main-api?since_seq={last - 1}&token={key}") as feed:
    feed.recv()
    told("/faults", close=1013)
    try:
        feed.recv()
    except ConnectionClosed as closed:
        seen["close"] = closed.rcvd.code
told("/events", **event)
found = get_events.sync(client=client, feed=GetEventsFeed.MAIN_API, since_seq=last)
seen["resumed"] = found.data[0].seq - last
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
const told = async (path: string, body: object) => {
  const headers = { "X-Control-Token": token };
  const answer = await fetch(control + path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()) as { seq: number };
};
for (const [name, does] of Object.entries(JSON.parse(faults) as Record<string, object>)) {
  await told("/faults", { route: "GET /api/v1/account/balance", times: 1, ...does });
  try {
    const { data, error, response } = await client.GET("/api/v1/account/balance", { signal: AbortSignal.timeout(500) });
    seen[name] = data ? (name === "stale" ? data.as_of.slice(0, 19) : data.plan) : [response.status, error.code];
  } catch {
    seen[name] = "no answer";
  }
}

type Sent = webhooks["finapi.test"]["post"]["requestBody"]["content"]["application/json"];
const taken: string[] = [];
const { data: held } = await client.GET("/api/v1/webhooks/secret");
const receiver = createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  const message = new Webhook(held!.secret).verify(body, request.headers as Record<string, string>) as Sent;
  taken.push(message.delivery_id);
  response.end();
});
await new Promise<void>((listening) => receiver.listen(0, "127.0.0.1", listening));
const address = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
const sent = async () => (await client.POST("/api/v1/webhooks/test", { body: { url: address } })).data!.delivery_id;
await told("/faults", { route: "finapi.*", times: 1, duplicate: true });
await sent();
await told("/clock", { advance: 0 });
seen["duplicate"] = [taken.length, new Set(taken).size];
taken.length = 0;
await told("/faults", { route: "finapi.*", times: 1, reorder: true });
const order = { [await sent()]: "first", [await sent()]: "second" };
await told("/clock", { advance: 0 });
seen["reorder"] = taken.map((one) => order[one]);

const event = { feed: "main-api", type: "new_filing", data: { ticker: "AAPL" } };
const { seq: last } = await told("/events", event);
const feed = new WebSocket(`${url.replace("http", "ws")}/ws/main-api?since_seq=${last - 1}&token=${key}`);
await new Promise((heard) => feed.once("message", heard));
const closed = new Promise((end) => feed.once("close", end));
await told("/faults", { close: 1013 });
seen["close"] = await closed;
await told("/events", event);
const query = { feed: "main-api" as const, since_seq: last };
const { data: found } = await client.GET("/api/v1/events", { params: { query } });
seen["resumed"] = found!.data[0]!.seq - last;
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
            answer = client.get_account_balance()
            seen[name] = answer["as_of"][:19] if name == "stale" else answer["plan"]
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
    world.control.fault("finapi.test", reorder=True, times=1)
    sent = [world.client().post_webhooks_test(url=url)["delivery_id"] for _ in range(2)]
    world.control.advance(0)
    inbox = [json.loads(one["body"]) for one in world.control.inbox("mine")][2:]
    # The second comes first: whoever needs the order has it by when they occurred.
    assert [one["delivery_id"] for one in inbox] == sent[::-1]
    assert inbox[0]["occurred_at"] > inbox[1]["occurred_at"]
    # Feeds that are closed lose nothing, whether they are listened to or asked.
    client = world.client(wait=lambda _: None)
    before = client.get_events(feed="main-api")["data"][-1]["seq"]
    feed = client.feed("main-api", since=before - 1)
    assert next(feed)["seq"] == before
    world.control.fault(close=1013)
    seq = world.control.event("main-api", "new_filing", {"ticker": "AAPL"})
    assert next(feed)["seq"] == next(client.events("main-api", since=before))["seq"] == seq == before + 1
    world.control.fault(close=4401)
    with pytest.raises(ApiFailure, match="401 UNAUTHORIZED"):
        next(feed)


def test_a_generated_python_client_sees_them(tmp_path: Path, words: list[str]) -> None:
    generate(tmp_path)
    said = run(tmp_path, sys.executable, write(tmp_path, "call.py", PYTHON), *words)
    assert json.loads(said) == {**WANTED, **MORE}


def test_a_generated_typescript_client_sees_them(tmp_path: Path, words: list[str]) -> None:
    typed = {name: version for name, version in PACKAGES.items() if not name.startswith("@")}
    bin = npm.installed(tmp_path, {**typed, "standardwebhooks": "1.0.0", "ws": "8.18.3"})
    write(tmp_path, "openapi.json", json.dumps(document("", ROUTES)))
    run(tmp_path, str(bin / "openapi-typescript"), "openapi.json", "-o", "api.ts")
    write(tmp_path, "main.ts", TYPESCRIPT)
    bundle = ("--bundle", "--packages=external", "--platform=node", "--format=esm", "--outfile=main.mjs")
    run(tmp_path, str(bin / "esbuild"), "main.ts", *bundle)
    assert json.loads(run(tmp_path, "node", "main.mjs", *words)) == {**WANTED, **MORE}
