"""The way from EDGAR's feed to every listener on a real server, and Socket.IO clients through a restart."""

from __future__ import annotations

import json
import os
import queue
from pathlib import Path
from typing import Any

import pytest
import socketio
from websockets.sync.client import connect

from tests import process
from tests.feeds.test_node import modules  # noqa: F401  (a fixture)
from tests.feeds.test_restart import ingest, said
from tests.feeds.test_socketio import _clients_leave_nothing  # noqa: F401  (a fixture)
from tests.process import child, eventually, finapi, find_free_port, running, serve
from tests.receiver import receiver
from tests.support.edgar_server import AGENT, Page, fake_edgar, feed
from tests.web.accounts.test_webhook_bodies import EIGHT_K, FORM_4, REPORT, assert_matches_schema, list_all_forms

pytestmark = [pytest.mark.slow, pytest.mark.alone]

FEEDS = ("main-api", "insider-api", "13f-live")
TOPICS = ["insider.transaction.created", "13f.holdings.updated"]
PASSWORD = "a long password"


def read_messages(server: process.Running, key: str) -> dict[str, list[Any]]:
    """Return the messages of each feed: the 8-K, the form and the report; two transactions; one report."""
    messages = {}
    for name, count in zip(FEEDS, (3, 2, 1), strict=True):
        with connect(f"{server.url.replace('http', 'ws')}/ws/{name}?token={key}", proxy=None) as client:
            messages[name] = [said(client) for _ in range(count)]
    return messages


def test_listed_filings_are_stored_delivered_and_streamed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    user = finapi(
        "user",
        "add",
        "ann@example.com",
        "--plan",
        "pro",
        "--json",
        "--password-stdin",
        "--data-dir",
        data,
        stdin=PASSWORD.encode(),
    )
    key = user.json["api_key"]
    with fake_edgar() as (edgar, edgar_address), receiver() as webhook_receiver:
        edgar.feed[0] = Page(feed())
        settings = (
            "--poll-every",
            "0.1",
            "--user-agent",
            AGENT,
            "--base-url",
            f"http://127.0.0.1:{edgar_address.port}",
            "--webhook-allow",
            "127.0.0.0/8",
            "--edgar-per-second",
            "1000",
        )
        with serve(data, *settings) as server:
            login = {"email": "ann@example.com", "password": PASSWORD}
            token = server.call("POST", "/api/v1/auth/login", login).json["token"]
            subscription = {"webhook_url": webhook_receiver.url, "webhook_topics": TOPICS}
            session = {"Authorization": f"Bearer {token}"}
            assert server.call("PUT", "/api/v1/user/", subscription, session).status == 200
            list_all_forms(edgar)
            eventually(lambda: len(webhook_receiver.received) == 3)
            messages = read_messages(server, key)
            trades = server.get("/api/v1/insiders/transactions/latest", key).json["data"]
            assert server.stop() == 0
    bodies = [json.loads(delivery.body) for delivery in webhook_receiver.received]
    for body in bodies:
        assert_matches_schema(body)
    assert sorted(body["event_type"] for body in bodies) == sorted([*TOPICS, TOPICS[0]])
    assert [message["data"]["accession_number"] for message in messages["main-api"]] == [EIGHT_K, FORM_4, REPORT]
    assert sorted((message["data"] for message in messages["insider-api"]), key=str) == sorted(trades, key=str)
    assert [message["data"]["accession_no"] for message in messages["13f-live"]] == [REPORT]


@pytest.mark.parametrize("transports", [None, ["websocket"], ["polling"]])
def test_a_python_client_reconnects_without_loss_or_repeat(tmp_path: Path, transports: list[str] | None) -> None:
    data, port = tmp_path / "data", find_free_port()
    user = finapi("user", "add", "ann@example.com", "--plan", "pro", "--json", "--data-dir", data)
    seqs: list[int] = []
    received_seqs: queue.Queue[int] = queue.Queue()
    reader = socketio.Client(reconnection_delay=0.1, reconnection_delay_max=0.2)

    def auth() -> dict[str, Any]:
        return {"token": user.json["api_key"], "since_seq": seqs[-1] if seqs else 0}

    def record_message(event: str, *values: Any) -> None:
        seqs.append(values[0]["seq"])
        received_seqs.put(seqs[-1])

    reader.on("*", record_message, namespace="/ws/main-api")
    start = ("serve", "--port", port, "--data-dir", data)
    with running(*start) as server:
        ingest(data, tmp_path, 1)
        reader.connect(server.url, namespaces=["/ws/main-api"], auth=auth, transports=transports)
        assert [received_seqs.get(timeout=20) for _ in range(2)] == [1, 2]
        assert server.stop() == 0
    ingest(data, tmp_path, 2)  # while no client listens
    with running(*start) as server:
        ingest(data, tmp_path, 3)
        assert [received_seqs.get(timeout=20) for _ in range(4)] == [3, 4, 5, 6]
        reader.disconnect()
        assert server.stop() == 0
    assert seqs == [1, 2, 3, 4, 5, 6]


RETURNING = """
const { io } = require("socket.io-client");
const [url, token, transports] = process.argv.slice(1);
let last = 0;
const socket = io(url + "/ws/main-api", {
  auth: (answer) => answer({ token, since_seq: last }),
  reconnectionDelay: 100, reconnectionDelayMax: 200,
  ...(transports ? { transports: transports.split(",") } : {}),
});
socket.onAny((type, event) => {
  console.log(last = event.seq);
  if (last == 6) { socket.disconnect(); process.exit(0); }
});
"""


@pytest.mark.parametrize("transports", ["", "websocket"])
def test_a_javascript_client_reconnects_without_loss_or_repeat(
    tmp_path: Path,
    modules: Path,  # noqa: F811
    transports: str,
) -> None:
    data, port = tmp_path / "data", find_free_port()
    user = finapi("user", "add", "ann@example.com", "--plan", "pro", "--json", "--data-dir", data)
    start = ("serve", "--port", port, "--data-dir", data)
    url = f"http://127.0.0.1:{port}"
    command = ["node", "-e", RETURNING, url, user.json["api_key"], transports]
    with running(*start) as server:
        ingest(data, tmp_path, 1)
        with child(command=command, env={**os.environ, "NODE_PATH": str(modules)}, stderr=None) as client:
            assert [process.next_line(client) for _ in range(2)] == [b"1\n", b"2\n"]
            assert server.stop() == 0
            ingest(data, tmp_path, 2)  # while no client listens
            with running(*start) as again:
                ingest(data, tmp_path, 3)
                assert [int(process.next_line(client)) for _ in range(4)] == [3, 4, 5, 6]
                assert client.wait(20) == 0
                assert again.stop() == 0
