"""The feeds of a real process: a demo's twenty events, and a restart without loss or repeat (slow)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests import process
from tests.feeds import SECONDS
from tests.process import accession, filing, finapi, running, serve, write

pytestmark = pytest.mark.slow


def opened(url: str, feed: str, **query: object) -> ClientConnection:
    query_string = "&".join(f"{name}={value}" for name, value in query.items())
    return connect(f"{url.replace('http', 'ws')}/ws/{feed}?{query_string}", proxy=None, close_timeout=SECONDS)


def said(client: ClientConnection) -> Any:
    return json.loads(client.recv(timeout=SECONDS))


def ingest(data: Path, parent: Path, number: int) -> None:
    folder = write(parent / str(number), filing(cik=2_000_000 + number))
    done = finapi("ingest", "--data-dir", data, "--accession", accession(number), "--filed", "2025-02-01", folder)
    assert done.status == 0, done


def test_a_reader_resumes_after_a_restart_without_loss_or_repeat(tmp_path: Path) -> None:
    data = tmp_path / "data"
    added = finapi("user", "add", "ann@example.com", "--plan", "pro", "--json", "--data-dir", data)
    key = added.json["api_key"]
    with serve(data) as server, opened(server.url, "main-api", token=key) as client:
        ingest(data, tmp_path, 1)
        first = [said(client) for _ in range(2)]
        assert [(event["type"], event["seq"]) for event in first] == [("new_filing", 1), ("data_ready", 2)]
        assert "is_catchup" not in first[0]
        assert server.stop() == 0
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(timeout=SECONDS)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1001
    ingest(data, tmp_path, 2)  # While no client listens.
    with serve(data) as server, opened(server.url, "main-api", token=key, since_seq=1) as client:
        ingest(data, tmp_path, 3)
        events = [said(client) for _ in range(5)]
        assert [event["seq"] for event in events] == [2, 3, 4, 5, 6]
        numbers = [event["data"]["accession_number"] for event in events]
        assert numbers == [accession(number) for number in (1, 2, 2, 3, 3)]


def test_a_demo_sends_a_new_reader_its_newest_twenty() -> None:
    with running("demo", "--port", 0) as demo:
        with opened(demo.url, "main-api", token=demo.ready["api_key"]) as client:
            events = [said(client) for _ in range(20)]
            assert all(event["is_catchup"] for event in events)
            seqs = [event["seq"] for event in events]
            assert seqs == list(range(seqs[0], seqs[0] + 20))
        assert process.get(demo.address, "/livez").status == 200
