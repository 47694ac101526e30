"""Server-Sent Events, read from the socket as a browser would."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from finapi.delivery import events
from finapi.delivery.events import EventTags
from tests.feeds import SECONDS, Service, key, message, tell
from tests.support.case_tables import run_each_case

APPLE = EventTags(("AAPL",), ("0000320193",), "10-K")


class Stream:
    """An open stream: the head of its response, and its events one by one."""

    def __init__(self, service: Service, query: str, headers: dict[str, str]) -> None:
        self.connection = http.client.HTTPConnection(*service.address, timeout=SECONDS)
        self.connection.request("GET", f"/api/v1/events?{query}", headers={"Accept": "text/event-stream", **headers})
        self.answer = self.connection.getresponse()

    def block(self) -> dict[str, str]:
        """Return the fields of the next block. A comment is a field with an empty name."""
        fields = {}
        while (line := self.answer.readline().decode()) not in ("\n", ""):
            name, _, value = line.rstrip("\n").partition(":")
            fields[name] = value.strip()
        return fields

    def next(self) -> Any:
        block = self.block()
        while "data" not in block:
            assert block, "the stream has ended"
            block = self.block()
        event = json.loads(block["data"])
        assert (block["id"], block["event"]) == (f"{event['epoch']}-{event['seq']}", event["type"])
        return event


@contextmanager
def stream(service: Service, query: str = "feed=main-api", **headers: str) -> Iterator[Stream]:
    opened = Stream(service, query, {name.replace("_", "-"): value for name, value in headers.items()})
    try:
        yield opened
    finally:
        opened.answer.close()
        opened.connection.close()


def test_a_stream_sends_the_newest_twenty_and_then_new_events(service: Service) -> None:
    tell(service.app, 30)
    with stream(service, X_API_Key=key(service.app)) as reader:
        assert reader.answer.status == 200
        assert reader.answer.getheader("Content-Type") == "text/event-stream; charset=utf-8"
        assert reader.answer.getheader("X-API-Version")
        assert reader.block() == {"retry": "3000"}
        assert [reader.next() for _ in range(20)] == [message(seq, catching_up=True) for seq in range(11, 31)]
        tell(service.app)
        assert reader.next() == message(31)
    service.settled()


@pytest.mark.parametrize("last", ["1-28", "28"])
@pytest.mark.parametrize("name", ["token", "apiKey"])
def test_a_browser_resumes_after_its_last_event_id(service: Service, name: str, last: str) -> None:
    tell(service.app, 30)
    api_key = key(service.app)
    with stream(service, f"feed=main-api&{name}={api_key}&since_seq=3", Last_Event_ID=last) as reader:
        assert [reader.next()["seq"] for _ in range(2)] == [29, 30]


def test_a_browser_is_notified_of_a_restored_backup(service: Service) -> None:
    tell(service.app, 10)
    with service.app.db.write() as tx:
        epoch = events.begin_epoch(tx, 1, service.app.clock.now())
    with stream(service, f"feed=main-api&token={key(service.app)}", Last_Event_ID="1-14") as reader:
        assert reader.next()["data"] == {"since_seq": 14, "epoch": 1, "reason": "another epoch"}
        tell(service.app)
        event = reader.next()
        assert (event["seq"], event["epoch"]) == (11, epoch)


@pytest.mark.parametrize("tickers", ["tickers=aapl", "tickers=msft,aapl", "tickers=msft&tickers=aapl"])
def test_a_stream_resumes_after_a_number_and_filters(service: Service, tickers: str) -> None:
    tell(service.app, 2)
    tell(service.app, about=APPLE)
    tell(service.app)
    query = f"feed=main-api&since_seq=0&{tickers}&token={key(service.app)}"
    with stream(service, query) as reader:
        assert reader.next()["seq"] == 3


@run_each_case(
    "query, status, code",
    [
        ("feed=main-api&token=wrong", 401, "UNAUTHORIZED"),
        ("feed=main-api", 401, "UNAUTHORIZED"),
        ("feed=other", 400, "BAD_REQUEST"),
        ("", 400, "BAD_REQUEST"),
        ("feed=main-api&since_seq=x", 400, "BAD_REQUEST"),
        ("feed=main-api&since_seq=1&epoch=x", 400, "BAD_REQUEST"),
        ("feed=main-api&ciks=x", 400, "BAD_REQUEST"),
    ],
)
def test_a_refusal_is_an_error_of_the_api(service: Service, query: str, status: int, code: str) -> None:
    with stream(service, query) as refused:
        assert (refused.answer.status, json.loads(refused.answer.read())["code"]) == (status, code)
    service.settled()


def test_a_stream_counts_as_a_connection_of_the_plan(service: Service) -> None:
    free = key(service.app, "free")
    with stream(service, X_API_Key=free), stream(service, X_API_Key=free) as refused:
        assert refused.answer.status == 429
        assert json.loads(refused.answer.read())["code"] == "RATE_LIMIT_EXCEEDED"
    service.settled()
    with stream(service, X_API_Key=free) as again:
        assert again.answer.status == 200


def test_a_comment_every_twenty_seconds_keeps_the_stream(service: Service) -> None:
    with stream(service, X_API_Key=key(service.app)) as reader:
        reader.block()
        service.settled(connections=1, readers=1)
        service.advance(20)
        assert reader.block() == {"": "ping"}


def test_a_stop_ends_the_stream(service: Service) -> None:
    with stream(service, X_API_Key=key(service.app)) as reader:
        reader.block()
        service.feeds.stop()
        assert reader.answer.read() == b""


def test_streams_hold_no_thread_that_answers_calls(service: Service) -> None:
    api_keys = [key(service.app, email=f"{number}@example.com") for number in range(4)]
    streams = [Stream(service, f"feed=main-api&token={api_key}", {}) for api_key in api_keys for _ in range(5)]
    connection = http.client.HTTPConnection(*service.address, timeout=SECONDS)
    connection.request("GET", "/livez")
    assert connection.getresponse().status == 200
    connection.close()
    for open_stream in streams:
        open_stream.answer.close()
        open_stream.connection.close()
    service.settled()
